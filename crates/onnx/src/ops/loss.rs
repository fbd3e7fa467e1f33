//! Classification losses.

use super::Default::{AnInt, Text};
use super::{Row, row};
use crate::array::Array;
use crate::call::Call;
use crate::error::Result;
use crate::movement::NONE;
use crate::reduce::Fold;
use crate::refuse;
use crate::value::Value;

const LOSS: &[(&str, super::Default)] = &[("ignore_index", AnInt), ("reduction", Text("mean"))];

pub const ROWS: &[Row] = &[
    row("NegativeLogLikelihoodLoss", (2, 3), LOSS, |call| Ok(vec![likelihood(call, call.input(0)?)?])),
    row("SoftmaxCrossEntropyLoss", (2, 3), LOSS, |call| {
        let logits = super::reduction::log_softmax(call.input(0)?, 1)?;
        Ok(vec![likelihood(call, &logits)?, logits])
    }),
];

/// The negative log-likelihood of the right class, weighted and reduced.
fn likelihood(call: &Call, logits: &Value) -> Result<Value> {
    let shape = logits.shape()?;
    let labels = call.input(1)?.ints()?;
    if shape.len() < 2 || call.input(1)?.shape()? != [&shape[..1], &shape[2..]].concat() {
        refuse!("labels do not match: {:?} for {shape:?}", call.input(1)?.shape()?);
    }
    let (classes, inner) = (shape[1], shape[2..].iter().product::<usize>());
    let ignored = if call.has("ignore_index") { Some(call.int("ignore_index")?) } else { None };
    let weights = call.optional(2).map(|weights| weights.floats()).transpose()?;
    let mut places = Vec::with_capacity(labels.len());
    let mut factors = Vec::with_capacity(labels.len());
    for (at, &label) in labels.iter().enumerate() {
        if Some(label) == ignored {
            places.push(NONE);
            factors.push(0.0);
            continue;
        }
        if !(0..classes as i64).contains(&label) {
            refuse!("a label out of range ({label} of {classes})");
        }
        places.push((at / inner.max(1) * classes + label as usize) * inner + at % inner.max(1));
        factors.push(match &weights {
            Some(weights) => match weights.get(label as usize) {
                Some(weight) => *weight,
                None => refuse!("a class has no weight ({label} of {})", weights.len()),
            },
            None => 1.0,
        });
    }
    let few = [&shape[..1], &shape[2..]].concat();
    let sum: f64 = factors.iter().sum();
    let factors =
        Value::from(Array::floats(logits.kind()?, few.clone(), factors.iter().map(|x| -x).collect()));
    let losses = logits.pick(&few, &places)?.mul(&factors)?;
    let axes: Vec<usize> = (0..few.len()).collect();
    match call.text("reduction")? {
        "none" => Ok(losses),
        "sum" => losses.fold(Fold::Sum, &axes, false),
        "mean" => losses.fold(Fold::Sum, &axes, false)?.scaled(1.0 / sum),
        other => refuse!("no such reduction: {other}"),
    }
}
