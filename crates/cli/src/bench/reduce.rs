//! Sums and largest elements over one axis of a matrix.

use farad::{Device, Tensor};

use super::case::{CaseWork, Workload, uniform};
use super::reference::{NormDifference, pick, select, spread};

/// Sums over an axis.
pub fn sum(axis: isize, size: [usize; 2], device: &Device) -> farad::Result<Workload> {
    reduced(axis, size, device, |x, axis| x.sum_axes([axis]), |line| line.iter().sum())
}

/// The largest along an axis.
pub fn max(axis: isize, size: [usize; 2], device: &Device) -> farad::Result<Workload> {
    let wanted = |line: &[f64]| line.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    reduced(axis, size, device, |x, axis| x.max_axes([axis]), wanted)
}

fn reduced(
    axis: isize,
    size: [usize; 2],
    device: &Device,
    build: fn(&Tensor, isize) -> Tensor,
    wanted: fn(&[f64]) -> f64,
) -> farad::Result<Workload> {
    let error = move |inputs: &[Tensor], result: &Tensor| {
        let kept = 1 - axis;
        let picked = spread(size[kept as usize], 16);
        // Lines along the summed axis, one after the other.
        let lines = select(&inputs[0], kept, &picked, inputs[0].device());
        let lines = if axis == 0 { lines.transpose(0, 1) } else { lines }.to_vec::<f32>()?;
        let lines: Vec<f64> = lines.into_iter().map(f64::from).collect();
        let mut difference = NormDifference::default();
        for (line, got) in lines.chunks(size[axis as usize]).zip(pick(result, 0, &picked)?) {
            difference.add(got, wanted(line));
        }
        Ok(difference.relative())
    };
    let work = CaseWork { bytes: 4.0 * (size[0] * size[1]) as f64, ..CaseWork::default() };
    let inputs = vec![uniform(&size, device)?];
    Ok(Workload::expression(inputs, work, move |inputs| build(&inputs[0], axis), error))
}
