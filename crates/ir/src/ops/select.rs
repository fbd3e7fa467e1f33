//! Select: one of two elements, chosen by a condition.

use crate::dtype::DType;
use crate::error::OpError;
use crate::ops::{TensorType, check_dtype, same_dtypes, same_shapes};
use crate::reference::Values;
use crate::var::Var;

pub(crate) fn kind(
    (condition, dtype): TensorType,
    a: TensorType,
    b: TensorType,
) -> Result<TensorType, OpError> {
    check_dtype("select", dtype, dtype == DType::Bool)?;
    same_dtypes("select", a.1, b.1)?;
    check_dtype("select", a.1, a.1.is_compute())?;
    same_shapes("select", condition, a.0)?;
    same_shapes("select", condition, b.0)?;
    Ok((condition, a.1))
}

/// The gradient with respect to `a` or `b`.
pub(crate) fn gradient<'g>(condition: Var<'g>, g: Var<'g>, at_a: bool) -> Var<'g> {
    let zero = g.like(0.0);
    if at_a { condition.select(g, zero) } else { condition.select(zero, g) }
}

pub(crate) fn value(condition: &Values, a: &Values, b: &Values) -> Values {
    fn choose<T: Copy>(condition: &[i64], a: &[T], b: &[T]) -> Vec<T> {
        condition.iter().zip(a.iter().zip(b)).map(|(&c, (&a, &b))| if c != 0 { a } else { b }).collect()
    }
    match (a, b) {
        (Values::Float(a), Values::Float(b)) => Values::Float(choose(condition.ints(), a, b)),
        _ => Values::Int(choose(condition.ints(), a.ints(), b.ints())),
    }
}
