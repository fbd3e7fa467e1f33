//! Several devices in one process: two handles of a GPU, lost ones, and ones that are full.

mod devices;

use std::fmt;
use std::sync::{Arc, Mutex};

use devices::{skip, turn};
use farad::prelude::*;
use farad::{DeviceOptions, Error};
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber, span};

/// Two handles of the first GPU.
fn two() -> Option<(Device, Device)> {
    let handle =
        |handle| Device::gpu_with(0, DeviceOptions { handle, core: handle == 2, ..Default::default() });
    match (handle(1), handle(2)) {
        (Ok(one), Ok(two)) => Some((one, two)),
        (Err(error), _) | (_, Err(error)) => {
            skip(&error.to_string());
            None
        }
    }
}

fn train(device: &Device) -> Vec<f32> {
    let x = Tensor::from_vec((0..64).map(|i| (i % 7) as f32 / 7.0).collect(), [16, 4], device);
    let weight = Parameter::new(Tensor::from_vec(vec![0.1, -0.2, 0.3, -0.4], [4, 1], device));
    let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.1);
    for _ in 0..30 {
        let loss = (x.matmul(&weight.value()) - 1.0).square().mean();
        sgd.step(&loss).unwrap();
    }
    weight.value().to_vec().unwrap()
}

#[test]
fn two_handles_compute_at_the_same_time() {
    let _turn = turn();
    let Some((one, two)) = two() else { return };
    assert_ne!(one, two);
    assert_eq!((one.index(), two.index()), (Some(0), Some(0)));
    let wanted = train(&Device::cpu());
    std::thread::scope(|scope| {
        let threads: Vec<_> = [&one, &two].map(|device| scope.spawn(move || train(device))).into();
        for thread in threads {
            let got = thread.join().unwrap();
            assert!(got.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-5), "{got:?} vs {wanted:?}");
        }
    });
}

#[test]
fn tensors_move_between_gpus_both_ways() {
    let _turn = turn();
    let Some((one, two)) = two() else { return };
    let x = Tensor::from_vec(vec![1.0, 2.0, 3.0], [3], &one);
    let before = (one.counters(), two.counters());
    let y = (&x * 2.0).to_device(&two).unwrap();
    assert_eq!(y.device(), &two);
    assert_eq!(one.counters().reads - before.0.reads, 1);
    assert!(two.counters().uploads > before.1.uploads);
    let z = (&y + 1.0).to_device(&one).unwrap();
    assert_eq!((z.device(), (&z + &x).to_vec::<f32>().unwrap()), (&one, vec![4.0, 7.0, 10.0]));
    assert_eq!(two.counters().operands_moved, before.1.operands_moved, "moving on purpose is not counted");
}

#[test]
fn mixed_operands_go_to_the_first_gpu_and_repetition_is_warned_about_once() {
    let _turn = turn();
    let Some((one, two)) = two() else { return };
    let on = |device: &Device| Tensor::from_vec(vec![1.0, 2.0], [2], device);
    let (a, b, c) = (on(&one), on(&two), on(&Device::cpu()));
    let before = (one.counters().operands_moved, two.counters().operands_moved);
    assert_eq!((&a + &b).device(), &one);
    assert_eq!((&b + &a).device(), &two);
    assert_eq!((&c * &b).device(), &two);
    let after = (one.counters().operands_moved, two.counters().operands_moved);
    assert_eq!((after.0 - before.0, after.1 - before.1), (1, 2));
    let heard = Heard::default();
    tracing::subscriber::with_default(heard.clone(), || {
        for _ in 0..250 {
            assert_eq!((&a + &b).device(), &one);
        }
    });
    let heard = heard.0.lock().unwrap();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(
        heard[0].contains("operands keep moving to gpu:0#1") && heard[0].contains("handles.rs"),
        "{heard:?}"
    );
    assert_eq!((&a + &b).to_vec::<f32>().unwrap(), [2.0, 4.0]);
}

#[test]
fn a_lost_gpu_is_opened_again() {
    let _turn = turn();
    let options = DeviceOptions { handle: 3, ..Default::default() };
    let device = match Device::gpu_with(0, options) {
        Ok(device) => device,
        Err(error) => return skip(&error.to_string()),
    };
    assert_eq!(Device::gpu_with(0, options).unwrap(), device);
    let x = Tensor::from_vec(vec![1.0, 2.0], [2], &device);
    assert_eq!((&x + 1.0).to_vec::<f32>().unwrap(), [2.0, 3.0]);
    device.close();
    assert!(device.is_lost());
    let error = (&x + 1.0).to_vec::<f32>().unwrap_err();
    assert!(error.to_string().starts_with("gpu: device lost:"), "{error}");
    let again = Device::gpu_with(0, options).unwrap();
    assert!(again != device && !again.is_lost());
    let y = Tensor::from_vec(vec![3.0, 4.0], [2], &again);
    assert_eq!((&y + 1.0).to_vec::<f32>().unwrap(), [4.0, 5.0]);
}

#[test]
fn a_full_device_names_the_op_and_goes_on() {
    const LIMIT: usize = 1 << 20;
    let _turn = turn();
    let options = DeviceOptions { memory_limit: Some(LIMIT), ..Default::default() };
    let mut full = vec![Device::cpu_with(options)];
    full.extend(Device::gpu_with(0, options).inspect_err(|error| skip(&error.to_string())));
    for device in full {
        let x = Tensor::from_vec(vec![1.0; 256 * 256], [256, 256], &device);
        let kept = Tensor::from_vec(vec![1.0; 128 * 256], [128, 256], &device);
        let sums = [0, 1, 2].map(|n| (&x * (n as f32), line!()));
        let failed: Vec<_> = sums.iter().filter_map(|(t, line)| Some((t.compute().err()?, *line))).collect();
        assert!(!failed.is_empty(), "{device}: three more do not fit");
        let (error, line) = &failed[0];
        assert!(error.is_out_of_memory(), "{error}");
        let Error::NoMemory { shape, location, .. } = error else { panic!("{error}") };
        assert_eq!((shape.to_string(), location.unwrap().line()), ("[256, 256]".to_string(), *line));
        let text = error.to_string();
        for part in
            ["mul: no memory for its", "f32 [256, 256]", "262144 bytes", "1048576 allowed", "tensors "]
        {
            assert!(text.contains(part), "{device}: {part:?} is not in {text}");
        }
        let held = device.holdings();
        assert!(held.tensors >= 262_144 + 131_072 && held.total() <= LIMIT as u64, "{held}");
        let error = Tensor::ones([1024, 1024], &device).compute().unwrap_err();
        assert!(error.is_out_of_memory(), "{error}");
        // What fits is computed, and once something is dropped, what did not fit as well.
        assert_eq!(kept.sum().item().unwrap(), 32_768.0);
        drop((failed, sums));
        assert_eq!((&x + &x).sum().item().unwrap(), 131_072.0);
    }
}

#[test]
fn idle_plans_make_room() {
    const LIMIT: usize = 2 << 20;
    let _turn = turn();
    let options = DeviceOptions { memory_limit: Some(LIMIT), handle: 4, ..Default::default() };
    let mut limited = vec![Device::cpu_with(options)];
    limited.extend(Device::gpu_with(0, options).inspect_err(|error| skip(&error.to_string())));
    for device in limited {
        for n in [96, 112, 128] {
            let x = Tensor::from_vec(vec![1.0; n * n], [n, n], &device);
            let y = x.matmul(&x).relu().matmul(&x).relu().matmul(&x);
            assert_eq!(y.to_vec::<f32>().unwrap()[0], (n * n * n) as f32);
        }
        let held = device.holdings();
        assert!(held.blocks > 100_000 && held.tensors == 0, "{device}: {held}");
        // More than is free beside the blocks, but not more than there is without them.
        let elements = (LIMIT - held.blocks as usize) / 4 + 8192;
        let x = Tensor::from_vec(vec![1.0; elements], [elements], &device);
        assert!(device.holdings().blocks < held.blocks, "{device}: {}", device.holdings());
        assert_eq!(x.device(), &device);
    }
}

#[test]
fn a_step_that_found_no_memory_can_be_taken_again() {
    let _turn = turn();
    let options = DeviceOptions { memory_limit: Some(1 << 20), handle: 5, ..Default::default() };
    let mut limited = vec![Device::cpu_with(options)];
    limited.extend(Device::gpu_with(0, options).inspect_err(|error| skip(&error.to_string())));
    let step = |weight: &Parameter, adam: &mut AdamW| adam.step(&weight.value().square().sum());
    let start = |device: &Device| {
        let weight = Parameter::new(Tensor::from_vec(vec![1.0; 32 << 10], [32 << 10], device));
        let adam = AdamW::new(vec![weight.clone()]).learning_rate(0.5);
        (weight, adam)
    };
    let (weight, mut adam) = start(&Device::cpu());
    step(&weight, &mut adam).unwrap();
    let wanted = weight.value().to_vec::<f32>().unwrap()[7];
    for device in limited {
        let mut failures = 0;
        // Less and less room, so that every allocation of the step is the one that fails.
        for taken in (8..216).step_by(8) {
            let (weight, mut adam) = start(&device);
            let filler = Tensor::from_vec(vec![0.0; taken << 10], [taken << 10], &device);
            if let Err(error) = step(&weight, &mut adam) {
                assert!(error.is_out_of_memory(), "{device}: {error}");
                failures += 1;
                drop(filler);
                step(&weight, &mut adam).unwrap();
            }
            let got = weight.value().to_vec::<f32>().unwrap()[7];
            assert!((got - wanted).abs() < 1e-6, "{device}, {taken} KiB of floats: {got} vs {wanted}");
        }
        assert!((3..26).contains(&failures), "{device}: {failures} of 26 steps failed");
    }
}

#[test]
fn a_profile_counts_launches() {
    let _turn = turn();
    for device in devices::devices() {
        let x = Tensor::from_vec(vec![1.0; 64], [8, 8], &device);
        let (_, profile) = device.profile(|| (0..5).for_each(|_| x.matmul(&x).compute().unwrap()));
        assert_eq!(profile.launches(), 5, "{profile}");
        assert_eq!(profile.kernels.iter().map(|k| k.count).sum::<u64>(), 5);
        assert!(profile.to_string().contains("in 5 launches of 1 kernel\n"), "{profile}");
    }
}

/// What a subscriber heard at level warn.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Subscriber for Heard {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, _: &Field, value: &dyn fmt::Debug) {
                self.0.push_str(&format!("{value:?}"));
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}
