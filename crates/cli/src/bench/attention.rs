//! Causal attention, forward and backward: by its kernels, and composed of products and softmax beside it.

use farad::{Attention, DType, Device, Tensor};

use super::case::{CaseWork, Workload, signed};
use super::reference::NormDifference;

/// Sizes: batch, heads, time, width.
pub type AttentionSize = [usize; 4];

/// How it is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionForm {
    Kernels,
    Composed,
}

/// The result and the gradients at queries, keys and values, all of a dtype.
pub fn both_ways(
    sizes: AttentionSize,
    dtype: DType,
    form: AttentionForm,
    device: &Device,
) -> farad::Result<Workload> {
    let composed = form == AttentionForm::Composed;
    let input = |_| signed(&sizes, device)?.cast(dtype).detach();
    let inputs = (0..4).map(input).collect::<farad::Result<Vec<_>>>()?;
    let kept = inputs.clone();
    let iterate = move || Tensor::compute_all(&build(&kept, composed)?.each_ref());
    let error = move || compare(&inputs, &build(&inputs, composed)?);
    Ok(Workload { iterate: Box::new(iterate), error: Box::new(error), work: work(sizes) })
}

fn work([batch, heads, time, width]: AttentionSize) -> CaseWork {
    let pairs = batch * heads * time * (time + 1) / 2;
    // Two products forward, five backward, of what a query sees.
    CaseWork { flops: 14.0 * (pairs * width) as f64, ..CaseWork::default() }
}

/// From queries, keys, values and the gradient at the result.
fn build(inputs: &[Tensor], composed: bool) -> farad::Result<[Tensor; 4]> {
    let [q, k, v, g] = inputs else { unreachable!("four inputs") };
    let y = q.attention(k, v, &Attention::new().causal().composed(composed));
    let gradients = (&y * g).sum().gradients_at(&[q, k, v])?;
    let mut all = std::iter::once(y).chain(gradients);
    Ok(std::array::from_fn(|_| all.next().expect("one result and three gradients")))
}

/// The last head against f64, norm-wise; the worst of the four.
fn compare(inputs: &[Tensor], results: &[Tensor; 4]) -> farad::Result<f64> {
    let [_, _, time, width] = std::array::from_fn(|axis| inputs[0].size(axis as isize));
    let last = |tensor: &Tensor| -> farad::Result<Vec<f64>> {
        let (batch, heads) = (tensor.size(0), tensor.size(1));
        let head = tensor.narrow(0, batch - 1, 1).narrow(1, heads - 1, 1);
        Ok(head.cast(DType::F32).to_vec::<f32>()?.into_iter().map(f64::from).collect())
    };
    let given = inputs.iter().map(last).collect::<farad::Result<Vec<_>>>()?;
    let mut worst = 0f64;
    for (got, wanted) in results.iter().zip(head(&given, time, width)) {
        let mut difference = NormDifference::default();
        last(got)?.iter().zip(wanted).for_each(|(&got, wanted)| difference.add(got as f32, wanted));
        let far = difference.relative();
        worst = if far.is_nan() { far } else { worst.max(far) };
    }
    Ok(worst)
}

/// One head in f64: the result, and the gradients at queries, keys and values.
fn head(given: &[Vec<f64>], time: usize, width: usize) -> [Vec<f64>; 4] {
    let [q, k, v, g] = given else { unreachable!("four inputs") };
    let mut results: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0; time * width]);
    let [y, at_q, at_k, at_v] = &mut results;
    let scale = 1.0 / (width as f64).sqrt();
    let row = |n: usize| n * width..(n + 1) * width;
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let add = |to: &mut [f64], from: &[f64], factor: f64| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
    };
    for query in 0..time {
        let own = row(query);
        let mut powers: Vec<f64> =
            (0..=query).map(|key| (scale * dot(&q[own.clone()], &k[row(key)])).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.iter_mut().for_each(|power| *power /= sum);
        powers.iter().enumerate().for_each(|(key, &power)| add(&mut y[own.clone()], &v[row(key)], power));
        let share = dot(&y[own.clone()], &g[own.clone()]);
        for (key, &power) in powers.iter().enumerate() {
            let slope = power * (dot(&g[own.clone()], &v[row(key)]) - share) * scale;
            add(&mut at_q[own.clone()], &k[row(key)], slope);
            add(&mut at_k[row(key)], &q[own.clone()], slope);
            add(&mut at_v[row(key)], &g[own.clone()], power);
        }
    }
    results
}
