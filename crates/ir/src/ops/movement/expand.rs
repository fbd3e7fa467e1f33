//! Expand: repeats axes of size 1. Broadcasting is always written as this op, so its gradient is the only rule
//! that sums a gradient back.

use crate::error::OpError;
use crate::reference::positions::{positions, repeating};
use crate::shape::Shape;
use crate::var::Var;

pub(crate) fn shape(from: Shape, to: Shape) -> Result<Shape, OpError> {
    if from.rank() != to.rank() {
        return Err(OpError::Ranks { op: "expand", lhs: from, rhs: to, a: from.rank(), b: to.rank() });
    }
    match (0..from.rank()).find(|&axis| from[axis] != to[axis] && from[axis] != 1) {
        Some(axis) => Err(OpError::Expand { from, to, axis, a: from[axis], b: to[axis] }),
        None => Ok(to),
    }
}

pub(crate) fn gradient<'g>(x: Var<'g>, g: Var<'g>, to: &Shape) -> Var<'g> {
    let from = x.shape();
    let axes: Vec<usize> = (0..from.rank()).filter(|&a| from[a] != to[a]).collect();
    g.sum(&axes).reshape(from)
}

pub(crate) fn positions_in(x: &Shape, to: &Shape) -> Vec<usize> {
    positions(to, 0, &repeating(x))
}
