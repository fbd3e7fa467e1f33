//! What laziness means: each statement of "What tensors mean" in `crates/tensor/src/lib.rs`, as a test.

mod devices;

use devices::{devices, skip, turn};
use farad::prelude::*;

fn weight(device: &Device) -> Parameter {
    Parameter::new(Tensor::from_vec(vec![1.0, 2.0, 3.0], [3], device))
}

fn squares(weight: &Parameter) -> Tensor {
    weight.value().square().sum()
}

fn read(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec::<f32>().unwrap()
}

#[test]
fn a_clone_taken_before_a_step_keeps_the_old_numbers() {
    let _turn = turn();
    for device in devices() {
        let weight = weight(&device);
        let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.1);
        for _ in 0..3 {
            let before = weight.value();
            let old = read(&before);
            sgd.step(&squares(&weight)).unwrap();
            assert_eq!(read(&before), old, "on {device}");
            let expected: Vec<f32> = old.iter().map(|w| w - 0.1 * 2.0 * w).collect();
            assert_eq!(read(&weight.value()), expected, "on {device}");
        }
    }
}

#[test]
fn pending_work_on_old_weights_sees_the_old_numbers() {
    let _turn = turn();
    for device in devices() {
        let weight = weight(&device);
        let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.5);
        sgd.step(&squares(&weight)).unwrap();
        let old = read(&weight.value());
        let pending = weight.value() * 10.0;
        sgd.step(&squares(&weight)).unwrap();
        sgd.step(&squares(&weight)).unwrap();
        let expected: Vec<f32> = old.iter().map(|w| w * 10.0).collect();
        assert_eq!(read(&pending), expected, "on {device}");
    }
}

#[test]
fn a_read_before_a_step_changes_nothing() {
    let _turn = turn();
    for device in devices() {
        let run = |reading: bool| {
            let weight = weight(&device);
            let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.1);
            for _ in 0..3 {
                let inner = weight.value().square();
                let loss = inner.sum();
                if reading {
                    inner.to_vec::<f32>().unwrap();
                    loss.item().unwrap();
                }
                sgd.step(&loss).unwrap();
            }
            read(&weight.value())
        };
        assert_eq!(run(false), run(true), "on {device}");
    }
}

#[test]
fn a_read_runs_only_what_it_needs_and_history_stays() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::full(3.0, [], &device);
        let y = &x * &x;
        let unrelated = Tensor::rand([1000], &device);
        assert_eq!(y.item().unwrap(), 9.0);
        assert_eq!(y.gradient(&x).unwrap().item().unwrap(), 6.0, "on {device}");
        drop(unrelated);
    }
}

#[test]
fn a_step_computes_the_tensors_in_hand_and_they_become_leaves() {
    let _turn = turn();
    for device in devices() {
        let weight = weight(&device);
        let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.1);
        let inner = weight.value().square();
        let loss = inner.sum();
        sgd.step(&loss).unwrap();
        let before = device.counters();
        assert_eq!(read(&inner), [1.0, 4.0, 9.0]);
        assert_eq!(loss.item().unwrap(), 14.0);
        let after = device.counters();
        assert_eq!(
            (after.plans_compiled, after.plans_replayed),
            (before.plans_compiled, before.plans_replayed),
            "reading ran something on {device}"
        );
        let message = (&inner * 2.0).sum().gradient(&inner.clone()).map(|_| ()).err();
        assert!(message.is_none(), "a leaf is differentiated like any other: {message:?}");
        let error = loss.gradients(sgd.parameters()).unwrap_err().to_string();
        assert!(error.starts_with("gradient: no history: the tensor [] built at"), "{error}");
        let error = (inner * weight.value()).sum().gradient(&weight.value()).unwrap_err().to_string();
        assert!(error.starts_with("gradient: no history: the tensor [3] built at"), "{error}");
        assert!(error.contains("semantics.rs"), "{error}");
    }
}

#[test]
fn data_that_no_parameter_made_stays_differentiable() {
    let _turn = turn();
    for device in devices() {
        let weight = weight(&device);
        let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.1);
        let x = Tensor::arange(3, &device).cast(DType::F32);
        let y = &x * 2.0;
        for _ in 0..3 {
            let loss = (weight.value() * &x - &y).square().mean();
            sgd.step(&loss).unwrap();
        }
        let slope = (&y * &y).sum().gradient(&x).unwrap();
        assert_eq!(read(&slope), [0.0, 8.0, 16.0], "on {device}");
    }
}

#[test]
fn two_optimizers_share_weights() {
    let _turn = turn();
    for device in devices() {
        let (shared, own) = (weight(&device), weight(&device));
        let mut a = Sgd::new(vec![shared.clone()]).learning_rate(0.1);
        let mut b = Sgd::new(vec![own.clone(), shared.clone()]).learning_rate(0.1);
        let (mut s, mut o) = ([1.0f32, 2.0, 3.0], [1.0f32, 2.0, 3.0]);
        for _ in 0..3 {
            a.step(&squares(&shared)).unwrap();
            s = s.map(|w| w - 0.1 * 2.0 * w);
            b.step(&(shared.value() * own.value()).sum()).unwrap();
            let old = (s, o);
            for i in 0..3 {
                s[i] = old.0[i] - 0.1 * old.1[i];
                o[i] = old.1[i] - 0.1 * old.0[i];
            }
        }
        let close = |got: Vec<f32>, want: [f32; 3]| got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(close(read(&shared.value()), s) && close(read(&own.value()), o), "on {device}");
    }
}

#[test]
fn gradients_can_be_accumulated_and_applied() {
    let _turn = turn();
    for device in devices() {
        let weight = weight(&device);
        let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.1);
        let parameters = [weight.clone()];
        let first = squares(&weight).gradients(&parameters).unwrap();
        let second = weight.value().sum().gradients(&parameters).unwrap();
        sgd.apply(&[&first[0] + &second[0]]).unwrap();
        let expected: Vec<f32> = [1.0f32, 2.0, 3.0].iter().map(|w| w - 0.1 * (2.0 * w + 1.0)).collect();
        assert_eq!(read(&weight.value()), expected, "on {device}");
    }
}

#[test]
fn a_running_total_stays_flat() {
    let _turn = turn();
    for (device, steps) in devices().into_iter().zip([3000, 600]) {
        let weight = weight(&device);
        let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(1e-6);
        let mut total = Tensor::zeros([], &device);
        let (mut expected, mut early) = (0.0f64, 0);
        for step in 0..steps {
            let loss = squares(&weight);
            sgd.step(&loss).unwrap();
            total = &total + &loss;
            if step % 100 == 0 {
                expected += loss.item().unwrap() as f64 * 100.0;
            }
            if step == 300 {
                device.wait().unwrap();
                early = device.counters().bytes_live;
            }
        }
        let got = total.item().unwrap() as f64;
        assert!(
            (got - expected).abs() < 1e-3 * expected,
            "the total is {got}, not about {expected}, on {device}"
        );
        device.wait().unwrap();
        let late = device.counters().bytes_live;
        assert!(late <= early + (64 << 10), "live bytes grew from {early} to {late} on {device}");
    }
}

#[test]
fn random_numbers_are_never_drawn_twice_and_never_change() {
    let _turn = turn();
    for device in devices() {
        let (a, b) = (Tensor::rand([100], &device), Tensor::rand([100], &device));
        assert_ne!(read(&a), read(&b), "two draws are equal on {device}");
        let x = Tensor::rand([100], &device);
        let sum = (&x * &x).sum();
        let first = sum.item().unwrap();
        // x was not kept; computing it again gives the same numbers.
        let again: f32 = read(&x).iter().map(|v| v * v).sum();
        assert!((first - again).abs() < 1e-3, "{first} became {again} on {device}");
        let slope = read(&sum.gradient(&x).unwrap());
        assert!(slope.iter().zip(read(&x)).all(|(g, x)| (g - 2.0 * x).abs() < 1e-5), "on {device}");
    }
}

#[test]
fn the_same_seed_gives_the_same_numbers_everywhere() {
    let _turn = turn();
    let mut all = Vec::new();
    for device in devices() {
        device.seed(42);
        let bits = Tensor::random_bits([37], &device).to_vec::<u32>().unwrap();
        let uniform = read(&Tensor::rand([37], &device));
        let mask = Tensor::random_mask(0.3, [37], &device).to_vec::<bool>().unwrap();
        all.push((bits, uniform, mask));
    }
    assert!(all.windows(2).all(|w| w[0] == w[1]));
}

#[test]
fn what_changes_from_step_to_step_compiles_nothing() {
    let _turn = turn();
    for device in devices() {
        let weight = weight(&device);
        let mut adam = AdamW::new(vec![weight.clone()]);
        let mut compiled = 0;
        for step in 0..8 {
            adam.set_learning_rate(0.1 / (step + 1) as f32);
            let loss = weight.value().dropout(0.5).square().sum() * &Tensor::number(step as f32, &device);
            adam.step(&loss).unwrap();
            if step == 3 {
                compiled = device.counters().plans_compiled;
            }
        }
        assert_eq!(device.counters().plans_compiled, compiled, "on {device}");
    }
}

#[test]
fn checkpoints_replay_too() {
    let _turn = turn();
    for device in devices() {
        let weight = weight(&device);
        let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.01);
        let mut compiled = 0;
        for step in 0..6 {
            let loss = checkpoint(&weight.value(), |w| w.tanh().exp()).sum();
            sgd.step(&loss).unwrap();
            if step == 3 {
                compiled = device.counters().plans_compiled;
            }
        }
        assert_eq!(device.counters().plans_compiled, compiled, "on {device}");
    }
}

#[test]
fn a_new_batch_size_is_not_a_new_shader() {
    let _turn = turn();
    let Ok(device) =
        Device::gpu_with(0, farad::DeviceOptions { checked: true, core: true, ..Default::default() })
    else {
        return skip("none");
    };
    let run = |batch: usize| {
        let x = Tensor::rand([batch, 64], &device);
        (x.gelu().softmax(-1) * 2.0).compute().unwrap();
        device.wait().unwrap();
        device.counters().pipelines
    };
    assert_eq!(run(32), run(48));
}

#[test]
fn operands_move_to_the_gpu() {
    let _turn = turn();
    let Ok(gpu) = Device::gpu(0) else { return skip("none") };
    let a = Tensor::from_vec(vec![1.0, 2.0], [2], &Device::cpu());
    let b = Tensor::from_vec(vec![10.0, 20.0], [2], &gpu);
    for sum in [&a + &b, &b + &a] {
        assert_eq!(sum.device(), &gpu);
        assert_eq!(read(&sum), [11.0, 22.0]);
    }
    assert!(gpu.counters().operands_moved >= 2);
    assert_eq!(read(&b.to_device(&Device::cpu()).unwrap()), [10.0, 20.0]);
}

#[test]
fn tensors_cross_threads() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::rand([64, 64], &device);
        let expected = read(&x.matmul(&x).sum());
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let x = x.clone();
                std::thread::spawn(move || read(&x.matmul(&x).sum()))
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), expected, "on {device}");
        }
    }
}

#[test]
fn reads_can_be_awaited() {
    let _turn = turn();
    use std::future::Future;
    use std::task::{Context, Poll, Waker};
    for device in devices() {
        let x = Tensor::full(2.0, [3], &device) * 2.0;
        let mut future = Box::pin(x.to_vec_async::<f32>());
        let mut context = Context::from_waker(Waker::noop());
        let values = loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(values) => break values.unwrap(),
                Poll::Pending => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
        };
        assert_eq!(values, [4.0; 3]);
    }
}

#[test]
fn tensors_on_several_devices_are_computed_together() {
    let _turn = turn();
    let all: Vec<Device> = devices().into_iter().chain([Device::cpu_with(Default::default())]).collect();
    let results: Vec<Tensor> =
        all.iter().enumerate().map(|(n, device)| Tensor::full(n as f32, [2], device).exp() + 1.0).collect();
    Tensor::compute_all(&results.iter().collect::<Vec<_>>()).unwrap();
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result.device(), &all[n]);
        let (expected, found) = ((n as f32).exp() + 1.0, read(result));
        assert!(found.iter().all(|x| (x - expected).abs() < 1e-5), "{found:?} on {}", all[n]);
    }
}

#[test]
fn gradients_of_parameters_are_checked_where_they_lie() {
    let _turn = turn();
    for device in devices() {
        // After a step both are parts of one array.
        let weights = [weight(&device), Parameter::new(Tensor::from_vec(vec![0.5, -0.5], [2], &device))];
        let mut sgd = Sgd::new(weights.to_vec()).learning_rate(0.1);
        sgd.step(&(squares(&weights[0]) + squares(&weights[1]))).unwrap();
        let values: Vec<Tensor> = weights.iter().map(Parameter::value).collect();
        for n in 0..2 {
            let other = values[1 - n].clone();
            let agreement = farad::check::gradients(&values[n..=n], |x| {
                (x[0].square() * &x[0]).sum() * other.square().sum()
            })
            .unwrap();
            assert!(agreement.error() < 1e-6, "parameter {n} on {device}: {agreement:?}");
            assert!(agreement.slope != 0.0, "parameter {n} on {device}: {agreement:?}");
        }
    }
}
