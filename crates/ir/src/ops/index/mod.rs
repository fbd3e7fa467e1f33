//! Ops that read or write at positions given by data. Each file has the shape rule, the gradient and the
//! reference value.

pub mod gather;
pub mod order;
pub mod scatter_add;

use crate::dtype::DType;
use crate::error::OpError;
use crate::ops::check_dtype;
use crate::shape::Shape;

/// Checks the index of gather and scatter-add: on every axis other than `axis`, its size is 1 or `shape`'s.
fn check_index(op: &'static str, shape: Shape, index: Shape, axis: usize) -> Result<(), OpError> {
    if shape.rank() != index.rank() {
        return Err(OpError::Ranks { op, lhs: shape, rhs: index, a: shape.rank(), b: index.rank() });
    }
    for other in (0..shape.rank()).filter(|&other| other != axis) {
        if index[other] != shape[other] && index[other] != 1 {
            return Err(OpError::Index { op, shape, index, axis: other, a: shape[other], b: index[other] });
        }
    }
    Ok(())
}

fn check_index_dtype(op: &'static str, dtype: DType) -> Result<(), OpError> {
    check_dtype(op, dtype, matches!(dtype, DType::I32 | DType::U32))
}

/// Checks that an axis without elements is not indexed.
fn check_room(op: &'static str, shape: Shape, axis: usize, index: Shape) -> Result<(), OpError> {
    if shape[axis] > 0 || index.numel() == 0 {
        return Ok(());
    }
    let what = format!("axis {axis} of {shape} has no elements to index: by {index}");
    Err(OpError::Sizes { op, what, a: 0, b: 1 })
}
