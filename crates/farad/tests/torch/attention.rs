//! Attention, transformer blocks and their training, as PyTorch computes them.

use crate::devices::devices;
use crate::fixtures::Fixture;
use farad::nn::{
    MultiHeadAttention, TransformerActivation, TransformerDecoderLayer, TransformerEncoder,
    TransformerEncoderLayer, TransformerOptions,
};
use farad::prelude::*;
use farad::{Attention, DeviceOptions};

const VALUE: f64 = 1e-5;
const GRADIENT: f64 = 1e-4;

/// Puts a case's tensors into a module and moves it to a device.
fn filled<M: Module>(module: M, case: &str, file: &Fixture, device: &Device) -> M {
    for (name, parameter) in module.named_parameters() {
        let value = file.tensor(&format!("{case}/{name}"), device);
        assert_eq!(value.shape(), parameter.value().shape(), "{case}/{name}");
        parameter.set(value);
    }
    module
}

/// Compares a result, and the gradients of its weighted sum at what is named.
fn check(file: &Fixture, case: &str, y: &Tensor, at: &[(String, Tensor)]) {
    file.check(&format!("{case}/y"), y, VALUE);
    let weight = file.tensor(&format!("{case}/weight"), y.device());
    let tensors: Vec<&Tensor> = at.iter().map(|(_, tensor)| tensor).collect();
    let gradients = (y * weight).sum().gradients_at(&tensors).unwrap();
    for ((name, _), gradient) in at.iter().zip(gradients) {
        file.check(&format!("{case}/grad.{name}"), &gradient, GRADIENT);
    }
}

/// A module's parameters, and inputs, with their names.
fn named(module: &impl Module, inputs: &[(&str, &Tensor)]) -> Vec<(String, Tensor)> {
    let own = module.named_parameters().into_iter().map(|(name, parameter)| (name, parameter.value()));
    own.chain(inputs.iter().map(|(name, tensor)| (name.to_string(), Tensor::clone(tensor)))).collect()
}

#[test]
fn products() {
    let file = Fixture::open("attention");
    let mut ran = 0;
    for device in devices() {
        for case in file.cases().iter().filter(|case| case.starts_with("product_")) {
            let part = |name: &str| file.tensor(&format!("{case}/{name}"), &device);
            let [q, k, v] = ["q", "k", "v"].map(part);
            let mut options = Attention::new();
            if case.contains("causal") {
                options = options.causal();
            }
            if case.ends_with("scaled") {
                options = options.scale(0.7);
            }
            if file.has(&format!("{case}/mask")) {
                options = options.mask(&part("mask"));
            }
            let at = [("q", &q), ("k", &k), ("v", &v)].map(|(name, t)| (name.to_string(), t.clone()));
            for composed in [false, true] {
                let y = q.attention(&k, &v, &options.clone().composed(composed));
                check(&file, case, &y, &at);
                ran += 1;
            }
        }
    }
    assert!(ran >= 18, "{ran}");
}

#[test]
fn multi_head_attention() {
    let file = Fixture::open("attention");
    for device in devices() {
        for case in file.cases().iter().filter(|case| case.starts_with("heads_")) {
            let layer = filled(MultiHeadAttention::new(8, 2), case, &file, &device);
            let x = file.tensor(&format!("{case}/x"), &device);
            let mut options = Attention::new();
            if case.ends_with("causal") {
                options = options.causal();
            }
            if file.has(&format!("{case}/padding")) {
                options = options.key_mask(&file.tensor(&format!("{case}/padding"), &device).not());
            }
            let other = format!("{case}/memory");
            if file.has(&other) {
                let memory = file.tensor(&other, &device);
                let y = layer.forward(&x, &memory, &memory, &options);
                check(&file, case, &y, &named(&layer, &[("x", &x), ("memory", &memory)]));
            } else {
                let y = layer.forward(&x, &x, &x, &options);
                check(&file, case, &y, &named(&layer, &[("x", &x)]));
            }
        }
    }
}

fn sizes(first: bool, activation: TransformerActivation) -> TransformerOptions {
    TransformerOptions::new(8, 2).hidden(12).dropout(0.0).norm_first(first).activation(activation)
}

#[test]
fn blocks() {
    let file = Fixture::open("attention");
    let table = [("after", false, TransformerActivation::Relu), ("first", true, TransformerActivation::Gelu)];
    for device in devices() {
        for (name, first, activation) in table {
            let options = sizes(first, activation);
            let case = format!("encoder_{name}");
            let block = filled(TransformerEncoderLayer::new(&options), &case, &file, &device);
            let x = file.tensor(&format!("{case}/x"), &device);
            let y = block.forward(&x, &Attention::new().causal());
            check(&file, &case, &y, &named(&block, &[("x", &x)]));
            let case = format!("decoder_{name}");
            let block = filled(TransformerDecoderLayer::new(&options), &case, &file, &device);
            let [x, memory] = ["x", "memory"].map(|name| file.tensor(&format!("{case}/{name}"), &device));
            let y = block.forward(&x, &memory, &Attention::new().causal(), &Attention::new());
            check(&file, &case, &y, &named(&block, &[("x", &x), ("memory", &memory)]));
        }
    }
}

#[test]
fn stacks() {
    let file = Fixture::open("attention");
    for device in devices() {
        let stack = TransformerEncoder::new(2, &sizes(true, TransformerActivation::Relu)).with_norm();
        let stack = filled(stack, "stack_encoder", &file, &device);
        let x = file.tensor("stack_encoder/x", &device);
        check(&file, "stack_encoder", &stack.forward(&x, &Attention::new()), &named(&stack, &[("x", &x)]));
    }
}

#[test]
fn ten_steps_follow() {
    let file = Fixture::open("attention");
    let wanted = file.tensor("training/losses", &Device::cpu()).to_vec::<f32>().unwrap();
    let apart = DeviceOptions { fuse: false, ..Default::default() };
    for device in devices().into_iter().chain([Device::cpu_with(apart)]) {
        let block = TransformerEncoderLayer::new(&sizes(true, TransformerActivation::Gelu));
        let block = filled(block, "training", &file, &device);
        let [x, target] = ["x", "target"].map(|name| file.tensor(&format!("training/{name}"), &device));
        let mut adam = AdamW::new(block.parameters()).learning_rate(0.01).weight_decay(0.1);
        for (step, wanted) in wanted.iter().enumerate() {
            let y = block.forward(&x, &Attention::new().causal());
            let loss = y.mean_squared_error(&target);
            adam.step(&loss).unwrap();
            let loss = loss.item().unwrap();
            assert!((loss - wanted).abs() < 1e-4, "{device}, step {step}: {loss}, PyTorch says {wanted}");
        }
    }
}
