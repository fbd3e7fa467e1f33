//! A hundred thousand small steps: whether the last are as quick as the first, in the memory of the first.
//!
//! The second thousand is compared with the last, since the first compiles. Times are those of the quickest hundred of
//! each: another program on the machine slows some of them, a list that grows slows all. Where the last are slower, a
//! new handle on the device makes as many steps as were compared with: if the machine itself has become slower (clocks
//! fall when they can), so is this handle, which has nothing behind it.

use std::time::Instant;

use farad::prelude::*;

use super::timing::Timing;
use crate::error::{Error, Result};

/// Steps in all.
const STEPS: usize = 100_000;
/// Steps that are timed together and waited for.
const BLOCK: usize = 100;
/// Steps that are compared.
const COMPARED: usize = 1000;
/// Bytes by which the device's memory may grow, and the process's.
const ROOM: (usize, usize) = (64 << 10, 32 << 20);

/// Times all steps; the error is by how much the last thousand is slower than the second.
pub fn measure(case: &str, device: &Device) -> Result<(Timing, f64)> {
    let mut steps = Steps::new(device)?;
    let mut early = None;
    let compiled = |device: &Device| device.counters().plans_compiled;
    let mut before = 0;
    while steps.blocks.len() < STEPS / BLOCK {
        steps.block()?;
        if steps.blocks.len() == 2 * COMPARED / BLOCK {
            (early, before) = (Some(held(device)), compiled(device));
        }
    }
    let Steps { blocks, total, .. } = steps;
    let compiled = compiled(device) - before;
    let ((live, process), (live_now, process_now)) = (early.expect("there are blocks"), held(device));
    for (what, before, now, room) in
        [("the device", live, live_now, ROOM.0), ("the process", process, process_now, ROOM.1)]
    {
        if now > before + room {
            return Err(Error::Grew { case: case.into(), what, before, now });
        }
    }
    if !total.item()?.is_finite() {
        return Err(Error::Wrong { case: case.into(), error: f64::NAN, tolerance: 0.0 });
    }
    let best = |blocks: &[f64]| blocks.iter().copied().fold(f64::INFINITY, f64::min);
    let part = COMPARED / BLOCK;
    let (mut second, last) = (best(&blocks[part..2 * part]), best(&blocks[blocks.len() - part..]));
    if last > second {
        second = second.max(best(&fresh(device)?[part..2 * part]));
    }
    let timing = Timing {
        seconds: blocks.iter().sum::<f64>() / blocks.len() as f64,
        best: best(&blocks),
        first: blocks[0] * BLOCK as f64,
        iterations: STEPS,
        compiled,
        ..Timing::default()
    };
    Ok((timing, (last / second - 1.0).max(0.0)))
}

/// Small steps, timed by blocks.
struct Steps {
    device: Device,
    model: Sequential,
    sgd: Sgd,
    total: Tensor,
    /// Seconds a step of every block.
    blocks: Vec<f64>,
}

impl Steps {
    fn new(device: &Device) -> Result<Steps> {
        let model = Sequential::new((Linear::new(2, 8), Relu, Linear::new(8, 1))).try_to_device(device)?;
        let sgd = Sgd::new(model.parameters()).learning_rate(0.01).momentum(0.9);
        Ok(Steps { device: device.clone(), model, sgd, total: Tensor::zeros([], device), blocks: vec![] })
    }

    /// A block more.
    fn block(&mut self) -> Result<()> {
        let start = Instant::now();
        for _ in 0..BLOCK {
            // New data each time, and a total over all of it, as in an epoch.
            let x = Tensor::rand([4, 2], &self.device);
            let y = x.sum_axes(kept([1]));
            let loss = self.model.forward(&x).mean_squared_error(&y);
            self.sgd.step(&loss)?;
            self.total = &self.total + &loss;
        }
        self.device.wait()?;
        self.blocks.push(start.elapsed().as_secs_f64() / BLOCK as f64);
        Ok(())
    }
}

/// The first blocks on a handle of its own, closed again.
fn fresh(device: &Device) -> Result<Vec<f64>> {
    let device = device.another()?;
    let mut steps = Steps::new(&device)?;
    let done = (0..2 * COMPARED / BLOCK).try_for_each(|_| steps.block());
    device.close();
    done.map(|()| steps.blocks)
}

/// Bytes that the device and the process hold; 0 for the process where the system does not say.
fn held(device: &Device) -> (usize, usize) {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    (device.counters().bytes_live, pages.unwrap_or(0) * 4096)
}
