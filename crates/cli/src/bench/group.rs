//! `farad bench --group`: what it costs ranks to take the mean of their numbers, size by size.
//!
//! Under `mpirun` the ranks are its processes; otherwise two threads of this one. The times of all sizes give the two numbers
//! of the usual model: a latency, and a time per byte.

use std::io::Write;
use std::time::Instant;

use farad::group::{Combine, Group};
use serde_json::json;

use crate::error::Result;
use crate::look::{self, Table, bytes, right};
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

/// Times all sizes, and prints a line for each.
pub fn run(as_json: bool) -> Result<()> {
    let world = ranks::world()?;
    let (found, size) = match world.is_alone() {
        false => (timed(&world)?, world.size()),
        true => (between_threads()?, 2),
    };
    if !world.is_first() {
        return Ok(());
    }
    let (latency, per_byte) = fitted(&found);
    let mut out = look::out();
    if as_json {
        for TimedReduction { bytes, seconds } in &found {
            let speed = *bytes as f64 / seconds / 1e9;
            writeln!(out, "{}", json!({ "ranks": size, "bytes": bytes, "us": seconds * 1e6, "gbs": speed }))?;
        }
        writeln!(
            out,
            "{}",
            json!({ "ranks": size, "latency_us": latency * 1e6, "ns_per_byte": per_byte * 1e9 })
        )?;
        return Ok(out.flush()?);
    }
    let mut table = Table::new(["all-reduce of", "µs", "GB/s"].map(right));
    for TimedReduction { bytes: count, seconds } in &found {
        let speed = *count as f64 / seconds / 1e9;
        table.row(
            [bytes(*count as u64), format!("{:.1}", seconds * 1e6), format!("{speed:.3}")].map(Into::into),
        );
    }
    write!(out, "{table}")?;
    let kind = if world.is_alone() { "threads" } else { "processes" };
    writeln!(out, "{size} {kind}: {:.1} µs + {:.4} ns per byte", latency * 1e6, per_byte * 1e9)?;
    Ok(out.flush()?)
}

/// The same between two threads.
fn between_threads() -> Result<Vec<TimedReduction>> {
    let mut ranks = Group::threads(2)?;
    let (other, first) = (ranks.pop().expect("two"), ranks.pop().expect("two"));
    let other = std::thread::spawn(move || timed(&other).map(drop));
    let found = timed(&first)?;
    match other.join() {
        Ok(done) => done?,
        Err(panic) => std::panic::resume_unwind(panic),
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

/// Latency and time per byte: the line that has the smallest relative errors.
fn fitted(found: &[TimedReduction]) -> (f64, f64) {
    let (mut w, mut wx, mut wxx, mut wy, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for TimedReduction { bytes, seconds } in found {
        let (x, weight) = (*bytes as f64, 1.0 / (seconds * seconds));
        (w, wx, wxx) = (w + weight, wx + weight * x, wxx + weight * x * x);
        (wy, wxy) = (wy + weight * seconds, wxy + weight * x * seconds);
    }
    let slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    (((wy - slope * wx) / w).max(0.0), slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found_again() {
        let of = |bytes: usize| TimedReduction { bytes, seconds: 2e-5 + 1e-9 * bytes as f64 };
        let (latency, per_byte) = fitted(&SIZES.map(|size| of(4 * size)));
        assert!((latency - 2e-5).abs() < 1e-9 && (per_byte - 1e-9).abs() < 1e-13, "{latency} {per_byte}");
    }

    #[test]
    fn threads_are_timed() {
        let found = between_threads().expect("two threads");
        assert!(found.len() == SIZES.len() && found.iter().all(|reduction| reduction.seconds > 0.0));
    }
}
