//! Flip: reverses axes.

use crate::error::OpError;
use crate::ops::check_axes;
use crate::reference::positions::{positions, strides};
use crate::shape::Shape;
use crate::var::Var;

pub(crate) fn shape(x: Shape, axes: &[usize]) -> Result<Shape, OpError> {
    check_axes("flip", x, axes)?;
    Ok(x)
}

pub(crate) fn gradient<'g>(g: Var<'g>, axes: &[usize]) -> Var<'g> {
    g.flip(axes)
}

pub(crate) fn positions_in(x: &Shape, axes: &[usize]) -> Vec<usize> {
    let mut strides = strides(x);
    let mut offset = 0;
    if x.numel() > 0 {
        for &axis in axes {
            offset += (x[axis] - 1) * strides[axis] as usize;
            strides[axis] = -strides[axis];
        }
    }
    positions(x, offset, &strides)
}
