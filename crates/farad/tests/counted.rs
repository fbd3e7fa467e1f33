//! What laziness costs: sentences of the semantics that only counters can show.

mod devices;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use devices::{devices, turn};
use farad::ProfileOptions;
use farad::optim::Clip;
use farad::prelude::*;
use tracing::span;

/// Kernels that `work` launches.
fn kernels(device: &Device, work: impl FnOnce()) -> usize {
    device.wait().unwrap();
    let before = device.counters().dispatches;
    work();
    device.wait().unwrap();
    device.counters().dispatches - before
}

#[test]
fn a_read_launches_nothing_but_what_it_needs() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], [2, 2], &device);
        let wanted = &x * 2.0 + 1.0;
        let unrelated = x.matmul(&x).softmax(1);
        let above = wanted.matmul(&unrelated);
        let count = kernels(&device, || drop(wanted.to_vec::<f32>().unwrap()));
        assert_eq!(count, 1, "on {device}");
        assert_eq!(kernels(&device, || drop(wanted.to_vec::<f32>().unwrap())), 0, "read again on {device}");
        assert!(kernels(&device, || above.compute().unwrap()) >= 3, "on {device}");
    }
}

#[test]
fn a_later_gradient_computes_again_and_the_profile_counts_it() {
    let _turn = turn();
    for device in devices() {
        let (x, w) = (Tensor::rand([8, 16], &device), Tensor::rand([16, 8], &device));
        Tensor::compute_all(&[&x, &w]).unwrap();
        let options = ProfileOptions { peaks: false, ..Default::default() };
        let run = |keep: bool| {
            let hidden = x.matmul(&w).tanh().matmul(&x);
            let loss = hidden.softmax(1).square().sum();
            if keep {
                Tensor::compute_all(&[&hidden, &loss]).unwrap();
            } else {
                loss.compute().unwrap();
            }
            let gradient = loss.gradient(&w).unwrap();
            device.wait().unwrap();
            let (result, profile) = device.profile_with(options, || gradient.compute());
            result.unwrap();
            profile
        };
        let (kept, again) = (run(true), run(false));
        assert!(again.launches() > kept.launches(), "{again}\nvs\n{kept}\non {device}");
        assert!(again.kernels.iter().all(|kernel| !kernel.label.is_empty()), "{again}");
        assert!(again.wall.as_nanos() > 0 && again.nanoseconds() > 0, "{again}");
        assert!(again.to_string().contains(&format!("{} kernels", again.kernels.len())), "{again}");
    }
}

#[test]
fn pending_work_is_flushed_above_a_fixed_size() {
    let _turn = turn();
    let device = Device::cpu_with(Default::default());
    let mut held = vec![Tensor::zeros([], &device)];
    let before = device.counters().runs;
    for _ in 0..8300 {
        held.push(held.last().unwrap() + 1.0);
    }
    assert_eq!(device.counters().runs, before + 1, "the chain was to be run once by itself");
    assert_eq!(held.last().unwrap().item().unwrap(), 8300.0);
}

#[test]
fn a_plan_is_for_its_live_tensors_its_clipping_and_its_optimizer() {
    let _turn = turn();
    for device in devices() {
        let start = || Parameter::new(Tensor::from_vec(vec![1.0f32, 2.0, 3.0], [3], &device));
        /// Two steps, so that parameters lie in an array; how many plans the second compiled.
        fn second(device: &Device, weight: &Parameter, step: &mut dyn FnMut(&Tensor), hold: bool) -> usize {
            let mut compiled = 0;
            for _ in 0..2 {
                let inner = weight.value().square();
                let held = hold.then(|| inner.clone());
                let loss = inner.sum();
                drop(inner);
                let before = device.counters().plans_compiled;
                step(&loss);
                compiled = device.counters().plans_compiled - before;
                drop(held);
            }
            compiled
        }
        let sgd = |clip: Clip, hold: bool| {
            let weight = start();
            let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.1).clip(clip);
            second(&device, &weight, &mut |loss| sgd.step(loss).unwrap(), hold)
        };
        sgd(Clip::None, false);
        assert_eq!(sgd(Clip::None, false), 0, "the same again on {device}");
        assert_eq!(sgd(Clip::None, true), 1, "another tensor in hand on {device}");
        assert_eq!(sgd(Clip::Norm(1.0), false), 1, "clipping on {device}");
        assert_eq!(sgd(Clip::Norm(2.0), false), 0, "clipping by another number on {device}");
        let weight = start();
        let mut adam = AdamW::new(vec![weight.clone()]);
        assert_eq!(
            second(&device, &weight, &mut |loss| adam.step(loss).unwrap(), false),
            1,
            "another optimizer on {device}"
        );
    }
}

/// Keeps warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        span::Id::from_u64(NEXT.fetch_add(1, Ordering::Relaxed) as u64)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }
}

#[test]
fn operands_that_keep_moving_are_warned_about_once() {
    let _turn = turn();
    let (here, there) = (Device::cpu_with(Default::default()), Device::cpu_with(Default::default()));
    let (a, b) = (Tensor::from_vec(vec![1.0f32], [1], &here), Tensor::from_vec(vec![2.0f32], [1], &there));
    let warnings = Warnings::default();
    tracing::subscriber::with_default(warnings.clone(), || {
        for _ in 0..300 {
            drop(&a + &b);
        }
    });
    assert_eq!(here.counters().operands_moved, 300);
    let found = warnings.0.lock().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("counted.rs") && found[0].contains("operands keep moving to"), "{found:?}");
    assert!(found[0].ends_with("move them once with `to_device`"), "{found:?}");
}

#[test]
fn an_overflow_is_told_once_when_it_is_asked_for() {
    let device = Device::cpu_with(Default::default());
    let weight = Parameter::new(Tensor::full(300.0, [2, 2], &device));
    let mut sgd = Sgd::new(vec![weight.clone()]);
    let warnings = Warnings::default();
    tracing::subscriber::with_default(warnings.clone(), || {
        // 300 · 300 fits no half, so every step overflows.
        sgd.step(&Precision::Mixed.scope(|| weight.value().matmul(&weight.value()).square().mean())).unwrap();
        assert!(warnings.0.lock().unwrap().is_empty(), "nobody has asked yet");
        assert_eq!(sgd.overflows().unwrap(), 1);
        assert_eq!(sgd.loss_scale().unwrap(), 32768.0);
    });
    assert_eq!(weight.value().to_vec::<f32>().unwrap(), [300.0; 4]);
    let found = warnings.0.lock().unwrap();
    assert_eq!(*found, ["step: gradients overflowed: 1 steps were skipped (scale 32768 now)"]);
}
