//! Devices as Python objects.
//!
//! Invariant: equal devices are the same device of the library. Start at [`DeviceArg`]: wherever a device is
//! asked for, its name will do.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use farad::Device;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{Exception, detached, guarded, raised};

/// Where arrays live that do not say so.
static DEFAULT: Mutex<Option<Device>> = Mutex::new(None);

/// Where arrays live that do not say so: the CPU, unless [`set_default_device`] named another.
pub fn default_device() -> Device {
    DEFAULT.lock().unwrap_or_else(|e| e.into_inner()).clone().unwrap_or_else(Device::cpu)
}

/// Whether a GPU was opened here, and whether this process is the forked child of one that had opened a GPU.
static GPU_USED: AtomicBool = AtomicBool::new(false);
static FORKED: AtomicBool = AtomicBool::new(false);

/// Python calls it in the child of a fork.
#[pyfunction]
pub fn forked() {
    FORKED.store(GPU_USED.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Refuses GPUs in the forked child of a process that had opened one: the driver's threads are not here, and waiting
/// for them would never end.
pub fn reachable(device: &Device) -> PyResult<()> {
    if !device.is_gpu() {
        return Ok(());
    }
    GPU_USED.store(true, Ordering::Relaxed);
    if FORKED.load(Ordering::Relaxed) { Err(refused_after_fork()) } else { Ok(()) }
}

fn refused_after_fork() -> PyErr {
    let text = "device: this process was forked from one that had opened a GPU";
    let help = "multiprocessing.set_start_method('spawn'), or the CPU";
    Exception::Device.with(format!("{text}\nhelp: {help}"))
}

/// Where arrays live and work happens: the CPU or a GPU.
///
/// >>> import farad as fd
/// >>> fd.Device("cpu").is_gpu
/// False
#[pyclass(name = "Device", module = "farad", frozen, eq, skip_from_py_object)]
#[derive(Clone, PartialEq)]
pub struct PyDevice {
    /// The device.
    pub device: Device,
}

#[pymethods]
impl PyDevice {
    #[new]
    fn new(device: DeviceArg) -> PyDevice {
        PyDevice { device: device.0 }
    }

    /// The name with the hardware's, e.g. `gpu:0 (NVIDIA H200)`.
    #[getter]
    fn name(&self) -> &str {
        self.device.name()
    }

    /// Whether it is a GPU.
    #[getter]
    fn is_gpu(&self) -> bool {
        self.device.is_gpu()
    }

    /// Whether the GPU is gone.
    #[getter]
    fn is_lost(&self) -> bool {
        self.device.is_lost()
    }

    /// Starts the device's random numbers again from a seed.
    fn seed(&self, seed: u64) {
        self.device.seed(seed);
    }

    /// Seed and counter of the device's random numbers.
    #[getter]
    fn random_state(&self) -> (u64, u64) {
        let state = self.device.random_state();
        (state.seed, state.counter)
    }

    #[setter]
    fn set_random_state(&self, state: (u64, u64)) {
        self.device.set_random_state(farad::RandomState { seed: state.0, counter: state.1 });
    }

    /// Waits until all work is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.device.wait())
    }

    /// Gives a GPU and all of its memory back. Its arrays are lost.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || {
            self.device.close();
            Ok(())
        })
    }

    /// What the device has done so far: plans, submissions, kernels, bytes.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = self.device.counters();
        let all = PyDict::new(py);
        all.set_item("plans_compiled", counters.plans_compiled)?;
        all.set_item("plans_replayed", counters.plans_replayed)?;
        all.set_item("submissions", counters.submissions)?;
        all.set_item("bytes_live", counters.bytes_live)?;
        Ok(all)
    }

    fn __repr__(&self) -> String {
        format!("Device('{}')", self.short())
    }

    fn __reduce__(&self, py: Python<'_>) -> (Py<PyAny>, (String,)) {
        (py.get_type::<PyDevice>().into_any().unbind(), (self.short(),))
    }

    fn __str__(&self) -> String {
        self.short()
    }

    fn __hash__(&self) -> u64 {
        self.short().bytes().fold(7, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte as u64))
    }
}

impl PyDevice {
    /// The name that opens it.
    fn short(&self) -> String {
        self.device.name().split(' ').next().unwrap_or_default().to_string()
    }
}

/// A device as an argument: an object, or a name such as `cpu`, `gpu` or `gpu:1`.
pub struct DeviceArg(pub Device);

impl<'a, 'py> FromPyObject<'a, 'py> for DeviceArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<DeviceArg> {
        if let Ok(own) = object.cast::<PyDevice>() {
            reachable(&own.get().device)?;
            return Ok(DeviceArg(own.get().device.clone()));
        }
        if FORKED.load(Ordering::Relaxed) && !object.eq("cpu")? {
            return Err(refused_after_fork()); // opening a GPU would hang, too
        }
        let name: String = object.extract()?;
        let opened = object.py().detach(|| guarded(|| Device::named(&name)))?.map_err(raised)?;
        reachable(&opened)?;
        Ok(DeviceArg(opened))
    }
}

/// The device that was asked for, or the default.
pub fn chosen(device: Option<DeviceArg>) -> Device {
    device.map_or_else(default_device, |device| device.0)
}

/// Where arrays live that do not say so.
#[pyfunction]
pub fn get_default_device() -> PyDevice {
    PyDevice { device: default_device() }
}

/// Makes arrays live on this device if they do not say where.
#[pyfunction]
pub fn set_default_device(device: DeviceArg) {
    *DEFAULT.lock().unwrap_or_else(|e| e.into_inner()) = Some(device.0);
}

/// The best device there is: a GPU, or else the CPU.
#[pyfunction]
pub fn best_device(py: Python<'_>) -> PyResult<PyDevice> {
    if FORKED.load(Ordering::Relaxed) {
        return Err(refused_after_fork());
    }
    let device = py.detach(|| guarded(Device::best))?;
    reachable(&device)?;
    Ok(PyDevice { device })
}

/// All devices, each with a name that opens it and the hardware's name.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<String>> {
    let found = py.detach(|| guarded(Device::list))?;
    Ok(found.into_iter().map(|device| device.name).collect())
}

/// Starts the random numbers of new layers and of the CPU again from a seed.
#[pyfunction]
pub fn seed(seed: u64) {
    farad::seed(seed);
}
