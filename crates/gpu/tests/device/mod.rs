//! A device for tests, or a message why there is none, and conversion between bytes and floats.
#![allow(dead_code)] // every test file uses a part of it

use std::sync::{Mutex, MutexGuard};

use farad_gpu::{GpuDevice, Memory, MemoryRange, Options, adapters};

/// The first adapter with the given options; prints a message and returns `None` if there is none.
pub fn open(options: Options) -> Option<GpuDevice> {
    if adapters().is_empty() {
        {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "skipped: no GPU adapter");
        }
        return None;
    }
    Some(GpuDevice::open(0, options).expect("the first adapter opens"))
}

/// Tests on a software GPU take turns, because it uses all cores anyway.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Memory that holds these floats.
pub fn floats(device: &GpuDevice, values: &[f32]) -> Memory {
    let memory = device.allocate(4 * values.len()).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    device.write(&memory, 0, &bytes).unwrap();
    memory
}

/// The first floats of a memory.
pub fn read(device: &GpuDevice, memory: &Memory, count: usize) -> Vec<f32> {
    to_floats(&device.read_blocking(&[MemoryRange::new(memory.clone(), 0, 4 * count)]).unwrap()[0])
}

/// Floats from bytes.
pub fn to_floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
}
