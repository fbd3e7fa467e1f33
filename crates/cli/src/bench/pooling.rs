//! The largest of every window: `[64, 64, 112, 112]`, forward, and with the gradient at the image.

use farad::prelude::*;

use super::case::{CaseWork, Workload, uniform};
use super::reference::{NormDifference, pick, spread};

const IMAGES: usize = 64;
const CHANNELS: usize = 64;
const SIDE: usize = 112;
/// Planes that are compared with the host.
const PLANES: usize = 4;

fn pool(x: &Tensor, window: usize, padding: usize) -> Tensor {
    x.max_pool2d(PoolOptions::new(window).stride(2).padding(padding))
}

fn bytes(share: f64) -> CaseWork {
    CaseWork { bytes: 4.0 * (IMAGES * CHANNELS * SIDE * SIDE) as f64 * share, ..CaseWork::default() }
}

fn image(device: &Device) -> farad::Result<Tensor> {
    uniform(&[IMAGES, CHANNELS, SIDE, SIDE], device)
}

/// The forward pass, in steps of two.
pub fn largest(window: usize, padding: usize, device: &Device) -> farad::Result<Workload> {
    let error = move |inputs: &[Tensor], y: &Tensor| {
        let planes = spread(IMAGES * CHANNELS, PLANES);
        let side = y.shape()[3];
        let whole = pick(&inputs[0].reshape([IMAGES * CHANNELS, SIDE * SIDE]), 0, &planes)?;
        let pooled = pick(&y.reshape([IMAGES * CHANNELS, side * side]), 0, &planes)?;
        let mut difference = NormDifference::default();
        for (plane, pooled) in whole.chunks(SIDE * SIDE).zip(pooled.chunks(side * side)) {
            for (at, &got) in pooled.iter().enumerate() {
                let range = |n: usize| (2 * n).saturating_sub(padding)..(2 * n + window - padding).min(SIDE);
                let rows =
                    range(at / side).flat_map(|row| range(at % side).map(move |x| plane[row * SIDE + x]));
                difference.add(got, rows.fold(f32::MIN, f32::max) as f64);
            }
        }
        Ok(difference.relative())
    };
    Ok(Workload::expression(vec![image(device)?], bytes(1.25), move |x| pool(&x[0], window, padding), error))
}

/// The gradient of the sum of all maxima weighted, at the image: its sum is that of the weights.
pub fn both(window: usize, padding: usize, device: &Device) -> farad::Result<Workload> {
    let x = image(device)?;
    let weights = uniform(&pool(&x, window, padding).shape(), device)?;
    let error = |inputs: &[Tensor], gradient: &Tensor| {
        let (got, wanted) = (gradient.sum().item()? as f64, inputs[1].sum().item()? as f64);
        Ok((got / wanted - 1.0).abs())
    };
    let build = move |inputs: &[Tensor]| {
        let loss = (pool(&inputs[0], window, padding) * &inputs[1]).sum();
        loss.gradient(&inputs[0]).expect("the loss is made of the image")
    };
    Ok(Workload::expression(vec![x, weights], bytes(2.5), build, error))
}
