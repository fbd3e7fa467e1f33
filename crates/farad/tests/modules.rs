//! Modules by `#[derive(Module)]`: paths, modes, freezing, moving, tables.

use farad::nn::{Tanh, Visitor};
use farad::prelude::*;

mod devices;

fn ones(shape: &[usize]) -> Tensor {
    Tensor::ones(shape, &Device::cpu())
}

fn names(module: &dyn Module) -> Vec<String> {
    module.named_parameters().into_iter().map(|(name, _)| name).collect()
}

#[derive(Module)]
struct Network<Body, const N: usize> {
    features: Sequential,
    body: Body,
    taps: [Parameter; N],
    pair: (Linear, Option<Linear>),
    nothing: Option<Linear>,
    boxed: Box<dyn Layer + Send + Sync>,
    r#type: Vec<Parameter>,
    mean: Buffer,
    mode: Mode,
    name: String,
    sizes: [usize; 2],
    rate: f32,
    #[module(skip)]
    plain: Tensor,
}

fn network() -> Network<Vec<Linear>, 2> {
    let linear = || Linear::new(2, 2).without_bias();
    Network {
        features: Sequential::new((Linear::new(2, 3), Relu)),
        body: vec![linear(), linear()],
        taps: [Parameter::new(ones(&[1])), Parameter::new(ones(&[2]))],
        pair: (linear(), Some(linear())),
        nothing: None,
        boxed: Box::new(linear()),
        r#type: vec![Parameter::new(ones(&[3]))],
        mean: Buffer::new(ones(&[4])),
        mode: Mode::new(),
        name: "network".into(),
        sizes: [1, 2],
        rate: 0.5,
        plain: ones(&[1]),
    }
}

#[test]
fn paths_are_names_of_fields_and_positions() {
    let network = network();
    let wanted = [
        "features.0.weight",
        "features.0.bias",
        "body.0.weight",
        "body.1.weight",
        "taps.0",
        "taps.1",
        "pair.0.weight",
        "pair.1.weight",
        "boxed.weight",
        "type.0",
    ];
    assert_eq!(names(&network), wanted);
    let state: Vec<String> = network.state().into_iter().map(|(name, _)| name).collect();
    assert_eq!(state[..10], wanted);
    assert_eq!(state[10..], ["mean"]);
    assert_eq!(network.named_buffers().len(), 1);
    let kept = (network.name.as_str(), network.sizes, network.rate, network.plain.numel());
    assert_eq!(kept, ("network", [1, 2], 0.5, 1));
}

#[derive(Module)]
struct Two(Linear, #[module(skip)] std::time::Duration, Parameter);

#[derive(Module)]
enum Choice<T> {
    One(T),
    Named { inner: T },
    Neither,
}

#[derive(Module)]
struct Marked<'a, T: Clone, U>
where
    U: 'a,
{
    part: T,
    #[module(skip)]
    left_out: &'a U,
}

#[test]
fn tuples_enums_and_generics_have_paths_too() {
    let two = Two(Linear::new(1, 1), std::time::Duration::ZERO, Parameter::new(ones(&[1])));
    assert_eq!(names(&two), ["0.weight", "0.bias", "2"]);
    assert_eq!(two.1, std::time::Duration::ZERO);
    let linear = || Linear::new(1, 1).without_bias();
    assert_eq!(names(&Choice::One(linear())), ["0.weight"]);
    assert_eq!(names(&Choice::Named { inner: linear() }), ["inner.weight"]);
    assert_eq!(names(&Choice::<Linear>::Neither), [""; 0]);
    // What is left out need not be a module.
    let duration = std::time::Duration::ZERO;
    let marked = Marked { part: linear(), left_out: &duration };
    assert_eq!((names(&marked), *marked.left_out), (vec!["part.weight".to_string()], duration));
}

#[test]
fn modes_are_set_for_all_parts() {
    #[derive(Module)]
    struct Inner {
        mode: Mode,
    }
    #[derive(Module)]
    struct Outer {
        mode: Mode,
        inner: Vec<Inner>,
    }
    let outer = Outer { mode: Mode::new(), inner: vec![Inner { mode: Mode::new() }] };
    assert!(outer.is_training() && outer.inner[0].mode.is_training());
    outer.eval();
    assert!(!outer.mode.is_training() && !outer.inner[0].mode.is_training());
    outer.inner.train();
    assert!(!outer.is_training() && outer.inner.is_training());
    outer.train();
    assert!(outer.is_training());
}

#[test]
fn frozen_parameters_are_not_trained_but_kept() {
    let model = Sequential::new((Linear::new(2, 3), Linear::new(3, 1)));
    let first = &model.named_parameters()[0].1;
    first.freeze();
    assert_eq!((model.parameters().len(), model.named_parameters().len()), (3, 4));
    assert_eq!((model.summary().parameters, model.summary().trained), (13, 7));
    assert_eq!(model.summary().rows[2].kind, "[3, 2] frozen");
    model.freeze();
    assert!(model.parameters().is_empty());
    model.unfreeze();
    assert_eq!(model.parameters().len(), 4);
}

#[test]
fn frozen_parameters_stay_as_they_are_while_others_learn() {
    for device in devices::devices() {
        let model = Sequential::new((Linear::new(2, 3), Tanh, Linear::new(3, 1))).to_device(&device);
        let before: Vec<Vec<f32>> = model.state().iter().map(|(_, t)| t.to_vec().unwrap()).collect();
        model.named_parameters()[0].1.freeze();
        let mut sgd = Sgd::new(model.parameters()).learning_rate(0.1);
        for _ in 0..2 {
            sgd.step(&model.forward(&Tensor::ones([4, 2], &device)).sum()).unwrap();
        }
        let after: Vec<Vec<f32>> = model.state().iter().map(|(_, t)| t.to_vec().unwrap()).collect();
        let changed: Vec<bool> = before.iter().zip(&after).map(|(a, b)| a != b).collect();
        assert_eq!(changed, [false, true, true, true], "on {device}");
    }
}

#[test]
fn parameters_and_buffers_move() {
    for device in devices::devices() {
        let network = network().to_device(&device);
        assert!(network.state().iter().all(|(_, tensor)| *tensor.device() == device), "on {device}");
        assert!(*network.plain.device() == Device::cpu());
    }
}

#[test]
fn a_summary_counts_shared_parameters_once() {
    let shared = Linear::new(4, 4).without_bias();
    let both = (shared.clone(), shared);
    let summary = both.summary();
    assert_eq!((summary.parameters, summary.rows.len()), (16, 5));
    assert_eq!(summary.rows[0].kind, "(Linear, Linear)");
    let network = network().summary();
    let row = |path: &str| network.rows.iter().find(|row| row.path == path).cloned();
    assert_eq!(row("mean").unwrap().kind, "[4] buffer");
    assert_eq!(row("body").unwrap().kind, "Linear × 2");
    assert_eq!(row("body").unwrap().parameters, 8);
    assert!(row("mode").is_none() && row("name").is_none() && row("nothing").is_none());
    assert_eq!(network.rows[0].parameters, network.parameters);
}

#[test]
fn a_visitor_of_ones_own_sees_every_part() {
    #[derive(Default)]
    struct Count {
        children: usize,
        modes: usize,
    }
    impl Visitor for Count {
        fn child(&mut self, _: &str, part: &dyn Module) {
            self.children += 1;
            part.visit(self);
        }
        fn parameter(&mut self, _: &Parameter) {}
        fn buffer(&mut self, _: &Buffer) {}
        fn mode(&mut self, _: &Mode) {
            self.modes += 1;
        }
    }
    let mut count = Count::default();
    Sequential::new((Linear::new(1, 1), Relu)).visit(&mut count);
    network().mode.visit(&mut count);
    assert_eq!((count.children, count.modes), (4, 1));
}
