//! How long an iteration takes, measured as the scripts of other frameworks measure it: warm up,
//! then blocks of iterations in flight without waiting in between; the median of the blocks.

use std::time::{Duration, Instant};

use farad::Device;

/// How long training steps run before they are timed, so that a GPU has the clocks that it works with.
const WARM: Duration = Duration::from_millis(500);

/// Starts one iteration.
type Iterate<'a> = &'a mut dyn FnMut() -> farad::Result<()>;

/// Times of one case, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// Wall time per iteration, several in flight.
    pub seconds: f64,
    /// The same in the fastest block: what a busy machine does when it is let alone.
    pub best: f64,
    /// Wall time of an iteration that is waited for; 0 if not measured.
    pub alone: f64,
    /// Wall time of the first iteration after the check, which has compiled the plan already.
    pub first: f64,
    /// Iterations that were timed.
    pub iterations: usize,
    /// Programs compiled while timing: none, or it is no replay.
    pub compiled: usize,
}

/// Times an operation.
pub fn time_operation(device: &Device, iterate: Iterate) -> farad::Result<Timing> {
    let first = waited(device, iterate)?;
    let (start, mut count) = (Instant::now(), 0);
    while count < 5 || (count < 20 && start.elapsed() < Duration::from_millis(300)) {
        waited(device, iterate)?;
        count += 1;
    }
    let compiled = device.counters().plans_compiled;
    let (start, mut alone) = (Instant::now(), Vec::new());
    while alone.len() < 20 && (alone.len() < 3 || start.elapsed() < Duration::from_secs(3)) {
        alone.push(waited(device, iterate)?);
    }
    let alone = median(&mut alone);
    let size = ((0.02 / alone).ceil() as usize).clamp(1, 20);
    let (start, mut blocks) = (Instant::now(), Vec::new());
    let short = |blocks: &Vec<f64>| blocks.len() * size < 20 || blocks.len() < 5;
    while blocks.is_empty()
        || start.elapsed() < Duration::from_millis(300)
        || (short(&blocks) && start.elapsed() < Duration::from_secs(5))
    {
        blocks.push(block(device, iterate, size)?);
    }
    let iterations = blocks.len() * size;
    let compiled = device.counters().plans_compiled - compiled;
    let (seconds, best) = (median(&mut blocks), blocks[0]);
    Ok(Timing { seconds, best, alone, first, iterations, compiled })
}

/// Times training steps.
pub fn time_training(device: &Device, iterate: Iterate) -> farad::Result<Timing> {
    let first = waited(device, iterate)?;
    let (start, mut warm) = (Instant::now(), Vec::new());
    while warm.len() < 5 || (warm.len() < 10 && start.elapsed() < Duration::from_secs(1)) {
        warm.push(waited(device, iterate)?);
    }
    let size = if start.elapsed().as_secs_f64() / (warm.len() as f64) < 1.5 { 20 } else { 4 };
    // While the host checked results a GPU was idle and slowed its clocks down.
    while start.elapsed() < WARM {
        block(device, iterate, size)?;
    }
    let compiled = device.counters().plans_compiled;
    let (start, mut blocks) = (Instant::now(), Vec::new());
    while blocks.is_empty() || (blocks.len() < 10 && start.elapsed() < Duration::from_secs(5)) {
        blocks.push(block(device, iterate, size)?);
    }
    let iterations = blocks.len() * size;
    let compiled = device.counters().plans_compiled - compiled;
    let (seconds, best, alone) = (median(&mut blocks), blocks[0], median(&mut warm));
    Ok(Timing { seconds, best, alone, first, iterations, compiled })
}

/// Milliseconds of an iteration by the GPU's own clock, if it has one.
pub fn time_on_gpu(device: &Device, iterate: Iterate) -> farad::Result<Option<f64>> {
    if !device.time_passes(true)? {
        return Ok(None);
    }
    let runs = device.counters().plans_replayed;
    let (start, mut count) = (Instant::now(), 0);
    while count < 3 || (count < 20 && start.elapsed() < Duration::from_secs(2)) {
        iterate()?;
        count += 1;
    }
    device.wait()?;
    let passes = (device.counters().plans_replayed - runs) as f64 / count as f64;
    let mut times: Vec<f64> = device.pass_nanoseconds()?.into_iter().map(|time| time as f64).collect();
    device.time_passes(false)?;
    Ok((!times.is_empty()).then(|| median(&mut times) * passes / 1e6))
}

/// Seconds of one iteration that is waited for.
fn waited(device: &Device, iterate: Iterate) -> farad::Result<f64> {
    block(device, iterate, 1)
}

/// Seconds per iteration of several that are waited for together.
fn block(device: &Device, iterate: Iterate, size: usize) -> farad::Result<f64> {
    let start = Instant::now();
    for _ in 0..size {
        iterate()?;
    }
    device.wait()?;
    Ok(start.elapsed().as_secs_f64() / size as f64)
}

/// The middle value, or the mean of the two in the middle; sorts the values.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn iterations_are_counted_and_timed() {
        let mut calls = 0;
        let mut iterate = || {
            calls += 1;
            std::thread::sleep(Duration::from_millis(2));
            Ok(())
        };
        let timing = time_operation(&Device::cpu(), &mut iterate).expect("nothing fails");
        assert!(timing.best >= 0.002 && timing.seconds >= timing.best, "{timing:?}");
        assert!(timing.iterations >= 20, "{timing:?}");
        assert!(calls > timing.iterations, "{calls} calls");
    }
}
