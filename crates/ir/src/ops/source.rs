//! Ops without differentiable operands: positions and random bits.

use crate::dtype::DType;
use crate::error::OpError;
use crate::ops::TensorType;
use crate::philox;
use crate::reference::Values;
use crate::shape::Shape;

/// The most positions that `i32` can represent.
const MOST_POSITIONS: usize = 1 << 31;
/// The most elements that a random tensor can distinguish.
const MOST_RANDOM: usize = 1 << 32;

pub(crate) fn iota(count: usize) -> Result<TensorType, OpError> {
    if count > MOST_POSITIONS {
        let what = "positions are i32".into();
        return Err(OpError::Sizes { op: "arange", what, a: count, b: MOST_POSITIONS });
    }
    Ok((Shape::new(&[count]), DType::I32))
}

pub(crate) fn random(shape: Shape) -> Result<TensorType, OpError> {
    if let Some(numel) = shape.count().filter(|&numel| numel > MOST_RANDOM) {
        let what = format!("too many elements for one draw: {shape}");
        return Err(OpError::Sizes { op: "random", what, a: numel, b: MOST_RANDOM });
    }
    Ok((shape, DType::U32))
}

/// Bits of a Philox stream; the operands are those of [`Op::Random`](crate::Op::Random).
pub(crate) fn random_value(shape: &Shape, operands: &[&Values]) -> Values {
    let word = |n: usize| operands[n].ints()[0] as u32;
    let (seed, counter) = ([word(0), word(1)], [word(2), word(3)]);
    let stream = if operands.len() > 4 { word(4) } else { 0 };
    let bits = |e: usize| philox::bits_within(seed, counter, stream, e as u32) as i64;
    Values::Int((0..shape.numel()).map(bits).collect())
}
