//! Element by element.

use std::f64::consts::FRAC_1_SQRT_2;

use farad::{Device, Tensor};

use super::case::{CaseWork, Workload, signed};
use super::reference::{NormDifference, erf, pick, spread};

/// Neighbors that are checked together.
const SPAN: usize = 256;

/// `x · 1.5`: what memory gives at best.
pub fn scale(size: usize, device: &Device) -> farad::Result<Workload> {
    workload(size, device, |x| x * 1.5, |x| x * 1.5)
}

/// `gelu(x · 1.1 + 0.1) · sigmoid(x)`: several operations, one pass over memory if fused.
pub fn chain(size: usize, device: &Device) -> farad::Result<Workload> {
    let wanted = |x: f64| {
        let y = x * 1.1 + 0.1;
        y * 0.5 * (1.0 + erf(y * FRAC_1_SQRT_2)) / (1.0 + (-x).exp())
    };
    workload(size, device, |x| (x * 1.1 + 0.1).gelu() * x.sigmoid(), wanted)
}

/// `max(x, 0)`.
pub fn relu(size: usize, device: &Device) -> farad::Result<Workload> {
    workload(size, device, Tensor::relu, |x| x.max(0.0))
}

/// `x` between two bounds.
pub fn clamp(size: usize, device: &Device) -> farad::Result<Workload> {
    workload(size, device, |x| x.clamp(-0.5, 0.5), |x| x.clamp(-0.5, 0.5))
}

/// The larger of an element and its half.
pub fn maximum(size: usize, device: &Device) -> farad::Result<Workload> {
    workload(size, device, |x| x.maximum(&(x * 0.5)), |x| x.max(x * 0.5))
}

fn workload(
    size: usize,
    device: &Device,
    build: fn(&Tensor) -> Tensor,
    wanted: fn(f64) -> f64,
) -> farad::Result<Workload> {
    let error = move |inputs: &[Tensor], result: &Tensor| {
        let (spans, shape) = (spread(size / SPAN, 16), [size / SPAN, SPAN]);
        let (x, y) = (pick(&inputs[0].reshape(shape), 0, &spans)?, pick(&result.reshape(shape), 0, &spans)?);
        let mut difference = NormDifference::default();
        x.iter().zip(&y).for_each(|(&x, &y)| difference.add(y, wanted(x as f64)));
        Ok(difference.relative())
    };
    let work = CaseWork { bytes: 8.0 * size as f64, ..CaseWork::default() };
    Ok(Workload::expression(vec![signed(&[size], device)?], work, move |inputs| build(&inputs[0]), error))
}
