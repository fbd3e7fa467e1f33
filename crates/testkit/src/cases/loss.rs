//! Losses: the methods, and the options of those that have some.

use farad::Tensor;
use farad::loss::*;

use crate::case::{Case, Given, Input, float, half, int};

const LOGITS: (f64, f64) = (-3.0, 3.0);
const SHARES: (f64, f64) = (0.05, 0.95);

pub(super) fn cases() -> Vec<Case> {
    let mut cases = distances();
    cases.extend(classes());
    cases.extend(answers());
    cases
}

/// A case of `x` and targets of the same shape.
fn pair(
    op: &'static str,
    detail: &str,
    [x, target]: [Input; 2],
    tolerance: f64,
    function: impl Fn(&Tensor, &Tensor) -> Tensor + Send + Sync + 'static,
) -> Case {
    Case::new(op, detail, vec![x, target], tolerance, move |given: &Given| function(&given[0], &given[1]))
}

fn distances() -> Vec<Case> {
    let near = || [float([9, 5], (-1.0, 1.0)), float([9, 5], (2.0, 4.0))];
    let far = || [float([7, 33], (-2.0, 2.0)), float([7, 33], (-2.0, 2.0))];
    let halves = || [half([7, 33], (-9.0, 9.0)), half([7, 33], (-9.0, 9.0))];
    vec![
        pair("mean_squared_error", "f16", halves(), 2e-3, Tensor::mean_squared_error),
        pair("mean_squared_error", "sum", far(), 2e-6, |x, t| {
            SquaredError::new().reduction(Reduction::Sum).loss(x, t)
        }),
        pair("mean_squared_error", "each", far(), 2e-6, |x, t| {
            SquaredError::new().reduction(Reduction::None).loss(x, t)
        }),
        pair("mean_absolute_error", "", near(), 2e-6, Tensor::mean_absolute_error),
        pair("mean_absolute_error", "f16", halves(), 2e-3, Tensor::mean_absolute_error).without_gradient(),
        pair("huber", "", far(), 2e-6, |x, t| x.huber(t, 0.7)),
        pair("huber", "squares", near(), 2e-6, |x, t| x.huber(t, 9.0)),
        pair("smooth_l1", "", far(), 2e-6, |x, t| x.smooth_l1(t, 0.7)),
        pair("smooth_l1", "no squares", near(), 2e-6, |x, t| x.smooth_l1(t, 0.0)),
    ]
}

fn classes() -> Vec<Case> {
    let of = |op: &'static str, detail: &str, shape: &[usize], function: fn(&Given) -> Tensor| {
        let samples: Vec<usize> =
            shape.iter().enumerate().filter(|(n, _)| *n != 1).map(|(_, s)| *s).collect();
        let mut inputs = vec![float(shape, LOGITS), int(samples, 0, shape[1] as i32 - 1)];
        if detail.contains("weights") {
            inputs.push(float([shape[1]], (0.2, 2.0)));
        }
        Case::new(op, detail, inputs, 5e-6, function)
    };
    let soft = [float([5, 7], LOGITS), float([5, 7], SHARES)];
    vec![
        of("negative_log_likelihood", "", &[9, 7], |x| x[0].negative_log_likelihood(&x[1])),
        of("negative_log_likelihood", "weights", &[9, 7, 3], |x| {
            NegativeLogLikelihood::new().weights(&x[2]).ignore(2).loss(&x[0], &x[1])
        }),
        of("cross_entropy", "more axes", &[3, 7, 2, 5], |x| x[0].cross_entropy(&x[1])),
        of("cross_entropy", "weights and all other options", &[9, 7], |x| {
            let entropy = CrossEntropy::new().weights(&x[2]).ignore(2).smoothing(0.2);
            entropy.loss(&x[0], &x[1])
        }),
        of("cross_entropy", "each", &[9, 7], |x| {
            CrossEntropy::new().reduction(Reduction::None).smoothing(0.2).loss(&x[0], &x[1])
        }),
        pair("cross_entropy", "probabilities", soft.clone(), 5e-6, Tensor::cross_entropy),
        pair("cross_entropy", "smooth probabilities", soft, 5e-6, |x, t| {
            CrossEntropy::new().smoothing(0.3).loss(x, t)
        }),
        pair(
            "kl_divergence",
            "",
            [float([5, 7], LOGITS), float([5, 7], SHARES)],
            5e-6,
            Tensor::kl_divergence,
        ),
        pair(
            "kl_divergence",
            "logarithms",
            [float([5, 7], LOGITS), float([5, 7], (-3.0, 0.0))],
            5e-6,
            |x, t| KlDivergence::new().log_target().batch_mean().loss(x, t),
        ),
    ]
}

fn answers() -> Vec<Case> {
    let shares = || [float([7, 33], SHARES), float([7, 33], SHARES)];
    let logits = |size: f64| [float([7, 33], (-size, size)), float([7, 33], SHARES)];
    let of_logits = "binary_cross_entropy_with_logits";
    vec![
        pair("binary_cross_entropy", "", shares(), 5e-6, Tensor::binary_cross_entropy),
        pair(of_logits, "", logits(4.0), 5e-6, Tensor::binary_cross_entropy_with_logits),
        pair(of_logits, "far", logits(90.0), 5e-6, Tensor::binary_cross_entropy_with_logits),
        pair(of_logits, "f16", [half([7, 33], LOGITS), half([7, 33], SHARES)], 4e-3, {
            Tensor::binary_cross_entropy_with_logits
        }),
        pair(of_logits, "focal", logits(4.0), 1e-5, |x, t| Focal::new().loss(x, t)),
        pair(of_logits, "focal by a power", logits(4.0), 5e-5, |x, t| Focal::new().gamma(1.5).loss(x, t)),
    ]
}
