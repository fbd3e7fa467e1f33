//! Products whose right operand is nonzero only at every n-th position, as in gradients of strided
//! convolutions.
//!
//! Most terms of such a product are zero. Which ones depends only on a column's position modulo the stride. So
//! the product is split into one product per remainder, over the columns and terms that belong together; none
//! of these has divisors.

use farad_compile::program::{Code, Guard, Product, View};

use crate::contraction::merge_axes::{Role, sizes, views};

/// The products that a product splits into, each of which writes a part of the result. A single one if there
/// are no divisors, or if their form is not recognized.
pub fn phases(product: &Product) -> Vec<Product> {
    let Some(divided) = divided(product) else { return vec![product.clone()] };
    let mut all = Vec::new();
    for phase in 0..divided.guard.divisor as usize {
        if phase < product.n[divided.column] {
            all.extend(phases(&divided.phase(product, phase)));
        }
    }
    all
}

/// A guard with a divisor, and the axes that it depends on.
struct Divided {
    guard: Guard,
    /// Which column axis.
    column: usize,
    /// Which axis of the terms, and the guard's coefficient of it.
    term: Option<(usize, i64)>,
}

fn divided(product: &Product) -> Option<Divided> {
    let load = |code: &'_ Code| matches!(code, Code::Load(..));
    let mut loads = product.rhs.tape.iter().map(|instr| &instr.code).filter(|code| load(code));
    let (Some(Code::Load(_, view)), None) = (loads.next(), loads.next()) else { return None };
    let guard = view.guards.iter().find(|guard| guard.divisor > 1)?;
    let axes = &product.axes()[1];
    let (b, k) = (product.batch.len(), product.k.len());
    let has: Vec<usize> =
        (0..axes.len()).filter(|&axis| axes[axis] > 1 && guard.coefficients[axis] != 0).collect();
    let terms: Vec<usize> = has.iter().copied().filter(|axis| (b..b + k).contains(axis)).collect();
    let columns: Vec<usize> = has.iter().copied().filter(|&axis| axis >= b + k).collect();
    let ([column], [] | [_]) = (&columns[..], &terms[..]) else { return None };
    let term = terms.first().map(|&axis| (axis - b, guard.coefficients[axis]));
    (has.len() == columns.len() + terms.len() && product.terms() > 0).then(|| Divided {
        guard: guard.clone(),
        column: column - b - k,
        term,
    })
}

impl Divided {
    /// The part of a product whose columns have this remainder.
    fn phase(&self, product: &Product, phase: usize) -> Product {
        let mut part = product.clone();
        let divisor = self.guard.divisor;
        let place = product.batch.len() + product.k.len() + self.column;
        let sum = self.guard.offset + self.guard.coefficients[place] * phase as i64;
        restrict(&mut part, Role::Columns, self.column, phase, divisor as usize);
        match self.term {
            Some((axis, coefficient)) => {
                let exists = |term: &usize| (sum + coefficient * *term as i64) % divisor == 0;
                let period = divisor / gcd(coefficient.abs(), divisor);
                match (0..product.k[axis]).find(exists) {
                    Some(first) => restrict(&mut part, Role::Terms, axis, first, period as usize),
                    None => part.k[axis] = 0,
                }
            }
            None if sum % divisor != 0 => part.k[0] = 0,
            None => {}
        }
        let axes = part.axes()[1].clone();
        for instr in &mut part.rhs.tape {
            if let Code::Load(_, view) = &mut instr.code {
                simplify(view, &axes);
            }
        }
        part
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Every `step`-th position of an axis from `first` on.
fn restrict(product: &mut Product, role: Role, axis: usize, first: usize, step: usize) {
    views(product, role, |view, start| {
        let change = |values: &mut [i64], offset: &mut i64| {
            *offset += values[start + axis] * first as i64;
            values[start + axis] *= step as i64;
        };
        change(&mut view.strides, &mut view.offset);
        view.guards.iter_mut().for_each(|guard| change(&mut guard.coefficients, &mut guard.offset));
    });
    let size = &mut sizes(product, role)[axis];
    *size = (*size - first).div_ceil(step);
}

/// Removes divisors that always divide evenly: the position is then linear in the axes.
fn simplify(view: &mut View, axes: &[usize]) {
    let View { offset, strides, guards } = view;
    for guard in guards.iter_mut().filter(|guard| guard.divisor > 1) {
        let divisor = guard.divisor;
        let mut coefficients = guard.coefficients.iter().zip(axes);
        let whole = coefficients.all(|(c, &size)| size <= 1 || c % divisor == 0);
        if !whole || guard.offset % divisor != 0 {
            continue;
        }
        (guard.divisor, guard.offset) = (1, guard.offset / divisor);
        *offset += guard.stride * guard.offset;
        for (coefficient, stride) in guard.coefficients.iter_mut().zip(strides.iter_mut()) {
            *coefficient /= divisor;
            *stride += guard.stride * *coefficient;
        }
        guard.stride = 0;
    }
}
