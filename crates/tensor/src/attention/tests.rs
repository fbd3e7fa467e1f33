//! Gradients of the op with all its operands, on the CPU, against differences.

use farad_ir::{DType, Exact};

use super::{AttentionDropout, AttentionOp};
use crate::{Device, Tensor};

const STEP: f64 = 1e-2;

fn signed(shape: &[usize], seed: u64) -> Tensor {
    (Tensor::rand_at(seed, 0, shape, &Device::cpu()) * 2.0 - 1.0).detach().unwrap()
}

/// Queries, keys, values and what is added.
fn operands() -> Vec<Tensor> {
    vec![signed(&[4, 5, 4], 1), signed(&[2, 6, 4], 2), signed(&[2, 6, 4], 3), signed(&[2, 5, 6], 4)]
}

/// A weighted sum of the result.
fn loss(x: &[Tensor], dropout: bool) -> Tensor {
    let device = Device::cpu();
    let mask = Tensor::from_vec(vec![1u32, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1], [2, 6], &device);
    let seed = Tensor::from_vec(vec![3u32, 1 << 31, 77, u32::MAX], [4], &device);
    let op = AttentionOp {
        scale: Exact(0.7),
        offset: Some(2),
        is_f16: false,
        mask: true,
        bias: Some(1),
        dropout: dropout.then_some(AttentionDropout(Exact(0.3))),
    };
    let given: Vec<&Tensor> =
        [&x[0], &x[1], &x[2], &mask, &x[3]].into_iter().chain(dropout.then_some(&seed)).collect();
    let y = Tensor::custom(op, &given).swap_remove(0);
    assert_eq!(y.dtype(), DType::F32);
    (y * signed(&[4, 5, 4], 9)).sum()
}

/// Changes of a number as an operand changes in one direction: by the gradient, and by a difference.
fn compare(of: impl Fn(&[Tensor]) -> Tensor, operand: usize, most: f32) {
    let x = operands();
    let direction = signed(&x[operand].shape(), 20 + operand as u64);
    let slope = (of(&x).gradient(&x[operand]).unwrap() * &direction).sum().item().unwrap();
    let at = |sign: f64| {
        let mut moved = x.clone();
        moved[operand] = (&x[operand] + &direction * (sign * STEP)).detach().unwrap();
        of(&moved).item().unwrap()
    };
    let difference = (at(1.0) - at(-1.0)) / (2.0 * STEP as f32);
    assert!(
        (slope - difference).abs() < most * difference.abs().max(0.3),
        "{operand}: {slope}, {difference}"
    );
}

#[test]
fn gradients_agree_with_differences_at_every_operand() {
    for dropout in [false, true] {
        (0..4).for_each(|operand| compare(|x| loss(x, dropout), operand, 1e-2));
    }
}

#[test]
fn gradients_of_gradients_agree_with_differences() {
    for dropout in [false, true] {
        for first in [0, 2] {
            let size = |x: &[Tensor]| loss(x, dropout).gradient(&x[first]).unwrap().square().sum();
            (0..4).for_each(|operand| compare(size, operand, 2e-2));
        }
    }
}
