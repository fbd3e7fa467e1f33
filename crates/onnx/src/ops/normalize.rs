//! Normalization ops: batch, instance, layer, group, root mean square, local response.

use super::Default::{AnInt, Float, Int, Ints};
use super::{Row, one, row};
use crate::call::Call;
use crate::error::Result;
use crate::kind::Kind;
use crate::reduce::Fold;
use crate::refuse;
use crate::value::Value;

pub const ROWS: &[Row] = &[
    row(
        "BatchNormalization",
        (5, 5),
        &[("epsilon", Float(1e-5)), ("momentum", Float(0.9)), ("training_mode", Int(0)), ("spatial", Int(1))],
        batch,
    )
    .fixed(&[3, 4]),
    row("InstanceNormalization", (3, 3), &[("epsilon", Float(1e-5))], |call| {
        let x = call.input(0)?;
        let axes: Vec<usize> = (2..x.rank()?).collect();
        let y = standard(x, &axes, call.float("epsilon")?)?.0;
        one(y.mul(&along(call.input(1)?, x)?)?.add(&along(call.input(2)?, x)?)?)
    }),
    row(
        "LayerNormalization",
        (2, 3),
        &[("axis", Int(-1)), ("epsilon", Float(1e-5)), ("stash_type", Int(1))],
        |call| {
            let (x, kind) = wide(call)?;
            let axes: Vec<usize> = (x.axis(call.int("axis")?)?..x.rank()?).collect();
            let (y, mean, scale) = standard(&x, &axes, call.float("epsilon")?)?;
            let y = y.cast(kind, true)?.mul(call.input(1)?)?;
            let y = call.optional(2).map_or(Ok(y.clone()), |shift| y.add(shift))?;
            Ok(vec![y, mean, scale])
        },
    ),
    row(
        "RMSNormalization",
        (2, 2),
        &[("axis", Int(-1)), ("epsilon", Float(1e-5)), ("stash_type", Int(1))],
        |call| {
            let (x, kind) = wide(call)?;
            let axes: Vec<usize> = (x.axis(call.int("axis")?)?..x.rank()?).collect();
            let mean = x.squared()?.fold(Fold::Mean, &axes, true)?;
            let y = x.mul(&inverse_root(&mean, call.float("epsilon")?)?)?;
            one(y.cast(kind, true)?.mul(call.input(1)?)?)
        },
    ),
    row(
        "GroupNormalization",
        (3, 3),
        &[("epsilon", Float(1e-5)), ("num_groups", AnInt), ("stash_type", Int(1))],
        |call| {
            let (x, kind) = wide(call)?;
            let shape = x.shape()?;
            let groups = super::movement::sizes(&[call.int("num_groups")?])?[0];
            if shape.len() < 2 || groups == 0 || !shape[1].is_multiple_of(groups) {
                refuse!("groups do not divide the channels: {shape:?} ({groups})");
            }
            let rows =
                x.reshape(&[shape[0], groups, shape.iter().product::<usize>() / (shape[0] * groups).max(1)])?;
            let y = standard(&rows, &[2], call.float("epsilon")?)?.0.reshape(&shape)?.cast(kind, true)?;
            // Per channel, or per group in older models.
            let spread = |value: &Value| -> Result<Value> {
                if value.len()? == shape[1] {
                    return along(value, &y);
                }
                let each = value.reshape(&[groups, 1])?.spread(&[groups, shape[1] / groups])?;
                along(&each.reshape(&[shape[1]])?, &y)
            };
            one(y.mul(&spread(call.input(1)?)?)?.add(&spread(call.input(2)?)?)?)
        },
    ),
    row("MeanVarianceNormalization", (1, 1), &[("axes", Ints)], |call| {
        let x = call.input(0)?;
        let axes = call.ints("axes").unwrap_or(&[0, 2, 3]).iter().map(|&axis| x.axis(axis));
        let axes = axes.collect::<Result<Vec<usize>>>()?;
        let away = x.sub(&x.fold(Fold::Mean, &axes, true)?)?;
        let deviation = away.squared()?.fold(Fold::Mean, &axes, true)?.apply(f64::sqrt, |x| x.sqrt())?;
        one(away.div(&deviation.plus(1e-9)?)?)
    }),
    row(
        "LRN",
        (1, 1),
        &[("alpha", Float(1e-4)), ("beta", Float(0.75)), ("bias", Float(1.0)), ("size", AnInt)],
        |call| {
            let x = call.input(0)?;
            let size = super::movement::sizes(&[call.int("size")?])?[0];
            let mut widths = vec![(0, 0); x.rank()?];
            if size == 0 || size > 1 << 12 || widths.len() < 2 {
                refuse!("not a neighborhood size: {size}");
            }
            widths[1] = (((size - 1) / 2) as i64, (size - 1 - (size - 1) / 2) as i64);
            let squares = x.squared()?.pad(&widths, 0.0)?;
            let mut sum = squares.narrow(1, 0, x.size(1)?)?;
            for place in 1..size {
                sum = sum.add(&squares.narrow(1, place, x.size(1)?)?)?;
            }
            let base = sum.scaled(call.float("alpha")? / size as f64)?.plus(call.float("bias")?)?;
            let beta = call.float("beta")?;
            one(x.div(&base.apply(|x| x.powf(beta), |x| x.pow(beta))?)?)
        },
    ),
];

/// The first operand, converted to f32 if it is narrower, and its original kind.
fn wide(call: &Call) -> Result<(Value, Kind)> {
    let x = call.input(0)?;
    let kind = x.kind()?;
    Ok((if kind == Kind::F16 || kind == Kind::BF16 { x.cast(Kind::F32, true)? } else { x.clone() }, kind))
}

/// One number per channel, reshaped to broadcast over `x`.
fn along(value: &Value, x: &Value) -> Result<Value> {
    let mut shape = vec![1; x.rank()?];
    match shape.get_mut(1) {
        Some(size) => *size = x.size(1)?,
        None => refuse!("there is no channel axis: {:?}", x.shape()?),
    }
    value.reshape(&shape)
}

fn inverse_root(variance: &Value, epsilon: f64) -> Result<Value> {
    variance.plus(epsilon)?.apply(|x| 1.0 / x.sqrt(), |x| x.rsqrt())
}

/// Normalized to mean zero and variance one along axes; also returns the mean and the inverse deviation.
fn standard(x: &Value, axes: &[usize], epsilon: f64) -> Result<(Value, Value, Value)> {
    let mean = x.fold(Fold::Mean, axes, true)?;
    let away = x.sub(&mean)?;
    let scale = inverse_root(&away.squared()?.fold(Fold::Mean, axes, true)?, epsilon)?;
    Ok((away.mul(&scale)?, mean, scale))
}

fn batch(call: &Call) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    let kind = x.kind()?;
    let (epsilon, training) = (call.float("epsilon")?, call.flag("training_mode")?);
    let [scale, shift, mean, variance] = [1, 2, 3, 4].map(|place| call.input(place));
    let (mean, variance) = (mean?.cast(kind, true)?, variance?.cast(kind, true)?);
    let axes: Vec<usize> = (0..x.rank()?).filter(|&axis| axis != 1).collect();
    let own = |value: &Value| -> Result<Value> { value.fold(Fold::Mean, &axes, false) };
    let (used, spread) = if training {
        let mean = own(x)?;
        let away = x.sub(&along(&mean, x)?)?;
        (mean, own(&away.squared()?)?)
    } else {
        (mean.clone(), variance.clone())
    };
    let factor = inverse_root(&spread, epsilon)?.mul(&scale?.cast(kind, true)?)?;
    let y = x.sub(&along(&used, x)?)?.mul(&along(&factor, x)?)?.add(&along(&shift?.cast(kind, true)?, x)?)?;
    if !training {
        return one(y);
    }
    let momentum = call.float("momentum")?;
    let moved = |old: &Value, new: &Value| old.scaled(momentum)?.add(&new.scaled(1.0 - momentum)?);
    Ok(vec![y, moved(&mean, &used)?, moved(&variance, &spread)?])
}
