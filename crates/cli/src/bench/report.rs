//! What is printed: a table for people or one JSON object per line, and progress on stderr.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use farad::Device;
use serde_json::{Value, json};

use super::case::CaseWork;
use super::hardware::Hardware;
use super::timing::Timing;
use crate::arguments::OutputFlags;
use crate::error::Result;
use crate::look::{self, HEADING, paint};

/// What one case gave.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Its name.
    pub case: String,
    /// Times on the host's clock.
    pub timing: Timing,
    /// Milliseconds on the GPU's clock.
    pub gpu_ms: Option<f64>,
    /// What an iteration does.
    pub work: CaseWork,
    /// The relative error against f64.
    pub error: f64,
}

/// Where lines go.
pub struct BenchReport {
    output: OutputFlags,
    hardware: Hardware,
}

impl BenchReport {
    /// Prints the heading of the table.
    pub fn new(output: OutputFlags, hardware: Hardware) -> Result<BenchReport> {
        if !output.json {
            let mut out = look::out();
            writeln!(out, "{}", hardware.text)?;
            let heads = ["ms", "gpu ms", "alone ms", "GFLOP/s", "GB/s", "error"];
            let heads = heads.map(|head| format!("{head:>10}")).join(" ");
            writeln!(out, "{}", paint(HEADING, format!("{:<26} {heads}", "case")))?;
        }
        Ok(BenchReport { output, hardware })
    }

    /// Says what is going on; nothing clears it.
    pub fn progress(&self, text: &str) {
        if !self.output.quiet {
            look::passing(text);
        }
    }

    /// Prints a measurement.
    pub fn line(&self, device: &Device, measurement: &Measurement) -> Result<()> {
        self.progress("");
        let mut out = look::out();
        if self.output.json {
            writeln!(out, "{}", measurement.json(device, &self.hardware))?;
        } else {
            writeln!(out, "{}", measurement.row())?;
        }
        Ok(out.flush()?)
    }
}

impl Measurement {
    fn ms(&self) -> f64 {
        self.timing.seconds * 1e3
    }

    fn alone_ms(&self) -> Option<f64> {
        (self.timing.alone > 0.0).then_some(self.timing.alone * 1e3)
    }

    /// Billions a second of a count per iteration, if it counts.
    fn rate(&self, count: f64) -> Option<f64> {
        (count > 0.0).then_some(count / self.timing.seconds / 1e9)
    }

    fn row(&self) -> String {
        let cell = |value: Option<f64>, digits: usize| match value {
            Some(value) => format!("{value:>10.digits$}"),
            None => format!("{:>10}", "–"),
        };
        let cells = [
            cell(Some(self.ms()), 4),
            cell(self.gpu_ms, 4),
            cell(self.alone_ms(), 4),
            cell(self.rate(self.work.flops), 1),
            cell(self.rate(self.work.bytes), 1),
            format!("{:>10.1e}", self.error),
        ];
        format!("{:<26} {}", self.case, cells.join(" "))
    }

    fn json(&self, device: &Device, hardware: &Hardware) -> Value {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        json!({
            "case": self.case,
            "device": device.name(),
            "ms": self.ms(),
            "gpu_ms": self.gpu_ms,
            "gflops": self.rate(self.work.flops),
            "gbs": self.rate(self.work.bytes),
            "error": self.error,
            "items_per_second": self.rate(self.work.items).map(|rate| rate * 1e9),
            "best_ms": self.timing.best * 1e3,
            "sync_ms": self.alone_ms(),
            "first_s": self.timing.first,
            "iterations": self.timing.iterations,
            "kind": hardware.kind,
            "hardware": hardware.text,
            "version": env!("CARGO_PKG_VERSION"),
            "time": time,
        })
    }
}
