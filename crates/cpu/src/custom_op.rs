//! Custom ops: user functions over slices of words.

use std::sync::Arc;

use farad_compile::program::Custom;
use farad_ir::{CustomOp, Shape, Words};

use crate::interpreter::tile_machine::KernelContext;
use crate::memory::element_runs::{self, Binding};
use crate::memory::view_access::{DomainRange, ViewAccess};

/// A planned custom op.
#[derive(Debug)]
pub struct CustomPlan {
    op: Arc<dyn CustomOp>,
    shapes: Vec<Shape>,
    operands: Vec<usize>,
    results: Vec<usize>,
    /// Operands that are results at the same time.
    changed: Vec<usize>,
}

impl CustomPlan {
    /// Plans a custom op. Scratch memory for GPU kernels is not needed here.
    pub fn new(custom: &Custom) -> CustomPlan {
        let numbers = |ids: &[farad_compile::program::BufferId]| ids.iter().map(|id| id.0 as usize).collect();
        CustomPlan {
            op: custom.op.clone(),
            shapes: custom.shapes.clone(),
            operands: numbers(&custom.operands),
            results: numbers(&custom.results),
            changed: custom.op.in_place().iter().map(|(operand, _)| *operand).collect(),
        }
    }

    /// Runs the op on memory as it lies, if it can.
    fn run_on_bytes(&self, context: &KernelContext) -> bool {
        let operand = |(n, &operand): (usize, &usize)| -> &[u8] {
            if self.changed.contains(&n) {
                return &[];
            }
            let (start, len) = context.bindings[operand].bytes();
            // SAFETY: the bytes are the buffer's, which this kernel only reads: it is no result.
            unsafe { std::slice::from_raw_parts(start, len) }
        };
        let result = |&result: &usize| {
            let (start, len) = context.bindings[result].bytes();
            // SAFETY: results are this kernel's to write, and they are apart from each other and from what is read.
            unsafe { std::slice::from_raw_parts_mut(start, len) }
        };
        let operands: Vec<&[u8]> = self.operands.iter().enumerate().map(operand).collect();
        let mut results: Vec<&mut [u8]> = self.results.iter().map(result).collect();
        self.op.host(&operands, &self.shapes, &mut results)
    }

    /// Runs the op.
    pub fn run(&self, context: KernelContext) {
        if self.run_on_bytes(&context) {
            return;
        }
        assert!(
            self.changed.is_empty(),
            "{}: it changes operands in place, but has no host form",
            self.op.name()
        );
        let operands: Vec<Cow> = self
            .operands
            .iter()
            .zip(&self.shapes)
            .map(|(&operand, shape)| Cow::of(context.bindings[operand], shape.numel()))
            .collect();
        let slices: Vec<&[u32]> = operands.iter().map(Cow::words).collect();
        let mut results: Vec<Words> =
            self.results.iter().map(|&result| vec![0; context.bindings[result].len]).collect();
        self.op.cpu(&slices, &self.shapes, &mut results);
        for (&result, words) in self.results.iter().zip(&results) {
            let binding = context.bindings[result];
            let (access, range) = whole(words.len());
            // SAFETY: results are this kernel's to write; the length is checked against the binding.
            unsafe { element_runs::store(&access, range, binding, words) };
        }
    }
}

fn whole(len: usize) -> (ViewAccess, DomainRange<'static>) {
    (ViewAccess::contiguous(len), DomainRange { start: 0, count: len, fixed: &[] })
}

/// An operand's words: borrowed from memory, or converted.
enum Cow<'a> {
    Memory(&'a [u32]),
    Converted(Vec<u32>),
}

impl Cow<'_> {
    fn of<'a>(binding: Binding, len: usize) -> Cow<'a> {
        if binding.dtype.size() == 4 {
            // SAFETY: the words are checked to be in the buffer, which this kernel only reads.
            return Cow::Memory(unsafe { std::slice::from_raw_parts(binding.words(0, len), len) });
        }
        let mut words = vec![0; len];
        let (access, range) = whole(len);
        // SAFETY: as above.
        unsafe { element_runs::load(&access, range, 0, binding, &mut words) };
        Cow::Converted(words)
    }

    fn words(&self) -> &[u32] {
        match self {
            Cow::Memory(words) => words,
            Cow::Converted(words) => words,
        }
    }
}
