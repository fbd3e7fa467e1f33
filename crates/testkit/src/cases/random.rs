//! Random tensors: bits, uniforms and masks exactly as the reference draws them.

use farad::Tensor;
use farad_ir::DType;

use super::SIGNED;
use crate::case::{Case, Given, float};

pub(super) fn cases() -> Vec<Case> {
    let of = |op, detail: &str, tolerance, function: fn(&Given) -> Tensor| {
        Case::new(op, detail, vec![], tolerance, function)
    };
    vec![
        of("random_bits", "", 0.0, |x| Tensor::random_bits([7, 33], &x.device)),
        of("random_bits", "one", 0.0, |x| Tensor::random_bits([], &x.device)),
        of("random_bits", "none", 0.0, |x| Tensor::random_bits([0], &x.device)),
        of("random_bits", "many", 0.0, |x| Tensor::random_bits([70_001], &x.device)),
        of("random_bits", "another seed", 0.0, |x| {
            x.device.seed(0xfeed_beef_1234_5678);
            Tensor::random_bits([65], &x.device)
        }),
        of("random_bits", "moved", 0.0, |x| {
            Tensor::random_bits([5, 7], &x.device).transpose(0, 1).slice((2.., ..3))
        }),
        of("random_bits_at", "", 0.0, |x| Tensor::random_bits_at(7, 3, [7, 33], &x.device)),
        of("random_bits_at", "far", 0.0, |x| Tensor::random_bits_at(u64::MAX - 1, 1 << 40, [65], &x.device)),
        of("rand_at", "", 0.0, |x| Tensor::rand_at(7, 3, [7, 33], &x.device)),
        of("rand_at", "several streams", 0.0, |x| {
            let streams = [1, 2, 3].map(|seed| Tensor::rand_at(seed, 9, [4, 5], &x.device));
            Tensor::stack(&streams.each_ref(), 0)
        }),
        of("rand", "", 0.0, |x| Tensor::rand([7, 33], &x.device)),
        of("rand", "drawn twice", 0.0, |x| {
            Tensor::rand([7, 33], &x.device) - Tensor::rand([7, 33], &x.device)
        }),
        of("randn", "", 5e-6, |x| Tensor::randn([7, 33], &x.device)),
        of("randn_at", "", 5e-6, |x| Tensor::randn_at(7, 3, [7, 33], &x.device)),
        of("random_mask_at", "", 0.0, |x| Tensor::random_mask_at(7, 3, 0.3, [7, 33], &x.device)),
        of("random_mask", "", 0.0, |x| Tensor::random_mask(0.3, [7, 33], &x.device)),
        of("rand", "summed", 2e-6, |x| Tensor::rand([7, 33], &x.device).sum_axes([1])),
        of("randn", "f16", 2e-3, |x| Tensor::randn([7, 33], &x.device).cast(DType::F16)),
        Case::new("rand", "beside a repeated row", vec![float([1, 13], SIGNED)], 1e-7, |x| {
            Tensor::rand([4, 13], &x.device) + &x[0]
        }),
        Case::new("dropout", "", vec![float([7, 33], SIGNED)], 2e-7, |x| x[0].dropout(0.4)),
        Case::new(
            "dropout",
            "before a product",
            vec![float([7, 33], SIGNED), float([33, 5], SIGNED)],
            2e-6,
            |x| x[0].dropout(0.4).matmul(&x[1]),
        ),
    ]
}
