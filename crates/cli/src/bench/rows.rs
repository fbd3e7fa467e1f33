//! Row by row: reductions and what is made with them.

use farad::{Device, Tensor};

use super::case::{CaseWork, Workload, uniform};
use super::reference::{NormDifference, pick, spread};

/// What layer norm adds to the variance.
const EPSILON: f64 = 1e-5;

/// Softmax of each row.
pub fn softmax([rows, width]: [usize; 2], device: &Device) -> farad::Result<Workload> {
    let error = |inputs: &[Tensor], result: &Tensor| {
        compare(&inputs[0], result, |row| {
            let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = row.iter().map(|x| (x - top).exp()).sum();
            row.iter_mut().for_each(|x| *x = (*x - top).exp() / sum);
        })
    };
    let inputs = vec![uniform(&[rows, width], device)?];
    Ok(Workload::expression(inputs, work(rows * width), |inputs| inputs[0].softmax(1), error))
}

/// Layer norm of each row, with scale and shift.
pub fn layer_norm([rows, width]: [usize; 2], device: &Device) -> farad::Result<Workload> {
    let error = move |inputs: &[Tensor], result: &Tensor| {
        let (scale, shift) = (inputs[1].to_vec::<f32>()?, inputs[2].to_vec::<f32>()?);
        compare(&inputs[0], result, |row| {
            let mean = row.iter().sum::<f64>() / width as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
            let factor = 1.0 / (variance + EPSILON).sqrt();
            for ((x, &scale), &shift) in row.iter_mut().zip(&scale).zip(&shift) {
                *x = (*x - mean) * factor * scale as f64 + shift as f64;
            }
        })
    };
    let inputs =
        vec![uniform(&[rows, width], device)?, uniform(&[width], device)?, uniform(&[width], device)?];
    let build = |inputs: &[Tensor]| inputs[0].layer_norm(&inputs[1], &inputs[2], EPSILON);
    Ok(Workload::expression(inputs, work(rows * width), build, error))
}

fn work(elements: usize) -> CaseWork {
    CaseWork { bytes: 8.0 * elements as f64, ..CaseWork::default() }
}

/// A few rows against what `wanted` makes of them in f64.
fn compare(x: &Tensor, y: &Tensor, wanted: impl Fn(&mut [f64])) -> farad::Result<f64> {
    let (rows, width) = (spread(x.size(0), 16), x.size(1));
    let (x, y) = (pick(x, 0, &rows)?, pick(y, 0, &rows)?);
    let mut difference = NormDifference::default();
    for (x, y) in x.chunks(width).zip(y.chunks(width)) {
        let mut row: Vec<f64> = x.iter().map(|&x| x as f64).collect();
        wanted(&mut row);
        y.iter().zip(&row).for_each(|(&got, &wanted)| difference.add(got, wanted));
    }
    Ok(difference.relative())
}
