//! Optimizers against their definitions, written out in f64.

#[path = "../../farad/tests/devices/mod.rs"]
mod devices;

use devices::{devices, turn};
use farad::optim::schedule::{Exponential, Warmup};
use farad::optim::{Clip, Common, GradientNoise, OPTIMIZERS, OptimizerRow, Update, UpdateRule, Updater, Var};
use farad::prelude::*;

const START: [f64; 3] = [1.0, -2.0, 0.5];
const TARGET: [f64; 3] = [0.2, 0.4, -3.0];

/// The gradient of the sum of squared distances from the target.
fn slope(p: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| 2.0 * (p[i] - TARGET[i]))
}

/// Six steps on every device against six steps of `rule`, which updates parameters from gradients.
fn follow<O: Optimizer>(
    make: impl Fn(Vec<Parameter>) -> O,
    mut rule: impl FnMut(usize, &mut [f64; 3], [f64; 3]),
) {
    let _turn = turn();
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
        let mut optimizer = make(vec![parameter.clone()]);
        for (step, want) in path.iter().enumerate() {
            let loss = (parameter.value() - weights(TARGET)).square().sum();
            optimizer.step(&loss).unwrap();
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

/// What steps of an optimizer cost once they are known: kernels and plans of the last of several steps, for a
/// network of matrices and vectors.
fn cost(device: &Device, make: &dyn Fn(&[Parameter]) -> Box<dyn Optimizer>) -> (usize, usize) {
    device.seed(1);
    let size = |shape: &[usize]| Parameter::new(Tensor::randn(shape, device) * 0.3);
    let weights: Vec<Parameter> = (0..3).map(|_| size(&[20, 20])).collect();
    let biases: Vec<Parameter> = (0..3).map(|_| size(&[20])).collect();
    let all: Vec<Parameter> = weights.iter().chain(&biases).cloned().collect();
    let mut optimizer = make(&all);
    let x = Tensor::randn([8, 20], device);
    x.compute().unwrap();
    all.iter().for_each(|p| p.value().compute().unwrap());
    let mut spent = (0, 0);
    for step in 0..4 {
        optimizer.set_learning_rate(0.01 / (step + 1) as f32);
        let mut y = x.clone();
        for (weight, bias) in weights.iter().zip(&biases) {
            y = (y.matmul(&weight.value()) + bias.value()).tanh();
        }
        let loss = y.square().mean();
        device.wait().unwrap();
        let before = device.counters();
        optimizer.step(&loss).unwrap();
        device.wait().unwrap();
        let after = device.counters();
        assert_eq!(after.runs - before.runs, 1, "one program a step on {device}");
        spent = (after.dispatches - before.dispatches, after.plans_compiled - before.plans_compiled);
    }
    assert_eq!(spent.1, 0, "a step like those before compiles nothing on {device}");
    spent
}

#[test]
fn the_update_is_one_kernel_whatever_the_optimizer() {
    let _turn = turn();
    type Make = Box<dyn Fn(&[Parameter]) -> Box<dyn Optimizer>>;
    let makes: Vec<(&str, Make)> = vec![
        ("momentum", Box::new(|p| Box::new(Sgd::new(p.to_vec()).momentum(0.9).nesterov().weight_decay(0.1)))),
        ("adam", Box::new(|p| Box::new(Adam::new(p.to_vec()).amsgrad().weight_decay(0.1)))),
        ("adamw", Box::new(|p| Box::new(AdamW::new(p.to_vec())))),
        ("rmsprop", Box::new(|p| Box::new(RmsProp::new(p.to_vec()).momentum(0.9).centered()))),
        ("adagrad", Box::new(|p| Box::new(Adagrad::new(p.to_vec()).initial_accumulator(0.1)))),
        ("lion", Box::new(|p| Box::new(Lion::new(p.to_vec())))),
        ("noise", Box::new(|p| Box::new(AdamW::new(p.to_vec()).noise(GradientNoise::default())))),
        (
            "groups",
            Box::new(|p| {
                let first = AdamW::new(p[..2].to_vec()).group(p[2..3].to_vec()).learning_rate(0.1);
                Box::new(first.group(p[3..].to_vec()).weight_decay(0.0))
            }),
        ),
    ];
    for device in devices() {
        let (plain, _) = cost(&device, &|p| Box::new(Sgd::new(p.to_vec())));
        for (name, make) in &makes {
            assert_eq!(cost(&device, make).0, plain, "{name} on {device}");
        }
        // Three products and a sum an iteration for all three matrices, the norms, and what is around them.
        let (muon, _) = cost(&device, &|p| Box::new(Muon::new(p.to_vec())));
        assert!(muon <= plain + 5 * 4 + 5, "{muon} kernels with Muon, {plain} without on {device}");
    }
}

#[test]
fn a_schedule_changes_rates_and_compiles_nothing() {
    let _turn = turn();
    for device in devices() {
        let weight = Parameter::new(Tensor::zeros([3], &device));
        let other = Parameter::new(Tensor::zeros([3], &device));
        let sgd = Sgd::new(vec![weight.clone()]).learning_rate(1.0).group(vec![other.clone()]);
        let mut sgd = sgd.learning_rate(2.0).schedule(Warmup::new(3, Exponential::new(8.0, 0.5)).from(0.0));
        let mut compiled = 0;
        for step in 0..6 {
            let before = device.counters().plans_compiled;
            sgd.step(&(weight.value().sum() + other.value().sum())).unwrap();
            if step > 1 {
                compiled += device.counters().plans_compiled - before;
            }
        }
        // 0, 8/3, 16/3, 8, 4, 2: steps downhill of a slope of 1.
        assert!((weight.value().to_vec::<f32>().unwrap()[0] + 22.0).abs() < 1e-5);
        assert!((other.value().to_vec::<f32>().unwrap()[0] + 44.0).abs() < 1e-5);
        assert_eq!((compiled, sgd.learning_rates()), (0, vec![2.0, 4.0]));
    }
}

#[test]
fn noise_has_its_deviation_and_goes_on_after_a_restore() {
    let _turn = turn();
    for device in devices() {
        let steps = |seed: u64, from: usize| {
            device.seed(seed);
            let weight = Parameter::new(Tensor::zeros([4096], &device));
            let noise = GradientNoise { scale: 4.0, decay: 2.0 };
            let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(1.0).noise(noise);
            let mut path = Vec::new();
            for step in 0..3 {
                if step == from {
                    let (state, random) = (sgd.state().unwrap(), device.random_state());
                    let again = Parameter::new(weight.value());
                    sgd = Sgd::new(vec![again.clone()]).learning_rate(1.0).noise(noise);
                    sgd.restore(&state).unwrap();
                    device.seed(99);
                    device.set_random_state(random);
                }
                sgd.step(&sgd.parameters()[0].value().sum()).unwrap();
                path.push(sgd.parameters()[0].value().to_vec::<f32>().unwrap());
            }
            path
        };
        let path = steps(7, 9);
        // The gradient is 1 everywhere; deviations are 2 / (1 + step).
        for step in 0..3 {
            let change = |i: usize| path[step][i] - if step == 0 { 0.0 } else { path[step - 1][i] };
            let mean = (0..4096).map(|i| change(i) as f64).sum::<f64>() / 4096.0;
            let spread = (0..4096).map(|i| (change(i) as f64 - mean).powi(2)).sum::<f64>() / 4096.0;
            assert!((mean + 1.0).abs() < 0.15, "mean {mean} of step {step} on {device}");
            let wanted = 2.0 / (1.0 + step as f64);
            assert!(
                (spread.sqrt() / wanted - 1.0).abs() < 0.05,
                "spread {spread} of step {step} on {device}"
            );
        }
        assert!(path == steps(7, 9), "the same seed on {device}");
        assert!(path == steps(7, 2), "resumed on {device}");
        assert!(path != steps(8, 9), "another seed on {device}");
    }
}

/// A weight, as a matrix, and a bias.
fn matrix_and_vector(device: &Device) -> Vec<Parameter> {
    let weight = Tensor::from_vec((0..12).map(|i| i as f32 * 0.3 - 1.5).collect(), [3, 4], device);
    vec![Parameter::new(weight), Parameter::new(Tensor::from_vec(vec![0.5f32, -1.0, 2.0, 0.25], [4], device))]
}

#[test]
fn every_row_of_the_table_learns_and_counts_its_moments() {
    let _turn = turn();
    let names: Vec<&str> = OptimizerRow::names().collect();
    assert!(names.iter().enumerate().all(|(n, name)| !names[..n].contains(name)), "{names:?}");
    for device in devices() {
        for row in OPTIMIZERS {
            let common = Common { learning_rate: 0.01, clip: Clip::Norm(10.0), betas: None };
            let parameters = matrix_and_vector(&device);
            let mut optimizer = row.optimizer(vec![(parameters.clone(), 0.0)], &common);
            let loss = || (parameters[0].value() + parameters[1].value()).square().mean();
            let first = loss().item().unwrap();
            for _ in 0..5 {
                optimizer.step(&loss()).unwrap();
            }
            let last = loss().item().unwrap();
            assert!(last < first, "{}: {first}, then {last} on {device}", row.name);
            let of_the_matrix = |name: &String| name.starts_with("moment.") && name.ends_with(".0");
            let state = optimizer.state().unwrap();
            let moments = state.iter().filter(|(name, _)| of_the_matrix(name)).count();
            assert_eq!(moments as u32, row.moments, "moments of {}", row.name);
            assert!(row.about.ends_with('.'), "{}: {}", row.name, row.about);
        }
    }
}

/// `p ← p - rate · g`, or by `g³`, with nothing but its form to tell one from another.
#[derive(Clone)]
struct Powers {
    rate: f32,
    cubed: bool,
}

impl UpdateRule for Powers {
    type Form = bool;

    fn form(&self) -> bool {
        self.cubed
    }

    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn states(&self) -> usize {
        0
    }

    fn numbers(&self, _: u64, _: usize) -> Vec<f32> {
        vec![self.rate]
    }

    fn update<'g>(cubed: &bool, u: &Update<'g>) -> (Var<'g>, Vec<Var<'g>>) {
        let [rate] = u.numbers();
        let change = if *cubed { u.g.square() * u.g } else { u.g };
        (u.p - rate * change, vec![])
    }
}

#[test]
fn rules_are_told_apart_by_their_form_and_not_by_their_numbers() {
    let _turn = turn();
    for device in devices() {
        let step = |rate: f32, cubed: bool| {
            let weight = Parameter::new(Tensor::full(1.0, [2], &device).detach().unwrap());
            let mut optimizer = Updater::with_rule(vec![weight.clone()], Powers { rate, cubed });
            optimizer.step(&(weight.value() * 2.0).sum()).unwrap();
            weight.value().to_vec::<f32>().unwrap()[0]
        };
        assert_eq!((step(0.5, false), step(0.5, true)), (0.0, -3.0), "on {device}");
        let before = device.counters().plans_compiled;
        assert_eq!((step(0.25, false), step(0.25, true)), (0.5, -1.0), "on {device}");
        assert_eq!(device.counters().plans_compiled, before, "on {device}");
    }
}
