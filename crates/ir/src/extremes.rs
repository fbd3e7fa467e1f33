//! What the op tables say about NaN, infinities and the ends of the range: at which values rows are tested, and
//! how far devices may be off.
//!
//! The rules are PyTorch's: NaN propagates, and the maximum or minimum of elements is NaN if one of them is.
//! GPUs may flush subnormal numbers to zero, as operands and as results.

/// NaN.
pub const NAN: f64 = f64::NAN;
/// Infinity.
pub const INF: f64 = f64::INFINITY;
/// The largest `f32`.
pub const MAX: f64 = f32::MAX as f64;
/// The smallest `f32` that is not subnormal.
pub const TINY: f64 = f32::MIN_POSITIVE as f64;

/// The inputs at which every unary row states its value.
pub const EDGES: [f64; 5] = [NAN, INF, -INF, 0.0, -0.0];

/// The inputs at which every binary row states its value.
pub const PAIRS: [(f64, f64); 12] = [
    (NAN, 1.0),
    (1.0, NAN),
    (INF, INF),
    (INF, -INF),
    (-INF, INF),
    (1.0, INF),
    (-1.0, INF),
    (INF, 1.0),
    (0.0, 0.0),
    (1.0, 0.0),
    (0.0, INF),
    (INF, 0.0),
];

/// The rows of which every reduction states its value.
pub const ROWS_AT_EDGES: [[f64; 3]; 6] = [
    [1.0, NAN, 2.0],
    [1.0, INF, 2.0],
    [1.0, -INF, 2.0],
    [-INF, -INF, -INF],
    [INF, INF, INF],
    [1.0, INF, -INF],
];

/// How far a device may be off, in `f32`: `relative · |y| + absolute`, for inputs from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The lowest input.
    pub low: f64,
    /// The highest input.
    pub high: f64,
    /// Relative error.
    pub relative: f64,
    /// Absolute error, added to the relative one.
    pub absolute: f64,
}

/// A bound for inputs from `low` to `high`.
pub(crate) const fn within(low: f64, high: f64, relative: f64, absolute: f64) -> Bound {
    Bound { low, high, relative, absolute }
}

/// No error for any input.
pub(crate) const EXACT: Bound = within(-MAX, MAX, 0.0, 0.0);

/// The larger of two; NaN if one is.
pub fn larger(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// The smaller of two; NaN if one is.
pub fn smaller(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// The remainder with the divisor's sign. If the divisor is infinite and has the same sign, the result is `a`.
pub fn remainder(a: f64, b: f64) -> f64 {
    if !b.is_infinite() || !a.is_finite() {
        return a - b * (a / b).floor();
    }
    if a == 0.0 || (a < 0.0) == (b < 0.0) { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{self, Values};
    use crate::{Binary, DType, Graph, Op, Reduce, Shape, Unary};

    fn same(a: f64, b: f64) -> bool {
        (a.is_nan() && b.is_nan()) || (a == b && (a != 0.0 || a.is_sign_negative() == b.is_sign_negative()))
    }

    #[test]
    fn rows_say_what_their_functions_give_at_the_edges() {
        for op in Unary::ALL.iter().filter(|op| op.takes(DType::F32)) {
            for (x, y) in EDGES.into_iter().zip(op.row().edges) {
                let found = (op.row().value)(x);
                assert!(same(found, y), "{}({x}) is {found}, its row says {y}", op.row().name);
            }
        }
        for op in Binary::ALL.iter().filter(|op| op.takes(DType::F32)) {
            for ((a, b), y) in PAIRS.into_iter().zip(op.row().edges) {
                let found = (op.row().value)(a, b);
                assert!(same(found, y), "{}({a}, {b}) is {found}, its row says {y}", op.row().name);
            }
        }
    }

    #[test]
    fn reductions_say_what_the_reference_gives_at_the_edges() {
        for &op in Reduce::ALL {
            for (row, y) in ROWS_AT_EDGES.into_iter().zip(op.row().edges) {
                let mut graph = Graph::new();
                let x = graph.input(0, Shape::new(&[3]), DType::F32);
                let out = graph.push(Op::Reduce(op, vec![0]), &[x]);
                let found = reference::evaluate_outputs(&graph, &[Values::Float(row.to_vec())], &[], &[out]);
                let found = found[0].to_f64()[0];
                assert!(same(found, y), "{}({row:?}) is {found}, its row says {y}", op.row().name);
            }
        }
    }
}
