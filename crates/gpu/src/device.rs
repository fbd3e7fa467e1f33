//! An open GPU: one queue, and everything that belongs to it.
//!
//! Invariant: driver errors never panic. Errors outside of scopes are kept, and the next call returns them.
//! `submission` decides what is submitted to the queue, and when.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use farad_compile::program::{CustomLimits, Target};
use farad_runtime::profile::{Phase, Profiler};

use crate::adapter::{self, AdapterInfo, AdapterKind};
use crate::buffer::Ledger;
use crate::cache::PipelineFile;
use crate::counters::{GpuCounters, LiveCounters};
use crate::dispatch::Capabilities;
use crate::error::Error;
use crate::exit::{self, Alive};
use crate::heuristics::targets::{
    ALIGNED, ALIGNED_SOFTWARE, CHANNELS_LAST, CHANNELS_LAST_SOFTWARE, CONVOLUTIONS, CONVOLUTIONS_SOFTWARE,
    HIGH_PRODUCTS, MOST_BINDINGS, PARALLEL, PARALLEL_SOFTWARE,
};
use crate::memory::BufferPool;
use crate::pipeline::Pipelines;
use crate::poller::Poller;
use crate::profile::{Alignment, PassTimer};
use crate::read::StagingPool;
use crate::report::Reports;
use crate::rounding;
use crate::submission::Pending;
use farad_runtime::Tuning;

/// Longest time that the exit of the process waits for a device.
pub(crate) const LONGEST_END: Duration = Duration::from_secs(10);
/// Empty submissions after which the driver has finished its cleanup.
const EMPTY: usize = 3;

/// How a device is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// WebGPU's default limits and core WGSL, without any optional feature.
    pub core: bool,
    /// Shaders check bounds, loops and divisions at run time.
    pub checked: bool,
    /// Validates and allocates, but computes nothing; for tests that only count.
    pub noop: bool,
    /// Most bytes that the device may hold, including pools; beyond it, allocations fail with
    /// [`Error::OutOfMemory`].
    pub memory_limit: Option<usize>,
    /// Loses the device on purpose after this many submissions; for tests of code that must cope with that.
    pub lose_after: Option<usize>,
    /// The folder where compiled pipelines are kept for the next process, if the driver supports it; unused
    /// with `core`.
    pub cache: Option<&'static Path>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            core: false,
            checked: cfg!(debug_assertions),
            noop: false,
            memory_limit: None,
            lose_after: None,
            cache: None,
        }
    }
}

/// An open GPU. Clones are handles to the same one.
#[derive(Clone)]
pub struct GpuDevice {
    pub(crate) shared: Arc<Shared>,
}

/// What all handles share.
pub(crate) struct Shared {
    pub(crate) gpu: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) info: AdapterInfo,
    pub(crate) limits: wgpu::Limits,
    pub(crate) checked: bool,
    /// Whether the adapter rounds to f16 as all devices must, once it was tested.
    rounds_f16: OnceLock<bool>,
    lose_after: Option<usize>,
    /// The on-disk cache of pipelines.
    pub(crate) cache: Option<PipelineFile>,
    pub(crate) tally: LiveCounters,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) pool: Mutex<BufferPool>,
    pub(crate) pending: Mutex<Pending>,
    /// Whether the process is exiting.
    ended: AtomicBool,
    pub(crate) staging: Mutex<StagingPool>,
    pub(crate) pipelines: Mutex<Pipelines>,
    pub(crate) tuning: Mutex<Arc<Tuning>>,
    pub(crate) profiler: Profiler,
    pub(crate) alignment: Mutex<Alignment>,
    pub(crate) timer: Mutex<Option<PassTimer>>,
    pub(crate) poller: Poller,
    /// Programs that ran since the last read and may have seen bad data.
    pub(crate) reports: Mutex<Reports>,
    sticky: Arc<Sticky>,
    /// The last field, so that everything else is dropped before it.
    _alive: Alive,
}

/// Errors that arrived outside of a call that could return them.
#[derive(Default)]
struct Sticky {
    any: AtomicBool,
    lost: Mutex<Option<String>>,
    error: Mutex<Option<Error>>,
}

/// wgpu's permission to use unstable features.
pub(crate) fn experimental(wanted: bool) -> wgpu::ExperimentalFeatures {
    if !wanted {
        return wgpu::ExperimentalFeatures::disabled();
    }
    // SAFETY: the only experimental feature is cooperative matrices. Its users are rendered products and the kernels of
    // attention, whose loads and stores of matrices lie inside their arrays in workgroup memory by construction.
    unsafe { wgpu::ExperimentalFeatures::enabled() }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GpuDevice {
    /// Opens the adapter with this index in [`crate::adapters`]; with `noop`, the index is unused.
    pub fn open(index: usize, options: Options) -> Result<GpuDevice, Error> {
        let adapter = if options.noop {
            adapter::noop().ok_or(Error::NoAdapter { index, count: 0 })?
        } else {
            let found = adapter::found();
            found.get(index).cloned().ok_or(Error::NoAdapter { index, count: found.len() })?
        };
        let limits = if options.core { wgpu::Limits::defaults() } else { adapter.limits() };
        let wanted = if options.core {
            wgpu::Features::empty()
        } else {
            wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::SUBGROUP | wgpu::Features::SHADER_F16
        };
        let cooperative = !options.core && adapter::multiplies_halves(&adapter);
        let wanted = if cooperative { wanted | adapter::COOPERATIVE } else { wanted };
        let folder = options.cache.filter(|_| !options.core);
        let wanted = if folder.is_some() { wanted | wgpu::Features::PIPELINE_CACHE } else { wanted };
        let features = adapter.features() & wanted;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("farad"),
            required_features: features,
            required_limits: limits.clone(),
            experimental_features: experimental(cooperative),
            ..Default::default()
        };
        let mut info = adapter::describe(index, &adapter);
        let (gpu, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|error| Error::Open { name: info.name.clone(), message: error.to_string() })?;
        info.limits = adapter::limits_of(&limits, &adapter.get_info());
        info.features = adapter::features_of(features);
        tracing::debug!(name = info.name, backend = info.backend, core = options.core, "device opened");
        let cache = folder.and_then(|folder| PipelineFile::open(&gpu, &adapter.get_info(), folder));
        let shared = Arc::new(Shared::new(gpu, queue, info, (limits, cache), options));
        exit::watch(&shared);
        Ok(GpuDevice { shared })
    }

    /// What the renderer may use.
    pub fn capabilities(&self) -> Capabilities {
        let limits = &self.shared.info.limits;
        Capabilities {
            subgroups: self.shared.info.features.subgroups,
            cooperative: if self.shared.info.features.cooperative_matrix { limits.subgroup_max } else { 0 },
            rounds_f16: self.rounds_f16(),
            workgroup_memory: limits.workgroup_memory,
            invocations: limits.invocations,
            workgroups: limits.workgroups,
            processors: self.shared.info.processors,
        }
    }

    /// What kernels of custom ops may use.
    pub(crate) fn custom_limits(&self) -> CustomLimits {
        let AdapterInfo { limits, features, .. } = &self.shared.info;
        CustomLimits {
            invocations: limits.invocations,
            workgroup_memory: limits.workgroup_memory,
            workgroups: limits.workgroups,
            subgroups: features.subgroups,
            matrices: if features.cooperative_matrix { limits.subgroup_max } else { 0 },
        }
    }

    /// Whether the adapter rounds to f16 as all devices must; one without f16 is not tested.
    fn rounds_f16(&self) -> bool {
        let Shared { gpu, queue, info, rounds_f16, .. } = &*self.shared;
        info.features.shader_f16 && *rounds_f16.get_or_init(|| rounding::is_nearest_even(gpu, queue))
    }

    /// The table of tiles for products; empty unless set.
    pub fn tuning(&self) -> Arc<Tuning> {
        lock(&self.shared.tuning).clone()
    }

    /// Programs that are loaded from now on use this table.
    pub fn set_tuning(&self, tuning: Tuning) {
        *lock(&self.shared.tuning) = Arc::new(tuning);
    }

    /// What the compiler needs to know.
    pub fn target(&self) -> Target {
        let limits = &self.shared.info.limits;
        let software = self.shared.info.kind == AdapterKind::Software;
        Target {
            // One binding is reserved for the error words.
            bindings: limits.storage_buffers.min(MOST_BINDINGS) as usize - 1,
            parallel: if software { PARALLEL_SOFTWARE } else { PARALLEL },
            fuse: true,
            binding_bytes: limits.binding_bytes as usize,
            channels_last: if software { CHANNELS_LAST_SOFTWARE } else { CHANNELS_LAST },
            high_products: if self.shared.info.features.cooperative_matrix {
                HIGH_PRODUCTS
            } else {
                usize::MAX
            },
            aligned: if software { ALIGNED_SOFTWARE } else { ALIGNED },
            processors: self.shared.info.processors,
            convolutions: if software { CONVOLUTIONS_SOFTWARE } else { CONVOLUTIONS },
            scratch: true,
        }
    }

    /// The adapter's name.
    pub fn name(&self) -> &str {
        &self.shared.info.name
    }

    /// The adapter, with the limits and features that this device was opened with.
    pub fn info(&self) -> &AdapterInfo {
        &self.shared.info
    }

    /// What the device has done so far.
    pub fn counters(&self) -> GpuCounters {
        self.shared.tally.snapshot()
    }

    /// Most bytes that the device may hold, if it was opened with a limit.
    pub(crate) fn memory_limit(&self) -> Option<u64> {
        self.shared.ledger.limit()
    }

    /// Whether the device was lost: the driver reset or removed it, or it was closed. Every call then fails
    /// with [`Error::Lost`]; the adapter may be opened again.
    pub fn is_lost(&self) -> bool {
        self.shared.is_lost()
    }

    /// Releases the GPU and all of its memory, even if handles remain; the device is then lost.
    pub fn close(&self) {
        if self.is_lost() {
            return;
        }
        self.shared.flush();
        self.shared.cache.iter().for_each(PipelineFile::close);
        self.shared.gpu.destroy();
        self.shared.poll(wgpu::PollType::Poll);
        self.shared.sticky.lose("it was closed");
    }

    /// Returns the error that arrived since the last call, if any; a lost device stays lost.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.shared.check()
    }
}

impl Shared {
    fn new(
        gpu: wgpu::Device,
        queue: wgpu::Queue,
        info: AdapterInfo,
        (limits, cache): (wgpu::Limits, Option<PipelineFile>),
        options: Options,
    ) -> Shared {
        let ledger = Ledger::new(options.memory_limit);
        let sticky = Arc::new(Sticky::default());
        let (kept, counted) = (sticky.clone(), ledger.clone());
        gpu.on_uncaptured_error(Arc::new(move |error| {
            tracing::error!(%error, "uncaptured device error");
            kept.keep(Error::from_wgpu(error, || counted.refusal("device", None)));
        }));
        let kept = sticky.clone();
        gpu.set_device_lost_callback(move |reason, message| {
            tracing::debug!(?reason, message, "device lost");
            *lock(&kept.lost) = Some(if message.is_empty() { format!("{reason:?}") } else { message });
            kept.any.store(true, Ordering::Release);
        });
        let tally = LiveCounters::default();
        LiveCounters::add(&tally.cached_bytes, cache.as_ref().map_or(0, PipelineFile::bytes_read));
        Shared {
            gpu,
            queue,
            info,
            limits,
            checked: options.checked,
            rounds_f16: OnceLock::new(),
            lose_after: options.lose_after,
            cache,
            tally,
            ledger,
            pool: Mutex::default(),
            pending: Mutex::default(),
            ended: AtomicBool::new(false),
            staging: Mutex::default(),
            pipelines: Mutex::default(),
            tuning: Mutex::default(),
            profiler: Profiler::default(),
            alignment: Mutex::default(),
            timer: Mutex::default(),
            poller: Poller::default(),
            reports: Mutex::default(),
            sticky,
            _alive: Alive::new(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.sticky.any.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(message) = lock(&self.sticky.lost).clone() {
            return Err(Error::Lost { message });
        }
        self.sticky.any.store(false, Ordering::Release);
        match lock(&self.sticky.error).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.sticky.any.load(Ordering::Acquire) && lock(&self.sticky.lost).is_some()
    }

    /// Waits for work in flight when the process exits. Nothing is submitted from then on. Only the first call
    /// does anything.
    pub(crate) fn end(&self) {
        if self.ended.swap(true, Ordering::Relaxed) {
            return;
        }
        let was_lost = self.is_lost();
        self.sticky.lose("the process is exiting");
        self.poller.end();
        // Other threads stop here at their next submission. A thread that never releases the lock must not keep
        // the process from exiting.
        let began = Instant::now();
        while began.elapsed() < LONGEST_END {
            match self.pending.try_lock() {
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
                held => {
                    std::mem::forget(held);
                    break;
                }
            }
        }
        if !was_lost {
            let all = || wgpu::PollType::Wait { submission_index: None, timeout: Some(LONGEST_END) };
            let _ = self.gpu.poll(all());
            // A driver may clean up pipelines after it has reported their work as done. An empty submission
            // finishes after that cleanup, and may itself release what the next one cleans up.
            for _ in 0..EMPTY {
                self.queue.submit([]);
                let _ = self.gpu.poll(all());
            }
        }
        self.cache.iter().for_each(PipelineFile::close);
    }

    /// Loses the device on purpose after [`Options::lose_after`] submissions.
    pub(crate) fn lose_in_time(&self) {
        let made = self.tally.submissions.load(Ordering::Relaxed) as usize;
        if self.lose_after.is_some_and(|last| made >= last) && !self.is_lost() {
            self.gpu.destroy();
            self.sticky.lose("as requested by `lose_after`");
        }
    }

    /// Polls or waits. wgpu panics if the device is lost meanwhile; the panic becomes the sticky error.
    pub(crate) fn poll(&self, how: wgpu::PollType) {
        if self.is_lost() {
            return;
        }
        let waits = !matches!(how, wgpu::PollType::Poll);
        let _phase = self.profiler.enter(if waits { Phase::Waiting } else { Phase::Submitting });
        if catch_unwind(AssertUnwindSafe(|| self.gpu.poll(how))).is_err() {
            self.sticky.lose("polling failed");
        }
        if waits {
            exit::again();
        }
    }

    pub(crate) fn encoder(&self) -> wgpu::CommandEncoder {
        self.gpu.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }
}

impl Sticky {
    /// Marks the device as lost, unless it already is.
    fn lose(&self, why: &str) {
        lock(&self.lost).get_or_insert_with(|| why.to_string());
        self.any.store(true, Ordering::Release);
    }

    /// Keeps the first error; later ones are usually consequences of it.
    fn keep(&self, error: Error) {
        lock(&self.error).get_or_insert(error);
        self.any.store(true, Ordering::Release);
    }
}

impl fmt::Debug for GpuDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.name()).field("backend", &self.info().backend).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::MemoryRange;

    #[test]
    fn a_lost_device_is_an_error_from_then_on_and_never_a_panic() {
        let noop = GpuDevice::open(0, Options { noop: true, ..Options::default() }).unwrap();
        let real = GpuDevice::open(0, Options::default());
        if real.is_err() {
            {
                use std::io::Write;
                let _ = writeln!(std::io::stderr(), "skipped: no GPU adapter");
            }
        }
        for device in real.into_iter().chain([noop]) {
            let memory = device.allocate(64).unwrap();
            device.write(&memory, 0, &[1; 64]).unwrap();
            let read = device.read(&[MemoryRange::new(memory.clone(), 0, 64)]);
            device.wait().unwrap();
            assert!(!device.is_lost());
            device.close();
            assert!(device.is_lost());
            let lost = |error: Error| assert!(matches!(error, Error::Lost { .. }), "{error:?}");
            lost(device.allocate(64).unwrap_err());
            lost(device.write(&memory, 0, &[1; 64]).unwrap_err());
            lost(device.copy((&memory, 0), (&memory, 8), 8).unwrap_err());
            lost(device.read_blocking(&[MemoryRange::new(memory.clone(), 0, 64)]).unwrap_err());
            lost(device.wait().unwrap_err());
            lost(read.wait().unwrap_err());
            drop(memory);
        }
    }

    #[test]
    fn the_end_of_the_process_finds_no_work_in_flight() {
        let noop = GpuDevice::open(0, Options { noop: true, ..Options::default() }).unwrap();
        for device in GpuDevice::open(0, Options::default()).into_iter().chain([noop]) {
            let working = lock(&device.shared.pending).working.clone();
            let memory = device.allocate(64).unwrap();
            device.write(&memory, 0, &[1; 64]).unwrap();
            device.shared.flush();
            assert_eq!(working.load(Ordering::Relaxed), 1, "nobody has waited");
            device.shared.end();
            assert_eq!(working.load(Ordering::Relaxed), 0);
            assert!(matches!(device.wait(), Err(Error::Lost { .. })));
            // The lock is never released, so nothing is dropped.
            std::mem::forget((device, memory));
        }
    }

    #[test]
    fn errors_outside_of_calls_are_returned_once_by_the_next_call() {
        let device = GpuDevice::open(0, Options { noop: true, ..Options::default() }).unwrap();
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::MAP_WRITE;
        let descriptor = wgpu::BufferDescriptor { label: None, size: 4, usage, mapped_at_creation: false };
        drop(device.shared.gpu.create_buffer(&descriptor));
        let error = device.allocate(64).unwrap_err();
        assert!(matches!(error, Error::Validation { .. }), "{error:?}");
        device.allocate(64).unwrap();
    }
}
