//! Optimizers against PyTorch's: ten steps with given gradients, and the losses of a small network.

use crate::devices::devices;
use crate::fixtures::Fixture;
use farad::prelude::*;

const STEPS: usize = 10;
const PARAMETERS: usize = 5;

/// The optimizer of a case; options as in `tools/fixtures/optimizers.py`.
fn optimizer(case: &str, p: Vec<Parameter>) -> Box<dyn Optimizer> {
    match case {
        "sgd" => Box::new(Sgd::new(p).learning_rate(0.1)),
        "sgd_momentum" => Box::new(Sgd::new(p).learning_rate(0.1).momentum(0.9)),
        "sgd_dampening" => {
            Box::new(Sgd::new(p).learning_rate(0.1).momentum(0.9).dampening(0.3).weight_decay(0.05))
        }
        "sgd_nesterov" => Box::new(Sgd::new(p).learning_rate(0.1).momentum(0.8).nesterov().weight_decay(0.1)),
        "adam" => Box::new(Adam::new(p).learning_rate(0.02)),
        "adam_decay" => {
            Box::new(Adam::new(p).learning_rate(0.02).betas(0.8, 0.95).epsilon(1e-4).weight_decay(0.1))
        }
        "adam_amsgrad" => Box::new(Adam::new(p).learning_rate(0.02).betas(0.8, 0.6).amsgrad()),
        "adamw" => Box::new(AdamW::new(p).learning_rate(0.02)),
        "adamw_amsgrad" => {
            Box::new(AdamW::new(p).learning_rate(0.02).betas(0.8, 0.6).weight_decay(0.2).amsgrad())
        }
        "rmsprop" => Box::new(RmsProp::new(p).learning_rate(0.02)),
        "rmsprop_decay" => {
            Box::new(RmsProp::new(p).learning_rate(0.02).alpha(0.8).epsilon(1e-3).weight_decay(0.1))
        }
        "rmsprop_momentum" => Box::new(RmsProp::new(p).learning_rate(0.02).alpha(0.9).momentum(0.7)),
        "rmsprop_centered" => {
            Box::new(RmsProp::new(p).learning_rate(0.02).alpha(0.9).momentum(0.7).centered())
        }
        "adagrad" => Box::new(Adagrad::new(p).learning_rate(0.1)),
        "adagrad_decay" => {
            let adagrad = Adagrad::new(p).learning_rate(0.1).rate_decay(0.2).weight_decay(0.1);
            Box::new(adagrad.initial_accumulator(0.3).epsilon(1e-3))
        }
        "lion" => Box::new(Lion::new(p).learning_rate(0.02).weight_decay(0.1)),
        "muon" => Box::new(Muon::new(p).learning_rate(0.02)),
        "muon_plain" => {
            let muon = Muon::new(p).learning_rate(0.02).weight_decay(0.3).betas(0.8, 0.9).other_rate(0.25);
            Box::new(muon.momentum(0.8).without_nesterov().iterations(3).match_rms())
        }
        "groups" => {
            let first = AdamW::new(p[..2].to_vec()).learning_rate(0.02).weight_decay(0.1);
            let both = first.group(p[2..].to_vec()).learning_rate(0.1);
            Box::new(both.weight_decay(0.0).betas(0.7, 0.9))
        }
        _ => panic!("no optimizer for the case {case}"),
    }
}

#[test]
fn ten_steps_with_given_gradients() {
    let fixture = Fixture::open("optimizers");
    for device in devices() {
        for case in fixture.cases().iter().filter(|case| !["given", "mlp"].contains(&case.as_str())) {
            let given = |what: &str, n: usize| fixture.tensor(&format!("given/{what}{n}"), &device);
            let parameters: Vec<Parameter> = (0..PARAMETERS).map(|n| Parameter::new(given("p", n))).collect();
            let mut optimizer = optimizer(case, parameters.clone());
            let mut path: Vec<Vec<Tensor>> = vec![Vec::new(); PARAMETERS];
            for step in 0..STEPS {
                let gradients: Vec<Tensor> =
                    (0..PARAMETERS).map(|n| given("g", n).narrow(0, step, 1).squeeze(0)).collect();
                optimizer.apply(&gradients).unwrap();
                path.iter_mut().zip(&parameters).for_each(|(path, p)| path.push(p.value()));
            }
            for (n, path) in path.iter().enumerate() {
                let path = Tensor::stack(&path.iter().collect::<Vec<_>>(), 0);
                fixture.check(&format!("{case}/p{n}"), &path, 1e-5);
            }
        }
    }
}

#[test]
fn a_network_in_training_has_the_same_losses() {
    let fixture = Fixture::open("optimizers");
    for device in devices() {
        for case in ["sgd", "adamw", "rmsprop", "muon"] {
            let given = |what: &str| fixture.tensor(&format!("mlp/{what}"), &device);
            let parameters: Vec<Parameter> =
                (0..4).map(|n| Parameter::new(given(&format!("p{n}")))).collect();
            let [w1, b1, w2, b2] = &parameters[..] else { unreachable!() };
            let p = parameters.clone();
            let mut optimizer: Box<dyn Optimizer> = match case {
                "sgd" => Box::new(Sgd::new(p).learning_rate(0.1).momentum(0.9)),
                "adamw" => Box::new(AdamW::new(p).learning_rate(0.01)),
                "rmsprop" => Box::new(RmsProp::new(p)),
                _ => Box::new(Muon::new(p).learning_rate(0.02)),
            };
            let (x, labels) = (given("x"), given("labels"));
            let mut losses = Vec::new();
            for _ in 0..STEPS {
                let hidden = (x.matmul(&w1.value().transpose(0, 1)) + b1.value()).relu();
                let logits = hidden.matmul(&w2.value().transpose(0, 1)) + b2.value();
                let loss = logits.cross_entropy(&labels);
                optimizer.step(&loss).unwrap();
                losses.push(loss);
            }
            let losses = Tensor::stack(&losses.iter().collect::<Vec<_>>(), 0);
            fixture.check(&format!("mlp/{case}"), &losses, 1e-4);
        }
    }
}
