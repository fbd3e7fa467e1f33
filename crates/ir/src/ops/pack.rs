//! Pack: tensors copied into one array, one after another, with zeros in the gaps.

use crate::dtype::DType;
use crate::error::OpError;
use crate::ops::TensorType;
use crate::ops::movement::slice::Span;
use crate::reference::Values;
use crate::shape::Shape;
use crate::var::Var;

pub(crate) fn kind(operands: &[TensorType], offsets: &[usize], len: usize) -> Result<TensorType, OpError> {
    if offsets.len() != operands.len() {
        return Err(OpError::Arity { op: "pack", got: operands.len(), least: offsets.len() });
    }
    let dtype = operands.first().map_or(DType::F32, |o| o.1);
    Ok((Shape::new(&[len]), dtype))
}

/// The gradient of the part that starts at `offset`.
pub(crate) fn gradient<'g>(part: Var<'g>, g: Var<'g>, offset: usize) -> Var<'g> {
    let shape = part.shape();
    g.slice(vec![Span { start: offset, len: shape.numel(), step: 1 }]).reshape(shape)
}

pub(crate) fn value(dtype: DType, parts: &[&Values], offsets: &[usize], len: usize) -> Values {
    let mut packed = Values::zeros(dtype, len);
    offsets.iter().zip(parts).for_each(|(&offset, part)| packed.write(offset, part));
    packed
}
