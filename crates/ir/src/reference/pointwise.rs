//! Elementwise ops: unary, binary, cast.

use super::Values;
use crate::dtype::{DType, Scalar, wrap};
use crate::ops::binary::Binary;
use crate::ops::unary::Unary;

pub(super) fn unary(op: Unary, dtype: DType, x: &Values) -> Values {
    let row = op.row();
    match x {
        Values::Float(x) => Values::Float(x.iter().map(|&x| (row.value)(x)).collect()),
        Values::Int(x) => {
            let whole = |&x| op.whole(dtype, x).unwrap_or_else(|| refuse(row.name, dtype));
            Values::Int(x.iter().map(whole).collect())
        }
    }
}

fn refuse(name: &str, dtype: DType) -> ! {
    panic!("{name}: dtype not supported: {dtype}")
}

/// `dtype` is that of the operands.
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
            let whole = |(&a, &b)| op.whole(dtype, a, b).unwrap_or_else(|| refuse(row.name, dtype));
            Values::Int(a.ints().iter().zip(b.ints()).map(whole).collect())
        }
    }
}

/// `from` is the dtype of the elements.
pub(super) fn cast(dtype: DType, from: DType, x: &Values) -> Values {
    match x {
        Values::Float(x) => Values::from_f64(dtype, x),
        Values::Int(x) if dtype.is_float() => {
            Values::Float(x.iter().map(|&x| Scalar::int(from, x).as_f64()).collect())
        }
        Values::Int(x) => Values::Int(x.iter().map(|&x| wrap(dtype, x)).collect()),
    }
}
