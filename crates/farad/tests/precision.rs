//! Mixed precision: what it costs in accuracy, how the loss scale grows and gives way, and that a step with it is one
//! submission.

mod devices;

use devices::{devices, skip, turn};
use farad::DeviceOptions;
use farad::optim::{Clip, LossScale};
use farad::prelude::*;
use half::bf16;

/// A half has eleven bits, so an operand is off by 2⁻¹² of its size on average and products are off by about twice
/// that; five layers of products and their gradients stay within this of the gradient's norm.
const GRADIENT_TOLERANCE: f32 = 5e-3;

fn network(device: &Device, seed: u64) -> Sequential {
    // Layers draw from one CPU, whichever test makes them.
    let _turn = turn();
    farad::seed(seed);
    Sequential::new((Linear::new(12, 32), Gelu, Linear::new(32, 32), Relu, Linear::new(32, 4)))
        .to_device(device)
}

fn batch(device: &Device) -> (Tensor, Tensor) {
    let x: Vec<f32> = (0..24 * 12).map(|i| ((i * 37 % 101) as f32 - 50.0) / 40.0).collect();
    let labels: Vec<i32> = (0..24).map(|i| i * 7 % 4).collect();
    (Tensor::from_vec(x, [24, 12], device), Tensor::from_vec(labels, [24], device))
}

fn numbers(tensors: &[Tensor]) -> Vec<f32> {
    tensors.iter().flat_map(|t| t.to_vec::<f32>().unwrap()).collect()
}

fn weights(parameters: &[Parameter]) -> Vec<f32> {
    numbers(&parameters.iter().map(Parameter::value).collect::<Vec<_>>())
}

/// How far `a` is from `b`, by the norm of `b`.
fn distance(a: &[f32], b: &[f32]) -> f32 {
    let norm = |v: &mut dyn Iterator<Item = f32>| v.map(|x| x * x).sum::<f32>().sqrt();
    norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / norm(&mut b.iter().copied())
}

#[test]
fn finite_numbers_are_told_from_others_on_every_device() {
    for device in devices() {
        let values =
            vec![0.0, -0.0, 1e-40, f32::MAX, f32::MIN, f32::INFINITY, -f32::INFINITY, f32::NAN, -f32::NAN];
        let want: Vec<bool> = values.iter().map(|v| v.is_finite()).collect();
        let x = Tensor::from_vec(values, [9], &device);
        assert_eq!(x.is_finite().to_vec::<bool>().unwrap(), want, "on {device}");
        let halves = (&x * 1.0).cast(DType::F16).is_finite().to_vec::<bool>().unwrap();
        assert_eq!(halves, [true, true, true, false, false, false, false, false, false], "on {device}");
    }
}

#[test]
fn a_scope_rounds_operands_and_nothing_else() {
    for device in devices() {
        let fine = Tensor::full(1.0 + 1.0 / 4096.0, [1, 1], &device);
        let one = Tensor::ones([1, 1], &device);
        let product = Precision::Mixed.scope(|| {
            assert_eq!(Precision::current(), Precision::Mixed);
            let single = Precision::Single.scope(|| fine.matmul(&one));
            assert_eq!(single.item().unwrap(), 1.0 + 1.0 / 4096.0, "the inner scope holds on {device}");
            assert_eq!(
                (&fine * &one).item().unwrap(),
                1.0 + 1.0 / 4096.0,
                "no product, so exact on {device}"
            );
            fine.matmul(&one)
        });
        assert_eq!(Precision::current(), Precision::Single);
        assert_eq!(product.dtype(), DType::F32);
        assert_eq!(product.item().unwrap(), 1.0, "on {device}");
        // Sums of products are f32: ones beyond 2048 would not count in f16.
        let long = Tensor::ones([1, 4096], &device);
        let sum = Precision::Mixed.scope(|| long.matmul(&long.transpose(0, 1)));
        assert_eq!(sum.item().unwrap(), 4096.0, "on {device}");
    }
}

#[test]
fn gradients_are_those_of_single_precision_within_tolerance() {
    for device in devices() {
        let (x, labels) = batch(&device);
        let model = network(&device, 3);
        let mut sgd = Sgd::new(model.parameters());
        let single = model.forward(&x).cross_entropy(&labels).gradients(&model.parameters()).unwrap();
        let loss = Precision::Mixed.scope(|| model.forward(&x).cross_entropy(&labels));
        let mixed = sgd.gradients(&loss).unwrap();
        for (parameter, (a, b)) in mixed.iter().zip(&single).enumerate() {
            let off = distance(&a.to_vec::<f32>().unwrap(), &b.to_vec::<f32>().unwrap());
            assert!(off < GRADIENT_TOLERANCE, "parameter {parameter} is off by {off} on {device}");
        }
        let off = distance(&numbers(&mixed), &numbers(&single));
        assert!(off > 1e-6, "nothing was rounded on {device}");
    }
}

#[test]
fn halves_are_the_same_with_and_without_features_of_the_adapter() {
    let core = DeviceOptions { core: true, ..Default::default() };
    let (full, core) = match (Device::gpu(0), Device::gpu_with(0, core)) {
        (Ok(full), Ok(core)) => (full, core),
        (Err(error), _) | (_, Err(error)) => return skip(&error.to_string()),
    };
    let trained = |device: &Device| {
        let (x, labels) = batch(device);
        let model = network(device, 4);
        let mut adam = AdamW::new(model.parameters()).learning_rate(0.01);
        for _ in 0..5 {
            adam.step(&Precision::Mixed.scope(|| model.forward(&x).cross_entropy(&labels))).unwrap();
        }
        weights(&model.parameters())
    };
    let off = distance(&trained(&full), &trained(&core));
    assert!(off < 1e-3, "the weights differ by {off}");
}

#[test]
fn training_reaches_the_loss_of_single_precision() {
    for device in devices() {
        let (x, labels) = batch(&device);
        let trained = |precision: Precision| {
            let model = network(&device, 5);
            let mut adam = AdamW::new(model.parameters()).learning_rate(0.01).clip(Clip::Norm(5.0));
            let mut last = 0.0;
            for _ in 0..60 {
                let loss = precision.scope(|| model.forward(&x).cross_entropy(&labels));
                adam.step(&loss).unwrap();
                last = loss.item().unwrap();
            }
            (last, adam.overflows().unwrap())
        };
        let ((single, none), (mixed, overflows)) = (trained(Precision::Single), trained(Precision::Mixed));
        assert_eq!(none, 0);
        assert!(overflows < 10, "{overflows} overflows on {device}");
        assert!(single < 0.3, "{single} on {device}");
        assert!((single - mixed).abs() < 0.05, "{mixed} instead of {single} on {device}");
    }
}

#[test]
fn an_overflow_changes_nothing_but_the_scale_and_training_goes_on() {
    for device in devices() {
        let (x, labels) = batch(&device);
        let model = network(&device, 6);
        let parameters = model.parameters();
        let huge = LossScale { start: 2f32.powi(30), growth: 2000 };
        let mut adam = AdamW::new(parameters.clone()).scaling(huge).clip(Clip::Norm(1.0));
        let loss = || Precision::Mixed.scope(|| model.forward(&x).cross_entropy(&labels));
        // Moments and weights in the array, by a step that is not scaled.
        adam.step(&model.forward(&x).cross_entropy(&labels)).unwrap();
        let moments = |adam: &AdamW| -> Vec<u32> {
            let state = adam.state().unwrap();
            let parts = state.into_iter().filter(|(name, _)| name.starts_with("moment")).map(|(_, t)| t);
            numbers(&parts.collect::<Vec<_>>()).into_iter().map(f32::to_bits).collect()
        };
        let bits =
            |parameters: &[Parameter]| weights(parameters).into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let (before, moments_before) = (bits(&parameters), moments(&adam));
        let mut skipped = 0;
        while adam.overflows().unwrap() == skipped {
            let first = loss();
            adam.step(&first).unwrap();
            assert!(first.item().unwrap().is_finite(), "the loss itself is fine on {device}");
            if adam.overflows().unwrap() == skipped {
                break;
            }
            skipped += 1;
            assert_eq!(bits(&parameters), before, "weights moved on {device}");
            assert_eq!(moments(&adam), moments_before, "moments moved on {device}");
            assert_eq!(adam.loss_scale().unwrap(), 2f32.powi(30 - skipped as i32), "on {device}");
        }
        assert!((4..30).contains(&skipped), "{skipped} on {device}");
        assert_ne!(bits(&parameters), before, "a step that fits moves weights on {device}");
        assert!(weights(&parameters).iter().all(|w| w.is_finite()));
        assert_eq!(adam.loss_scale().unwrap(), 2f32.powi(30 - skipped as i32), "on {device}");
    }
}

#[test]
fn the_scale_doubles_after_enough_good_steps() {
    for device in devices() {
        let w = Parameter::new(Tensor::ones([2, 2], &device));
        let mut sgd =
            Sgd::new(vec![w.clone()]).learning_rate(1e-3).scaling(LossScale { start: 8.0, growth: 3 });
        let mut seen = Vec::new();
        for _ in 0..8 {
            sgd.step(&Precision::Mixed.scope(|| w.value().matmul(&w.value()).sum())).unwrap();
            seen.push(sgd.loss_scale().unwrap());
        }
        assert_eq!(seen, [8.0, 8.0, 16.0, 16.0, 16.0, 32.0, 32.0, 32.0], "on {device}");
        assert_eq!(sgd.overflows().unwrap(), 0);
    }
}

#[test]
fn small_gradients_survive_only_because_of_the_scale() {
    for device in devices() {
        let moved = |start: f32| {
            let w = Parameter::new(Tensor::zeros([4, 4], &device));
            let mut sgd =
                Sgd::new(vec![w.clone()]).learning_rate(1.0).scaling(LossScale { start, growth: 2000 });
            let x = Tensor::ones([4, 4], &device);
            // 1e-8 is nothing as a half.
            sgd.step(&(Precision::Mixed.scope(|| x.matmul(&w.value())).sum() * 1e-8)).unwrap();
            w.value().to_vec::<f32>().unwrap()[0]
        };
        assert_eq!(moved(1.0), 0.0, "on {device}");
        assert!((moved(65536.0) + 4e-8).abs() < 1e-10, "{} on {device}", moved(65536.0));
    }
}

#[test]
fn gradients_by_hand_and_apply_are_a_step() {
    for device in devices() {
        let (x, labels) = batch(&device);
        let trained = |by_hand: bool| {
            let model = network(&device, 7);
            let mut sgd = Sgd::new(model.parameters()).learning_rate(0.1);
            for _ in 0..3 {
                let loss = Precision::Mixed.scope(|| model.forward(&x).cross_entropy(&labels));
                if by_hand {
                    let gradients = sgd.gradients(&loss).unwrap();
                    sgd.apply(&gradients).unwrap();
                } else {
                    sgd.step(&loss).unwrap();
                }
            }
            weights(&model.parameters())
        };
        let off = distance(&trained(true), &trained(false));
        // Two programs, so two orders of rounding.
        assert!(off < 1e-5, "off by {off} on {device}");
        // Gradients that are not finite are skipped and counted, wherever they come from.
        let w = Parameter::new(Tensor::ones([2], &device));
        let mut sgd = Sgd::new(vec![w.clone()]);
        let _ = sgd.gradients(&w.value().sum()).unwrap();
        sgd.apply(&[Tensor::from_vec(vec![1.0, f32::NAN], [2], &device)]).unwrap();
        assert_eq!(w.value().to_vec::<f32>().unwrap(), [1.0, 1.0], "on {device}");
        assert_eq!((sgd.overflows().unwrap(), sgd.loss_scale().unwrap()), (1, 32768.0), "on {device}");
    }
}

#[test]
fn a_resumed_run_has_the_same_scale_and_the_same_bits() {
    for device in devices() {
        let (x, labels) = batch(&device);
        let settings = LossScale { start: 2f32.powi(26), growth: 4 };
        let train = |model: &Sequential, adam: &mut AdamW, steps: usize| {
            for _ in 0..steps {
                adam.step(&Precision::Mixed.scope(|| model.forward(&x).cross_entropy(&labels))).unwrap();
            }
        };
        let whole = network(&device, 8);
        let mut straight = AdamW::new(whole.parameters()).scaling(settings);
        train(&whole, &mut straight, 21);
        let first = network(&device, 8);
        let mut adam = AdamW::new(first.parameters()).scaling(settings);
        train(&first, &mut adam, 10);
        let second = network(&device, 9);
        for (to, from) in second.parameters().iter().zip(first.parameters()) {
            to.set(from.value());
        }
        let mut resumed = AdamW::new(second.parameters()).scaling(settings);
        let state = adam.state().unwrap();
        assert!(state.iter().any(|(name, _)| name == "scale"));
        resumed.restore(&state).unwrap();
        assert_eq!(resumed.loss_scale().unwrap(), adam.loss_scale().unwrap(), "on {device}");
        train(&second, &mut resumed, 11);
        let bits = |model: &Sequential| {
            weights(&model.parameters()).into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        assert_eq!(bits(&second), bits(&whole), "on {device}");
        let last = |adam: &AdamW| adam.state().unwrap().pop().unwrap().1.to_vec::<f32>().unwrap();
        assert_eq!(last(&resumed), last(&straight), "on {device}");
        assert!(straight.overflows().unwrap() > 0, "the start was to be too high on {device}");
    }
}

#[test]
fn a_mixed_step_replays_in_one_submission() {
    // Handles of its own: the other tests run on the usual ones meanwhile.
    let own = DeviceOptions { handle: 12, ..Default::default() };
    let mut devices = vec![Device::cpu_with(own)];
    match Device::gpu_with(0, own) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => skip(&error.to_string()),
    }
    for device in devices {
        let (x, labels) = batch(&device);
        let model = network(&device, 10);
        // Starts too high, so some of these steps overflow: the plan is the same.
        let mut adam = AdamW::new(model.parameters()).scaling(LossScale { start: 2f32.powi(28), growth: 5 });
        let mut step = || {
            let loss = Precision::Mixed.scope(|| model.forward(&x).cross_entropy(&labels));
            adam.step(&loss).unwrap();
            device.wait().unwrap();
        };
        (0..3).for_each(|_| step());
        for number in 0..20 {
            let before = device.counters();
            step();
            let after = device.counters();
            assert_eq!(after.plans_compiled, before.plans_compiled, "step {number} on {device}");
            assert_eq!(after.runs, before.runs + 1, "step {number} on {device}");
            assert!(after.submissions <= before.submissions + 1, "step {number} on {device}");
        }
        assert!(adam.overflows().unwrap() > 0, "on {device}");
    }
}

#[test]
fn a_mixed_step_keeps_its_activations_as_halves() {
    // On a GPU: the CPU widens operands of products in memory of its own.
    let device = |handle: usize| Device::gpu_with(0, DeviceOptions { handle, ..Default::default() });
    if let Err(error) = device(13) {
        return skip(&error.to_string());
    }
    let held = |precision: Precision, handle: usize| {
        let device = device(handle).unwrap();
        let model = {
            let _turn = turn();
            farad::seed(1);
            Sequential::new((Linear::new(64, 64), Gelu, Linear::new(64, 64), Gelu, Linear::new(64, 64)))
                .to_device(&device)
        };
        let x = Tensor::rand([2048, 64], &device).detach().unwrap();
        let mut sgd = Sgd::new(model.parameters()).learning_rate(0.1);
        let before = device.counters().bytes_live;
        sgd.step(&precision.scope(|| model.forward(&x).square().mean())).unwrap();
        device.counters().bytes_live - before
    };
    let (single, mixed) = (held(Precision::Single, 13), held(Precision::Mixed, 14));
    assert!(mixed * 10 < single * 8, "{mixed} bytes instead of {single}");
}

#[test]
fn bf16_has_the_same_bits_on_every_device_and_in_files() {
    let folder = std::env::temp_dir().join(format!("farad-bf16-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (number, device) in devices().into_iter().enumerate() {
        // Ties, the largest numbers, subnormals, what is no number; an odd count, so that a word is half empty.
        let words =
            [0, 0x8000_0000, 0x3f80_8000, 0x3f81_8000, 0x3f80_8001, 0x7f7f_ffff, 0xff7f_8000, 0x7f80_0000];
        let mut values: Vec<f32> = words.map(f32::from_bits).to_vec();
        values.extend((0..33).map(|i| (i as f32 - 16.0) * 0.317));
        let want: Vec<u16> = values.iter().map(|&v| bf16::from_f32(v).to_bits()).collect();
        let bits =
            |x: &Tensor| x.to_vec::<bf16>().unwrap().into_iter().map(bf16::to_bits).collect::<Vec<_>>();
        let x = Tensor::from_vec(values, [41], &device);
        let cast = x.cast(DType::BF16);
        assert_eq!(bits(&cast), want, "on {device}");
        let again = (&x * 1.0).cast(DType::BF16).cast(DType::F32);
        let widened: Vec<u32> = want.iter().map(|&w| (w as u32) << 16).collect();
        let found: Vec<u32> = again.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect();
        assert_eq!(found, widened, "a cast there and back rounds on {device}");
        let none = Tensor::from_vec(vec![f32::NAN, 1.0], [2], &device).cast(DType::BF16);
        assert!(none.to_vec::<bf16>().unwrap()[0].is_nan(), "on {device}");
        let path = folder.join(format!("{number}.safetensors"));
        farad::save(&path, &[("x", &cast)]).unwrap();
        let loaded = farad::load(&path, &device).unwrap().remove("x").unwrap();
        assert_eq!((loaded.dtype(), bits(&loaded)), (DType::BF16, want), "on {device}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
