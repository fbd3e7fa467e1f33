//! Where the time of updates goes: kernels by kind, and the host.
//!
//! Kernels are timed alone during a few updates, which are waited for; the host's time is taken during others that run as
//! usual. So kernels are shares of the device's time, and the rest are shares of the wall time.

use std::time::Duration;

use farad::{Profile, ProfileMode, ProfileOptions};
use serde::Serialize;

/// Operations per byte from which a kernel is a product whose name its label has no room for.
const DENSE: u64 = 16;

/// A part of the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// What it went to.
    pub name: &'static str,
    /// Milliseconds per update.
    pub milliseconds: f64,
    /// The share of the device's or the wall time.
    pub share: f64,
}

/// Where the time of an update goes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Breakdown {
    /// Milliseconds of the device, every kernel timed alone.
    pub device_milliseconds: f64,
    /// Milliseconds on the host's clock, runs as usual.
    pub wall_milliseconds: f64,
    /// Kernels launched.
    pub launches: f64,
    /// Shares of the device's time: contraction, attention, other kernels.
    pub kernels: Vec<Share>,
    /// Shares of the wall time: waiting, transfers, running kernels, farad's own work, other host time.
    pub host: Vec<Share>,
}

impl Breakdown {
    /// How kernels are timed.
    pub fn kernel_options() -> ProfileOptions {
        ProfileOptions { mode: ProfileMode::Kernels, peaks: false }
    }

    /// How the host is timed.
    pub fn host_options() -> ProfileOptions {
        ProfileOptions { mode: ProfileMode::Host, peaks: false }
    }

    /// From profiles of so many updates each.
    pub fn of((kernels, of_kernels): (&Profile, u64), (host, of_host): (&Profile, u64)) -> Breakdown {
        let (of_kernels, of_host) = (of_kernels.max(1) as f64, of_host.max(1) as f64);
        let device = kernels.nanoseconds() as f64 / 1e6 / of_kernels;
        let wall = milliseconds(host.wall) / of_host;
        let share = |whole: f64| {
            move |name, part: f64| Share { name, milliseconds: part, share: part / whole.max(1e-12) }
        };
        let kind = |wanted: ShareKind| {
            let own = kernels.kernels.iter().filter(|kernel| ShareKind::of(kernel) == wanted);
            own.map(|kernel| kernel.nanoseconds).sum::<u64>() as f64 / 1e6 / of_kernels
        };
        let phases =
            |names: &[&str]| names.iter().map(|name| milliseconds(host.phase(name))).sum::<f64>() / of_host;
        let (kernel, part) = (share(device), share(wall));
        Breakdown {
            device_milliseconds: device,
            wall_milliseconds: wall,
            launches: kernels.launches() as f64 / of_kernels,
            kernels: vec![
                kernel("contraction", kind(ShareKind::Contraction)),
                kernel("attention", kind(ShareKind::Attention)),
                kernel("other kernels", kind(ShareKind::Other)),
            ],
            host: vec![
                part("waiting for the device", phases(&["waiting"])),
                part("running kernels", phases(&["running kernels"])),
                part("transfers", phases(&["uploading", "reading"])),
                part(
                    "recording and lookup",
                    phases(&["recording", "hashing and lookup", "compiling", "allocating"]),
                ),
                part("encoding and submitting", phases(&["encoding", "submitting"])),
                part("other host time", milliseconds(host.other) / of_host),
            ],
        }
    }

    /// The rows of a table in Markdown.
    pub fn table(&self) -> String {
        let mut text = String::from("| part of an update | ms | share |\n|---|---:|---:|\n");
        let mut row = |name: &str, ms: f64, share: f64| {
            text += &format!("| {name} | {ms:.3} | {:.1} % |\n", 100.0 * share);
        };
        row("device, kernels timed alone", self.device_milliseconds, 1.0);
        self.kernels.iter().for_each(|part| row(part.name, part.milliseconds, part.share));
        row("wall time, runs as usual", self.wall_milliseconds, 1.0);
        self.host
            .iter()
            .filter(|part| part.milliseconds > 0.0)
            .for_each(|part| row(part.name, part.milliseconds, part.share));
        text
    }

    /// In a line.
    pub fn line(&self) -> String {
        let part = |part: &Share| format!("{} {:.1} %", part.name, 100.0 * part.share);
        let all = |parts: &[Share]| {
            let seen = parts.iter().filter(|part| part.share >= 0.0005);
            seen.map(part).collect::<Vec<_>>().join(", ")
        };
        let (device, wall) = (self.device_milliseconds, self.wall_milliseconds);
        format!(
            "device {device:.3} ms per update: {}\nhost {wall:.3} ms per update: {}",
            all(&self.kernels),
            all(&self.host)
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ShareKind {
    Contraction,
    Attention,
    Other,
}

impl ShareKind {
    fn of(kernel: &farad::KernelTime) -> ShareKind {
        if kernel.label.contains("attention") {
            return ShareKind::Attention;
        }
        let dense = kernel.flops > DENSE * kernel.bytes;
        if kernel.label.contains("contract") || dense { ShareKind::Contraction } else { ShareKind::Other }
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
