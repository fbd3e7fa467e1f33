//! Transformers against PyTorch's: logits, gradients at all weights, ten steps of training, and a file of GPT-2's.

#[path = "../../farad/tests/devices/mod.rs"]
mod devices;
#[path = "../../farad/tests/fixtures/mod.rs"]
mod fixtures;

use std::path::Path;

use devices::devices;
use farad::StateDict;
use farad::prelude::*;
use farad_lm::{Activation, Error, FamilyOptions, ModelOptions, Positions, Transformer};
use fixtures::Fixture;

const GPT2: ModelOptions = ModelOptions {
    layers: 2,
    heads: 2,
    width: 16,
    context: 12,
    vocabulary: 19,
    feed_forward: 0,
    activation: Activation::GeluTanh,
    positions: Positions::Learned,
    tied: true,
    dropout: 0.0,
    bias: true,
    family: FamilyOptions::PLAIN,
};

const ROTARY: ModelOptions = ModelOptions {
    activation: Activation::Swiglu,
    positions: Positions::Rotary,
    tied: false,
    bias: false,
    ..GPT2
};

/// A file as GPT-2's are: a prefix, masks, a head beside the table.
fn file() -> StateDict {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    StateDict::read(folder.join("gpt2.safetensors")).expect("a fixture that is shipped")
}

fn model(case: &str, options: &ModelOptions, fixture: &Fixture, device: &Device) -> Transformer {
    let model = Transformer::new(options).expect("sound sizes").to_device(device);
    for (name, parameter) in model.named_parameters() {
        parameter.set(fixture.tensor(&format!("{case}/{name}"), device));
    }
    model
}

fn follows_pytorch(case: &str, options: &ModelOptions) {
    let fixture = Fixture::open("gpt");
    for device in devices() {
        let model = model(case, options, &fixture, &device);
        let [tokens, targets] =
            ["tokens", "targets"].map(|name| fixture.tensor(&format!("{case}/{name}"), &device));
        fixture.check(&format!("{case}/logits"), &model.forward(&tokens), 1e-5);
        let (names, parameters): (Vec<_>, Vec<_>) = model.named_parameters().into_iter().unzip();
        let gradients = model.loss(&tokens, &targets).gradients(&parameters).expect("gradients");
        for (name, gradient) in names.iter().zip(&gradients) {
            fixture.check(&format!("{case}/grad.{name}"), gradient, 1e-4);
        }
        let mut adam = model.optimizer(0.01, 0.1);
        let mut losses = Vec::new();
        for _ in 0..10 {
            let loss = model.loss(&tokens, &targets);
            adam.step(&loss).expect("a step");
            losses.push(loss.item().expect("a loss"));
        }
        fixture.check(&format!("{case}/losses"), &Tensor::from_vec(losses, [10], &Device::cpu()), 1e-4);
        fixture.check(&format!("{case}/trained"), &model.forward(&tokens), 1e-4);
    }
}

#[test]
fn gpt2_follows_pytorch() {
    follows_pytorch("gpt2", &GPT2);
}

#[test]
fn rotary_gated_untied_follows_pytorch() {
    follows_pytorch("rotary", &ROTARY);
}

#[test]
fn files_of_gpt2_are_read() {
    let fixture = Fixture::open("gpt");
    let model = Transformer::from_weights(file(), Some(2)).expect("a model");
    assert_eq!(model.options(), &ModelOptions { feed_forward: 64, ..GPT2 });
    let tokens = fixture.tensor("gpt2/tokens", &Device::cpu());
    fixture.check("gpt2/logits", &model.forward(&tokens), 1e-5);
    // Names are the same on the way out.
    let again = Transformer::new(&GPT2).expect("sound sizes");
    again.load(StateDict::of(&model)).expect("the same names");
    fixture.check("gpt2/logits", &again.forward(&tokens), 1e-5);
}

#[test]
fn files_of_other_models_are_refused() {
    let other = Transformer::new(&ModelOptions { vocabulary: 20, ..GPT2 }).expect("sound sizes");
    let text = other.load(file()).unwrap_err().to_string();
    assert!(text.contains("wte.weight") && text.contains("[19, 16]") && text.contains("[20, 16]"), "{text}");
    let untied = ModelOptions { tied: false, ..GPT2 };
    let untied = Transformer::new(&untied).expect("sound sizes");
    let tied = Transformer::new(&GPT2).expect("sound sizes");
    assert!(matches!(tied.load(StateDict::of(&untied)), Err(Error::Untied)));
    let nothing = Transformer::from_weights(StateDict::default(), None).unwrap_err().to_string();
    assert_eq!(nothing.lines().next(), Some("weights: there is no wte.weight"));
}
