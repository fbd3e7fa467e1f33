//! Activations and losses.

use farad::Tensor;

use crate::case::{Case, float, half, int};

pub(super) fn cases() -> Vec<Case> {
    let table: [(&'static str, fn(&Tensor) -> Tensor); 16] = [
        ("gelu", Tensor::gelu),
        ("gelu_tanh", Tensor::gelu_tanh),
        ("silu", Tensor::silu),
        ("softplus", Tensor::softplus),
        ("mish", Tensor::mish),
        ("selu", Tensor::selu),
        ("softsign", Tensor::softsign),
        ("log_sigmoid", Tensor::log_sigmoid),
        ("tanh_shrink", Tensor::tanh_shrink),
        ("relu6", Tensor::relu6),
        ("hard_sigmoid", Tensor::hard_sigmoid),
        ("hard_swish", Tensor::hard_swish),
        ("leaky_relu", |x| x.leaky_relu(0.01)),
        ("elu", |x| x.elu(1.5)),
        ("celu", |x| x.celu(0.5)),
        ("hard_tanh", |x| x.hard_tanh(-1.0, 2.0)),
    ];
    let mut cases = Vec::new();
    for (name, function) in table {
        let case = |detail: &str, input, tolerance| {
            Case::new(name, detail, vec![input], tolerance, move |x| function(&x[0]))
        };
        cases.push(case("", float([7, 33], (-4.0, 4.0)), 5e-6));
        cases.push(case("far", float([257], (-60.0, 60.0)), 5e-6));
        cases.push(case("", half([7, 33], (-4.0, 4.0)), 4e-3));
    }
    cases.extend(gated());
    cases.extend(losses());
    cases
}

fn gated() -> Vec<Case> {
    let table: [(&'static str, fn(&Tensor, isize) -> Tensor); 3] =
        [("glu", Tensor::glu), ("swiglu", Tensor::swiglu), ("geglu", Tensor::geglu)];
    let mut cases = Vec::new();
    for (name, function) in table {
        let rows = vec![float([7, 34], (-4.0, 4.0))];
        cases.push(Case::new(name, "", rows, 5e-6, move |x| function(&x[0], -1)));
        let middle = vec![float([3, 6, 5], (-4.0, 4.0))];
        cases.push(Case::new(name, "channels", middle, 5e-6, move |x| function(&x[0], 1)));
    }
    let slopes = |shape: &[usize]| vec![float([3, 4, 5], (-4.0, 4.0)), float(shape, (0.0, 0.5))];
    cases.push(Case::new("prelu", "one slope", slopes(&[1]), 5e-6, |x| x[0].prelu(&x[1])));
    cases.push(Case::new("prelu", "slope a channel", slopes(&[4]), 5e-6, |x| x[0].prelu(&x[1])));
    cases
}

fn losses() -> Vec<Case> {
    let entropy = |batch: usize, classes: usize, size: f64| {
        let inputs = vec![float([batch, classes], (-size, size)), int([batch], 0, classes as i32 - 1)];
        Case::new("cross_entropy", "", inputs, 5e-6, |x| x[0].cross_entropy(&x[1]))
    };
    vec![
        entropy(1, 2, 3.0),
        entropy(17, 10, 3.0),
        entropy(64, 33, 80.0),
        entropy(5, 1031, 3.0),
        Case::new(
            "mean_squared_error",
            "",
            vec![float([9, 5], (-2.0, 2.0)), float([9, 5], (-2.0, 2.0))],
            2e-6,
            |x| x[0].mean_squared_error(&x[1]),
        ),
    ]
}
