//! Sums over one axis of a square.

use farad::{Device, Tensor};

use super::case::{Work, Workload, uniform};
use super::reference::{Difference, pick, select, spread};

/// `[size, size] -> [size]`, summed over an axis.
pub fn sum(axis: isize, size: usize, device: &Device) -> farad::Result<Workload> {
    let error = move |inputs: &[Tensor], result: &Tensor| {
        let (kept, picked) = (1 - axis, spread(size, 16));
        // Lines along the summed axis, one after the other.
        let lines = select(&inputs[0], kept, &picked, inputs[0].device());
        let lines = if axis == 0 { lines.transpose(0, 1) } else { lines }.to_vec::<f32>()?;
        let mut difference = Difference::default();
        for (line, got) in lines.chunks(size).zip(pick(result, 0, &picked)?) {
            difference.add(got, line.iter().map(|&x| x as f64).sum());
        }
        Ok(difference.relative())
    };
    let work = Work { bytes: 4.0 * (size * size) as f64, ..Work::default() };
    let inputs = vec![uniform(&[size, size], device)?];
    Ok(Workload::expression(inputs, work, move |inputs| inputs[0].sum_axes(&[axis], false), error))
}
