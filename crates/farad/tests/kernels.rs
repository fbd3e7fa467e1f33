//! How many kernels things take: what fusion is for.

mod devices;

use devices::{devices, turn};
use farad::optim::Clip;
use farad::prelude::*;

/// Kernels launched by reading what `make` builds from `x`.
fn kernels(device: &Device, shape: &[usize], make: impl Fn(&Tensor) -> Tensor) -> usize {
    let x = Tensor::rand(shape, device);
    x.compute().unwrap();
    let before = device.counters().dispatches;
    make(&x).compute().unwrap();
    device.wait().unwrap();
    device.counters().dispatches - before
}

#[track_caller]
fn check(name: &str, most: usize, shape: &[usize], make: impl Fn(&Tensor) -> Tensor) {
    for device in devices() {
        let count = kernels(&device, shape, &make);
        assert!(count <= most, "{name} takes {count} kernels on {device} (at most {most})");
    }
}

#[test]
fn pointwise_chains_are_one_kernel() {
    let _turn = turn();
    check("gelu(x*a+b)*sigmoid(x)", 1, &[64, 64], |x| (x * 1.1 + 0.1).gelu() * x.sigmoid());
}

#[test]
fn row_ops_are_one_kernel() {
    let _turn = turn();
    check("softmax", 1, &[64, 100], |x| x.softmax(-1));
    check("log-softmax", 1, &[64, 100], |x| x.log_softmax(-1));
    check("layer norm", 1, &[64, 100], |x| {
        let (scale, shift) = (Tensor::full(1.1, [100], x.device()), Tensor::full(0.1, [100], x.device()));
        x.layer_norm(&scale, &shift, 1e-5)
    });
    check("softmax over the first axis", 1, &[64, 100], |x| x.softmax(0));
}

#[test]
fn running_sums_are_a_few_kernels() {
    let _turn = turn();
    // Blocks of 16: five levels for a million elements, each summed up and run over.
    check("cumsum", 9, &[1 << 20], |x| x.cumsum(0));
    check("cumsum along columns", 5, &[1000, 30], |x| x.cumsum_from_end(0));
    check("short cumsum", 1, &[64, 16], |x| x.cumsum(1));
}

#[test]
fn bias_and_activation_ride_on_their_product() {
    let _turn = turn();
    for device in devices() {
        let (w, b) = (Tensor::rand([32, 8], &device), Tensor::rand([8], &device));
        Tensor::compute_all(&[&w, &b]).unwrap();
        let flat = kernels(&device, &[32, 32], |x| (x.matmul(&w) + &b).relu());
        let sequences = kernels(&device, &[2, 16, 32], |x| (x.matmul(&w) + &b).gelu());
        assert_eq!((flat, sequences), (1, 1), "on {device}");
    }
}

#[test]
fn cross_entropy_is_two_kernels() {
    let _turn = turn();
    for device in devices() {
        let labels = Tensor::from_vec((0..64).map(|i| i % 10).collect::<Vec<i32>>(), [64], &device);
        let count = kernels(&device, &[64, 10], |x| x.cross_entropy(&labels));
        assert!(count <= 2, "cross-entropy takes {count} kernels on {device}");
    }
}

#[test]
fn layer_norm_backward_is_three_kernels() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::rand([64, 100], &device);
        let (scale, shift) = (Tensor::rand([100], &device), Tensor::rand([100], &device));
        let upstream = Tensor::rand([64, 100], &device);
        Tensor::compute_all(&[&x, &scale, &shift, &upstream]).unwrap();
        let count = |tensors: &[&Tensor]| {
            let before = device.counters().dispatches;
            Tensor::compute_all(tensors).unwrap();
            device.wait().unwrap();
            device.counters().dispatches - before
        };
        let loss = || (x.layer_norm(&scale, &shift, 1e-5) * &upstream).sum();
        let all = loss().gradients_at(&[&x, &scale, &shift]).unwrap();
        let together = count(&all.iter().collect::<Vec<_>>());
        assert!(together <= 3, "layer-norm backward takes {together} kernels on {device}");
    }
}

#[test]
fn adamw_over_twelve_tensors_is_two_kernels() {
    let _turn = turn();
    for device in devices() {
        let parameters: Vec<Parameter> =
            (1..=12).map(|n| Parameter::new(Tensor::rand([n, 7], &device))).collect();
        let loss = || parameters.iter().map(|p| p.value().square().sum()).reduce(|a, b| a + b).unwrap();
        let mut adam = AdamW::new(parameters.clone());
        adam.step(&loss()).unwrap();
        let count = |work: &mut dyn FnMut()| {
            let before = device.counters().dispatches;
            work();
            device.wait().unwrap();
            device.counters().dispatches - before
        };
        // The gradients alone, then with the update: the difference is what the update costs.
        let gradients = loss().gradients(&parameters).unwrap();
        let backward = count(&mut || Tensor::compute_all(&gradients.iter().collect::<Vec<_>>()).unwrap());
        let gradients = loss().gradients(&parameters).unwrap();
        let both = count(&mut || adam.apply(&gradients).unwrap());
        assert!(both <= backward + 2, "the update takes {both} - {backward} kernels on {device}");
    }
}

struct Mlp {
    model: Sequential,
    adam: AdamW,
    x: Tensor,
    y: Tensor,
}

fn mlp(device: &Device, clip: Clip) -> Mlp {
    farad::seed(1);
    let model = Sequential::new((Linear::new(784, 128), Relu, Linear::new(128, 10))).to_device(device);
    let adam = AdamW::new(model.parameters()).learning_rate(1e-3).clip(clip);
    let x = Tensor::rand([64, 784], device);
    let y = Tensor::from_vec((0..64).map(|i| i % 10).collect::<Vec<i32>>(), [64], device);
    Tensor::compute_all(&[&x]).unwrap();
    Mlp { model, adam, x, y }
}

#[test]
fn an_mlp_step_is_one_submission_of_at_most_sixteen_kernels() {
    let _turn = turn();
    for device in devices() {
        let mut mlp = mlp(&device, Clip::None);
        let mut first = f32::NAN;
        for step in 1..=8 {
            let loss = mlp.model.forward(&mlp.x).cross_entropy(&mlp.y);
            device.wait().unwrap();
            let before = device.counters();
            mlp.adam.step(&loss).unwrap();
            let after = device.counters();
            let dispatches = after.dispatches - before.dispatches;
            assert!(dispatches <= 16, "step {step} takes {dispatches} kernels on {device}");
            assert_eq!(after.submissions - before.submissions, 1, "step {step} on {device}");
            assert_eq!(after.reads, before.reads, "step {step} reads back on {device}");
            if step >= 4 {
                let made =
                    |c: &farad::Counters| (c.allocations, c.bind_groups, c.pipelines, c.plans_compiled);
                assert_eq!(made(&after), made(&before), "step {step} on {device}");
            }
            if step == 1 {
                first = loss.item().unwrap();
                eprintln!("{device}: an MLP step takes {dispatches} kernels");
            }
        }
        let last = mlp.model.forward(&mlp.x).cross_entropy(&mlp.y).item().unwrap();
        assert!(last < first, "the loss went from {first} to {last} on {device}");
    }
}

#[test]
fn losses_are_a_few_kernels_whatever_their_options() {
    let _turn = turn();
    use farad::loss::{BinaryCrossEntropyWithLogits, CrossEntropy, Focal};
    // A row of losses, and their sum.
    check("cross-entropy", 2, &[64, 100], |x| {
        let labels = Tensor::arange(64, x.device());
        x.cross_entropy(&labels)
    });
    check("cross-entropy with all options", 3, &[64, 100], |x| {
        let (labels, weights) = (Tensor::arange(64, x.device()), Tensor::ones([100], x.device()));
        CrossEntropy::new().smoothing(0.1).ignore(7).weights(&weights).loss(x, &labels)
    });
    check("cross-entropy of probabilities", 2, &[64, 100], |x| x.cross_entropy(&x.stop_gradient()));
    check("binary cross-entropy", 2, &[64, 100], |x| BinaryCrossEntropyWithLogits::new().loss(x, x));
    check("focal loss", 2, &[64, 100], |x| Focal::new().loss(x, x));
    check("huber", 2, &[64, 100], |x| x.huber(&(x * 0.5), 0.1));
}

/// Cart-pole worlds under random actions, from a random start, with new starts where they end.
fn cartpole(worlds: usize, steps: usize, device: &Device) -> Vec<Tensor> {
    let drawn = || Tensor::rand([worlds], device) * 0.1 - 0.05;
    let start = [drawn(), drawn(), drawn(), drawn(), Tensor::zeros([worlds], device)];
    let (last, _) = repeat(steps, &start.each_ref(), |world, _| {
        let [x, v, angle, turning, time] = [0, 1, 2, 3, 4].map(|n| &world[n]);
        let push = Tensor::random_mask(0.5, [worlds], device).select(&x.full_like(10.0), &x.full_like(-10.0));
        let (cos, sin) = (angle.cos(), angle.sin());
        let shared = (push + turning.square() * &sin * 0.05) / 1.1;
        let swing = (&sin * 9.8 - &cos * &shared) / ((4.0 / 3.0 - cos.square() * (0.1 / 1.1)) * 0.5);
        let pull = shared - &swing * &cos * (0.05 / 1.1);
        let moved = [x + v * 0.02, v + pull * 0.02, angle + turning * 0.02, turning + swing * 0.02];
        let ends = moved[0].abs().greater(2.4).or(moved[2].abs().greater(0.2094));
        let mut next: Vec<Tensor> = moved.iter().map(|moved| ends.select(&drawn(), moved)).collect();
        next.push(ends.select(&time.full_like(0.0), &(time + 1.0)));
        (next, vec![])
    });
    last
}

#[test]
fn a_world_is_one_kernel() {
    let _turn = turn();
    let mut seen: Vec<Vec<f32>> = Vec::new();
    for device in devices() {
        device.seed(7);
        let before = device.counters().dispatches;
        let last = cartpole(300, 120, &device);
        Tensor::compute_all(&last.iter().collect::<Vec<_>>()).unwrap();
        device.wait().unwrap();
        assert_eq!(device.counters().dispatches - before, 1, "on {device}");
        let times: Vec<f32> = last[4].to_vec().unwrap();
        // Under random pushes poles fall after some twenty steps: none has stood from the first to the last, by far.
        let most = times.iter().fold(0f32, |most, &t| most.max(t));
        let sum: f32 = times.iter().sum();
        assert!(most < 120.0 && sum > 300.0 * 4.0 && sum < 300.0 * 30.0, "{most} and {sum} on {device}");
        seen.push(times);
    }
    // Draws are the same bits everywhere; only a pole at its very limit may fall on one device and not on another.
    for other in &seen[1..] {
        let differ = other.iter().zip(&seen[0]).filter(|(a, b)| a != b).count();
        assert!(differ < 10, "{differ} of 300 worlds differ");
    }
}

#[test]
fn scans_of_pointwise_bodies_are_a_kernel_each_way() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::rand([20, 30], &device);
        let start = Tensor::rand([30], &device);
        Tensor::compute_all(&[&x, &start]).unwrap();
        let before = device.counters().dispatches;
        let (last, _) = scan(&[&start], &[&x], |state, x| (vec![(&state[0] * 0.9 + &x[0]).tanh()], vec![]));
        let gradients = last[0].sum().gradients_at(&[&start, &x]).unwrap();
        Tensor::compute_all(&gradients.iter().collect::<Vec<_>>()).unwrap();
        device.wait().unwrap();
        let count = device.counters().dispatches - before;
        assert!(count <= 3, "{count} kernels on {device}");
    }
}
