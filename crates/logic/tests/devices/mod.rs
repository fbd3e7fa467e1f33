//! The devices that tests run on, and turns for those that read counters.
#![allow(dead_code)] // every test file uses a part of it

use std::sync::{Mutex, MutexGuard};

use farad::{Device, DeviceOptions};

/// Counters belong to a device, so tests that read them take turns.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Prints to the terminal that GPU parts are skipped; `eprintln!` would be captured.
fn skip(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "skipped: no GPU adapter: {why}");
}

/// The CPU, and those of [`gpus`].
pub fn all() -> Vec<Device> {
    [Device::cpu()].into_iter().chain(gpus()).collect()
}

/// Separate devices for one test, which counts what they do.
pub fn own(handle: usize) -> Vec<Device> {
    let own = DeviceOptions { handle, ..Default::default() };
    [Device::cpu_with(own)].into_iter().chain(gpus_with(own)).collect()
}

/// The first GPU, if there is one: with all its features, and with WebGPU's minimum limits.
pub fn gpus() -> Vec<Device> {
    gpus_with(DeviceOptions::default())
}

fn gpus_with(options: DeviceOptions) -> Vec<Device> {
    let mut found = vec![];
    for core in [false, true] {
        match Device::gpu_with(0, DeviceOptions { core, ..options }) {
            Ok(device) => found.push(device),
            Err(error) => skip(&error.to_string()),
        }
    }
    found
}
