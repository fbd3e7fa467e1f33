//! Random ops. They use Farad's random numbers: the attribute `seed` is ignored, `farad::seed` applies.

use farad_tensor::{DType, Tensor};

use super::Default::{AFloat, AnInt, Float, Ints};
use super::{Row, one, row};
use crate::call::Call;
use crate::error::Result;
use crate::kind::Kind;
use crate::refuse;
use crate::value::{Value, shape_of};

const NORMAL: &[(&str, super::Default)] =
    &[("dtype", AnInt), ("mean", Float(0.0)), ("scale", Float(1.0)), ("seed", AFloat), ("shape", Ints)];
const UNIFORM: &[(&str, super::Default)] =
    &[("dtype", AnInt), ("high", Float(1.0)), ("low", Float(0.0)), ("seed", AFloat), ("shape", Ints)];

pub const ROWS: &[Row] = &[
    row("RandomNormal", (0, 0), NORMAL, |call| normal(call, &given(call)?, Kind::F32)),
    row("RandomNormalLike", (1, 1), NORMAL, |call| {
        normal(call, &call.input(0)?.shape()?, call.input(0)?.kind()?)
    }),
    row("RandomUniform", (0, 0), UNIFORM, |call| uniform(call, &given(call)?, Kind::F32)),
    row("RandomUniformLike", (1, 1), UNIFORM, |call| {
        uniform(call, &call.input(0)?.shape()?, call.input(0)?.kind()?)
    }),
    row("Bernoulli", (1, 1), &[("dtype", AnInt), ("seed", AFloat)], |call| {
        let chances = call.input(0)?.cast(Kind::F32, true)?.tensor(call.device)?;
        let hit = Tensor::rand(chances.shape(), call.device).less(&chances).cast(DType::F32);
        as_kind(call, Value::of(hit), call.input(0)?.kind()?)
    }),
];

fn given(call: &Call) -> Result<Vec<usize>> {
    match call.ints("shape") {
        Some(shape) => super::movement::sizes(shape),
        None => refuse!("the attribute shape is missing"),
    }
}

fn normal(call: &Call, shape: &[usize], kind: Kind) -> Result<Vec<Value>> {
    let drawn = Tensor::randn(shape_of(shape)?, call.device);
    as_kind(call, Value::of(drawn * call.float("scale")? + call.float("mean")?), kind)
}

fn uniform(call: &Call, shape: &[usize], kind: Kind) -> Result<Vec<Value>> {
    let (low, high) = (call.float("low")?, call.float("high")?);
    let drawn = Tensor::rand(shape_of(shape)?, call.device);
    as_kind(call, Value::of(drawn * (high - low) + low), kind)
}

/// Converts to the element type that the node names, otherwise to this one.
fn as_kind(call: &Call, drawn: Value, kind: Kind) -> Result<Vec<Value>> {
    one(drawn.cast(call.kind("dtype")?.unwrap_or(kind), true)?)
}
