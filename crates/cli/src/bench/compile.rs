//! How long the first run of a long program takes: recording, differentiating, compiling, loading.
//!
//! Every run is on a new handle of the device, which knows no plan. The error is by how much a program four times as
//! long takes more than four times as long.

use std::time::Instant;

use farad::{Device, Tensor};

use super::timing::{Timing, median};

/// A program of so many steps.
pub type CompiledCase = fn(usize, &Device) -> farad::Result<Tensor>;

/// Runs that are timed.
const RUNS: usize = 5;

/// A pendulum in steps of time, and the gradient of its end at its start.
pub fn pendulum(steps: usize, device: &Device) -> farad::Result<Tensor> {
    let start = (Tensor::arange(16, device).cast(farad::DType::F32) * 0.1).detach()?;
    let (mut t, mut w) = (start.clone(), start.full_like(0.0));
    for _ in 0..steps {
        w = &w - t.sin() * 0.01;
        t = &t + &w * 0.01;
    }
    t.sum().gradient(&start)
}

/// As many pointwise ops, one after the other.
pub fn chain(ops: usize, device: &Device) -> farad::Result<Tensor> {
    let x = (Tensor::arange(16, device).cast(farad::DType::F32) * 0.1).detach()?;
    Ok((0..ops / 2).fold(x, |y, _| &y * 0.999 + 0.001))
}

/// Times first runs of a program of this size, and compares with one a fourth as long.
pub fn measure(program: CompiledCase, size: usize, device: &Device) -> farad::Result<(Timing, f64)> {
    let (mut times, mut parts) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        times.push(first_run(program, size, device)?);
        parts.push(first_run(program, size / 4, device)?);
    }
    let first = times[0];
    let (seconds, part) = (median(&mut times), median(&mut parts));
    let timing = Timing { seconds, best: times[0], first, iterations: RUNS, ..Timing::default() };
    Ok((timing, (seconds / (4.0 * part) - 1.0).max(0.0)))
}

fn first_run(program: CompiledCase, size: usize, device: &Device) -> farad::Result<f64> {
    let device = device.another()?;
    let start = Instant::now();
    let result = program(size, &device).and_then(|y| y.to_vec::<f32>());
    let seconds = start.elapsed().as_secs_f64();
    device.close();
    result.map(|_| seconds)
}
