//! What holds of every transformer: it sees no later token, starts with the loss of a guess, trains in one submission
//! in mixed precision, with clipping and accumulation, and needs memory that grows with the context, not with its square.

#[path = "../../farad/tests/devices/mod.rs"]
mod devices;

use devices::{devices, turn};
use farad::optim::{Accumulator, Clip};
use farad::prelude::*;
use farad_lm::{Activation, ModelOptions, Positions, Transformer};

fn options() -> ModelOptions {
    ModelOptions { layers: 2, heads: 2, width: 16, context: 16, vocabulary: 31, ..Default::default() }
}

fn rotary() -> ModelOptions {
    ModelOptions { positions: Positions::Rotary, activation: Activation::Swiglu, tied: false, ..options() }
}

fn model(options: &ModelOptions, device: &Device) -> Transformer {
    farad::seed(3);
    Transformer::new(options).expect("sound sizes").to_device(device)
}

/// Tokens `[batch, time]` and those after them, of a pattern that can be learned.
fn batch(size: usize, options: &ModelOptions, device: &Device) -> [Tensor; 2] {
    let ModelOptions { context, vocabulary, .. } = *options;
    [0, 1].map(|shift| {
        let token = |n: usize| ((n / context * 5 + n % context + shift) * 3 % vocabulary) as i32;
        Tensor::from_vec((0..size * context).map(token).collect(), [size, context], device)
    })
}

#[test]
fn later_tokens_change_no_logit_before_them() {
    let _turn = turn();
    for device in devices() {
        for options in [options(), rotary()] {
            let model = model(&options, &device);
            let text: Vec<i32> = (0..16).map(|n| n * n * 5 % 31).collect();
            let logits = |text: &[i32]| {
                let tokens = Tensor::from_vec(text.to_vec(), [1, 16], &device);
                model.forward(&tokens).to_vec::<f32>().expect("logits")
            };
            let before = logits(&text);
            for at in [0, 7, 15] {
                let mut other = text.clone();
                other[at] = (other[at] + 1) % 31;
                let after = logits(&other);
                let (seen, changed) = (at * 31, (at + 1) * 31);
                assert_eq!(before[..seen], after[..seen], "{device}: token {at} is seen before its place");
                assert_ne!(
                    before[seen..changed],
                    after[seen..changed],
                    "{device}: token {at} is not seen at all"
                );
            }
        }
    }
}

#[test]
fn the_first_loss_is_that_of_a_guess() {
    let _turn = turn();
    for options in [options(), rotary(), ModelOptions { layers: 6, vocabulary: 500, ..options() }] {
        let model = model(&options, &Device::cpu());
        let [tokens, targets] = batch(8, &options, &Device::cpu());
        let (loss, guess) =
            (model.loss(&tokens, &targets).item().expect("a loss"), (options.vocabulary as f32).ln());
        assert!((loss / guess - 1.0).abs() < 0.02, "{loss} and {guess}");
    }
}

#[test]
fn new_weights_are_drawn_once() {
    let _turn = turn();
    let model = model(&options(), &Device::cpu());
    let before = Device::cpu().counters();
    let values: Vec<Vec<f32>> =
        model.parameters().iter().map(|parameter| parameter.value().to_vec().expect("numbers")).collect();
    assert_eq!(Device::cpu().counters().since(&before).runs, 0);
    assert_eq!(values.len(), model.parameters().len());
}

#[test]
fn only_matrices_and_tables_decay() {
    let _turn = turn();
    let model = model(&options(), &Device::cpu());
    let [matrices, others] = model.groups();
    // Two tables, four matrices a layer; a bias to each matrix, weight and bias to each norm.
    assert_eq!((matrices.len(), others.len()), (2 + 2 * 4, 2 * (4 + 4) + 2));
    assert_eq!(model.parameter_count(), 31 * 16 + 16 * 16 + 2 * (12 * 16 * 16 + 13 * 16) + 2 * 16);
}

#[test]
fn a_step_is_one_submission_and_compiles_once() {
    let _turn = turn();
    for device in devices() {
        for precision in [Precision::Single, Precision::Mixed] {
            let options = options();
            let model = model(&options, &device);
            let [tokens, targets] = batch(4, &options, &device);
            let mut adam = model.optimizer(3e-3, 0.1).clip(Clip::Norm(1.0));
            let mut step = || {
                let loss = precision.scope(|| model.loss(&tokens, &targets));
                adam.step(&loss).expect("a step");
                loss
            };
            let first = step().item().expect("a loss");
            // The second finds the parameters side by side and is compiled once more.
            drop(step());
            device.wait().expect("a device");
            let before = device.counters();
            (0..30).for_each(|_| drop(step()));
            let counted = device.counters().since(&before);
            assert_eq!((counted.plans_compiled, counted.runs, counted.reads), (0, 30, 0), "{counted:?}");
            assert!(counted.submissions <= 30, "{counted:?}");
            let last = step().item().expect("a loss");
            assert!(last < 0.65 * first, "{device}, {precision:?}: {first} became {last}");
        }
    }
}

#[test]
fn accumulated_halves_of_a_batch_are_the_batch() {
    let _turn = turn();
    let (device, options) = (Device::cpu(), options());
    let [whole, halves] = [model(&options, &device), model(&options, &device)];
    let [tokens, targets] = batch(4, &options, &device);
    let mut adam = whole.optimizer(1e-2, 0.1);
    adam.step(&whole.loss(&tokens, &targets)).expect("a step");
    let mut adam = halves.optimizer(1e-2, 0.1);
    let mut accumulator = Accumulator::new();
    for half in 0..2 {
        let [tokens, targets] = [&tokens, &targets].map(|t| t.narrow(0, 2 * half, 2));
        let gradients = adam.gradients(&halves.loss(&tokens, &targets)).expect("gradients");
        accumulator.add(&gradients).expect("sums");
    }
    adam.apply(&accumulator.take()).expect("a step");
    for ((name, a), (_, b)) in whole.named_parameters().iter().zip(halves.named_parameters()) {
        let (a, b) =
            (a.value().to_vec::<f32>().expect("numbers"), b.value().to_vec::<f32>().expect("numbers"));
        // Where a gradient is next to nothing, Adam's first step is as long in either direction.
        let far = a.iter().zip(&b).filter(|(a, b)| (*a - *b).abs() > 1e-4).count();
        assert!(far * 50 <= a.len().max(50), "{name}: {far} of {} differ", a.len());
    }
}

#[test]
fn memory_grows_with_the_context_not_with_its_square() {
    let _turn = turn();
    let peak = |context: usize| {
        let device = Device::cpu_with(Default::default());
        let options = ModelOptions { context, layers: 1, vocabulary: 16, ..options() };
        let model = model(&options, &device);
        let [tokens, targets] = batch(1, &options, &device);
        model.optimizer(1e-3, 0.1).step(&model.loss(&tokens, &targets)).expect("a step");
        device.wait().expect("a device");
        device.counters().bytes_peak
    };
    let [small, large] = [512, 2048].map(peak);
    // Scores alone would be 2 · 2048² numbers, 33 MB.
    assert!(large < 5 * small && large < 12 << 20, "{small} and {large} bytes");
}
