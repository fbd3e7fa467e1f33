//! From the start of a process to its first finished training step: what a user waits for.
//!
//! The command starts itself, so that nothing is warm; drivers are told to keep no shaders on disk.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use farad::Device;

use super::timing::{Timing, median};
use super::train::BenchTraining;
use crate::error::{Error, Result};

/// Processes that are timed.
const PROCESSES: usize = 3;

/// What switches the shader caches of drivers off.
const COLD: [(&str, &str); 2] = [("__GL_SHADER_DISK_CACHE", "0"), ("MESA_SHADER_CACHE_DISABLE", "true")];

/// The new process: makes a step, says so, then says how wrong it was.
pub fn child(device: &Device) -> Result<()> {
    let mut training = BenchTraining::mlp(device)?;
    training.step()?;
    device.wait()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "stepped")?;
    out.flush()?;
    writeln!(out, "{:e}", training.change_error(1)?)?;
    Ok(())
}

/// Times new processes: the median, and the largest error.
pub fn parent(device: &str) -> Result<(Timing, f64)> {
    let (mut times, mut worst) = (Vec::new(), 0f64);
    for _ in 0..PROCESSES {
        let (time, error) = process(device).map_err(|message| Error::Child { message })?;
        times.push(time);
        // Keeps what is not a number.
        worst = if error <= worst { worst } else { error };
    }
    let first = times[0];
    let (seconds, best) = (median(&mut times), times[0]);
    Ok((Timing { seconds, best, first, iterations: PROCESSES, ..Timing::default() }, worst))
}

fn process(device: &str) -> std::result::Result<(f64, f64), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let start = Instant::now();
    let mut child = Command::new(&program)
        .args(["bench", "--first-step", "--device", device])
        .envs(COLD)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let stepped = lines.next();
    let seconds = start.elapsed().as_secs_f64();
    let error = lines.next();
    let status = child.wait().map_err(|error| error.to_string())?;
    match (stepped, error) {
        (Some(Ok(stepped)), Some(Ok(error))) if stepped == "stepped" && status.success() => {
            error.parse().map(|error| (seconds, error)).map_err(|_| format!("it said {error:?}"))
        }
        _ => Err(status.to_string()),
    }
}
