//! Long runs: memory stays flat, and the same seed gives the same bits in every process.

mod devices;

use devices::{devices, turn};
use farad::optim::Clip;
use farad::prelude::*;

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

#[test]
fn memory_stays_flat_over_thousands_of_steps() {
    let _turn = turn();
    for (device, steps) in devices().into_iter().zip([10_000, 2_000]) {
        farad::seed(1);
        let compiled = device.counters().plans_compiled;
        let model = Sequential::new((Linear::new(8, 16), Relu, Linear::new(16, 4))).to_device(&device);
        let mut adam = AdamW::new(model.parameters()).clip(Clip::Norm(1.0));
        let labels = Tensor::from_vec((0..16).map(|i| i % 4).collect::<Vec<i32>>(), [16], &device);
        let mut total = Tensor::zeros([], &device);
        let (mut live, mut process) = (0, 0);
        for step in 0..steps {
            // A new batch every step, as a loader would give it.
            let x = Tensor::rand([16, 8], &device);
            let loss = model.forward(&x.dropout(0.1)).cross_entropy(&labels);
            adam.step(&loss).unwrap();
            total = &total + &loss;
            if step == steps / 10 {
                device.wait().unwrap();
                (live, process) = (device.counters().bytes_live, resident());
            }
        }
        assert!(total.item().unwrap().is_finite());
        device.wait().unwrap();
        let now = device.counters();
        assert!(
            now.bytes_live <= live + (64 << 10),
            "{device}: live bytes grew from {live} to {}",
            now.bytes_live
        );
        let grown = resident().saturating_sub(process);
        assert!(grown < 32 << 20, "{device}: the process grew by {grown} bytes");
        let compiled = now.plans_compiled - compiled;
        assert!(compiled < 16, "{device}: {compiled} plans were compiled");
    }
}

/// Trains a little and returns a hash of the bits of everything that came out.
fn train(device: &Device) -> u64 {
    farad::seed(7);
    device.seed(7);
    let model = Sequential::new((Linear::new(33, 47), farad::nn::Gelu, Linear::new(47, 5))).to_device(device);
    let mut adam = AdamW::new(model.parameters()).learning_rate(0.01);
    let x = Tensor::randn([29, 33], device);
    let labels = Tensor::from_vec((0..29).map(|i| i % 5).collect::<Vec<i32>>(), [29], device);
    let mut bits = Vec::new();
    for _ in 0..10 {
        let loss = model.forward(&x.dropout(0.2)).cross_entropy(&labels);
        adam.step(&loss).unwrap();
        bits.push(loss.item().unwrap().to_bits());
    }
    for parameter in model.parameters() {
        bits.extend(parameter.value().to_vec::<f32>().unwrap().iter().map(|v| v.to_bits()));
    }
    bits.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ *word as u64).wrapping_mul(0x100_0000_01b3))
}

fn all_bits() -> String {
    devices().iter().map(|device| format!("bits {:x}\n", train(device))).collect()
}

/// Not much of a test alone: the other one runs it in processes of their own.
#[test]
fn bits() {
    let _turn = turn();
    println!("{}", all_bits());
}

#[test]
fn the_same_seed_gives_the_same_bits_in_two_processes() {
    let child = || {
        let program = std::env::current_exe().unwrap();
        let output =
            std::process::Command::new(program).args(["--exact", "bits", "--nocapture"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines()
            .filter(|line| line.starts_with("bits "))
            .map(|line| line.to_string() + "\n")
            .collect::<String>()
    };
    let (first, second) = (child(), child());
    assert!(!first.is_empty());
    assert_eq!(first, second);
}

/// Batch norms over one another, as in a network that is calibrated, or whose gradients are gathered over many batches.
fn normed() -> Sequential {
    use farad::nn::BatchNorm1d;
    farad::seed(3);
    Sequential::new((
        Linear::new(16, 16),
        BatchNorm1d::new(16),
        Relu,
        Linear::new(16, 16),
        BatchNorm1d::new(16),
    ))
}

#[test]
fn statistics_are_cheap_where_no_step_comes() {
    let _turn = turn();
    for (device, passes) in devices().into_iter().zip([1_000, 300]) {
        let model = normed().to_device(&device);
        let start = std::time::Instant::now();
        let (mut live, mut sums) = (0, [0f64; 2]);
        let batch = |pass: usize| -> Vec<f32> {
            (0..8 * 16).map(|i| ((i * 37 + pass * 11) % 101) as f32 / 50.0 - 1.0).collect()
        };
        for pass in 0..passes {
            let y = model.forward(&Tensor::from_vec(batch(pass), [8, 16], &device));
            // What is not read is not computed.
            drop(y);
            if pass == passes / 10 {
                device.wait().unwrap();
                live = device.counters().bytes_live;
            }
        }
        device.wait().unwrap();
        let now = device.counters().bytes_live;
        assert!(now <= live + (64 << 10), "{device}: live bytes grew from {live} to {now}");
        let reading = std::time::Instant::now();
        for (name, buffer) in model.named_buffers() {
            let values = buffer.value().to_vec::<f32>().unwrap();
            assert!(values.iter().all(|v| v.is_finite()), "{name}");
            sums[name.contains("var") as usize] += values.iter().map(|&v| v as f64).sum::<f64>();
        }
        assert!(reading.elapsed().as_secs_f64() < 10.0, "{device}: reading took {:?}", reading.elapsed());
        assert!(start.elapsed().as_secs_f64() < 60.0, "{device}: all took {:?}", start.elapsed());
        assert!(sums[1] > 0.0, "the variances moved");
    }
}

#[test]
fn statistics_without_steps_are_those_with_reads() {
    let _turn = turn();
    for device in devices() {
        let [lazy, eager] = [(); 2].map(|()| normed().to_device(&device));
        for pass in 0..11 {
            let x = Tensor::rand_at(1, pass, [8, 16], &device);
            lazy.forward(&x);
            eager.forward(&x);
            for (_, buffer) in eager.named_buffers() {
                buffer.value().compute().unwrap();
            }
        }
        for ((name, a), (_, b)) in lazy.named_buffers().into_iter().zip(eager.named_buffers()) {
            let (a, b) = (a.value().to_vec::<f32>().unwrap(), b.value().to_vec::<f32>().unwrap());
            assert!(
                a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-5),
                "{name} on {device}: {a:?} and {b:?}"
            );
        }
    }
}
