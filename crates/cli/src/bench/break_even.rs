//! From which size on a GPU is worth it: the same work on both devices, size by size.

use std::io::Write;

use farad::Device;
use serde_json::json;

use super::case::Workload;
use super::{matmul, pointwise, rows, timing};
use crate::error::{Error, Result};
use crate::look::{self, HEADING, Talk, paint};

/// Work by size.
struct Ladder {
    name: &'static str,
    sizes: &'static [usize],
    prepare: fn(usize, &Device) -> farad::Result<Workload>,
}

const LADDERS: [Ladder; 3] = [
    Ladder {
        name: "ew_chain (elements)",
        sizes: &[256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22],
        prepare: pointwise::chain,
    },
    Ladder {
        name: "softmax (rows of 1024)",
        sizes: &[1, 4, 16, 64, 256, 1024, 4096],
        prepare: |count, device| rows::softmax([count, 1024], device),
    },
    Ladder {
        name: "matmul (n of n×n)",
        sizes: &[16, 32, 64, 128, 256, 512, 1024, 2048],
        prepare: matmul::square,
    },
];

/// Times every size on the CPU and on `gpu`, and says where the GPU starts to win.
pub fn run(gpu: &Device, as_json: bool, talk: Talk) -> Result<()> {
    if !gpu.is_gpu() {
        return Err(Error::NoGpu { device: gpu.name().into() });
    }
    let mut out = look::out();
    if !as_json {
        let heads =
            format!("{:<24} {:>9} {:>12} {:>12} {:>9}", "work", "size", "cpu ms", "gpu ms", "cpu/gpu");
        writeln!(out, "{}", paint(HEADING, heads))?;
    }
    for ladder in &LADDERS {
        let mut wins_from = None;
        for &size in ladder.sizes {
            talk.say(format!("bench: {} {size}", ladder.name));
            let [cpu, other] = [&Device::cpu(), gpu].map(|device| milliseconds(ladder, size, device));
            let (cpu, gpu_ms) = (cpu?, other?);
            wins_from = if gpu_ms < cpu { wins_from.or(Some(size)) } else { None };
            if as_json {
                let line = json!({ "work": ladder.name, "size": size, "cpu_ms": cpu, "gpu_ms": gpu_ms });
                writeln!(out, "{line}")?;
            } else {
                let ratio = cpu / gpu_ms;
                writeln!(out, "{:<24} {size:>9} {cpu:>12.4} {gpu_ms:>12.4} {ratio:>9.2}", ladder.name)?;
            }
        }
        match wins_from {
            Some(size) => talk.say(format!("{}: the GPU wins from {size} on", ladder.name)),
            None => talk.say(format!("{}: the CPU wins up to the largest size", ladder.name)),
        }
    }
    Ok(())
}

fn milliseconds(ladder: &Ladder, size: usize, device: &Device) -> Result<f64> {
    let mut workload = (ladder.prepare)(size, device)?;
    Ok(timing::time_operation(device, &mut workload.iterate)?.seconds * 1e3)
}
