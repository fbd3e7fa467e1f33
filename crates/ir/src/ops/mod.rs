//! The ops by family. A family's table, or an op's file, holds everything about it: its shape rule, its
//! gradient and its value in f64.
//!
//! [`Op`](crate::Op) names them all. [`Op::infer`](crate::Op::infer), the gradient and the reference only look up here.

pub mod binary;
pub mod contraction;
pub mod index;
pub mod movement;
pub mod pack;
pub mod reduce;
pub mod select;
pub mod source;
pub mod unary;

use crate::dtype::DType;
use crate::error::{CAST_HELP, OpError};
use crate::shape::Shape;

/// The shape and the dtype of an operand or result.
pub type TensorType = (Shape, DType);

pub(crate) fn same_shapes(op: &'static str, lhs: Shape, rhs: Shape) -> Result<(), OpError> {
    if lhs == rhs {
        return Ok(());
    }
    if lhs.rank() != rhs.rank() {
        return Err(OpError::Ranks { op, lhs, rhs, a: lhs.rank(), b: rhs.rank() });
    }
    let axis = (0..lhs.rank()).find(|&a| lhs[a] != rhs[a]).unwrap_or(0);
    Err(OpError::Shapes { op, lhs, rhs, a: lhs[axis], b: rhs[axis] })
}

pub(crate) fn same_dtypes(op: &'static str, lhs: DType, rhs: DType) -> Result<(), OpError> {
    if lhs == rhs { Ok(()) } else { Err(OpError::DTypes { op, lhs, rhs }) }
}

pub(crate) fn check_axes(op: &'static str, shape: Shape, axes: &[usize]) -> Result<(), OpError> {
    for (i, &axis) in axes.iter().enumerate() {
        if axis >= shape.rank() {
            return Err(OpError::Axis { op, shape, axis: axis as isize, rank: shape.rank() });
        }
        if axes[..i].contains(&axis) {
            return Err(OpError::AxisTwice { op, axes: axes.to_vec(), axis });
        }
    }
    Ok(())
}

pub(crate) fn check_dtype(op: &'static str, dtype: DType, ok: bool) -> Result<(), OpError> {
    let help = if dtype.is_compute() { "" } else { CAST_HELP };
    if ok { Ok(()) } else { Err(OpError::DType { op, dtype, help }) }
}

/// Checks that there is one entry per axis.
pub(crate) fn check_count(
    op: &'static str,
    entries: &str,
    shape: Shape,
    count: usize,
) -> Result<(), OpError> {
    if count == shape.rank() {
        return Ok(());
    }
    Err(OpError::Sizes { op, what: format!("{entries}: {shape}"), a: count, b: shape.rank() })
}
