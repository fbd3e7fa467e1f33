//! Devices: values that say where tensors live and work happens.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use farad_compile::program::Target;
use farad_runtime::profile::{Phase, Profiler};
use farad_runtime::{Backend, Counters, Limits, Memory, MemorySize};

use crate::backend::{BACKENDS, BackendRow, FoundDevice, named};
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
    pub backend: Arc<dyn Backend>,
    pub limits: Limits,
    pub target: Target,
    pub plans: Mutex<PlanCache>,
    seed: AtomicU64,
    counter: AtomicU64,
    pub moved: AtomicUsize,
    pub compiled: AtomicUsize,
    pub replayed: AtomicUsize,
    pub finite: AtomicBool,
    name: String,
    row: &'static BackendRow,
    index: usize,
    options: DeviceOptions,
    /// Who made the memory that tensors hold.
    pub live: LiveList,
    /// What buffers hold that is not computed yet.
    pub unfinished: Unfinished,
    /// What the device can do at best, once it was measured.
    pub peaks: Mutex<Option<Peaks>>,
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
static OPEN: LazyLock<Mutex<HashMap<(&'static str, usize, DeviceOptions), Device>>> =
    LazyLock::new(Mutex::default);

impl Device {
    /// The CPU.
    pub fn cpu() -> Device {
        CPU.clone()
    }

    /// A CPU device of its own, with its own plans, counters and random numbers.
    pub fn cpu_with(options: DeviceOptions) -> Device {
        let (row, index) = named("cpu").expect("the table has the cpu");
        Device::open(row, index, options).expect("a cpu can always be opened")
    }

    /// The GPU with this index in `farad devices`.
    pub fn gpu(index: usize) -> Result<Device> {
        Device::gpu_with(index, DeviceOptions::default())
    }

    /// As [`Device::gpu`] with options; every combination is opened once, and again once it is lost.
    pub fn gpu_with(index: usize, options: DeviceOptions) -> Result<Device> {
        let (row, _) = named("gpu").ok_or(Error::NoGpus)?;
        Device::shared(row, index, options)
    }

    /// A device that computes everything in `f64`: what programs mean. It is slow and meant for tests.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::reference();
    /// let x = Tensor::from_vec(vec![1.0, 1e-9], [2], &device);
    /// // In f32 the small number would be lost.
    /// assert!(((x.sum() - 1.0).item()? - 1e-9).abs() < 1e-15);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn reference() -> Device {
        let (row, index) = named("reference").expect("the table has the reference");
        Device::shared(row, index, DeviceOptions::default()).expect("the reference can always be opened")
    }

    /// A reference device of its own, with its own plans, counters and random numbers.
    pub fn reference_with(options: DeviceOptions) -> Device {
        let (row, index) = named("reference").expect("the table has the reference");
        Device::open(row, index, options).expect("the reference can always be opened")
    }

    /// The one device of a row with these options, opened if it is not open yet.
    fn shared(row: &'static BackendRow, index: usize, options: DeviceOptions) -> Result<Device> {
        let mut open = OPEN.lock().expect("no panic while opening");
        let key = (row.name, index, options);
        if let Some(device) = open.get(&key).filter(|device| !device.is_lost()) {
            return Ok(device.clone());
        }
        let device = Device::open(row, index, options)?;
        open.insert(key, device.clone());
        Ok(device)
    }

    /// A device of its own.
    fn open(row: &'static BackendRow, index: usize, options: DeviceOptions) -> Result<Device> {
        let device = Device::new((row.open)(index, &options)?, row, index, options);
        let tunes = device.0.backend.tuner().is_some() && !options.core;
        if let Some(path) = ENVIRONMENT.tuning.as_ref().filter(|_| tunes) {
            // The fixed rule is right everywhere, and slower at most.
            let tuned = crate::load_tuning(path).and_then(|tuning| device.set_tuning(tuning));
            if let Err(error) = tuned {
                tracing::warn!("FARAD_TUNING={} is not used: {error}", path.display());
            }
        }
        Ok(device)
    }

    /// The devices of this machine, of every backend; none is opened.
    pub fn list() -> Vec<FoundDevice> {
        BACKENDS.iter().flat_map(|row| (row.list)()).collect()
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
        let found = Device::list();
        let most = found.iter().map(|device| device.preference).max().unwrap_or(0);
        let Some(best) = found.iter().find(|device| device.preference == most && most > 0) else {
            return Device::cpu();
        };
        Device::named(&best.device).unwrap_or_else(|error| {
            tracing::warn!("the GPU cannot be used, falling back to the cpu: {error}");
            Device::cpu()
        })
    }

    /// A device by name: `best`, or one of the table of backends: `cpu`, `gpu`, `gpu:1` or `reference`.
    pub fn named(name: &str) -> Result<Device> {
        match name {
            "best" => Ok(Device::best()),
            "cpu" => Ok(Device::cpu()),
            _ => match named(name) {
                Some((row, index)) => Device::shared(row, index, DeviceOptions::default()),
                None => Err(Error::DeviceName { name: name.into() }),
            },
        }
    }

    fn new(
        backend: Arc<dyn Backend>,
        row: &'static BackendRow,
        index: usize,
        options: DeviceOptions,
    ) -> Device {
        let number = if row.numbered { format!(":{index}") } else { String::new() };
        let handle =
            if options.handle == 0 || !row.numbered { String::new() } else { format!("#{}", options.handle) };
        let hardware = backend.hardware().map_or(String::new(), |name| format!(" ({name})"));
        let target = backend.target();
        Device(Arc::new(Inner {
            limits: backend.limits(),
            target: Target { fuse: target.fuse && options.fuse && !ENVIRONMENT.nan, ..target },
            name: format!("{}{number}{handle}{hardware}", row.name),
            backend,
            plans: Mutex::default(),
            seed: AtomicU64::new(0),
            counter: AtomicU64::new(0),
            moved: AtomicUsize::new(0),
            compiled: AtomicUsize::new(0),
            replayed: AtomicUsize::new(0),
            finite: AtomicBool::new(false),
            row,
            index,
            options,
            live: LiveList::default(),
            unfinished: Unfinished::default(),
            peaks: Mutex::default(),
        }))
    }

    /// Whether this is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.0.limits.gpu
    }

    /// The GPU's index, if it is one.
    pub fn index(&self) -> Option<usize> {
        self.0.row.numbered.then_some(self.0.index)
    }

    /// Bytes of memory that the device has: those of the machine for the CPU and for software GPUs, else those of the
    /// GPU. None where nobody tells.
    pub fn memory(&self) -> Option<u64> {
        if let Some(limit) = self.0.options.memory_limit {
            return Some(limit as u64);
        }
        match self.0.limits.memory {
            MemorySize::Machine => crate::machine::physical(),
            MemorySize::Own(bytes) => bytes,
        }
    }

    /// Bytes of the largest tensor that a kernel of a GPU can read; none on the CPU, where any fits that memory holds.
    #[doc(hidden)]
    pub fn largest_binding(&self) -> Option<u64> {
        self.0.limits.largest_binding
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
        Counters {
            plans_compiled: self.0.compiled.load(Ordering::Relaxed),
            plans_replayed: self.0.replayed.load(Ordering::Relaxed),
            operands_moved: self.0.moved.load(Ordering::Relaxed),
            ..self.0.backend.counters()
        }
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

    /// Waits for other ranks in `body`; profiles show the time as a phase of its own.
    pub fn waiting_for_others<T>(&self, body: impl FnOnce() -> T) -> T {
        let _phase = self.profiler().enter(Phase::Others);
        body()
    }

    /// Waits until all submitted work is done.
    pub fn wait(&self) -> Result<()> {
        Ok(self.0.backend.wait()?)
    }

    pub(crate) fn profiler(&self) -> &Profiler {
        self.0.backend.profiler()
    }

    /// Whether it has tensor cores, which multiply f16 matrices.
    pub(crate) fn multiplies_halves(&self) -> bool {
        self.0.limits.multiplies_halves
    }

    /// Whether kernels of attention run on its tensor cores.
    pub(crate) fn attends_on_matrices(&self) -> bool {
        self.0.limits.custom.as_ref().is_some_and(crate::attention::suit)
    }

    /// A device of its own on the same hardware, opened in the same way but without a limit of memory.
    pub fn another(&self) -> Result<Device> {
        let options = DeviceOptions { memory_limit: None, ..self.0.options };
        let device = Device::open(self.0.row, self.0.index, options)?;
        if let (Some(from), Some(to)) = (self.0.backend.tuner(), device.0.backend.tuner()) {
            to.set_tuning((*from.tuning()).clone());
        }
        Ok(device)
    }

    /// Times whole passes instead of kernels while on; `false` if the device cannot.
    pub fn time_passes(&self, on: bool) -> Result<bool> {
        Ok(self.0.backend.time_passes(on)?)
    }

    /// GPU nanoseconds of the passes since timing was switched on.
    pub fn pass_nanoseconds(&self) -> Result<Vec<u64>> {
        Ok(self.0.backend.pass_nanoseconds()?)
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
