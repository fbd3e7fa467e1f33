//! What can be wrong with an op. All messages have one form:
//! `op: what is wrong: the operands (the two numbers that disagree)`.

use crate::dtype::DType;
use crate::shape::Shape;

/// Why an op cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum OpError {
    #[error("{op}: shapes do not broadcast: lhs {lhs}, rhs {rhs} (axis {axis}: {a} vs {b})")]
    Broadcast { op: &'static str, lhs: Shape, rhs: Shape, axis: usize, a: usize, b: usize },
    #[error("{op}: shapes differ: {lhs} and {rhs} ({a} vs {b})")]
    Shapes { op: &'static str, lhs: Shape, rhs: Shape, a: usize, b: usize },
    #[error("matmul: inner sizes differ: lhs {lhs}, rhs {rhs} ({a} vs {b})")]
    Inner { lhs: Shape, rhs: Shape, a: usize, b: usize },
    #[error("{op}: rank too low: {shape} ({rank} vs at least {least})")]
    RankTooLow { op: &'static str, shape: Shape, rank: usize, least: usize },
    #[error("{op}: rank too high: {sizes:?} ({rank} vs at most 8)")]
    RankTooHigh { op: &'static str, sizes: Vec<usize>, rank: usize },
    #[error("{op}: ranks differ: {lhs} and {rhs} ({a} vs {b})")]
    Ranks { op: &'static str, lhs: Shape, rhs: Shape, a: usize, b: usize },
    #[error("{op}: axis out of range: {shape} (axis {axis} vs rank {rank})")]
    Axis { op: &'static str, shape: Shape, axis: isize, rank: usize },
    #[error("{op}: axis given twice: {axes:?} (axis {axis})")]
    AxisTwice { op: &'static str, axes: Vec<usize>, axis: usize },
    #[error("reshape: element counts differ: {from} to {to} ({a} vs {b})")]
    Reshape { from: Shape, to: Shape, a: usize, b: usize },
    #[error("expand: only axes of size 1 grow: {from} to {to} (axis {axis}: {a} vs {b})")]
    Expand { from: Shape, to: Shape, axis: usize, a: usize, b: usize },
    #[error("slice: out of range: {shape} axis {axis} (end {end} vs size {size})")]
    Slice { shape: Shape, axis: usize, end: usize, size: usize },
    #[error("slice: step must be at least 1: axis {axis} (step {step} vs 1)")]
    Step { axis: usize, step: usize },
    #[error("{op}: dtype not supported: {dtype}{help}")]
    DType { op: &'static str, dtype: DType, help: &'static str },
    #[error("{op}: dtypes differ: {lhs} and {rhs}")]
    DTypes { op: &'static str, lhs: DType, rhs: DType },
    #[error(
        "{op}: no integer dtype holds both: lhs {lhs}, rhs {rhs}\nhelp: cast one of them first, e.g. `.cast(DType::I64)`"
    )]
    NoMeeting { op: &'static str, lhs: DType, rhs: DType },
    #[error("{op}: nothing to reduce: {shape} has no elements along {axes:?} (0 vs at least 1)")]
    Empty { op: &'static str, shape: Shape, axes: Vec<usize> },
    #[error("{op}: index tensor does not fit: {shape} indexed by {index} along axis {axis} ({a} vs {b})")]
    Index { op: &'static str, shape: Shape, index: Shape, axis: usize, a: usize, b: usize },
    #[error("{op}: too many elements: {shape} ({numel:.3e} vs at most {:.3e})", crate::shape::MAX_NUMEL as f64)]
    TooLarge { op: String, shape: Shape, numel: f64 },
    #[error("{op}: {what} ({a} vs {b})")]
    Sizes { op: &'static str, what: String, a: usize, b: usize },
    #[error(
        "scan: loops do not nest: the body has a scan of its own ({inner} vs 0)\nhelp: unroll the inner loop, or make one scan of both"
    )]
    Nested { inner: usize },
    #[error("{op}: takes {least} operands ({got} vs {least})")]
    Arity { op: &'static str, got: usize, least: usize },
    #[error(
        "gradient: the loss must be one number: {shape} ({numel} elements vs 1)\nhelp: reduce it first, with `.mean()` or `.sum()`"
    )]
    NotScalar { shape: Shape, numel: usize },
    #[error("gradient: {op} has no gradient{help}")]
    NoGradient { op: String, help: String },
    #[error(
        "gradient: the result does not depend on input {index}, {shape}, through differentiable ops\nhelp: `stop_gradient`, integers and comparisons end a path"
    )]
    NoPath { index: usize, shape: Shape },
}

pub(crate) const CAST_HELP: &str = "\nhelp: cast it first, e.g. `.cast(DType::F32)`";
