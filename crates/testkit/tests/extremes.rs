//! The results of every op on NaN, infinities, zeros and the ends of its range, on every device: the columns of
//! the op tables, and PyTorch's values and derivatives. The program needs no other file, so it can be copied to
//! another machine: `cargo test -p farad-testkit --test extremes --no-run` prints its path.

use std::time::Instant;

use farad::DeviceOptions;
use farad_testkit::{extremes, gpu, open_cpu};

#[test]
fn the_cpu_keeps_the_rules() {
    let start = Instant::now();
    let mut report = extremes::check_device(&open_cpu(true));
    report.join(extremes::check_device(&open_cpu(false)));
    report.conclude("extremes, cpu", start);
}

#[test]
fn a_gpu_keeps_the_rules_with_all_features() {
    let Some(device) = gpu("extremes, all features", DeviceOptions::default()) else { return };
    let start = Instant::now();
    extremes::check_device(&device).conclude("extremes, all features", start);
}

#[test]
fn a_gpu_keeps_the_rules_with_core_features() {
    let options = DeviceOptions { core: true, ..DeviceOptions::default() };
    let Some(device) = gpu("extremes, core", options) else { return };
    let start = Instant::now();
    extremes::check_device(&device).conclude("extremes, core", start);
}
