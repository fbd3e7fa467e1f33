//! Gradients of gradients of composed ops, in double precision against differences.

use farad::prelude::*;

/// Checks the gradient of the squared gradient of `Σ (function + 1)²`, at all inputs.
#[track_caller]
fn check(name: &str, inputs: &[Tensor], function: impl Fn(&[Tensor]) -> Tensor) {
    let agreement = farad::check::gradients(inputs, |x| {
        let loss = (function(x) + 1.0).square().sum();
        let gradients = loss.gradients_at(&x.iter().collect::<Vec<_>>()).unwrap();
        gradients.iter().map(|g| g.square().sum()).reduce(|a, b| a + b).unwrap()
    })
    .unwrap();
    assert!(agreement.slope.abs() > 1e-3, "{name}: nothing to see: {agreement:?}");
    assert!(agreement.error() < 1e-5, "{name}: {agreement:?}");
}

fn tensor(values: &[f32], shape: &[usize]) -> Tensor {
    Tensor::from_vec(values.to_vec(), shape, &Device::cpu())
}

#[test]
fn products_and_running_products_with_zeros() {
    let x = tensor(&[0.5, 0.0, 2.0, -1.0, 0.0, 0.0, 1.5, 0.7, -0.3, 1.1], &[2, 5]);
    check("prod_axes", std::slice::from_ref(&x), |x| x[0].prod_axes([1]));
    check("cumprod", std::slice::from_ref(&x), |x| x[0].cumprod(1));
    check("prod", &[x.narrow(0, 1, 1)], |x| x[0].sin().prod());
}

#[test]
fn running_sums() {
    let x = tensor(&(0..40).map(|n| (n as f32 * 0.37).sin()).collect::<Vec<_>>(), &[20, 2]);
    check("cumsum", std::slice::from_ref(&x), |x| x[0].cumsum(0).tanh());
    check("cumsum_from_end", std::slice::from_ref(&x), |x| x[0].cumsum_from_end(0).sin());
}

#[test]
fn recurrences() {
    let x = tensor(&(0..12).map(|n| (n as f32 * 0.7).cos()).collect::<Vec<_>>(), &[6, 2]);
    let decay = tensor(&[0.5, 0.9], &[2]);
    check("linear_recurrence", &[x, decay], |x| x[0].linear_recurrence(&x[1], 0));
}

#[test]
fn segments_and_triangles() {
    let x = tensor(&(0..12).map(|n| (n as f32 * 0.3).sin()).collect::<Vec<_>>(), &[4, 3]);
    let segments = Tensor::from_vec(vec![1, 0, 1, 2], [4], &Device::cpu());
    check("segment_sum", std::slice::from_ref(&x), |x| x[0].segment_sum(&segments, 3).tanh());
    check("tril", std::slice::from_ref(&x), |x| x[0].tril(0).exp());
}
