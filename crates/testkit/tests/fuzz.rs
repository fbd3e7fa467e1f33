//! Random graphs: fused, unfused and in the reference they must be the same, within what rounding explains, and
//! bit for bit where nothing is rounded.
//!
//! A failure prints its seed; `FARAD_FUZZ_SEED=17 cargo test -p farad-testkit --test fuzz` runs only that seed,
//! `FARAD_FUZZ_COUNT=2000` that many seeds of every suite.

use std::time::Instant;

use farad::{Device, DeviceOptions};
use farad_testkit::fuzz::{
    CPU_DTYPES, FuzzLimits, FuzzRecipe, GPU_DTYPES, check, check_gradients, check_loops, check_steps,
};
use farad_testkit::{SuiteReport, gpu, open_cpu};

/// Compares a recipe's values on devices with the reference.
type Check = fn(&FuzzRecipe, &Device, &[Device]) -> Result<(), String>;

/// Failures that are printed in full.
const SHOWN: usize = 5;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number: {text}")))
}

fn fuzz(suite: &str, count: u64, limits: FuzzLimits, devices: &[Device], check: Check) {
    fuzz_against(&open_cpu(true), suite, count, limits, devices, check);
}

fn fuzz_against(
    host: &Device,
    suite: &str,
    count: u64,
    limits: FuzzLimits,
    devices: &[Device],
    check: Check,
) {
    let start = Instant::now();
    let seeds = match number("FARAD_FUZZ_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("FARAD_FUZZ_COUNT").unwrap_or(count)).collect::<Vec<u64>>(),
    };
    let mut report = SuiteReport::default();
    for seed in seeds {
        report.ran += 1;
        if let Err(text) = check(&FuzzRecipe::grow(seed, limits), host, devices) {
            let again = format!("    again: FARAD_FUZZ_SEED={seed} cargo test -p farad-testkit --test fuzz");
            report.failures.push(if report.failures.len() < SHOWN {
                format!("{text}{again}")
            } else {
                format!("seed {seed}")
            });
        }
    }
    report.conclude(suite, start);
}

/// Fused with all features, and unfused within core WGSL.
fn gpus(suite: &str) -> Option<[Device; 2]> {
    let open = |fuse| gpu(suite, DeviceOptions { fuse, core: !fuse, ..DeviceOptions::default() });
    Some([open(true)?, open(false)?])
}

#[test]
fn cpu_loops() {
    let start = Instant::now();
    let device = open_cpu(true);
    let seeds = match number("FARAD_FUZZ_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FARAD_FUZZ_COUNT").unwrap_or(150),
    };
    let mut report = SuiteReport::default();
    for seed in seeds {
        report.ran += 1;
        report.failures.extend(check_loops(seed, &device).err());
    }
    report.conclude("fuzz, loops", start);
}

#[test]
fn cpu_values() {
    let limits = FuzzLimits { ops: 25, elements: 3000, smooth: false, dtypes: CPU_DTYPES };
    fuzz("fuzz, cpu", 4000, limits, &[open_cpu(true), open_cpu(false)], check);
}

#[test]
fn cpu_values_of_long_graphs() {
    let limits = FuzzLimits { ops: 80, elements: 500, smooth: false, dtypes: CPU_DTYPES };
    fuzz("fuzz, cpu, long graphs", 500, limits, &[open_cpu(true), open_cpu(false)], check);
}

#[test]
fn cpu_gradients() {
    let limits = FuzzLimits { ops: 12, elements: 1000, smooth: true, dtypes: CPU_DTYPES };
    fuzz("fuzz, cpu gradients", 1500, limits, &[open_cpu(true), open_cpu(false)], check_gradients);
}

#[test]
fn gpu_values() {
    let Some(devices) = gpus("fuzz, gpu") else { return };
    let limits = FuzzLimits { ops: 14, elements: 1000, smooth: false, dtypes: GPU_DTYPES };
    fuzz("fuzz, gpu", 300, limits, &devices, check);
}

#[test]
fn gpu_gradients() {
    let Some(devices) = gpus("fuzz, gpu gradients") else { return };
    fuzz(
        "fuzz, gpu gradients",
        60,
        FuzzLimits { ops: 8, elements: 500, smooth: true, dtypes: GPU_DTYPES },
        &devices[..1],
        check_gradients,
    );
}

/// Sizes of programs that end in steps: small enough that shapes with one element are many.
const STEPS: FuzzLimits = FuzzLimits { ops: 10, elements: 300, smooth: true, dtypes: GPU_DTYPES };

#[test]
fn cpu_steps() {
    let (host, devices) = (open_cpu(false), [open_cpu(true)]);
    fuzz_against(&host, "fuzz, cpu steps", 1000, STEPS, &devices, check_steps);
}

#[test]
fn gpu_steps() {
    let Some(devices) = gpus("fuzz, gpu steps") else { return };
    fuzz_against(&open_cpu(false), "fuzz, gpu steps", 200, STEPS, &devices[..1], check_steps);
}
