//! Matrix products in all forms: sizes around tile edges, batches, vectors, permuted operands.

use farad_ir::DType;

use super::{HALF, SIGNED};
use crate::case::{Case, Given, Input, all_of, float, half};
use farad::Tensor;

/// Norm-wise: errors grow with the square root of the inner size, and so do results.
const PRODUCT: f64 = 2e-6;

fn pair(make: fn(&[usize], (f64, f64)) -> Input, lhs: &[usize], rhs: &[usize]) -> Vec<Input> {
    vec![make(lhs, SIGNED), make(rhs, SIGNED)]
}

fn full(shape: &[usize], range: (f64, f64)) -> Input {
    float(shape, range)
}

fn short(shape: &[usize], range: (f64, f64)) -> Input {
    half(shape, range)
}

fn plain(detail: &str, lhs: &[usize], rhs: &[usize]) -> Case {
    Case::new("matmul", detail, pair(full, lhs, rhs), PRODUCT, |x| x[0].matmul(&x[1]))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let sizes = [
        (1, 1, 1),
        (3, 17, 1),
        (17, 3, 64),
        (64, 64, 64),
        (65, 127, 129),
        (129, 65, 127),
        (127, 129, 65),
        (1, 129, 127),
        (129, 1, 65),
        (1, 1031, 1),
        (2, 1500, 3),
        (128, 16, 256),
        (64, 0, 3),
        (0, 3, 4),
        (3, 4, 0),
    ];
    for (m, k, n) in sizes {
        cases.push(plain(&format!("{m}x{k}x{n}"), &[m, k], &[k, n]));
    }
    for (m, k, n) in [(1, 1, 1), (17, 3, 64), (65, 127, 129), (64, 32, 48), (5, 0, 3)] {
        let inputs = pair(short, &[m, k], &[k, n]);
        cases.push(Case::new("matmul", format!("{m}x{k}x{n}"), inputs, 2.0 * HALF, |x| x[0].matmul(&x[1])));
    }
    cases.extend([
        plain("batched", &[3, 5, 7], &[3, 7, 9]),
        plain("batched twice", &[2, 3, 17, 4], &[2, 3, 4, 5]),
        plain("one matrix for all", &[3, 5, 7], &[7, 9]),
        plain("one matrix for all, no inner size", &[3, 5, 0], &[0, 9]),
        plain("one matrix on the left", &[5, 7], &[3, 7, 9]),
        plain("broadcast batches", &[2, 1, 5, 7], &[3, 7, 4]),
        plain("broadcast batches both ways", &[2, 1, 3, 4], &[1, 5, 4, 2]),
        plain("no batches", &[0, 5, 7], &[0, 7, 9]),
        plain("matrix times vector", &[65, 33], &[33]),
        plain("vector times matrix", &[33], &[33, 65]),
        plain("vector times vector", &[129], &[129]),
        plain("batches times vector", &[3, 5, 7], &[7]),
        plain("vector times batches", &[7], &[3, 7, 5]),
    ]);
    cases.extend(moved());
    cases.extend(merged());
    cases.extend(whole());
    cases
}

/// Integers of every dtype, with numbers that wrap.
fn whole() -> Vec<Case> {
    let mut cases = Vec::new();
    let shapes: [(&str, &[usize], &[usize]); 6] = [
        ("17x33x9", &[17, 33], &[33, 9]),
        ("no inner size", &[3, 0], &[0, 4]),
        ("broadcast batches", &[2, 1, 3, 4], &[1, 5, 4, 2]),
        ("one matrix for all", &[3, 5, 7], &[7, 9]),
        ("vector times vector", &[129], &[129]),
        ("every axis", &[1, 2, 1, 1, 2, 1, 3, 4], &[1, 2, 1, 1, 1, 1, 4, 5]),
    ];
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_int()) {
        for (detail, lhs, rhs) in shapes {
            let inputs = vec![all_of(lhs, dtype), all_of(rhs, dtype)];
            let case = Case::new("matmul", format!("whole, {detail}"), inputs, 0.0, |x| x[0].matmul(&x[1]));
            cases.push(case.without_gradient());
        }
    }
    cases
}

/// Operands that are views: transposed, sliced, flipped, padded, expanded.
fn moved() -> Vec<Case> {
    let of = |detail: &str, lhs: &[usize], rhs: &[usize], function: fn(&Given) -> Tensor| {
        Case::new("matmul", detail, pair(full, lhs, rhs), PRODUCT, function)
    };
    let half = |detail: &str, lhs: &[usize], rhs: &[usize], function: fn(&Given) -> Tensor| {
        Case::new("matmul", detail, pair(short, lhs, rhs), 2.0 * HALF, function)
    };
    vec![
        of("transposed lhs", &[65, 33], &[65, 17], |x| x[0].transpose(0, 1).matmul(&x[1])),
        of("transposed rhs", &[33, 65], &[17, 65], |x| x[0].matmul(&x[1].transpose(0, 1))),
        of("transposed both", &[65, 33], &[17, 65], |x| x[0].transpose(0, 1).matmul(&x[1].transpose(0, 1))),
        of("transposed result", &[33, 65], &[65, 17], |x| x[0].matmul(&x[1]).transpose(0, 1)),
        of("batched, transposed", &[3, 5, 7], &[3, 9, 7], |x| x[0].matmul(&x[1].transpose(-1, -2))),
        of("heads", &[2, 7, 3, 4], &[2, 7, 3, 4], |x| {
            x[0].permute(&[0, 2, 1, 3]).matmul(&x[1].permute(&[0, 2, 3, 1]))
        }),
        of("sliced", &[40, 70], &[70, 50], |x| x[0].slice((3..20, 2..67)).matmul(&x[1].slice((5.., 1..34)))),
        of("flipped", &[17, 9], &[9, 17], |x| x[0].flip(&[1]).matmul(&x[1].flip(&[0]))),
        of("padded", &[17, 9], &[12, 17], |x| x[0].pad(&[(1, 2), (2, 1)]).matmul(&x[1])),
        of("expanded", &[17, 1], &[9, 17], |x| x[0].expand([17, 9]).matmul(&x[1])),
        of("with itself", &[9, 9], &[9, 9], |x| x[0].matmul(&x[0].transpose(0, 1)).matmul(&x[1])),
        // Large enough for copies with aligned rows, also on software GPUs.
        of("odd rows, transposed lhs", &[131, 67], &[131, 71], |x| x[0].transpose(0, 1).matmul(&x[1])),
        of("odd rows, transposed rhs", &[67, 131], &[71, 131], |x| x[0].matmul(&x[1].transpose(0, 1))),
        of("odd rows, batched and sliced", &[3, 70, 133], &[3, 140, 70], |x| {
            x[0].slice((.., 1..68, 2..133)).matmul(&x[1].slice((.., 3..134, ..67)))
        }),
        half("odd rows, both transposed", &[131, 67], &[71, 131], |x| {
            x[0].transpose(0, 1).matmul(&x[1].transpose(0, 1))
        }),
        half("transposed", &[65, 33], &[17, 65], |x| x[0].transpose(0, 1).matmul(&x[1].transpose(0, 1))),
        half("batched", &[3, 5, 7], &[3, 9, 7], |x| x[0].matmul(&x[1].transpose(-1, -2))),
    ]
}

/// Work fused into a product: on its operands, on its result, and a reduction after it.
fn merged() -> Vec<Case> {
    vec![
        Case::new(
            "matmul",
            "with bias, activation and residual",
            vec![
                float([33, 65], SIGNED),
                float([65, 17], SIGNED),
                float([17], SIGNED),
                float([33, 17], SIGNED),
            ],
            5e-6,
            |x| (x[0].matmul(&x[1]) + &x[2]).tanh() + &x[3],
        ),
        Case::many(
            "matmul",
            "with two results",
            vec![float([33, 20], SIGNED), float([20, 17], SIGNED)],
            4e-6,
            |x| {
                let y = x[0].matmul(&x[1]);
                vec![y.relu(), y]
            },
        ),
        Case::new(
            "matmul",
            "of activations",
            vec![float([33, 20], SIGNED), float([20, 17], SIGNED)],
            5e-6,
            |x| x[0].tanh().matmul(&(&x[1] * 0.5)),
        ),
        Case::new(
            "matmul",
            "of rounded operands",
            vec![float([33, 20], SIGNED), float([20, 17], SIGNED)],
            2.0 * HALF,
            |x| x[0].cast(DType::F16).matmul(&x[1].cast(DType::F16)).cast(DType::F32),
        ),
        Case::new(
            "matmul",
            "then softmax",
            vec![float([17, 20], SIGNED), float([20, 33], SIGNED)],
            1e-5,
            |x| (x[0].matmul(&x[1]) * 0.3).softmax(1),
        ),
        Case::new(
            "matmul",
            "of a softmax",
            vec![float([17, 20], SIGNED), float([20, 33], SIGNED)],
            1e-5,
            |x| x[0].softmax(1).matmul(&x[1]),
        ),
        Case::new(
            "matmul",
            "chain",
            vec![float([9, 17], SIGNED), float([17, 33], SIGNED), float([33, 5], SIGNED)],
            5e-6,
            |x| x[0].matmul(&x[1]).relu().matmul(&x[2]),
        ),
        Case::new(
            "matmul",
            "attention",
            vec![float([2, 3, 9, 8], SIGNED), float([2, 3, 9, 8], SIGNED), float([2, 3, 9, 8], SIGNED)],
            1e-5,
            |x| {
                let scores = x[0].matmul(&x[1].transpose(-1, -2)) * (1.0 / 8f64.sqrt());
                scores.softmax(-1).matmul(&x[2])
            },
        ),
    ]
}
