//! Activations and losses.

use farad::Tensor;

use crate::case::{Case, float, half, int};

pub(super) fn cases() -> Vec<Case> {
    let table: [(&'static str, fn(&Tensor) -> Tensor); 4] = [
        ("gelu", Tensor::gelu),
        ("gelu_tanh", Tensor::gelu_tanh),
        ("silu", Tensor::silu),
        ("softplus", Tensor::softplus),
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
    cases.extend(losses());
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
