//! From the start of a process to its first finished iteration: what a user waits for.
//!
//! The command starts itself, so that nothing is warm; drivers are told to keep no shaders on disk. The time beside it is
//! that of the iteration alone, once the process has a device.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use farad::Device;

use super::case::{CASES, TimedAs};
use super::timing::{Timing, median};
use crate::error::{Error, Result};

/// Processes that are timed.
const PROCESSES: usize = 3;

/// What switches the shader caches of drivers off.
const COLD: [(&str, &str); 2] = [("__GL_SHADER_DISK_CACHE", "0"), ("MESA_SHADER_CACHE_DISABLE", "true")];

/// The new process: makes an iteration of a case, says how long it took, then says how wrong it was.
pub fn child(case: &str, device: &Device) -> Result<()> {
    let prepare = CASES.iter().find(|row| row.name == case).and_then(|row| match row.kind {
        TimedAs::Process(prepare) => Some(prepare),
        _ => None,
    });
    let Some(prepare) = prepare else { return Err(Error::Child { message: format!("no case {case}") }) };
    let start = Instant::now();
    let mut workload = prepare(device)?;
    (workload.iterate)()?;
    device.wait()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:e}", start.elapsed().as_secs_f64())?;
    out.flush()?;
    writeln!(out, "{:e}", (workload.error)()?)?;
    Ok(())
}

/// What a new process told.
struct Told {
    /// Seconds from its start to the end of the iteration.
    seconds: f64,
    /// Seconds of the iteration alone.
    alone: f64,
    error: f64,
}

/// Times new processes: the median, and the largest error.
pub fn parent(case: &str, device: &str) -> Result<(Timing, f64)> {
    let (mut times, mut alone, mut worst) = (Vec::new(), Vec::new(), 0f64);
    for _ in 0..PROCESSES {
        let Told { seconds, alone: own, error } =
            process(case, device).map_err(|message| Error::Child { message })?;
        times.push(seconds);
        alone.push(own);
        // Keeps what is not a number.
        worst = if error <= worst { worst } else { error };
    }
    let first = times[0];
    let (seconds, best) = (median(&mut times), times[0]);
    let alone = median(&mut alone);
    Ok((Timing { seconds, best, alone, first, iterations: PROCESSES, ..Timing::default() }, worst))
}

fn process(case: &str, device: &str) -> std::result::Result<Told, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let start = Instant::now();
    let mut child = Command::new(&program)
        .args(["bench", "--first-step", case, "--device", device])
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
    let number = |line: Option<std::io::Result<String>>| line?.ok()?.parse().ok();
    match (number(stepped), number(error)) {
        (Some(alone), Some(error)) if status.success() => Ok(Told { seconds, alone, error }),
        _ => Err(status.to_string()),
    }
}
