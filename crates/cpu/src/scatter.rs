//! Scatter-add into zeros. Rows are added in order; threads divide the work so that they write different
//! results.

use farad_compile::program::Scatter;
use farad_ir::DType;
use rayon::prelude::*;

use crate::heuristics::fused::TILE;
use crate::heuristics::scatters::{PARALLEL, TASKS, WIDTH};
use crate::interpreter::bytecode::WordType;
use crate::interpreter::tile_machine::KernelContext;
use crate::memory::element_runs::{self, Binding, RegisterWord};
use crate::memory::view_access::{DomainRange, ViewAccess};
use crate::simd::lanes::lanes;

/// A planned scatter over `[before, along, behind]`: the axes before, at and after the scattered one.
#[derive(Debug)]
pub struct ScatterPlan {
    source: (usize, ViewAccess),
    index: (usize, ViewAccess),
    /// Whether one index applies to all elements after the axis; then the index is read without those axes.
    by_row: bool,
    signed: bool,
    before: usize,
    along: usize,
    behind: usize,
    size: usize,
    target: usize,
    site: usize,
}

/// The part of a scatter that one task does.
#[derive(Clone, Copy)]
struct ScatterPart {
    before: (usize, usize),
    behind: (usize, usize),
}

impl ScatterPlan {
    /// Plans a scatter; `signed` says whether indices are `i32`.
    pub fn new(scatter: &Scatter, signed: bool) -> ScatterPlan {
        let sizes = &scatter.axes;
        let all: Vec<usize> = (0..sizes.len()).collect();
        let (rows, behind) = all.split_at(scatter.axis + 1);
        let view = &scatter.index.1;
        let moves = |values: &[i64]| behind.iter().any(|&axis| values[axis] != 0);
        let by_row = !moves(&view.strides) && !view.guards.iter().any(|g| moves(&g.coefficients));
        ScatterPlan {
            source: (scatter.source.0.0 as usize, ViewAccess::new(&scatter.source.1, sizes, &all, &[])),
            index: (
                scatter.index.0.0 as usize,
                ViewAccess::new(view, sizes, if by_row { rows } else { &all }, &[]),
            ),
            by_row,
            signed,
            before: sizes[..scatter.axis].iter().product(),
            along: sizes[scatter.axis],
            behind: sizes[scatter.axis + 1..].iter().product(),
            size: scatter.size,
            target: scatter.target.0 as usize,
            site: scatter.site,
        }
    }

    /// Runs the scatter.
    pub fn run(&self, context: KernelContext) {
        let target = context.bindings[self.target];
        let len = self.before * self.size * self.behind;
        assert!(len <= target.len, "scatter_add: target is too small: elements ({len} vs {})", target.len);
        if target.dtype.is_wide() {
            return self.add_up::<u64>(context, target);
        }
        if target.dtype.size() == 4 {
            return self.add_up::<u32>(context, target);
        }
        // Narrow elements are summed in the precision of registers and rounded once.
        let mut sums = vec![0u32; len];
        let dtype = target.dtype.register();
        self.add_up::<u32>(context, Binding { start: sums.as_mut_ptr().cast(), len, dtype });
        let access = ViewAccess::contiguous(len);
        // SAFETY: the target is this kernel's to write, and its length was checked.
        unsafe {
            element_runs::store(&access, DomainRange { start: 0, count: len, fixed: &[] }, target, &sums)
        };
    }

    fn add_up<W: AddedWord>(&self, context: KernelContext, target: Binding) {
        let len = self.before * self.size * self.behind;
        // SAFETY: the target has `len` words.
        unsafe { target.start.write_bytes(0, size_of::<W>() * len) };
        let total = self.before * self.along * self.behind;
        let whole = ScatterPart { before: (0, self.before), behind: (0, self.behind) };
        if total < PARALLEL || rayon::current_num_threads() == 1 {
            return self.part::<W>(whole, context, target);
        }
        if self.before > 1 {
            let group = (PARALLEL / 4 / (self.along * self.behind)).max(1);
            (0..self.before.div_ceil(group)).into_par_iter().for_each(|task| {
                let before = (task * group, self.before.min((task + 1) * group));
                self.part::<W>(ScatterPart { before, ..whole }, context, target);
            });
        } else {
            let group = (PARALLEL / 4 / self.along).max(WIDTH).max(self.behind.div_ceil(TASKS));
            (0..self.behind.div_ceil(group)).into_par_iter().for_each(|task| {
                let behind = (task * group, self.behind.min((task + 1) * group));
                self.part::<W>(ScatterPart { behind, ..whole }, context, target);
            });
        }
    }

    fn part<W: AddedWord>(&self, part: ScatterPart, context: KernelContext, target: Binding) {
        let width = part.behind.1 - part.behind.0;
        // Several positions at once if their rows are adjacent.
        let step = if width == self.behind { (TILE / width.max(1)).max(1) } else { 1 };
        let mut source = vec![W::default(); step * width];
        let mut index = vec![0u32; if self.by_row { step } else { step * width }];
        for before in part.before.0..part.before.1 {
            for first in (0..self.along).step_by(step) {
                let rows = step.min(self.along - first);
                let row = before * self.along + first;
                let range =
                    DomainRange { start: row * self.behind + part.behind.0, count: rows * width, fixed: &[] };
                let indices =
                    if self.by_row { DomainRange { start: row, count: rows, fixed: &[] } } else { range };
                let (source, index) = (&mut source[..range.count], &mut index[..indices.count]);
                // SAFETY: the program says that this kernel may read both buffers.
                unsafe {
                    element_runs::load(&self.source.1, range, 0, context.bindings[self.source.0], source);
                    element_runs::load(&self.index.1, indices, 0, context.bindings[self.index.0], index);
                }
                self.add_rows(before, part.behind.0, width, source, index, context, target);
            }
        }
    }

    /// Adds rows of `width` elements, in order.
    fn add_rows<W: AddedWord>(
        &self,
        before: usize,
        behind: usize,
        width: usize,
        source: &[W],
        index: &[u32],
        context: KernelContext,
        target: Binding,
    ) {
        let float = target.dtype.is_float();
        let words = target.start.cast::<W>();
        for (row, source) in source.chunks_exact(width.max(1)).enumerate() {
            if self.by_row {
                let Some(position) = self.position(index[row], context) else { continue };
                let at = (before * self.size + position) * self.behind + behind;
                // SAFETY: the position is in range, and this task alone writes these elements.
                let to = unsafe { std::slice::from_raw_parts_mut(words.add(at), width) };
                W::add(to, source, float);
            } else {
                for (i, &word) in source.iter().enumerate() {
                    let Some(position) = self.position(index[row * width + i], context) else { continue };
                    let at = (before * self.size + position) * self.behind + behind + i;
                    // SAFETY: as above.
                    W::add(unsafe { std::slice::from_raw_parts_mut(words.add(at), 1) }, &[word], float);
                }
            }
        }
    }

    fn position(&self, word: u32, context: KernelContext) -> Option<usize> {
        let position = if self.signed { word as i32 as i64 } else { word as i64 };
        if (0..self.size as i64).contains(&position) {
            return Some(position as usize);
        }
        context.faults.record(self.site, position);
        None
    }
}

/// A register that sources are read into and added up in.
trait AddedWord: RegisterWord + Send + Sync {
    /// Adds elements, as floats or as integers.
    fn add(to: &mut [Self], from: &[Self], float: bool);
}

impl AddedWord for u32 {
    #[inline(always)]
    fn add(to: &mut [u32], from: &[u32], float: bool) {
        if float && to.len() >= 8 {
            // SAFETY: these lanes are available.
            unsafe { (lanes().add)(bytemuck::cast_slice_mut(to), bytemuck::cast_slice(from)) };
            return;
        }
        for (to, &from) in to.iter_mut().zip(from) {
            *to = match float {
                true => (f32::from_bits(*to) + f32::from_bits(from)).to_bits(),
                false => to.wrapping_add(from),
            };
        }
    }
}

impl AddedWord for u64 {
    fn add(to: &mut [u64], from: &[u64], float: bool) {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = match float {
                true => (f64::from_bits(*to) + f64::from_bits(from)).to_bits(),
                false => to.wrapping_add(from),
            };
        }
    }
}

/// Whether indices of this type may be negative.
pub fn is_signed(dtype: DType) -> bool {
    WordType::of(dtype) == WordType::Int
}
