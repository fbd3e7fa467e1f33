//! Softmax and its relatives, variance, layer norm: reductions in sequence over the same rows.

use farad::Tensor;
use farad::kept;

use super::SIGNED;
use crate::case::{Case, Input, float, half};

const RANGE: (f64, f64) = (-4.0, 4.0);

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let shapes: [(&[usize], isize); 9] = [
        (&[7, 33], 1),
        (&[7, 33], 0),
        (&[1, 1], 1),
        (&[3, 1031], -1),
        (&[2, 6007], 1),
        (&[300, 3], 1),
        (&[2, 3, 4, 5], 2),
        (&[33], 0),
        (&[0, 5], 1),
    ];
    let table: [(&'static str, fn(&Tensor, isize) -> Tensor); 4] = [
        ("softmax", Tensor::softmax),
        ("log_softmax", Tensor::log_softmax),
        ("logsumexp", |x, axis| x.logsumexp([axis])),
        ("variance", |x, axis| x.variance([axis], 0)),
    ];
    for (name, function) in table {
        let of = |detail: String, input: Input, axis: isize, tolerance: f64| {
            Case::new(name, detail, vec![input], tolerance, move |x| function(&x[0], axis))
        };
        for (shape, axis) in shapes {
            // A softmax of long rows is small everywhere.
            let row = shape[axis.rem_euclid(shape.len() as isize) as usize] as f64;
            let case = of(format!("axis {axis}"), float(shape, RANGE), axis, 5e-6);
            cases.push(if name == "softmax" { case.of_size(1.0 / row) } else { case });
        }
        cases.push(of("f16".into(), half([7, 33], RANGE), 1, 4e-3));
    }
    cases.push(Case::new("softmax", "far", vec![float([9, 33], (-90.0, 90.0))], 5e-6, |x| x[0].softmax(1)));
    cases.push(Case::new("log_softmax", "far", vec![float([9, 33], (-90.0, 90.0))], 5e-6, |x| {
        x[0].log_softmax(1)
    }));
    cases.extend(several_axes());
    cases.extend(layer_norms());
    cases
}

fn several_axes() -> Vec<Case> {
    let input = || vec![float([3, 4, 5], RANGE)];
    vec![
        Case::new("logsumexp", "two axes, kept", input(), 5e-6, |x| x[0].logsumexp(kept([0, 2]))),
        Case::new("variance", "a sample, two axes, kept", input(), 5e-6, |x| x[0].variance(kept([1, 2]), 1)),
        Case::new("variance", "of all", input(), 5e-6, |x| x[0].variance([0, 1, 2], 1)),
        Case::new(
            "softmax",
            "of a product with a mask",
            vec![float([6, 9], SIGNED), float([9, 6], SIGNED)],
            5e-6,
            |x| {
                let scores = x[0].matmul(&x[1]) * 0.5;
                let rows = Tensor::arange(6, &x.device).unsqueeze(1);
                let seen = rows.greater_equal(Tensor::arange(6, &x.device));
                seen.select(&scores, &scores.full_like(-1e9)).softmax(-1)
            },
        ),
        Case::new("softmax", "twice", vec![float([5, 17], RANGE)], 5e-6, |x| {
            (x[0].softmax(1) * 9.0).softmax(0)
        }),
    ]
}

fn layer_norms() -> Vec<Case> {
    let of = |detail: &str, shape: &[usize], make: fn(&[usize], (f64, f64)) -> Input, tolerance| {
        let width = [shape[shape.len() - 1]];
        let inputs = vec![make(shape, RANGE), make(&width, (0.5, 1.5)), make(&width, SIGNED)];
        Case::new("layer_norm", detail, inputs, tolerance, |x| x[0].layer_norm(&x[1], &x[2], 1e-5))
    };
    vec![
        of("", &[7, 33], |s, r| float(s, r), 1e-5),
        of("", &[2, 3, 64], |s, r| float(s, r), 1e-5),
        of("long rows", &[2, 3001], |s, r| float(s, r), 1e-5),
        of("f16", &[7, 33], |s, r| half(s, r), 6e-3),
        // The sum of such a row exceeds f16.
        Case::new(
            "layer_norm",
            "far from zero",
            vec![half([3, 1024], (60.0, 68.0)), half([1024], (0.5, 1.5)), half([1024], SIGNED)],
            6e-3,
            |x| x[0].layer_norm(&x[1], &x[2], 1e-5),
        ),
        Case::new("variance", "large squares", vec![half([2, 5000], (-150.0, 150.0))], 4e-3, |x| {
            x[0].variance([1], 0)
        }),
    ]
}
