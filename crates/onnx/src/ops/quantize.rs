//! Quantization: conversion between floats and narrow integers.

use farad_tensor::DType;

use super::Default::{AnInt, Int};
use super::{Row, one, row};
use crate::array::Array;
use crate::call::Call;
use crate::error::Result;
use crate::kind::Kind;
use crate::refuse;
use crate::value::Value;

const LINEAR: &[(&str, super::Default)] = &[
    ("axis", Int(1)),
    ("block_size", Int(0)),
    ("output_dtype", AnInt),
    ("saturate", Int(1)),
    ("precision", Int(0)),
];

pub const ROWS: &[Row] = &[
    row("QuantizeLinear", (2, 3), LINEAR, |call| {
        let x = call.input(0)?;
        if let Some(y) = quantized(call, x)? {
            return one(y);
        }
        let scale = Value::Host(call.input(1)?.host()?);
        let zero = call.optional(2).cloned();
        let kind = match &zero {
            Some(zero) => zero.kind()?,
            None => call.kind("output_dtype")?.unwrap_or(Kind::U8),
        };
        let zero = zero.map(|zero| along(call, x, &zero.cast(Kind::F64, true)?)).transpose()?;
        let wide = Value::Host(x.host()?).cast(Kind::F64, true)?;
        // The quotient is rounded to the kind of the scale.
        let quotient = wide
            .div(&along(call, x, &scale.cast(Kind::F64, true)?)?)?
            .cast(Kind::F32, true)?
            .cast(Kind::F64, true)?;
        one(rounded(&quotient, zero.as_ref(), kind, call.flag("saturate")?)?)
    })
    .fixed(&[1, 2]),
    row("DequantizeLinear", (2, 3), LINEAR, |call| {
        let x = call.input(0)?;
        let scale = call.input(1)?;
        let kind = call.kind("output_dtype")?.unwrap_or(scale.kind()?);
        // Values quantized on the device are dequantized there.
        if let (Value::Device(..), Kind::F32) = (x, kind) {
            let wide = x.cast(Kind::F32, true)?;
            let zero =
                call.optional(2).map(|zero| along(call, x, &zero.cast(Kind::F32, true)?)).transpose()?;
            let centered = zero.map_or(Ok(wide.clone()), |zero| wide.sub(&zero))?;
            return one(centered.mul(&along(call, x, scale)?)?);
        }
        let wide = |value: &Value| Value::Host(value.host()?).cast(Kind::F64, true);
        let mut y = wide(x)?;
        if let Some(zero) = call.optional(2) {
            y = y.sub(&along(call, x, &wide(zero)?)?)?;
        }
        let y = y.mul(&along(call, x, &wide(scale)?)?)?.cast(kind, true)?;
        one(y.on(call.device)?)
    })
    .fixed(&[1, 2]),
    row("DynamicQuantizeLinear", (1, 1), &[], |call| {
        let x = call.input(0)?.floats()?;
        let low = x.iter().copied().fold(0.0f64, f64::min);
        let high = x.iter().copied().fold(0.0f64, f64::max);
        let scale = (((high - low) as f32) / 255.0) as f64;
        let scale = if scale == 0.0 { 1.0 } else { scale };
        let zero = (-low / scale).clamp(0.0, 255.0).round_ties_even();
        let data =
            x.iter().map(|x| ((x / scale).round_ties_even() + zero).clamp(0.0, 255.0) as i64).collect();
        Ok(vec![
            Array::ints(Kind::U8, call.input(0)?.shape()?, data).into(),
            Array::number(Kind::F32, scale).into(),
            Array::ints(Kind::U8, vec![], vec![zero as i64]).into(),
        ])
    }),
];

/// Floats on a device quantized to integers of 16 bits or less, stored there in 32 bits. `None` in all other
/// cases.
fn quantized(call: &Call, x: &Value) -> Result<Option<Value>> {
    let zero = call.optional(2);
    let kind = match zero {
        Some(zero) => zero.kind()?,
        None => call.kind("output_dtype")?.unwrap_or(Kind::U8),
    };
    let scale = call.input(1)?;
    if !matches!((x, scale), (Value::Device(_, Kind::F32), Value::Host(_)))
        || !kind.is_int()
        || kind.bits() > 16
        || scale.kind()? != Kind::F32
    {
        return Ok(None);
    }
    let (least, most) = kind.range();
    // As a tensor: with a constant divisor, devices may multiply by its reciprocal.
    let scale = Value::of(along(call, x, scale)?.host()?.upload_as(DType::F32, call.device)?);
    let mut y = x.div(&scale)?.apply(f64::round_ties_even, |x| x.round())?;
    if let Some(zero) = zero {
        y = y.add(&along(call, x, &zero.cast(Kind::F32, true)?)?)?;
    }
    match y.apply(|x| x, |x| x.maximum(least as f64).minimum(most as f64))? {
        Value::Device(tensor, _) => Ok(Some(Value::Device(tensor.cast(DType::I32), kind))),
        _ => Ok(None),
    }
}

/// A quotient rounded to the nearest number of a kind, shifted by its zero point.
pub fn rounded(quotient: &Value, zero: Option<&Value>, kind: Kind, saturate: bool) -> Result<Value> {
    if kind.is_float() {
        let moved = zero.map_or(Ok(quotient.clone()), |zero| quotient.add(zero))?;
        return moved.cast(kind, saturate);
    }
    let whole = quotient.apply(f64::round_ties_even, |x| x.round())?;
    let moved = zero.map_or(Ok(whole.clone()), |zero| whole.add(zero))?;
    let (least, most) = kind.range();
    moved.apply(|x| x.clamp(least as f64, most as f64), |x| x.clone())?.cast(kind, true)
}

/// A scale or zero point shaped to broadcast over `x`: one number, one per slice of an axis, or one per block.
fn along(call: &Call, x: &Value, value: &Value) -> Result<Value> {
    let (shape, own) = (x.shape()?, value.shape()?);
    if value.len()? == 1 {
        return value.reshape(&[]);
    }
    let axis = x.axis(call.int("axis")?)?;
    let block = super::movement::sizes(&[call.int("block_size")?])?[0];
    if own.len() == 1 {
        let mut spread = vec![1; shape.len()];
        spread[axis] = own[0];
        return value.reshape(&spread);
    }
    if block == 0 || own.len() != shape.len() {
        refuse!("a scale does not match: {own:?} for {shape:?}");
    }
    let places: Vec<usize> = (0..shape[axis]).map(|at| at / block).collect();
    value.take(axis, &places)
}
