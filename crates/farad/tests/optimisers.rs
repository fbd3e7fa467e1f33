//! Optimisers against their definitions, written out in f64.

mod devices;

use devices::devices;
use farad::optim::Clip;
use farad::prelude::*;

const START: [f64; 3] = [1.0, -2.0, 0.5];
const TARGET: [f64; 3] = [0.2, 0.4, -3.0];

/// The gradient of the sum of squared distances from the target.
fn slope(p: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| 2.0 * (p[i] - TARGET[i]))
}

/// Six steps on every device against six steps of `rule`, which updates parameters from gradients.
fn follow<O: Optimiser>(
    make: impl Fn(Vec<Parameter>) -> O,
    mut rule: impl FnMut(usize, &mut [f64; 3], [f64; 3]),
) {
    let mut expected = START;
    let mut path = Vec::new();
    for step in 1..=6 {
        let g = slope(&expected);
        rule(step, &mut expected, g);
        path.push(expected);
    }
    for device in devices() {
        let weights = |from: [f64; 3]| Tensor::from_vec(from.map(|v| v as f32).to_vec(), [3], &device);
        let parameter = Parameter::new(weights(START));
        let mut optimiser = make(vec![parameter.clone()]);
        for (step, want) in path.iter().enumerate() {
            let loss = (parameter.value() - weights(TARGET)).square().sum();
            optimiser.step(&loss).unwrap();
            let got = parameter.value().to_vec::<f32>().unwrap();
            let close = got.iter().zip(want).all(|(a, b)| (*a as f64 - b).abs() < 1e-5);
            assert!(close, "step {step} on {device}: {got:?} instead of {want:?}");
        }
    }
}

#[test]
fn plain_descent() {
    follow(|p| Sgd::new(p).learning_rate(0.1), |_, p, g| (0..3).for_each(|i| p[i] -= 0.1 * g[i]));
}

#[test]
fn momentum_with_decay_in_the_gradient() {
    let mut v = [0.0; 3];
    follow(
        |p| Sgd::new(p).learning_rate(0.05).momentum(0.9).weight_decay(0.1),
        |_, p, g| {
            for i in 0..3 {
                v[i] = 0.9 * v[i] + g[i] + 0.1 * p[i];
                p[i] -= 0.05 * v[i];
            }
        },
    );
}

#[test]
fn nesterov_looks_ahead() {
    let mut v = [0.0; 3];
    follow(
        |p| Sgd::new(p).learning_rate(0.05).momentum(0.9).nesterov(),
        |_, p, g| {
            for i in 0..3 {
                v[i] = 0.9 * v[i] + g[i];
                p[i] -= 0.05 * (g[i] + 0.9 * v[i]);
            }
        },
    );
}

#[test]
fn adamw_decays_weights_apart_from_gradients() {
    let (mut m, mut v) = ([0.0; 3], [0.0; 3]);
    follow(
        |p| AdamW::new(p).learning_rate(0.1).betas(0.8, 0.95).weight_decay(0.2),
        |step, p, g| {
            for i in 0..3 {
                m[i] = 0.8 * m[i] + 0.2 * g[i];
                v[i] = 0.95 * v[i] + 0.05 * g[i] * g[i];
                let (mean, spread) =
                    (m[i] / (1.0 - 0.8f64.powi(step as i32)), v[i] / (1.0 - 0.95f64.powi(step as i32)));
                p[i] -= 0.1 * 0.2 * p[i] + 0.1 * mean / (spread.sqrt() + 1e-8);
            }
        },
    );
}

#[test]
fn clipping_by_value_and_by_norm() {
    follow(
        |p| Sgd::new(p).learning_rate(0.1).clip(Clip::Value(1.5)),
        |_, p, g| (0..3).for_each(|i| p[i] -= 0.1 * g[i].clamp(-1.5, 1.5)),
    );
    follow(
        |p| Sgd::new(p).learning_rate(0.1).clip(Clip::Norm(2.0)),
        |_, p, g| {
            let norm = g.iter().map(|g| g * g).sum::<f64>().sqrt();
            (0..3).for_each(|i| p[i] -= 0.1 * g[i] * (2.0 / (norm + 1e-6)).min(1.0));
        },
    );
}
