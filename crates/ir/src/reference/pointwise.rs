//! Ops that take each element for itself: unary, binary, cast.

use super::Values;
use crate::dtype::{DType, wrap};
use crate::ops::binary::Binary;
use crate::ops::unary::Unary;

pub(super) fn unary(op: Unary, dtype: DType, x: &Values) -> Values {
    let row = op.row();
    match x {
        Values::Float(x) => Values::Float(x.iter().map(|&x| (row.value)(x)).collect()),
        // On truth values `not` is logical: all bits of 1 inverted would still be true.
        Values::Int(x) if dtype == DType::Bool => Values::Int(x.iter().map(|&x| 1 - x).collect()),
        Values::Int(x) => {
            let int = row.int.unwrap_or_else(|| panic!("{}: dtype not supported: {dtype}", row.name));
            Values::Int(x.iter().map(|&x| wrap(dtype, int(x))).collect())
        }
    }
}

/// `dtype` is the result's.
pub(super) fn binary(op: Binary, dtype: DType, a: &Values, b: &Values) -> Values {
    let row = op.row();
    match (a, b) {
        (Values::Float(a), Values::Float(b)) => {
            let pairs = a.iter().zip(b).map(|(&a, &b)| (row.value)(a, b));
            if op.compares() {
                Values::Int(pairs.map(|y| y as i64).collect())
            } else {
                Values::Float(pairs.collect())
            }
        }
        _ => {
            let int = row.int.unwrap_or_else(|| panic!("{}: dtype not supported: {dtype}", row.name));
            Values::Int(a.ints().iter().zip(b.ints()).map(|(&a, &b)| wrap(dtype, int(a, b))).collect())
        }
    }
}

pub(super) fn cast(dtype: DType, x: &Values) -> Values {
    match x {
        Values::Float(x) => Values::from_f64(dtype, x),
        Values::Int(_) if dtype.is_float() => Values::Float(x.to_f64()),
        Values::Int(x) => Values::Int(x.iter().map(|&x| wrap(dtype, x)).collect()),
    }
}
