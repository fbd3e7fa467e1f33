//! Recipes on devices, compared with the reference.

use farad::{Device, Result, Tensor};
use farad_ir::DType;
use farad_ir::reference::Values;

use super::float::stored;
use super::{Distance, ErrorRule, FuzzRecipe, ValueSource};
use crate::compare::{Tolerance, compare, read};
use crate::driver::guarded;

/// Errors are bounds for single elements; sums of them may slightly exceed what the rules say.
const SLACK: f64 = 4.0;

/// Builds and reads a recipe on every device; returns what is wrong.
pub fn check(recipe: &FuzzRecipe, host: &Device, devices: &[Device]) -> std::result::Result<(), String> {
    let meaning = guarded(|| farad::check::reference(&recipe.build(host)?))
        .map_err(|text| describe(recipe, host, &text))?;
    let distances = distances(recipe, &meaning);
    for device in devices {
        let found = guarded(|| outputs(recipe, device)).map_err(|text| describe(recipe, device, &text))?;
        for (&n, values) in recipe.outputs.iter().zip(&found) {
            let tolerance = Tolerance { relative: 0.0, absolute: SLACK * distances[n] };
            compare(values, &meaning[n], tolerance)
                .map_err(|text| describe(recipe, device, &format!("%{n}: {text}")))?;
        }
    }
    Ok(())
}

pub(super) fn describe(recipe: &FuzzRecipe, device: &Device, text: &str) -> String {
    format!("on {device}: {text}\n{recipe}")
}

fn outputs(recipe: &FuzzRecipe, device: &Device) -> Result<Vec<Values>> {
    let all = recipe.build(device)?;
    let wanted: Vec<&Tensor> = recipe.outputs.iter().map(|&n| &all[n]).collect();
    Tensor::compute_all(&wanted)?;
    wanted.into_iter().map(read).collect()
}

/// Rounding to `f16`, relative to the size.
const HALF_ROUNDING: f64 = 5e-4;

/// How far every value may be from the reference.
fn distances(recipe: &FuzzRecipe, meaning: &[Values]) -> Vec<f64> {
    let mut errors: Vec<Distance> = Vec::with_capacity(meaning.len());
    for (step, values) in recipe.steps.iter().zip(meaning) {
        let size = values.to_f64().into_iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let operands: Vec<Distance> = step.operands.iter().map(|&n| errors[n]).collect();
        let distance = match &step.source {
            ValueSource::Op(op) if step.dtype.is_float() => {
                let rounds = if matches!(op.error, ErrorRule::Moves) { 0.0 } else { stored(step.dtype) };
                // f16 values that an op computes before its function are rounded as well.
                let inside = operands.iter().map(|e| 1.0 + e.size).fold(0.0, f64::max);
                let before = match op.error {
                    ErrorRule::Slope(slope, _) if rounds > 0.0 => slope * HALF_ROUNDING * inside,
                    _ => 0.0,
                };
                op.error.distance(&operands, size) + rounds * size + before
            }
            _ => 0.0,
        };
        errors.push(Distance { distance, size });
    }
    errors.into_iter().map(|e| e.distance).collect()
}

/// Gradients of a recipe on every device. Along a path they may cancel to zero (the derivative of a tanh near
/// 1), so they are compared norm-wise, including the largest of all gradients.
pub fn check_gradients(
    recipe: &FuzzRecipe,
    host: &Device,
    devices: &[Device],
) -> std::result::Result<(), String> {
    let meaning = guarded(|| farad::check::reference(&gradients(recipe, host)?))
        .map_err(|text| describe(recipe, host, &text))?;
    let largest = meaning.iter().flat_map(Values::to_f64).fold(0.0, |m: f64, x| m.max(x.abs()));
    let tolerance = Tolerance { relative: 1e-3, absolute: 1e-5 + 2e-4 * largest };
    for device in devices {
        let found = guarded(|| {
            let all = gradients(recipe, device)?;
            Tensor::compute_all(&all.iter().collect::<Vec<_>>())?;
            all.iter().map(read).collect::<Result<Vec<Values>>>()
        });
        let found = found.map_err(|text| describe(recipe, device, &text))?;
        for (n, (values, expected)) in found.iter().zip(&meaning).enumerate() {
            compare(values, expected, tolerance)
                .map_err(|text| describe(recipe, device, &format!("gradient {n}: {text}")))?;
        }
    }
    Ok(())
}

/// Gradients of the float leaves that the outputs depend on.
fn gradients(recipe: &FuzzRecipe, device: &Device) -> Result<Vec<Tensor>> {
    let all = recipe.build(device)?;
    let mut used = vec![false; recipe.steps.len()];
    let mut loss = Tensor::zeros([], device);
    for &n in recipe.outputs.iter().filter(|&&n| recipe.steps[n].dtype.is_float()) {
        used[n] = true;
        loss = loss + all[n].cast(DType::F32).square().sum();
    }
    for n in (0..used.len()).rev() {
        if used[n] {
            recipe.steps[n].operands.iter().for_each(|&o| used[o] = true);
        }
    }
    let leaf = |&n: &usize| {
        used[n] && matches!(recipe.steps[n].source, ValueSource::Leaf(_)) && recipe.steps[n].dtype.is_float()
    };
    let leaves: Vec<&Tensor> = (0..used.len()).filter(leaf).map(|n| &all[n]).collect();
    loss.gradients_at(&leaves)
}
