//! The device: memory, transfers, loading programs, counters and the profile.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use farad_compile::program::{Program, Target};
use farad_runtime::profile::{Phase, Profiler};
use farad_runtime::{Holdings, Memory};

use crate::error::Error;
use crate::executable::CpuExecutable;
use crate::memory::block_pool::{BlockPool, BlockPurpose, start};

/// A handle to the CPU as a device; clones share memory pool, counters and profile.
#[derive(Clone)]
pub struct CpuDevice(pub(crate) Arc<CpuState>);

pub(crate) struct CpuState {
    pub pool: Arc<BlockPool>,
    pub runs: AtomicUsize,
    pub kernels: AtomicUsize,
    pub profiler: Profiler,
    /// Writes from the host and reads to it.
    pub uploads: AtomicUsize,
    pub reads: AtomicUsize,
}

/// What a device has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCounters {
    /// Runs of executables.
    pub runs: usize,
    /// Kernels that were run; in a loop, every trip counts.
    pub kernels: usize,
    /// Allocations that the pool could not serve.
    pub allocations: usize,
    /// Bytes that handles hold now.
    pub bytes_live: usize,
    /// The most bytes that handles ever held.
    pub bytes_peak: usize,
    /// Writes from the host.
    pub uploads: usize,
    /// Reads to the host.
    pub reads: usize,
}

impl CpuDevice {
    /// A device with an empty pool.
    #[allow(clippy::new_without_default)] // a device is not a plain value
    pub fn new() -> CpuDevice {
        CpuDevice::with_limit(None)
    }

    /// A device that never holds more than `limit` bytes, its pool included.
    pub fn with_limit(limit: Option<usize>) -> CpuDevice {
        tracing::debug!(lanes = crate::simd::lanes::lanes().name, "cpu device");
        CpuDevice(Arc::new(CpuState {
            pool: BlockPool::new(limit),
            runs: AtomicUsize::new(0),
            kernels: AtomicUsize::new(0),
            profiler: Profiler::default(),
            uploads: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
        }))
    }

    /// What the compiler needs to know about this device.
    pub fn target() -> Target {
        Target::cpu()
    }

    /// `bytes` bytes of memory: zeroed if fresh, with unspecified contents if it comes from the pool.
    pub fn allocate(&self, bytes: usize) -> Result<Memory, Error> {
        let _phase = self.0.profiler.enter(Phase::Allocating);
        self.0.pool.allocate(bytes, BlockPurpose::Tensor)
    }

    /// Copies `data` to `offset` bytes into `memory`. Panics if it does not fit.
    #[track_caller]
    pub fn write(&self, memory: &Memory, offset: usize, data: &[u8]) {
        check("write", memory, offset, data.len());
        let _phase = self.0.profiler.enter(Phase::Uploading);
        self.0.profiler.moved(Phase::Uploading, data.len());
        self.0.uploads.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the range lies inside the allocation, and host slices never overlap device memory.
        unsafe { start(memory).add(offset).copy_from_nonoverlapping(data.as_ptr(), data.len()) };
    }

    /// `bytes` bytes starting at `offset`. Panics if they are outside of the memory.
    #[track_caller]
    pub fn read(&self, memory: &Memory, offset: usize, bytes: usize) -> Vec<u8> {
        check("read", memory, offset, bytes);
        let _phase = self.0.profiler.enter(Phase::Reading);
        self.0.profiler.moved(Phase::Reading, bytes);
        self.0.reads.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the range lies inside the allocation, whose bytes are all initialized.
        unsafe { std::slice::from_raw_parts(start(memory).add(offset), bytes) }.to_vec()
    }

    /// Copies bytes between memories, or inside one. Panics if a range is outside of its memory.
    #[track_caller]
    pub fn copy(&self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) {
        check("copy", from.0, from.1, bytes);
        check("copy", to.0, to.1, bytes);
        // SAFETY: both ranges lie inside their allocations; they may overlap.
        unsafe { start(to.0).add(to.1).copy_from(start(from.0).add(from.1), bytes) };
    }

    /// Prepares a program to run, with its blocks allocated and zeroed.
    pub fn load(&self, program: Arc<Program>) -> Result<CpuExecutable, Error> {
        CpuExecutable::load(self, program)
    }

    /// What the device has done so far.
    pub fn counters(&self) -> CpuCounters {
        CpuCounters {
            runs: self.0.runs.load(Ordering::Relaxed),
            kernels: self.0.kernels.load(Ordering::Relaxed),
            allocations: self.0.pool.allocations.load(Ordering::Relaxed),
            bytes_live: self.0.pool.live.load(Ordering::Relaxed),
            bytes_peak: self.0.pool.peak.load(Ordering::Relaxed),
            uploads: self.0.uploads.load(Ordering::Relaxed),
            reads: self.0.reads.load(Ordering::Relaxed),
        }
    }

    /// Bytes that the device holds, by purpose.
    pub fn holdings(&self) -> Holdings {
        self.0.pool.holdings()
    }

    /// The holdings at the moment when their total was highest.
    pub fn high_water(&self) -> Holdings {
        self.0.pool.high_water()
    }

    /// Records what the device does while a profile is open.
    pub fn profiler(&self) -> &Profiler {
        &self.0.profiler
    }
}

impl fmt::Debug for CpuDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({:?})", self.counters())
    }
}

#[track_caller]
fn check(op: &str, memory: &Memory, offset: usize, bytes: usize) {
    let end = offset.checked_add(bytes);
    assert!(
        end.is_some_and(|end| end <= memory.bytes()),
        "{op}: out of range: {bytes} bytes at {offset} ({} vs {})",
        end.unwrap_or(usize::MAX),
        memory.bytes()
    );
}
