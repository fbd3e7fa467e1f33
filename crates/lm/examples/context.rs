//! What a training step needs as the context grows: memory by the context, not by its square.
//!
//! `cargo run --release -p farad-lm --example context -- gpu 1024 16384` trains one layer on one text of 1024, 2048, …,
//! 16384 tokens; the default is the CPU from 256 to 2048.

use std::time::Instant;

use farad::prelude::*;
use farad_lm::{ModelOptions, Transformer};

/// Steps that are timed.
const STEPS: usize = 3;

/// Bytes held at most, and seconds per step.
fn measure(context: usize, name: &str) -> Result<(usize, f64), Box<dyn std::error::Error>> {
    let device = match name {
        // Peaks belong to a device, so every size has one of its own.
        "cpu" => Device::cpu_with(Default::default()),
        _ => Device::gpu_with(0, farad::DeviceOptions { handle: context, ..Default::default() })?,
    };
    let options =
        ModelOptions { layers: 1, heads: 6, width: 384, context, vocabulary: 256, ..Default::default() };
    let model = Transformer::new(&options)?.try_to_device(&device)?;
    let [tokens, targets] = [0, 1].map(|shift| {
        let text = (0..context).map(|n| ((n + shift) * 31 % 256) as i32);
        Tensor::from_vec(text.collect(), [1, context], &device)
    });
    let mut adam = model.optimizer(1e-3, 0.1);
    let mut started = Instant::now();
    for step in 0..STEPS + 2 {
        if step == 2 {
            device.wait()?;
            started = Instant::now();
        }
        adam.step(&model.loss(&tokens, &targets))?;
    }
    device.wait()?;
    Ok((device.counters().bytes_peak, started.elapsed().as_secs_f64() / STEPS as f64))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("cpu", String::as_str);
    let size = |n: usize, default: usize| arguments.get(n).map_or(Ok(default), |text| text.parse());
    let (first, last): (usize, usize) = (size(1, 256)?, size(2, 2048)?);
    println!("{:>8} {:>12} {:>14} {:>12}", "context", "peak MB", "bytes per token", "ms per step");
    let mut each = Vec::new();
    for context in std::iter::successors(Some(first), |n| Some(n * 2)).take_while(|&n| n <= last) {
        let (bytes, seconds) = measure(context, name)?;
        each.push(bytes as f64 / context as f64);
        println!(
            "{context:>8} {:>12.1} {:>14.0} {:>12.2}",
            bytes as f64 / 1e6,
            each[each.len() - 1],
            seconds * 1e3
        );
    }
    let grown = each.last().zip(each.first()).map_or(1.0, |(last, first)| last / first);
    assert!(grown < 1.5, "memory grows faster than the context: {grown:.2} times as much a token");
    Ok(())
}
