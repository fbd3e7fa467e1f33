//! A profile as a table for people.

use std::fmt::{self, Write};
use std::time::Duration;

use farad_chart::counted;

use super::{KernelTime, Peaks, Profile, ProfileMode};

/// A table of kernels, longest first, and a line with their sum.
pub fn kernel_table(kernels: &[KernelTime], peaks: Option<&Peaks>) -> String {
    let mut text = String::new();
    write_kernels(&mut text, kernels, peaks).expect("strings do not fail");
    text
}

fn write_kernels(f: &mut impl Write, kernels: &[KernelTime], peaks: Option<&Peaks>) -> fmt::Result {
    let total = kernels.iter().map(|kernel| kernel.nanoseconds).sum::<u64>();
    let launches = kernels.iter().map(|kernel| kernel.count).sum::<u64>();
    if total == 0 {
        writeln!(f, "{:>8} {:>10} {:>10}  kernel", "launches", "MB", "MFLOP")?;
        for kernel in kernels {
            let (megabytes, megaflops) = (kernel.bytes as f64 / 1e6, kernel.flops as f64 / 1e6);
            writeln!(f, "{:>8} {megabytes:>10.3} {megaflops:>10.3}  {}", kernel.count, kernel.label)?;
        }
        let (launches, kernels) = (counted(launches, "launch"), counted(kernels.len(), "kernel"));
        return write!(f, "{launches} of {kernels}, not timed");
    }
    let head = ["ms", "share", "launches", "GB/s", "GFLOP/s", "of peak"];
    let [ms, share, count, gbs, gflops, peak] = head;
    writeln!(f, "{ms:>10} {share:>6} {count:>8} {gbs:>8} {gflops:>9} {peak:>8}  kernel")?;
    for kernel in kernels {
        let nanoseconds = kernel.nanoseconds.max(1) as f64;
        let (ms, share) = (nanoseconds / 1e6, 100.0 * nanoseconds / total as f64);
        let (gbs, gflops) = (kernel.bytes as f64 / nanoseconds, kernel.flops as f64 / nanoseconds);
        let peak = peaks.and_then(|peaks| kernel.share_of_peak(peaks));
        let peak = peak.map_or("–".into(), |share| format!("{:.1}%", 100.0 * share));
        write!(f, "{ms:>10.4} {share:>5.1}% {:>8} {gbs:>8.1} {gflops:>9.1} {peak:>8}", kernel.count)?;
        writeln!(f, "  {}", kernel.label)?;
    }
    let (launches, kernels) = (counted(launches, "launch"), counted(kernels.len(), "kernel"));
    write!(f, "{:>10.4} ms in {launches} of {kernels}", total as f64 / 1e6)
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.mode {
            ProfileMode::Kernels => "every kernel timed alone, every run waited for",
            ProfileMode::Host => "runs as usual, kernels counted",
        };
        writeln!(f, "profile of {}: {:.3} ms; {how}\n", self.device, milliseconds(self.wall))?;
        write_kernels(f, &self.kernels, self.peaks.as_ref())?;
        writeln!(f)?;
        if let Some(peaks) = &self.peaks {
            let (bytes, flops) = (peaks.bytes_per_second / 1e9, peaks.flops_per_second / 1e9);
            write!(f, "peak as measured: {bytes:.1} GB/s, {flops:.1} GFLOP/s in f32")?;
            let half = peaks.half_flops_per_second;
            half.map_or(Ok(()), |flops| write!(f, ", {:.1} GFLOP/s in products of f16", flops / 1e9))?;
            writeln!(f)?;
        }
        self.write_host(f)?;
        write!(f, "\n{}", self.memory)
    }
}

impl Profile {
    fn write_host(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = milliseconds(self.wall).max(1e-9);
        let elsewhere = self.host.iter().any(|phase| phase.elsewhere_nanoseconds > 0);
        let threads = if elsewhere { "  ms of other threads" } else { "" };
        writeln!(f, "\n{:<20} {:>10} {:>6} {:>8} {:>10}{threads}", "host", "ms", "share", "count", "MB")?;
        for phase in self.host.iter().filter(|phase| phase.count > 0) {
            let ms = phase.nanoseconds as f64 / 1e6;
            let moved = match phase.bytes {
                0 => String::new(),
                bytes => format!("{:.3}", bytes as f64 / 1e6),
            };
            let (share, count) = (100.0 * ms / whole, phase.count);
            write!(f, "{:<20} {ms:>10.3} {share:>5.1}% {count:>8} {moved:>10}", phase.phase)?;
            match elsewhere {
                true => writeln!(f, "  {:>10.3}", phase.elsewhere_nanoseconds as f64 / 1e6)?,
                false => writeln!(f)?,
            }
        }
        let other = milliseconds(self.other);
        writeln!(f, "{:<20} {other:>10.3} {:>5.1}%", "other host time", 100.0 * other / whole)?;
        let c = &self.counters;
        writeln!(
            f,
            "{:<20} {whole:>10.3} 100.0%  {}, {}, {}, {}, {}, {} made",
            "wall time",
            counted(c.runs, "run"),
            counted(c.submissions, "submission"),
            counted(c.dispatches, "launch"),
            counted(c.uploads, "upload"),
            counted(c.reads, "read"),
            counted(c.plans_compiled, "plan")
        )
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
