//! Recurrent layers of a size at which products are cut into parts: GPUs against the CPU, and what a step costs.

mod devices;

use devices::{devices, turn};
use farad::nn::{Cell, Recurrent, State};
use farad::prelude::*;

const TIME: usize = 5;
const BATCH: usize = 4;
const INPUTS: usize = 7;
const HIDDEN: usize = 160;

/// Outputs, last states, and the gradients of a loss of all of them at input, states and parameters.
fn results<C: Cell>(module: &Recurrent<C>, given: &[Tensor], device: &Device) -> Vec<Vec<f32>> {
    let given: Vec<Tensor> = given.iter().map(|t| t.to_device(device).unwrap()).collect();
    for (_, parameter) in module.named_parameters() {
        parameter.move_to(device).unwrap();
    }
    let (y, last) = module.forward_from(&given[0], &[C::State::from_parts(&given[1..])]);
    let mut all = vec![y];
    all.extend(last[0].parts());
    let loss = all.iter().map(|t| t.square().sum()).reduce(|a, b| a + b).unwrap();
    let parameters: Vec<Tensor> = module.named_parameters().iter().map(|(_, p)| p.value()).collect();
    all.extend(loss.gradients_at(&given.iter().chain(&parameters).collect::<Vec<_>>()).unwrap());
    all.iter().map(|t| t.to_vec::<f32>().unwrap()).collect()
}

fn agrees<C: Cell>() {
    let _turn = turn();
    let module = Recurrent::<C>::new(INPUTS, HIDDEN);
    let cpu = Device::cpu();
    let mut given = vec![Tensor::rand([TIME, BATCH, INPUTS], &cpu) - 0.5];
    given.extend((0..C::State::PARTS).map(|_| Tensor::rand([BATCH, HIDDEN], &cpu) - 0.5));
    Tensor::compute_all(&given.iter().collect::<Vec<_>>()).unwrap();
    let wanted = results(&module, &given, &cpu);
    for device in devices() {
        for (n, (got, want)) in results(&module, &given, &device).iter().zip(&wanted).enumerate() {
            let scale = want.iter().fold(1.0f32, |most, x| most.max(x.abs()));
            let off = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / scale;
            assert!(off < 1e-5, "result {n} on {device}: off by {off}");
        }
    }
}

#[test]
fn lstm_agrees_with_the_cpu() {
    agrees::<LstmCell>();
}

#[test]
fn gru_agrees_with_the_cpu() {
    agrees::<GruCell>();
}

#[test]
fn rnn_agrees_with_the_cpu() {
    agrees::<RnnCell>();
}

/// Launches of a training step beyond those of one that is a position shorter.
fn launches_a_position<C: Cell>(device: &Device) -> usize {
    let launches = |time: usize| {
        let module = Recurrent::<C>::new(INPUTS, HIDDEN).to_device(device);
        let x = Tensor::rand([time, BATCH, INPUTS], device).detach().unwrap();
        let mut adam = AdamW::new(module.parameters()).learning_rate(1e-3);
        let mut counted = 0;
        for _ in 0..3 {
            device.wait().unwrap();
            let before = device.counters();
            adam.step(&module.forward(&x).0.square().mean()).unwrap();
            device.wait().unwrap();
            let after = device.counters();
            assert_eq!(after.submissions - before.submissions, 1, "on {device}");
            counted = after.dispatches - before.dispatches;
        }
        counted
    };
    launches(9) - launches(8)
}

#[test]
fn a_position_is_four_launches_and_a_step_one_submission() {
    let _turn = turn();
    for device in devices() {
        assert_eq!(launches_a_position::<LstmCell>(&device), 4, "on {device}");
        assert_eq!(launches_a_position::<GruCell>(&device), 4, "on {device}");
        assert!(launches_a_position::<RnnCell>(&device) <= 4, "on {device}");
    }
}

#[test]
fn the_gradient_at_the_input_is_the_slope() {
    let lstm = Lstm::new(8, 16);
    let x = Tensor::rand([10, 4, 8], &Device::cpu()) - 0.5;
    let (y, last) = lstm.forward(&x);
    assert_eq!(y.shape()[..], [10, 4, 16]);
    assert_eq!([last[0].hidden.shape(), last[0].cell.shape()].map(|s| s.to_vec()), [[4, 16], [4, 16]]);
    let loss = |x: &[Tensor]| {
        let (y, last) = lstm.forward(&x[0]);
        y.square().sum() + (&last[0].hidden * &last[0].cell).sum()
    };
    assert!(farad::check::gradients(std::slice::from_ref(&x), loss).unwrap().error() < 1e-6);
    let of_last = |x: &[Tensor]| lstm.forward(&x[0]).1[0].hidden.square().sum();
    assert!(farad::check::gradients(&[x], of_last).unwrap().error() < 1e-6);
}

#[test]
fn mixed_precision_is_near() {
    let _turn = turn();
    for device in devices() {
        let lstm = Lstm::new(INPUTS, 32).to_device(&device);
        let x = (Tensor::rand([TIME, BATCH, INPUTS], &device) - 0.5).detach().unwrap();
        let run = |precision: Precision| -> Vec<Vec<f32>> {
            let loss = precision.scope(|| lstm.forward(&x).0.square().sum());
            let gradients = loss.gradients(&lstm.parameters()).unwrap();
            gradients.iter().map(|g| g.to_vec::<f32>().unwrap()).collect()
        };
        for (full, mixed) in run(Precision::Single).iter().zip(&run(Precision::Mixed)) {
            let norm = |values: &mut dyn Iterator<Item = f32>| values.map(|v| v * v).sum::<f32>().sqrt();
            let off = norm(&mut full.iter().zip(mixed).map(|(a, b)| a - b));
            assert!(off < 3e-3 * norm(&mut full.iter().copied()), "on {device}: off by {off}");
        }
    }
}

#[test]
fn dropout_between_layers_is_for_training() {
    let device = Device::cpu();
    let gru = Gru::new(3, 5).layers(2).dropout(0.5);
    let x = Tensor::rand([4, 2, 3], &device);
    let run = || gru.forward(&x).0.to_vec::<f32>().unwrap();
    assert_ne!(run(), run());
    gru.eval();
    assert_eq!(run(), run());
}

#[test]
#[should_panic(expected = "forward_from: one state a layer and direction: Gru (1 vs 2)")]
fn a_state_is_needed_for_every_layer() {
    let gru = Gru::new(3, 5).layers(2);
    let state = Tensor::zeros([2, 5], &Device::cpu());
    gru.forward_from(&Tensor::zeros([4, 2, 3], &Device::cpu()), &[state]);
}
