//! Recurrent layers against PyTorch: outputs, last states, gradients, and ten steps of a classifier.

mod devices;
mod fixtures;

use devices::{devices, turn};
use farad::nn::{Cell, Recurrent, State};
use farad::prelude::*;
use fixtures::Fixture;

/// Puts the fixture's parameters into a module.
fn fill(module: &impl Module, fixture: &Fixture, case: &str, device: &Device) {
    for (name, parameter) in module.named_parameters() {
        let value = fixture.tensor(&format!("{case}/param.{name}"), device);
        assert_eq!(parameter.value().shape(), value.shape(), "{case}: {name}");
        parameter.set(value);
    }
}

/// The fixture's combination of the results.
fn combine(fixture: &Fixture, case: &str, results: &[(String, Tensor)], device: &Device) -> Tensor {
    let weighted = |(name, result): &(String, Tensor)| {
        (result * fixture.tensor(&format!("{case}/weight.{name}"), device)).sum()
    };
    results.iter().map(weighted).reduce(|a, b| a + b).expect("a result")
}

/// Checks results, and gradients at the given tensors and at all parameters.
fn check(
    module: &impl Module,
    fixture: &Fixture,
    case: &str,
    given: &[(String, Tensor)],
    results: &[(String, Tensor)],
    device: &Device,
) {
    let loss = combine(fixture, case, results, device);
    let mut names: Vec<String> = given.iter().map(|(name, _)| name.clone()).collect();
    let mut at: Vec<Tensor> = given.iter().map(|(_, tensor)| tensor.clone()).collect();
    for (name, parameter) in module.named_parameters() {
        names.push(format!("param.{name}"));
        at.push(parameter.value());
    }
    let gradients = loss.gradients_at(&at.iter().collect::<Vec<_>>()).unwrap();
    for (name, result) in results {
        fixture.check(&format!("{case}/{name}"), result, 1e-5);
    }
    for (name, gradient) in names.iter().zip(&gradients) {
        fixture.check(&format!("{case}/grad.{name}"), gradient, 1e-4);
    }
}

/// The fixture's whole state tensors as leaves, and the states cut from them.
fn leaves<S: State>(
    fixture: &Fixture,
    case: &str,
    count: usize,
    device: &Device,
) -> (Vec<(String, Tensor)>, Vec<S>) {
    let wholes: Vec<(String, Tensor)> = ["hidden", "cell"][..S::PARTS]
        .iter()
        .map(|part| format!("start.{part}"))
        .map(|name| (name.clone(), fixture.tensor(&format!("{case}/{name}"), device)))
        .collect();
    let cut = |n: usize, whole: &Tensor| match whole.rank() {
        2 => whole.clone(),
        _ => whole.narrow(0, n, 1).squeeze(0),
    };
    let states = (0..count)
        .map(|n| S::from_parts(&wholes.iter().map(|(_, whole)| cut(n, whole)).collect::<Vec<_>>()))
        .collect();
    (wholes, states)
}

/// The parts of the last states, stacked as PyTorch gives them.
fn stacked<S: State>(last: &[S]) -> Vec<(String, Tensor)> {
    let part = |n: usize| {
        let parts: Vec<Tensor> = last.iter().map(|state| state.parts()[n].clone()).collect();
        Tensor::stack(&parts.iter().collect::<Vec<_>>(), 0)
    };
    ["hidden", "cell"][..S::PARTS]
        .iter()
        .enumerate()
        .map(|(n, name)| (format!("last.{name}"), part(n)))
        .collect()
}

fn layers<C: Cell>(kind: &str) {
    type Make<C> = fn(Recurrent<C>) -> Recurrent<C>;
    let variants: [(&str, Make<C>); 5] = [
        ("plain", |layer| layer),
        ("with states", |layer| layer),
        ("two layers in both directions", |layer| layer.layers(2).bidirectional()),
        ("without bias", |layer| layer.without_bias()),
        ("batch first", |layer| layer.batch_first().bidirectional()),
    ];
    let (_turn, fixture) = (turn(), Fixture::open("recurrent"));
    for device in devices() {
        for (detail, make) in &variants {
            let case = format!("{kind} {detail}");
            let module = make(Recurrent::<C>::new(4, 6));
            fill(&module, &fixture, &case, &device);
            let mut given = vec![("x".to_string(), fixture.tensor(&format!("{case}/x"), &device))];
            let (y, last) = if fixture.has(&format!("{case}/start.hidden")) {
                let (wholes, start) = leaves::<C::State>(&fixture, &case, module.cells.len(), &device);
                given.extend(wholes);
                module.forward_from(&given[0].1, &start)
            } else {
                module.forward(&given[0].1)
            };
            let mut results = vec![("y".to_string(), y)];
            results.extend(stacked(&last));
            check(&module, &fixture, &case, &given, &results, &device);
        }
    }
}

#[test]
fn lstm_layers() {
    layers::<LstmCell>("lstm");
}

#[test]
fn gru_layers() {
    layers::<GruCell>("gru");
}

#[test]
fn rnn_layers() {
    layers::<RnnCell>("rnn");
}

fn cell<C: Cell>(kind: &str) {
    let (_turn, fixture) = (turn(), Fixture::open("recurrent"));
    let case = format!("cell {kind}");
    for device in devices() {
        let module = Recurrent::<C>::new(4, 6).cells.remove(0);
        fill(&module, &fixture, &case, &device);
        let x = fixture.tensor(&format!("{case}/x"), &device);
        let (wholes, start) = leaves::<C::State>(&fixture, &case, 1, &device);
        let last = module.step(&module.inputs(&x), &start[0]);
        let mut given = vec![("x".to_string(), x)];
        given.extend(wholes);
        let names = ["last.hidden", "last.cell"].map(String::from);
        let results: Vec<(String, Tensor)> = names.into_iter().zip(last.parts()).collect();
        check(&module, &fixture, &case, &given, &results, &device);
    }
}

#[test]
fn cells() {
    cell::<LstmCell>("lstm");
    cell::<GruCell>("gru");
    cell::<RnnCell>("rnn");
}

#[derive(Module)]
struct Classifier {
    lstm: Lstm,
    head: Linear,
}

impl Classifier {
    fn loss(&self, x: &Tensor, labels: &Tensor) -> Tensor {
        let (y, _) = self.lstm.forward(x);
        let last = y.narrow(0, y.shape()[0] - 1, 1).squeeze(0);
        self.head.forward(&last).cross_entropy(labels)
    }
}

#[test]
fn ten_steps_follow_pytorch_and_each_is_one_submission() {
    let _turn = turn();
    let fixture = Fixture::open("recurrent");
    let wanted = fixture.tensor("train/losses", &Device::cpu()).to_vec::<f32>().unwrap();
    for device in devices() {
        let model = Classifier { lstm: Lstm::new(4, 6), head: Linear::new(6, 3) };
        fill(&model, &fixture, "train", &device);
        let x = fixture.tensor("train/x", &device);
        let labels = fixture.tensor("train/labels", &device);
        let mut adam = AdamW::new(model.parameters()).learning_rate(0.02).weight_decay(0.01);
        for (step, want) in wanted.iter().enumerate() {
            let before = device.counters();
            let loss = model.loss(&x, &labels);
            adam.step(&loss).unwrap();
            device.wait().unwrap();
            let after = device.counters();
            if step > 0 {
                assert_eq!(after.submissions - before.submissions, 1, "on {device}");
            }
            let got = loss.item().unwrap();
            assert!(
                (got as f64 - *want as f64).abs() < 1e-4,
                "step {step} on {device}: {got} instead of {want}"
            );
        }
    }
}
