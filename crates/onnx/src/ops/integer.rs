//! Products and convolutions of 8-bit integers.
//!
//! Devices multiply them as floats. Sums are exact: where they could exceed 24 bits, one operand is split into
//! two halves of four bits.

use farad_tensor::{DType, Tensor};

use super::window::CONV;
use super::{Row, one, row};
use crate::array::Array;
use crate::call::Call;
use crate::error::Result;
use crate::kind::Kind;
use crate::refuse;
use crate::value::Value;

/// The most terms for which the sum of products of 8-bit integers fits in a float's 24 bits.
const EXACT_TERMS: usize = 256;

pub const ROWS: &[Row] = &[
    row("MatMulInteger", (2, 4), &[], |call| {
        let (a, b) = (
            centered(call, 0, call.optional(2), QuantizedSide::Rows)?,
            centered(call, 1, call.optional(3), QuantizedSide::Columns)?,
        );
        one(product(&a, &b)?.cast(Kind::I32, true)?)
    }),
    row("QLinearMatMul", (8, 8), &[], |call| {
        let (a, b) = (
            centered(call, 0, call.optional(2), QuantizedSide::Rows)?,
            centered(call, 3, call.optional(5), QuantizedSide::Columns)?,
        );
        let sums = product(&a, &b)?.cast(Kind::F64, true)?;
        let factor = wide(call, 1)?.mul(&wide(call, 4)?)?.div(&wide(call, 6)?)?;
        one(super::quantize::rounded(
            &sums.mul(&factor)?,
            Some(&wide(call, 7)?),
            call.input(7)?.kind()?,
            true,
        )?)
    }),
    row("ConvInteger", (2, 4), CONV, |call| {
        let (x, w) = (
            centered(call, 0, call.optional(2), QuantizedSide::Rows)?,
            centered(call, 1, call.optional(3), QuantizedSide::Channels)?,
        );
        one(convolution(call, &x, &w)?.cast(Kind::I32, true)?)
    }),
    row("QLinearConv", (8, 9), CONV, |call| {
        let (x, w) = (
            centered(call, 0, call.optional(2), QuantizedSide::Rows)?,
            centered(call, 3, call.optional(5), QuantizedSide::Channels)?,
        );
        let mut sums = convolution(call, &x, &w)?;
        // One number per output channel, or one for all.
        let along = |value: Value| -> Result<Value> {
            let mut shape = vec![1; x.rank()?.max(2)];
            shape[1] = value.len()?;
            value.reshape(&shape)
        };
        if let Some(bias) = call.optional(8) {
            sums = sums.add(&along(bias.cast(Kind::I64, true)?)?)?;
        }
        let factor = along(wide(call, 1)?.mul(&wide(call, 4)?)?.div(&wide(call, 6)?)?)?;
        let y = sums.cast(Kind::F64, true)?.mul(&factor)?;
        one(super::quantize::rounded(&y, Some(&wide(call, 7)?), call.input(7)?.kind()?, true)?)
    }),
];

fn wide(call: &Call, place: usize) -> Result<Value> {
    Value::Host(call.input(place)?.host()?).cast(Kind::F64, true)
}

/// The axis along which an operand has several zero points.
#[derive(Clone, Copy, PartialEq)]
enum QuantizedSide {
    Rows,
    Columns,
    Channels,
}

/// Integers minus their zero point, in f32 on the device.
fn centered(call: &Call, place: usize, zero: Option<&Value>, side: QuantizedSide) -> Result<Value> {
    let x = call.input(place)?;
    if !x.kind()?.is_int() || x.kind()?.bits() > 8 {
        refuse!("8-bit integers are needed ({})", x.kind()?);
    }
    let wide = x.cast(Kind::F32, true)?.on(call.device)?;
    let Some(zero) = zero else { return Ok(wide) };
    let mut zero = zero.cast(Kind::F32, true)?;
    let mut shape = vec![1; wide.rank()?];
    if zero.len()? == 1 {
        zero = zero.reshape(&[])?;
    } else if side == QuantizedSide::Rows && zero.rank()? == 1 {
        zero = zero.unsqueeze(1)?;
    } else if side == QuantizedSide::Channels {
        shape[0] = zero.len()?;
        zero = zero.reshape(&shape)?;
    }
    wide.sub(&zero)
}

/// The exact result of an op that is linear in its second operand, as i64 on the host.
fn exact(terms: usize, w: &Value, op: impl Fn(&Value) -> Result<Value>) -> Result<Value> {
    let whole = |value: Value| value.cast(Kind::I64, true);
    if terms <= EXACT_TERMS {
        return whole(op(w)?);
    }
    let high = w.apply(|w| (w / 16.0).floor(), |w: &Tensor| (w * 0.0625).floor())?;
    let low = w.sub(&high.scaled(16.0)?)?;
    let sixteen = Value::from(Array::whole(16));
    whole(op(&high)?)?.mul(&sixteen)?.add(&whole(op(&low)?)?)
}

fn product(a: &Value, b: &Value) -> Result<Value> {
    let terms = a.shape()?.last().copied().unwrap_or(1);
    exact(terms, b, |b| a.matmul(b))
}

fn convolution(call: &Call, x: &Value, w: &Value) -> Result<Value> {
    let terms = w.shape()?.iter().skip(1).product();
    let tensor = |value: &Value| value.tensor(call.device).map(|tensor| tensor.cast(DType::F32));
    exact(terms, w, |w| super::window::convolved(call, tensor(x)?, tensor(w)?))
}
