//! Moving averages of weights, and gradients of several batches.

mod devices;
mod folder;

use devices::{devices, turn};
use farad::optim::{Accumulator, WeightAverage};
use farad::prelude::*;
use farad::run::Checkpoint;
use folder::Folder;

const DECAY: f64 = 0.9;

fn network(device: &Device) -> Vec<Parameter> {
    let of = |shape: &[usize], from: f32| {
        let count: usize = shape.iter().product();
        let values = (0..count).map(|i| ((i * 7 % 11) as f32 + from) * 0.1 - 0.5).collect();
        Parameter::new(Tensor::from_vec(values, shape, device))
    };
    vec![of(&[5, 9], 0.0), of(&[9], 1.0), of(&[9, 3], 2.0)]
}

fn loss(parameters: &[Parameter], device: &Device) -> Tensor {
    let [w, b, v] = [0, 1, 2].map(|n| parameters[n].value());
    let x = Tensor::from_vec((0..20).map(|i| i as f32 * 0.1 - 1.0).collect(), [4, 5], device);
    ((x.matmul(&w) + b).tanh().matmul(&v) - 0.3).square().mean()
}

fn read(tensors: &[Tensor]) -> Vec<Vec<f32>> {
    tensors.iter().map(|t| t.to_vec().unwrap()).collect()
}

fn weights(parameters: &[Parameter]) -> Vec<Vec<f32>> {
    parameters.iter().map(|p| p.value().to_vec().unwrap()).collect()
}

#[test]
fn averages_of_f64_keep_their_digits() {
    let _turn = turn();
    let device = Device::cpu();
    let start = [0.1, -0.7, 1.0 / 3.0];
    let weight = Parameter::new(Tensor::from_f64(&start, [3], &device));
    // One of f32 beside it: each is averaged in its own dtype.
    let single = Parameter::new(Tensor::full(1.5, [2], &device));
    let mut average = WeightAverage::new(vec![weight.clone(), single.clone()], 0.999);
    let mut wanted = start;
    for step in 1..=50 {
        let values = start.map(|x| x * step as f64 + 1e-9);
        weight.set(Tensor::from_f64(&values, [3], &device));
        average.update().unwrap();
        wanted.iter_mut().zip(values).for_each(|(a, w)| *a = 0.999 * *a + (1.0 - 0.999) * w);
    }
    let got = average.values()[0].to_f64().unwrap();
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-13 * b.abs().max(1.0);
    assert!(got.iter().zip(&wanted).all(near), "{got:?} is not {wanted:?}");
    assert_eq!(average.values()[1].to_vec::<f32>().unwrap(), [1.5, 1.5]);
    // Of equal weights it is the weights, however often.
    weight.set(Tensor::from_f64(&start, [3], &device));
    let mut same = WeightAverage::new(vec![weight.clone()], 0.999);
    weight.set(Tensor::from_f64(&start, [3], &device));
    (0..200).for_each(|_| same.update().unwrap());
    let still = same.values()[0].to_f64().unwrap();
    assert!(still.iter().zip(&start).all(near), "{still:?} is not {start:?}");
    let stored = same.state().unwrap();
    same.restore(&stored).unwrap();
    assert_eq!(same.values()[0].to_f64().unwrap(), still);
}

#[test]
fn averages_follow_their_definition() {
    let _turn = turn();
    for device in devices() {
        let parameters = network(&device);
        let mut adam = AdamW::new(parameters.clone()).learning_rate(0.05);
        let mut average = WeightAverage::new(parameters.clone(), DECAY);
        let mut warm = WeightAverage::new(parameters.clone(), DECAY).warmup();
        let mut wanted: Vec<Vec<f64>> =
            weights(&parameters).iter().map(|p| p.iter().map(|&x| x as f64).collect()).collect();
        let mut early = wanted.clone();
        for step in 0..6 {
            adam.step(&loss(&parameters, &device)).unwrap();
            // Somebody who holds the averages keeps them, and is in nobody's way.
            let held = average.values().to_vec();
            let before = read(&held);
            average.update().unwrap();
            warm.update().unwrap();
            assert_eq!(read(&held), before, "on {device}");
            let soon = DECAY.min((1 + step) as f64 / (10 + step) as f64);
            for (average, decay) in [(&mut wanted, DECAY), (&mut early, soon)] {
                for (average, weights) in average.iter_mut().zip(weights(&parameters)) {
                    for (a, w) in average.iter_mut().zip(weights) {
                        *a = decay * *a + (1.0 - decay) * w as f64;
                    }
                }
            }
            for (average, wanted) in [(&average, &wanted), (&warm, &early)] {
                for (got, want) in read(average.values()).iter().flatten().zip(wanted.iter().flatten()) {
                    assert!((*got as f64 - want).abs() < 1e-6, "{got} instead of {want} on {device}");
                }
            }
        }
    }
}

#[test]
fn an_update_is_one_kernel_and_swapping_none() {
    let _turn = turn();
    for device in devices() {
        let parameters = network(&device);
        let frozen = Parameter::new(Tensor::from_vec(vec![1f32, 2.0], [2], &device));
        frozen.freeze();
        let all: Vec<Parameter> = parameters.iter().chain([&frozen]).cloned().collect();
        let mut adam = AdamW::new(all.clone());
        let mut average = WeightAverage::new(all, DECAY);
        let mut spent = None;
        for _ in 0..4 {
            adam.step(&loss(&parameters, &device)).unwrap();
            device.wait().unwrap();
            let before = device.counters();
            average.update().unwrap();
            average.swap_in();
            average.swap_out();
            device.wait().unwrap();
            spent = Some(device.counters().since(&before));
        }
        let spent = spent.unwrap();
        assert_eq!((spent.dispatches, spent.runs, spent.plans_compiled), (1, 1, 0), "on {device}");
        assert_eq!((spent.uploads, spent.reads, spent.allocations), (0, 0, 0), "on {device}");
        // The optimizer's array is its own again: a step copies nothing.
        let loss = loss(&parameters, &device);
        let before = device.counters();
        adam.step(&loss).unwrap();
        assert_eq!(device.counters().since(&before).plans_compiled, 0, "on {device}");
    }
}

#[test]
fn weights_change_places_and_training_goes_on_as_if_nothing_had_been() {
    let _turn = turn();
    for device in devices() {
        let (parameters, others) = (network(&device), network(&device));
        let mut adam = AdamW::new(parameters.clone()).learning_rate(0.05);
        let mut alone = AdamW::new(others.clone()).learning_rate(0.05);
        let mut average = WeightAverage::new(parameters.clone(), DECAY);
        for _ in 0..5 {
            adam.step(&loss(&parameters, &device)).unwrap();
            alone.step(&loss(&others, &device)).unwrap();
            average.update().unwrap();
            let averages = read(average.values());
            let (inside, held) = average.swapped(|| (weights(&parameters), parameters[0].value()));
            assert_eq!(inside, averages, "on {device}");
            assert_eq!(weights(&parameters), weights(&others), "on {device}");
            // An average that somebody took stays as it was.
            adam.step(&loss(&parameters, &device)).unwrap();
            alone.step(&loss(&others, &device)).unwrap();
            average.update().unwrap();
            assert_eq!(held.to_vec::<f32>().unwrap(), averages[0], "on {device}");
        }
    }
}

#[test]
fn averages_are_saved_and_go_on_with_the_same_bits() {
    let _turn = turn();
    let folder = Folder::new("average");
    for device in devices() {
        let parameters = network(&device);
        let mut sgd = Sgd::new(parameters.clone()).learning_rate(0.1);
        let mut average = WeightAverage::new(parameters.clone(), DECAY).warmup();
        let step = |sgd: &mut Sgd, average: &mut WeightAverage, parameters: &[Parameter]| {
            sgd.step(&loss(parameters, &device)).unwrap();
            average.update().unwrap();
        };
        (0..3).for_each(|_| step(&mut sgd, &mut average, &parameters));
        let mut checkpoint = Checkpoint::new("example", 3);
        checkpoint.put_all("average", average.state().unwrap());
        checkpoint.put_all("sgd", sgd.state().unwrap());
        parameters.iter().enumerate().for_each(|(n, p)| checkpoint.put(&format!("p{n}"), &p.value()));
        let path = folder.at("checkpoint.safetensors");
        checkpoint.write(&path).unwrap();

        let stored = Checkpoint::read(&path, "example").unwrap();
        let again = network(&device);
        for (n, p) in again.iter().enumerate() {
            p.set(stored.tensor(&format!("p{n}"), p.value().shape(), &device).unwrap());
        }
        let mut resumed = Sgd::new(again.clone()).learning_rate(0.1);
        resumed.restore(&stored.tensors("sgd", &device).unwrap()).unwrap();
        let mut restored = WeightAverage::new(again.clone(), DECAY).warmup();
        restored.restore(&stored.tensors("average", &device).unwrap()).unwrap();
        for _ in 0..3 {
            step(&mut sgd, &mut average, &parameters);
            step(&mut resumed, &mut restored, &again);
            assert_eq!(weights(&again), weights(&parameters), "on {device}");
            assert_eq!(read(restored.values()), read(average.values()), "on {device}");
        }
        let fewer = WeightAverage::new(parameters[..2].to_vec(), DECAY).restore(&average.state().unwrap());
        let error = fewer.unwrap_err().to_string();
        assert_eq!(error, "restore: more tensors than the optimizer has: average.2 is left over (4 vs 3)");
    }
}

#[test]
fn small_batches_add_up_to_a_large_one() {
    let _turn = turn();
    for device in devices() {
        let batch = |weight: &Parameter, rows: std::ops::Range<usize>| {
            let x: Vec<f32> = rows.clone().flat_map(|i| [i as f32 * 0.1, 1.0 - i as f32 * 0.2]).collect();
            let x = Tensor::from_vec(x, [rows.len(), 2], &device);
            (x.matmul(&weight.value()) - 1.0).square().mean()
        };
        let start = || Parameter::new(Tensor::from_vec(vec![0.5f32, -0.5, 1.0, 0.25], [2, 2], &device));
        let (small, large) = (start(), start());
        let mut by_parts = AdamW::new(vec![small.clone()]).learning_rate(0.1);
        let mut whole = AdamW::new(vec![large.clone()]).learning_rate(0.1);
        let mut accumulator = Accumulator::new();
        for step in 0..3 {
            for part in 0..4 {
                let loss = batch(&small, part * 3..part * 3 + 3);
                accumulator.add(&by_parts.gradients(&loss).unwrap()).unwrap();
            }
            assert_eq!(accumulator.batches(), 4);
            by_parts.apply(&accumulator.take()).unwrap();
            whole.step(&batch(&large, 0..12)).unwrap();
            let pairs = small
                .value()
                .to_vec::<f32>()
                .unwrap()
                .into_iter()
                .zip(large.value().to_vec::<f32>().unwrap());
            for (a, b) in pairs {
                assert!((a - b).abs() < 1e-4, "{a} instead of {b} at step {step} on {device}");
            }
        }
        assert_eq!(accumulator.batches(), 0);
    }
}
