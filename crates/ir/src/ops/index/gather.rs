//! Elements at given positions of an axis: `y[.., j, ..] = x[.., index[.., j, ..], ..]`.
//!
//! The gradient of a gather of one position is a comparison, so cross-entropy needs no scatter.

use super::{check_index, check_index_dtype, check_room};
use crate::error::OpError;
use crate::op::Op;
use crate::ops::{TensorType, check_axes, check_dtype};
use crate::reference::Values;
use crate::reference::positions::{NOWHERE, positions, repeating, strides};
use crate::shape::Shape;
use crate::var::Var;

pub(crate) fn kind(
    (x, dtype): TensorType,
    (index, index_dtype): TensorType,
    axis: usize,
) -> Result<TensorType, OpError> {
    check_axes("gather", x, &[axis])?;
    check_index_dtype("gather", index_dtype)?;
    check_dtype("gather", dtype, dtype.is_compute())?;
    check_index("gather", x, index, axis)?;
    check_room("gather", x, axis, index)?;
    Ok((x.with(axis, index[axis]), dtype))
}

pub(crate) fn gradient<'g>(x: Var<'g>, index: Var<'g>, g: Var<'g>, axis: usize) -> Var<'g> {
    let from = x.shape();
    if index.shape()[axis] == 1 {
        return of_one_position(x, index, g, axis);
    }
    // The index is a permutation, so the gradient is a gather by its inverse.
    let (maker, operands) = index.made_by();
    if matches!(maker, Op::Order(_)) && axis + 1 == from.rank() && index.shape() == from {
        return g.push(Op::Gather(axis), &[inverse(index, &maker, operands[0])]);
    }
    // The index may be broadcast over other axes; the gradient has the full shape there.
    g.push(Op::ScatterAdd(axis, from[axis]), &[index])
}

/// One position per axis: the gradient is placed by a comparison with the position.
fn of_one_position<'g>(x: Var<'g>, index: Var<'g>, g: Var<'g>, axis: usize) -> Var<'g> {
    let from = x.shape();
    let mut sizes = vec![1; from.rank()];
    sizes[axis] = from[axis];
    let place = x.iota(from[axis]).cast(index.dtype()).reshape(Shape::new(&sizes)).expand(from);
    let here = place.equal(index.expand(from));
    let g = g.expand(from);
    here.select(g, g.like(0.0))
}

/// The inverse of a permutation that is an argsort is the argsort of that permutation; it needs no sorting.
fn inverse<'g>(order: Var<'g>, maker: &Op, of: Var<'g>) -> Var<'g> {
    match of.made_by().0 {
        Op::Order(_) if *maker == Op::Order(false) => of,
        _ => order.push(Op::Order(false), &[]),
    }
}

/// An index out of range is clamped, as devices do.
pub(crate) fn value(x: &Values, shape: &Shape, index: &Values, index_shape: &Shape, axis: usize) -> Values {
    let (indices, size) = (index.ints(), shape[axis] as i64);
    let result = shape.with(axis, index_shape[axis]);
    let mut along = strides(shape);
    let stride = std::mem::replace(&mut along[axis], 0) as usize;
    let read = positions(&result, 0, &repeating(index_shape));
    let place = |(base, at): (usize, usize)| match size {
        0 => NOWHERE,
        _ => base + stride * indices[at].clamp(0, size - 1) as usize,
    };
    let table: Vec<usize> = positions(&result, 0, &along).into_iter().zip(read).map(place).collect();
    x.take(&table)
}
