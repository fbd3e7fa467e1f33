//! Tensors without inputs.

use farad::Tensor;

use super::SIGNED;
use crate::case::{Case, Given, float, int, truth};

pub(super) fn cases() -> Vec<Case> {
    let of = |op, detail: &str, function: fn(&Given) -> Tensor| Case::new(op, detail, vec![], 1e-7, function);
    vec![
        of("full", "", |x| Tensor::full(2.5, [3, 5], &x.device)),
        of("full", "one number", |x| Tensor::full(-1.0, [], &x.device)),
        of("zeros", "", |x| Tensor::zeros([7], &x.device)),
        of("zeros", "none", |x| Tensor::zeros([2, 0], &x.device)),
        of("ones", "", |x| Tensor::ones([1, 4], &x.device)),
        of("arange", "", |x| Tensor::arange(300, &x.device)),
        of("arange", "none", |x| Tensor::arange(0, &x.device)),
        of("arange", "moved", |x| Tensor::arange(12, &x.device).reshape([3, 4]).transpose(0, 1).flip(&[0])),
        of("number", "", |x| Tensor::number(0.1, &x.device) * 3.0),
        Case::new("number", "beside a tensor", vec![float([5, 7], SIGNED)], 2e-7, |x| {
            &x[0] * Tensor::number(0.1, &x.device)
        }),
        Case::new("full_like", "", vec![float([5, 7], SIGNED)], 1e-7, |x| x[0].full_like(1.5))
            .without_gradient(),
        Case::new("full_like", "", vec![int([5, 7], 0, 1)], 0.0, |x| x[0].full_like(-3.0)),
        Case::new("full_like", "", vec![truth([5, 7])], 0.0, |x| x[0].full_like(1.0)),
    ]
}
