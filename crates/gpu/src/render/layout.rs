//! The layout of a product's operand: whether it is `f16`, over which axes it is read, and along which of them
//! adjacent elements are read together.

use farad_compile::program::{Code, Product, ProductOperand, Program};
use farad_ir::{DType, Unary};

use super::plan::read;
use super::space;

/// Whether both operands are f16 wherever they are read, so that f16 tiles lose nothing.
pub(crate) fn are_f16(product: &Product, program: &Program) -> bool {
    is_half(&product.lhs, program) && is_half(&product.rhs, program)
}

fn is_half(operand: &ProductOperand, program: &Program) -> bool {
    let mut at = operand.value;
    loop {
        match &operand.tape[at.0 as usize].code {
            Code::Load(buffer, _) => return program.buffers[buffer.0 as usize].dtype == DType::F16,
            Code::Cast(_, dtype) => return *dtype == DType::F16,
            Code::Unary(Unary::Relu | Unary::Neg | Unary::Abs, x) => at = *x,
            _ => return false,
        }
    }
}

/// An operand over its own simplest axes: those of the rows (or columns) and those of the terms. They are
/// merged where this operand walks them as one, whatever the other operand does.
pub(crate) struct OperandLayout {
    pub operand: ProductOperand,
    /// How many batch axes there are.
    batch: usize,
    /// The axes of rows or columns.
    pub width: Vec<usize>,
    /// The axes of terms.
    pub terms: Vec<usize>,
    /// Views are over `[batch.., width.., terms..]`, not `[batch.., terms.., width..]`.
    pub width_first: bool,
    /// Whether nothing else in the product reads the operand's buffer.
    pub alone: bool,
}

impl OperandLayout {
    /// The layout of the left or the right operand.
    pub fn of(product: &Product, left: bool) -> OperandLayout {
        let mut operand = if left { product.lhs.clone() } else { product.rhs.clone() };
        let groups = if left { [&product.m, &product.k] } else { [&product.k, &product.n] };
        let batch = product.batch.len();
        let mut axes = [&product.batch[..], groups[0], groups[1]].concat();
        let mut views = space::views(&mut operand.tape, &mut []);
        let (first, end) = (batch + groups[0].len(), axes.len());
        if groups[1].len() > 1 {
            space::simplify(&mut axes, first, end, &mut views);
        }
        let first = match groups[0].len() {
            1 => first,
            _ => space::simplify(&mut axes, batch, first, &mut views),
        };
        let (a, b) = (axes[batch..first].to_vec(), axes[first..].to_vec());
        let (width, terms) = if left { (a, b) } else { (b, a) };
        let tapes = [&product.lhs.tape, &product.rhs.tape, &product.epilogue];
        let loads = |buffer| {
            let all = tapes.iter().flat_map(|tape| tape.iter());
            all.filter(|instr| read(&instr.code) == Some(buffer)).count()
        };
        let alone =
            operand.tape.iter().filter_map(|instr| read(&instr.code)).all(|buffer| loads(buffer) == 1);
        OperandLayout { operand, batch, width, terms, width_first: left, alone }
    }

    /// Whether rows, columns or terms are several axes, so that an index along them must be decomposed.
    pub fn is_composed(&self) -> bool {
        self.width.len() > 1 || self.terms.len() > 1
    }

    /// Whether four adjacent elements are always read together.
    pub fn is_in_fours(&self) -> bool {
        let near = if self.along_terms() { &self.terms } else { &self.width };
        !self.is_composed() || near.last().is_some_and(|size| size.is_multiple_of(4))
    }

    /// The innermost axis of the width, or of the terms.
    pub fn innermost(&self, of_terms: bool) -> usize {
        let last = of_terms == self.width_first;
        let before = if self.width_first { self.width.len() } else { self.terms.len() };
        self.batch + if last { self.width.len() + self.terms.len() } else { before } - 1
    }

    /// How many elements are contiguous along the width or the terms, and how many such runs follow each other.
    fn contiguous(&self, of_terms: bool) -> (usize, usize) {
        let (group, end) = (if of_terms { &self.terms } else { &self.width }, self.innermost(of_terms) + 1);
        let from = end - group.len();
        let mut found = (0, 0);
        for instr in &self.operand.tape {
            let Code::Load(_, view) = &instr.code else { continue };
            let moves = |axis: usize| {
                view.strides[axis] != 0 || view.guards.iter().any(|g| g.coefficients[axis] != 0)
            };
            let groups = [&self.width, &self.terms];
            let [first, second] = if self.width_first { groups } else { [groups[1], groups[0]] };
            let sizes = first.iter().chain(second).enumerate();
            let reach =
                sizes.filter(|(at, _)| moves(self.batch + at)).map(|(_, size)| *size).product::<usize>();
            if let Some(axis) = (from..end).find(|&axis| view.strides[axis].abs() == 1) {
                found = (found.0 + reach, found.1.max(group[axis - from]));
            }
        }
        found
    }

    /// Whether more of the operand is contiguous along the terms than along its rows or columns.
    pub fn along_terms(&self) -> bool {
        self.contiguous(true) > self.contiguous(false)
    }
}
