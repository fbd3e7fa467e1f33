//! The device: memory, transfers, counters and the profile.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use farad_compile::program::Program;
use farad_ir::DType;
use farad_runtime::Memory;
use farad_runtime::profile::{Phase, Profiler};

use crate::error::Error;
use crate::executable::ReferenceExecutable;
use crate::memory::{Contents, Held};

/// A handle to a device that runs programs in `f64`; clones share memory, counters and profile.
#[derive(Clone)]
pub struct ReferenceDevice(pub(crate) Arc<DeviceState>);

#[derive(Default)]
pub(crate) struct DeviceState {
    /// Serializes runs: a run takes the numbers out of its memories and puts them back at the end.
    pub running: Mutex<()>,
    pub limit: Option<usize>,
    pub live: AtomicUsize,
    pub peak: AtomicUsize,
    pub allocations: AtomicUsize,
    pub runs: AtomicUsize,
    pub kernels: AtomicUsize,
    pub uploads: AtomicUsize,
    pub reads: AtomicUsize,
    pub profiler: Profiler,
}

impl ReferenceDevice {
    /// A device that never holds more than `limit` bytes. The limit counts bytes of the tensors' own dtypes; in
    /// host memory, the device needs up to eight times as many.
    pub fn new(limit: Option<usize>) -> ReferenceDevice {
        ReferenceDevice(Arc::new(DeviceState { limit, ..DeviceState::default() }))
    }

    /// Memory of `bytes`, all zero.
    pub fn allocate(&self, bytes: usize) -> Result<Memory, Error> {
        let _phase = self.0.profiler.enter(Phase::Allocating);
        let held = self.0.live.fetch_add(bytes, Ordering::Relaxed);
        if let Some(limit) = self.0.limit.filter(|&limit| held.saturating_add(bytes) > limit) {
            self.0.live.fetch_sub(bytes, Ordering::Relaxed);
            return Err(Error::OutOfMemory { bytes, held, limit });
        }
        self.0.peak.fetch_max(held + bytes, Ordering::Relaxed);
        self.0.allocations.fetch_add(1, Ordering::Relaxed);
        let contents = Mutex::new(Contents::Bytes(vec![0; bytes]));
        Ok(Memory::new(Held { bytes, contents, home: self.0.clone() }))
    }

    /// Copies `data` to the start of `memory`.
    pub fn write(&self, memory: &Memory, data: &[u8]) -> Result<(), Error> {
        let held = self.held("write", memory, 0, data.len())?;
        let _phase = self.0.profiler.enter(Phase::Uploading);
        self.0.profiler.moved(Phase::Uploading, data.len());
        self.0.uploads.fetch_add(1, Ordering::Relaxed);
        self.put(held, data);
        Ok(())
    }

    /// `bytes` bytes starting at `offset`.
    pub fn read(&self, memory: &Memory, offset: usize, bytes: usize) -> Result<Vec<u8>, Error> {
        let held = self.held("read", memory, offset, bytes)?;
        let _phase = self.0.profiler.enter(Phase::Reading);
        self.0.profiler.moved(Phase::Reading, bytes);
        self.0.reads.fetch_add(1, Ordering::Relaxed);
        let _still = self.still();
        Ok(held.contents().bytes(offset + bytes).split_off(offset))
    }

    /// The first `count` elements of a memory, read as `dtype`: the computed values, without any rounding.
    pub fn numbers(&self, memory: &Memory, dtype: DType, count: usize) -> Result<Vec<f64>, Error> {
        let held = self.held("read", memory, 0, count * dtype.size())?;
        let _still = self.still();
        let mut numbers = held.contents().numbers(dtype);
        numbers.truncate(count);
        Ok(numbers)
    }

    /// Copies the first `bytes` bytes of one memory to another; numbers stay unrounded.
    pub fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<(), Error> {
        let (from, to) = (self.held("copy", from, 0, bytes)?, self.held("copy", to, 0, bytes)?);
        if std::ptr::eq(from, to) {
            return Ok(());
        }
        let _still = self.still();
        let (source, mut target) = (from.contents(), to.contents());
        match &*source {
            Contents::Numbers(dtype, numbers) if bytes.is_multiple_of(dtype.size()) => {
                let mut all = target.take(*dtype);
                let count = bytes / dtype.size();
                all[..count].copy_from_slice(&numbers[..count]);
                *target = Contents::Numbers(*dtype, all);
            }
            source => overwrite(&mut target, &source.bytes(bytes)),
        }
        Ok(())
    }

    /// Prepares a program to run.
    pub fn load(&self, program: Arc<Program>) -> ReferenceExecutable {
        ReferenceExecutable::load(self, program)
    }

    fn put(&self, held: &Held, data: &[u8]) {
        let _still = self.still();
        overwrite(&mut held.contents(), data);
    }

    /// Waits until no run is in progress, because a run takes the numbers out of their memories.
    fn still(&self) -> std::sync::MutexGuard<'_, ()> {
        self.0.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The allocation of a memory, checked to belong to this device and to cover the given range.
    pub(crate) fn held<'a>(
        &self,
        op: &'static str,
        memory: &'a Memory,
        offset: usize,
        bytes: usize,
    ) -> Result<&'a Held, Error> {
        let held = memory.get::<Held>().filter(|held| Arc::ptr_eq(&held.home, &self.0));
        let held = held.ok_or(Error::Foreign { op })?;
        if offset.checked_add(bytes).is_none_or(|end| end > held.bytes) {
            return Err(Error::Range { op, offset, bytes, size: held.bytes });
        }
        Ok(held)
    }
}

/// Writes bytes at the start.
fn overwrite(contents: &mut Contents, data: &[u8]) {
    let mut bytes = match contents {
        Contents::Bytes(bytes) => std::mem::take(bytes),
        _ => contents.bytes(usize::MAX),
    };
    // If the memory ends within an element, encoding its numbers leaves out the last bytes.
    bytes.resize(bytes.len().max(data.len()), 0);
    bytes[..data.len()].copy_from_slice(data);
    *contents = Contents::Bytes(bytes);
}
