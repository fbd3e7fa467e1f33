//! `farad bench --group`: what it costs ranks to take the mean of their numbers, size by size, and how much of it is hidden.
//!
//! Under `mpirun` the ranks are its processes; otherwise threads of this one. The times of all sizes give the numbers of the usual
//! model: a latency, and times per byte inside the caches and beyond them.

use std::io::Write;
use std::time::Instant;

use farad::Device;
use farad::group::{Combine, Group};
use serde_json::json;

use super::overlap::{self, Overlap};
use crate::arguments::BenchOptions;
use crate::error::Result;
use crate::look::{self, Table, bytes, left, right};
use crate::ranks;

/// Sizes in numbers of four bytes.
const SIZES: [usize; 8] = [1, 256, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 22, 1 << 24];
/// All sizes are timed for about as many bytes, and at most so often.
const BYTES: usize = 1 << 28;
const MOST: usize = 200;
const LEAST: usize = 5;

/// A size and the median time of its all-reduce.
struct TimedReduction {
    bytes: usize,
    seconds: f64,
}

/// What one rank found.
struct GroupCosts {
    reductions: Vec<TimedReduction>,
    overlap: Overlap,
}

/// Times all sizes and a training, and prints a line for each.
pub fn run(options: &BenchOptions) -> Result<()> {
    let world = ranks::world()?;
    let device = match ranks::device(&world, &options.device, None)? {
        Some(device) => device,
        None => options.device.or_best()?,
    };
    let (found, size) = match world.is_alone() {
        false => (costs(&world, &device)?, world.size()),
        true => (between_threads(options.ranks, &device)?, options.ranks),
    };
    if !world.is_first() {
        return Ok(());
    }
    let kind = if world.is_alone() { "threads" } else { "processes" };
    match options.output.json {
        true => print_json(&found, size),
        false => print_tables(&found, size, kind),
    }
}

fn costs(group: &Group, device: &Device) -> Result<GroupCosts> {
    Ok(GroupCosts { reductions: timed(group)?, overlap: overlap::run(group, device)? })
}

fn print_json(found: &GroupCosts, ranks: usize) -> Result<()> {
    let GroupCosts { reductions, overlap } = found;
    let mut out = look::out();
    for TimedReduction { bytes, seconds } in reductions {
        let speed = *bytes as f64 / seconds / 1e9;
        writeln!(out, "{}", json!({ "ranks": ranks, "bytes": bytes, "us": seconds * 1e6, "gbs": speed }))?;
    }
    let [latency, per_byte, beyond] = fitted(reductions);
    let line = json!({
        "ranks": ranks, "latency_us": latency * 1e6, "ns_per_byte": per_byte * 1e9, "ns_per_byte_beyond": beyond * 1e9
    });
    writeln!(out, "{line}")?;
    for (mode, seconds) in &overlap.steps {
        writeln!(out, "{}", json!({ "ranks": ranks, "mode": mode, "step_ms": seconds * 1e3 }))?;
    }
    let [read, upload] = overlap.staging.map(|seconds| seconds * 1e12);
    let line = json!({
        "ranks": ranks, "gradient_bytes": overlap.bytes, "hidden": overlap.hidden(), "right": overlap.is_right,
        "apart": overlap.apart,
        "read_us_per_mb": read, "upload_us_per_mb": upload
    });
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn print_tables(found: &GroupCosts, ranks: usize, kind: &str) -> Result<()> {
    let GroupCosts { reductions, overlap } = found;
    let mut table = Table::new(["all-reduce of", "µs", "GB/s"].map(right));
    for TimedReduction { bytes: count, seconds } in reductions {
        let speed = *count as f64 / seconds / 1e9;
        table.row(
            [bytes(*count as u64), format!("{:.1}", seconds * 1e6), format!("{speed:.3}")].map(Into::into),
        );
    }
    let mut out = look::out();
    write!(out, "{table}")?;
    let [latency, per_byte, beyond] = fitted(reductions);
    let (latency, per_byte, beyond) = (latency * 1e6, per_byte * 1e9, beyond * 1e9);
    let knee = bytes(KNEE as u64);
    writeln!(
        out,
        "{ranks} {kind}: {latency:.1} µs + {per_byte:.4} ns per byte, {beyond:.4} ns beyond {knee}\n"
    )?;
    let mut table = Table::new([left("step"), right("ms")]);
    for (mode, seconds) in &overlap.steps {
        table.row([mode.to_string(), format!("{:.2}", seconds * 1e3)].map(Into::into));
    }
    write!(out, "{table}")?;
    let hidden =
        overlap.hidden().map_or("nothing to hide".into(), |share| format!("{:.0} % hidden", 100.0 * share));
    let verdict = if overlap.is_right { "the same bits on all ranks" } else { "WRONG: ranks differ" };
    let [read, upload] = overlap.staging.map(|seconds| seconds * 1e12);
    let (size, apart) = (bytes(overlap.bytes as u64), overlap.apart);
    writeln!(out, "{size} of gradients: {hidden}; {verdict}, weights {apart:.1e} from those of one rank")?;
    writeln!(out, "staging: {read:.1} µs per MB from the device, {upload:.1} µs per MB to it")?;
    Ok(out.flush()?)
}

/// The same between threads, each with a handle of its own.
fn between_threads(count: usize, device: &Device) -> Result<GroupCosts> {
    let mut ranks = Group::threads(count)?.into_iter();
    let first = ranks.next().expect("at least one");
    let others: Vec<_> = ranks
        .map(|group| {
            let device = device.another();
            std::thread::spawn(move || costs(&group, &device?).map(drop))
        })
        .collect();
    let found = costs(&first, device)?;
    for other in others {
        match other.join() {
            Ok(done) => done?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    Ok(found)
}

fn timed(group: &Group) -> Result<Vec<TimedReduction>> {
    let mut found = Vec::new();
    for numbers in SIZES {
        let bytes = 4 * numbers;
        let times = (BYTES / bytes / group.size()).clamp(LEAST, MOST);
        let mut seconds = Vec::with_capacity(times);
        // The first one warms up.
        for n in 0..=times {
            let given = vec![1.0f32; numbers];
            group.barrier()?;
            let start = Instant::now();
            let reduced = group.start_all_reduce(given, Combine::Mean).wait()?;
            if n > 0 {
                seconds.push(start.elapsed().as_secs_f64());
            }
            assert!(reduced.iter().all(|&mean| mean == 1.0), "bench: wrong mean");
        }
        seconds.sort_by(f64::total_cmp);
        found.push(TimedReduction { bytes, seconds: seconds[times / 2] });
    }
    Ok(found)
}

/// Beyond so many bytes numbers leave the caches, and a byte takes longer.
const KNEE: usize = 4 << 20;

/// Latency, time per byte up to [`KNEE`] and beyond it: two lines that meet there, with the smallest relative errors.
fn fitted(found: &[TimedReduction]) -> [f64; 3] {
    let (mut w, mut wx, mut wxx, mut wy, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for TimedReduction { bytes, seconds } in found.iter().filter(|reduction| reduction.bytes <= KNEE) {
        let (x, weight) = (*bytes as f64, 1.0 / (seconds * seconds));
        (w, wx, wxx) = (w + weight, wx + weight * x, wxx + weight * x * x);
        (wy, wxy) = (wy + weight * seconds, wxy + weight * x * seconds);
    }
    let slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    let latency = ((wy - slope * wx) / w).max(0.0);
    let (at_knee, mut above, mut over) = (latency + slope * KNEE as f64, 0.0, 0.0);
    for TimedReduction { bytes, seconds } in found.iter().filter(|reduction| reduction.bytes > KNEE) {
        let (x, weight) = ((bytes - KNEE) as f64, 1.0 / (seconds * seconds));
        (above, over) = (above + weight * x * (seconds - at_knee), over + weight * x * x);
    }
    [latency, slope, (above / over).max(0.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found_again() {
        let of = |bytes: usize| {
            let beyond = bytes.saturating_sub(KNEE) as f64;
            TimedReduction { bytes, seconds: 2e-5 + 1e-9 * (bytes as f64 - beyond) + 3e-9 * beyond }
        };
        let [latency, per_byte, beyond] = fitted(&SIZES.map(|size| of(4 * size)));
        assert!((latency - 2e-5).abs() < 1e-9 && (per_byte - 1e-9).abs() < 1e-13, "{latency} {per_byte}");
        assert!((beyond - 3e-9).abs() < 1e-13, "{beyond}");
    }

    #[test]
    fn threads_are_timed() {
        let found = between_threads(2, &Device::cpu_with(Default::default())).expect("two threads");
        let GroupCosts { reductions, overlap } = found;
        assert!(
            reductions.len() == SIZES.len() && reductions.iter().all(|reduction| reduction.seconds > 0.0)
        );
        assert!(overlap.is_right, "ranks differ");
        assert!(overlap.apart < 1e-3, "{:e} from one rank", overlap.apart);
        assert!(overlap.bytes > 1 << 20 && overlap.steps.iter().all(|(_, seconds)| *seconds > 0.0));
    }
}
