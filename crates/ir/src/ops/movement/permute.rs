//! Permute: output axis `i` is input axis `order[i]`.

use crate::error::OpError;
use crate::ops::check_axes;
use crate::reference::positions::{positions, strides};
use crate::shape::Shape;
use crate::var::Var;

pub(crate) fn shape(x: Shape, order: &[usize]) -> Result<Shape, OpError> {
    check_axes("permute", x, order)?;
    if order.len() != x.rank() {
        let what = format!("every axis is named once: {x} by {order:?}");
        return Err(OpError::Sizes { op: "permute", what, a: order.len(), b: x.rank() });
    }
    Ok(Shape::new(&order.iter().map(|&axis| x[axis]).collect::<Vec<_>>()))
}

pub(crate) fn gradient<'g>(g: Var<'g>, order: &[usize]) -> Var<'g> {
    g.permute(&inverse(order))
}

/// The inverse permutation.
pub(crate) fn inverse(order: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &axis)| inverse[axis] = i);
    inverse
}

pub(crate) fn positions_in(x: &Shape, order: &[usize]) -> Vec<usize> {
    let of = strides(x);
    let (sizes, strides): (Vec<usize>, Vec<isize>) = order.iter().map(|&axis| (x[axis], of[axis])).unzip();
    positions(&sizes, 0, &strides)
}
