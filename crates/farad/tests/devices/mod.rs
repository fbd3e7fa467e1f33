//! The devices that tests run on, and turns for those that look at what a device has once.
#![allow(dead_code)] // every test file uses some of it

use std::sync::{Mutex, MutexGuard};

use farad::Device;

static TURN: Mutex<()> = Mutex::new(());

/// Counters, seeds and bad indices that wait for the next read belong to a device, so tests that
/// look at them take turns, and so do all that read beside them.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Says on the terminal that GPU parts are skipped; `eprintln!` would be captured.
pub fn skip(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "skipped: no GPU adapter: {why}");
}

/// A CPU of its own, and the first GPU if there is one.
pub fn devices() -> Vec<Device> {
    let mut devices = vec![Device::cpu_with(Default::default())];
    match Device::gpu(0) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => skip(&error.to_string()),
    }
    devices
}
