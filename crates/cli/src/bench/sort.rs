//! Orders, and sums by position, which are sorted first where there are many.

use farad::Order;
use farad::{DType, Device, Tensor};

use super::case::{CaseWork, Workload, signed};
use super::reference::{NormDifference, pick, spread};

/// One row in order: `[length] -> [length]`.
pub fn sort(length: usize, device: &Device) -> farad::Result<Workload> {
    let error = |inputs: &[Tensor], result: &Tensor| {
        let mut wanted = inputs[0].to_vec::<f32>()?;
        wanted.sort_by(f32::total_cmp);
        let mut difference = NormDifference::default();
        result
            .to_vec::<f32>()?
            .iter()
            .zip(wanted)
            .for_each(|(&got, wanted)| difference.add(got, wanted as f64));
        Ok(difference.relative())
    };
    let work = CaseWork { bytes: 8.0 * length as f64, items: length as f64, ..CaseWork::default() };
    Ok(Workload::expression(
        vec![signed(&[length], device)?],
        work,
        |inputs| inputs[0].sort(0, Order::Ascending).0,
        error,
    ))
}

/// The order of every row: `[rows, length] -> [rows, length]`.
pub fn argsort(rows: usize, length: usize, device: &Device) -> farad::Result<Workload> {
    let work = CaseWork {
        bytes: 8.0 * (rows * length) as f64,
        items: (rows * length) as f64,
        ..CaseWork::default()
    };
    let error = move |inputs: &[Tensor], result: &Tensor| positions(&inputs[0], result, length, false);
    let inputs = vec![signed(&[rows, length], device)?];
    Ok(Workload::expression(inputs, work, |inputs| inputs[0].argsort(1, Order::Ascending), error))
}

/// Where the largest `k` of every row are: `[rows, length] -> [rows, k]`.
pub fn topk(rows: usize, length: usize, k: usize, device: &Device) -> farad::Result<Workload> {
    let (read, written) = ((rows * length) as f64, (rows * k) as f64);
    let work = CaseWork { bytes: 4.0 * (read + written), items: read, ..CaseWork::default() };
    let error = move |inputs: &[Tensor], result: &Tensor| positions(&inputs[0], result, length, true);
    let inputs = vec![signed(&[rows, length], device)?];
    Ok(Workload::expression(inputs, work, move |inputs| inputs[0].topk(k, 1, Order::Descending).1, error))
}

/// A few rows of positions against a stable sort on the host.
fn positions(x: &Tensor, result: &Tensor, length: usize, descending: bool) -> farad::Result<f64> {
    let rows = spread(x.size(0), 16);
    // Positions are far below 2^24, so floats hold them.
    let (x, found) = (pick(x, 0, &rows)?, pick(&result.cast(DType::F32), 0, &rows)?);
    let mut difference = NormDifference::default();
    for (row, found) in x.chunks(length).zip(found.chunks(result.size(1))) {
        let mut order: Vec<usize> = (0..length).collect();
        order.sort_by(|&a, &b| match descending {
            true => row[b].total_cmp(&row[a]),
            false => row[a].total_cmp(&row[b]),
        });
        found.iter().zip(order).for_each(|(&got, wanted)| difference.add(got, wanted as f64));
    }
    Ok(difference.relative())
}

/// What an embedding's gradient is: `[sources, width]` added at random rows of `[entries, width]`.
pub fn embedding_gradient(
    sources: usize,
    entries: usize,
    width: usize,
    device: &Device,
) -> farad::Result<Workload> {
    let error = move |inputs: &[Tensor], result: &Tensor| {
        let (rows, ids) = (inputs[0].to_vec::<f32>()?, inputs[1].to_vec::<i32>()?);
        let picked = spread(entries, 64);
        let mut difference = NormDifference::default();
        for (&entry, found) in picked.iter().zip(pick(result, 0, &picked)?.chunks(width)) {
            let mut wanted = vec![0.0; width];
            for (_, row) in ids.iter().zip(rows.chunks(width)).filter(|(id, _)| **id as usize == entry) {
                wanted.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x as f64);
            }
            found.iter().zip(wanted).for_each(|(&got, wanted)| difference.add(got, wanted));
        }
        Ok(difference.relative())
    };
    let ids = (Tensor::rand([sources], device) * entries as f64).cast(DType::I32).detach()?;
    let work = CaseWork { bytes: 4.0 * ((sources + entries) * width) as f64, ..CaseWork::default() };
    let inputs = vec![signed(&[sources, width], device)?, ids];
    let build = move |inputs: &[Tensor]| inputs[0].segment_sum(&inputs[1], entries);
    Ok(Workload::expression(inputs, work, build, error))
}
