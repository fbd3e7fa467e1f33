//! Devices: values that say where tensors live and work happens.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use farad_compile::profile::{Phase, Profiler};
use farad_compile::program::Target;

use crate::backend::{Backend, Memory};
use crate::environment::ENVIRONMENT;
use crate::error::{Error, Result};
use crate::live::LiveList;
use crate::plan::PlanCache;
use crate::profile::Peaks;
use crate::unfinished::Unfinished;

/// Where tensors live: the CPU or one GPU. A cheap handle; equal handles are the same device.
///
/// ```
/// use farad::prelude::*;
/// let device = Device::cpu();
/// let x = Tensor::from_vec(vec![1.0, 2.0], [2], &device);
/// assert_eq!((&x * 3.0).to_vec::<f32>()?, [3.0, 6.0]);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone)]
pub struct Device(pub(crate) Arc<Inner>);

/// What handles of a device share.
pub(crate) struct Inner {
    pub backend: Backend,
    pub target: Target,
    pub plans: Mutex<PlanCache>,
    seed: AtomicU64,
    counter: AtomicU64,
    pub moved: AtomicUsize,
    pub compiled: AtomicUsize,
    pub replayed: AtomicUsize,
    pub finite: AtomicBool,
    name: String,
    index: Option<usize>,
    options: DeviceOptions,
    /// Who made the memory that tensors hold.
    pub live: LiveList,
    /// What buffers hold that is not computed yet.
    pub unfinished: Unfinished,
    /// What the device can do at best, once it was measured.
    pub peaks: Mutex<Option<Peaks>>,
}

/// What a device has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Runs of compiled programs.
    pub runs: usize,
    /// Submissions to the queue (on the CPU: runs).
    pub submissions: usize,
    /// Kernels launched.
    pub dispatches: usize,
    /// Pipelines created.
    pub pipelines: usize,
    /// Pipelines kept now: those of plans, and a bounded number of idle ones.
    pub pipelines_kept: usize,
    /// Bind groups created.
    pub bind_groups: usize,
    /// Device allocations made.
    pub allocations: usize,
    /// Bytes that tensors and plans hold.
    pub bytes_live: usize,
    /// The most bytes ever held.
    pub bytes_peak: usize,
    /// Reads back to the host.
    pub reads: usize,
    /// Uploads from the host.
    pub uploads: usize,
    /// Programs compiled (plan cache misses).
    pub plans_compiled: usize,
    /// Programs replayed (plan cache hits).
    pub plans_replayed: usize,
    /// Operands moved here from another device because an op mixed the two.
    pub operands_moved: usize,
}

impl Counters {
    /// What was counted since `before`; bytes live, their peak and kept pipelines stay what they are now.
    pub fn since(&self, before: &Counters) -> Counters {
        Counters {
            runs: self.runs - before.runs,
            submissions: self.submissions - before.submissions,
            dispatches: self.dispatches - before.dispatches,
            pipelines: self.pipelines - before.pipelines,
            pipelines_kept: self.pipelines_kept,
            bind_groups: self.bind_groups - before.bind_groups,
            allocations: self.allocations - before.allocations,
            bytes_live: self.bytes_live,
            bytes_peak: self.bytes_peak,
            reads: self.reads - before.reads,
            uploads: self.uploads - before.uploads,
            plans_compiled: self.plans_compiled - before.plans_compiled,
            plans_replayed: self.plans_replayed - before.plans_replayed,
            operands_moved: self.operands_moved - before.operands_moved,
        }
    }
}

/// Where a device's random numbers stand; checkpoints keep it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RandomState {
    /// What [`Device::seed`] was given.
    pub seed: u64,
    /// How many random tensors were made since.
    pub counter: u64,
}

/// Options for opening a GPU otherwise than as usual, mostly for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceOptions {
    /// WebGPU's default limits and core WGSL only.
    pub core: bool,
    /// Shaders check their bounds; on in debug builds.
    pub checked: bool,
    /// Merge ops into few kernels; off only to test that merging changes nothing.
    pub fuse: bool,
    /// Bytes that the device may hold at most, its pool included; asking for more is an error that
    /// says what holds them.
    pub memory_limit: Option<usize>,
    /// Handles of one GPU with different numbers are different devices, each with memory, plans,
    /// counters and random numbers of its own.
    pub handle: usize,
}

impl Default for DeviceOptions {
    fn default() -> DeviceOptions {
        DeviceOptions {
            core: false,
            checked: cfg!(debug_assertions),
            fuse: true,
            memory_limit: None,
            handle: 0,
        }
    }
}

static CPU: LazyLock<Device> = LazyLock::new(|| Device::cpu_with(DeviceOptions::default()));
static GPUS: LazyLock<Mutex<HashMap<(usize, DeviceOptions), Device>>> = LazyLock::new(Mutex::default);

impl Device {
    /// The CPU.
    pub fn cpu() -> Device {
        CPU.clone()
    }

    /// A CPU device of its own, with its own plans, counters and random numbers.
    pub fn cpu_with(options: DeviceOptions) -> Device {
        let cpu = farad_cpu::Device::with_limit(options.memory_limit);
        let target = Target { fuse: options.fuse && !ENVIRONMENT.nan, ..Target::cpu() };
        Device::new(Backend::Cpu(cpu), target, "cpu".into(), None, options)
    }

    /// The GPU with this index in `farad devices`.
    pub fn gpu(index: usize) -> Result<Device> {
        Device::gpu_with(index, DeviceOptions::default())
    }

    /// As [`Device::gpu`] with options; every combination is opened once, and again once it is lost.
    pub fn gpu_with(index: usize, options: DeviceOptions) -> Result<Device> {
        let mut open = GPUS.lock().expect("no panic while opening");
        if let Some(device) = open.get(&(index, options)).filter(|device| !device.is_lost()) {
            return Ok(device.clone());
        }
        let device = Device::open_gpu(index, options)?;
        open.insert((index, options), device.clone());
        Ok(device)
    }

    fn open_gpu(index: usize, options: DeviceOptions) -> Result<Device> {
        let DeviceOptions { core, checked, memory_limit, .. } = options;
        let (memory_limit, lose_after) = (memory_limit.or(ENVIRONMENT.memory_limit), ENVIRONMENT.lose_after);
        let gpu = farad_gpu::Options { core, checked, memory_limit, lose_after, ..Default::default() };
        let gpu = farad_gpu::Device::open(index, gpu)?;
        let target = Target { fuse: options.fuse && !ENVIRONMENT.nan, ..gpu.target() };
        let handle = if options.handle == 0 { String::new() } else { format!("#{}", options.handle) };
        let name = format!("gpu:{index}{handle} ({})", gpu.name());
        let device = Device::new(Backend::Gpu(gpu), target, name, Some(index), options);
        if let Some(path) = ENVIRONMENT.tuning.as_ref().filter(|_| !options.core) {
            // The fixed rule is right everywhere, and slower at most.
            let tuned = crate::load_tuning(path).and_then(|tuning| device.set_tuning(tuning));
            if let Err(error) = tuned {
                tracing::warn!("FARAD_TUNING={} is not used: {error}", path.display());
            }
        }
        Ok(device)
    }

    /// A GPU if there is one that is not software, else the CPU; `FARAD_DEVICE` overrides. Chosen
    /// once, and again if it is lost.
    pub fn best() -> Device {
        static BEST: Mutex<Option<Device>> = Mutex::new(None);
        let mut best = BEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &*best {
            Some(device) if !device.is_lost() => device.clone(),
            _ => best.insert(Device::choose()).clone(),
        }
    }

    fn choose() -> Device {
        if let Some(name) = ENVIRONMENT.device.as_ref().filter(|name| *name != "best") {
            return Device::named(name).unwrap_or_else(|error| {
                tracing::warn!("FARAD_DEVICE={name} cannot be used, falling back to the cpu: {error}");
                Device::cpu()
            });
        }
        let real = farad_gpu::adapters().into_iter().find(|a| a.kind != farad_gpu::AdapterKind::Software);
        let Some(adapter) = real else { return Device::cpu() };
        Device::gpu(adapter.index).unwrap_or_else(|error| {
            tracing::warn!("the GPU cannot be used, falling back to the cpu: {error}");
            Device::cpu()
        })
    }

    /// A device by name: `best`, `cpu`, `gpu` or `gpu:1`.
    pub fn named(name: &str) -> Result<Device> {
        match name {
            "best" => Ok(Device::best()),
            "cpu" => Ok(Device::cpu()),
            "gpu" => Device::gpu(0),
            _ => match name.strip_prefix("gpu:").and_then(|n| n.parse().ok()) {
                Some(index) => Device::gpu(index),
                None => Err(Error::DeviceName { name: name.into() }),
            },
        }
    }

    fn new(
        backend: Backend,
        target: Target,
        name: String,
        index: Option<usize>,
        options: DeviceOptions,
    ) -> Device {
        Device(Arc::new(Inner {
            backend,
            target,
            plans: Mutex::default(),
            seed: AtomicU64::new(0),
            counter: AtomicU64::new(0),
            moved: AtomicUsize::new(0),
            compiled: AtomicUsize::new(0),
            replayed: AtomicUsize::new(0),
            finite: AtomicBool::new(false),
            name,
            index,
            options,
            live: LiveList::default(),
            unfinished: Unfinished::default(),
            peaks: Mutex::default(),
        }))
    }

    /// Whether this is a GPU.
    pub fn is_gpu(&self) -> bool {
        matches!(self.0.backend, Backend::Gpu(_))
    }

    /// The GPU's index, if it is one.
    pub fn index(&self) -> Option<usize> {
        self.0.index
    }

    /// Bytes of memory that the device has: those of the machine for the CPU and for software GPUs, else those of the
    /// GPU. None where nobody tells.
    pub fn memory(&self) -> Option<u64> {
        if let Some(limit) = self.0.options.memory_limit {
            return Some(limit as u64);
        }
        match &self.0.backend {
            Backend::Cpu(_) => crate::machine::physical(),
            Backend::Gpu(gpu) => {
                let own = match gpu.info().kind {
                    farad_gpu::AdapterKind::Software => crate::machine::physical(),
                    _ => gpu.info().memory,
                };
                ENVIRONMENT.memory_limit.map(|limit| limit as u64).or(own)
            }
        }
    }

    /// Bytes of the largest tensor that a kernel of a GPU can read; none on the CPU, where any fits that memory holds.
    #[doc(hidden)]
    pub fn largest_binding(&self) -> Option<u64> {
        match &self.0.backend {
            Backend::Cpu(_) => None,
            Backend::Gpu(gpu) => Some(gpu.info().limits.binding_bytes),
        }
    }

    /// The name, e.g. `cpu` or `gpu:0 (NVIDIA H200)`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Starts the device's random numbers again from a seed. The same seed gives the same numbers
    /// on every device (normal ones within rounding).
    pub fn seed(&self, seed: u64) {
        self.set_random_state(RandomState { seed, counter: 0 });
    }

    /// Where the device's random numbers stand. Setting it later, in another process too, goes on
    /// with the same numbers.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu_with(Default::default());
    /// device.seed(3);
    /// let state = device.random_state();
    /// let x = Tensor::rand([4], &device).to_vec::<f32>()?;
    /// device.set_random_state(state);
    /// assert_eq!(Tensor::rand([4], &device).to_vec::<f32>()?, x);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn random_state(&self) -> RandomState {
        let (seed, counter) = (&self.0.seed, &self.0.counter);
        RandomState { seed: seed.load(Ordering::Relaxed), counter: counter.load(Ordering::Relaxed) }
    }

    /// Goes on with random numbers from a state that [`Device::random_state`] gave.
    pub fn set_random_state(&self, state: RandomState) {
        self.0.seed.store(state.seed, Ordering::Relaxed);
        self.0.counter.store(state.counter, Ordering::Relaxed);
    }

    /// Seed and counter for the next random tensor; no pair is given twice. The counter's highest bit is set, so that
    /// no place of [`Tensor::rand_at`](crate::Tensor::rand_at) below 2⁶³ is one of the device's draws.
    pub(crate) fn draw(&self) -> [u32; 4] {
        let seed = self.0.seed.load(Ordering::Relaxed);
        let counter = self.0.counter.fetch_add(1, Ordering::Relaxed);
        [seed as u32, (seed >> 32) as u32, counter as u32, (counter >> 32) as u32 | 1 << 31]
    }

    /// What the device has done so far.
    pub fn counters(&self) -> Counters {
        let own = Counters {
            plans_compiled: self.0.compiled.load(Ordering::Relaxed),
            plans_replayed: self.0.replayed.load(Ordering::Relaxed),
            operands_moved: self.0.moved.load(Ordering::Relaxed),
            ..Counters::default()
        };
        self.0.backend.counters(own)
    }

    /// Bytes that the device holds now, by purpose.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu_with(Default::default());
    /// let x = Tensor::from_vec(vec![0.0; 1024], [1024], &device);
    /// assert_eq!(device.holdings().tensors, 4096);
    /// # drop(x);
    /// ```
    pub fn holdings(&self) -> crate::Holdings {
        self.0.backend.holdings()
    }

    /// Whether the GPU is gone: the driver reset or removed it, or it was closed. Tensors on it
    /// cannot be read any more; opening it again gives a new device.
    pub fn is_lost(&self) -> bool {
        self.0.backend.is_lost()
    }

    /// Gives a GPU and all of its memory back at once, whatever tensors there still are: they are
    /// lost with it. Does nothing to a CPU.
    pub fn close(&self) {
        self.0.plans.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
        self.0.backend.close();
    }

    /// Runs `body`, which records ops, and charges its time to a profile's *recording*. Ops are too short to be timed one by
    /// one; without this they are in *other host time*.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::ones([4], &device);
    /// let y = device.recording(|| (&x * 2.0).exp().sum());
    /// assert!(y.item()? > 29.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn recording<T>(&self, body: impl FnOnce() -> T) -> T {
        let _phase = self.profiler().enter(Phase::Recording);
        body()
    }

    /// Waits until all submitted work is done.
    pub fn wait(&self) -> Result<()> {
        self.0.backend.wait()
    }

    pub(crate) fn profiler(&self) -> &Profiler {
        self.0.backend.profiler()
    }

    /// Whether units of their own multiply matrices of halves.
    pub(crate) fn multiplies_halves(&self) -> bool {
        self.0.backend.multiplies_halves()
    }

    /// A device of its own on the same hardware, opened in the same way but without a limit of memory.
    pub fn another(&self) -> Result<Device> {
        let options = DeviceOptions { memory_limit: None, ..self.0.options };
        let Some(index) = self.0.index else { return Ok(Device::cpu_with(options)) };
        let device = Device::open_gpu(index, options)?;
        if let (Backend::Gpu(from), Backend::Gpu(to)) = (&self.0.backend, &device.0.backend) {
            to.set_tuning((*from.tuning()).clone());
        }
        Ok(device)
    }

    /// Times whole passes instead of kernels while on; `false` if the device cannot.
    pub fn time_passes(&self, on: bool) -> Result<bool> {
        self.0.backend.time_passes(on)
    }

    /// GPU nanoseconds of the passes since timing was switched on.
    pub fn pass_nanoseconds(&self) -> Result<Vec<u64>> {
        self.0.backend.pass_nanoseconds()
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Result<Memory> {
        self.with_room(|| self.0.backend.allocate(bytes))
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}
