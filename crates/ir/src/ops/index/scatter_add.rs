//! The adjoint of gather: adds elements into zeros at given positions of an axis.

use super::{check_index, check_index_dtype, check_room};
use crate::dtype::{DType, wrap};
use crate::error::OpError;
use crate::op::Op;
use crate::ops::{TensorType, check_axes, check_dtype};
use crate::reference::Values;
use crate::reference::positions::{NOWHERE, positions, repeating, strides};
use crate::shape::Shape;
use crate::var::Var;

pub(crate) fn kind(
    (source, dtype): TensorType,
    (index, index_dtype): TensorType,
    axis: usize,
    size: usize,
) -> Result<TensorType, OpError> {
    let op = "scatter_add";
    check_axes(op, source, &[axis])?;
    check_index_dtype(op, index_dtype)?;
    check_dtype(op, dtype, dtype.is_compute() && dtype != DType::Bool)?;
    check_index(op, source, index, axis)?;
    let (a, b) = (source[axis], index[axis]);
    if a != b {
        return Err(OpError::Index { op, shape: source, index, axis, a, b });
    }
    let result = source.with(axis, size);
    check_room(op, result, axis, index)?;
    Ok((result, dtype))
}

pub(crate) fn gradient<'g>(index: Var<'g>, g: Var<'g>, axis: usize) -> Var<'g> {
    g.push(Op::Gather(axis), &[index])
}

/// An index out of range is skipped, as devices do.
pub(crate) fn value(
    dtype: DType,
    source: &Values,
    shape: &Shape,
    index: &Values,
    index_shape: &Shape,
    axis: usize,
    size: usize,
) -> Values {
    fn add_into<T: Copy>(y: &mut [T], source: &[T], table: &[usize], add: impl Fn(T, T) -> T) {
        for (&x, &at) in source.iter().zip(table).filter(|(_, at)| **at != NOWHERE) {
            y[at] = add(y[at], x);
        }
    }
    let indices = index.ints();
    let result = shape.with(axis, size);
    let mut along = strides(&result);
    let stride = std::mem::replace(&mut along[axis], 0) as usize;
    let read = positions(shape, 0, &repeating(index_shape));
    let inside = |i: i64| (0..size as i64).contains(&i);
    let table: Vec<usize> = positions(shape, 0, &along)
        .into_iter()
        .zip(read)
        .map(|(base, at)| if inside(indices[at]) { base + stride * indices[at] as usize } else { NOWHERE })
        .collect();
    let mut y = Values::zeros(dtype, result.numel());
    match &mut y {
        Values::Float(y) => add_into(y, source.floats(), &table, |a, b| a + b),
        Values::Int(y) => add_into(y, source.ints(), &table, |a, b| wrap(dtype, a.wrapping_add(b))),
    }
    y
}
