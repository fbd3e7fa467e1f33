//! Between arrays and memory of the host: numpy in and out, without a copy where the layout allows.
//!
//! Invariant: memory that numpy sees is never written to while numpy holds it, and memory of numpy is never written
//! to at all. This is the only file with `unsafe`. Start at [`from_numpy`] and [`HostMemory`].

use std::ptr::NonNull;

use farad::{DType, Device, Shape, Tensor};
use farad_cpu::{Memory, lend};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::device::DeviceArg;
use crate::device::{chosen, reachable};
use crate::dtype::{ROWS, row_of};
use crate::errors::{detached, guarded, raised};

/// Elements of an array on the host, for numpy: it has `__array_interface__`.
#[pyclass(module = "farad", frozen)]
pub struct HostMemory {
    bytes: HostBytes,
    shape: Vec<usize>,
    interface: &'static str,
}

/// Whose the bytes are.
enum HostBytes {
    /// A device's; as long as the handle lives, nothing is written to them.
    Shared { start: usize, _memory: Memory },
    /// A copy.
    Own(Vec<u8>),
}

#[pymethods]
impl HostMemory {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (start, readonly) = match &self.bytes {
            HostBytes::Shared { start, .. } => (*start, true),
            HostBytes::Own(bytes) => (bytes.as_ptr() as usize, false),
        };
        let all = PyDict::new(py);
        all.set_item("version", 3)?;
        all.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        all.set_item("typestr", self.interface)?;
        all.set_item("data", (start, readonly))?;
        Ok(all)
    }
}

impl HostMemory {
    /// The elements of a tensor; runs what it needs. A copy is made if it is asked for, if the device is not the CPU,
    /// and of truth values, which take a word on a device and a byte in numpy.
    pub fn of(py: Python<'_>, tensor: &Tensor, copy: bool) -> PyResult<HostMemory> {
        reachable(tensor.device())?;
        let dtype = if tensor.dtype() == DType::BF16 { DType::F32 } else { tensor.dtype() };
        let tensor = if dtype == tensor.dtype() { tensor.clone() } else { guarded(|| tensor.cast(dtype))? };
        let interface = row_of(dtype).interface.expect("only bf16 has none");
        let shape = tensor.shape().to_vec();
        if !copy
            && dtype != DType::Bool
            && tensor.numel() > 0
            && let Some((memory, start, _)) = detached(py, || tensor.host_memory())?
        {
            return Ok(HostMemory { bytes: HostBytes::Shared { start, _memory: memory }, shape, interface });
        }
        let mut bytes = detached(py, || Ok(tensor.read()?.wait()?))?;
        if dtype == DType::Bool {
            bytes = bytes.chunks_exact(4).map(|word| (word != [0; 4]) as u8).collect();
        }
        if bytes.is_empty() {
            bytes.push(0); // numpy wants an address even of nothing
        }
        Ok(HostMemory { bytes: HostBytes::Own(bytes), shape, interface })
    }
}

/// Elements of one array as raw bytes: where numpy keeps them.
struct NumpyView<'py> {
    array: Bound<'py, PyAny>,
    start: usize,
    shape: Shape,
    dtype: DType,
    bytes: usize,
}

impl<'py> NumpyView<'py> {
    /// The bytes of a numpy array, brought into rows and the machine's byte order by numpy if they are not.
    fn of(object: &Bound<'py, PyAny>) -> PyResult<NumpyView<'py>> {
        let py = object.py();
        let numpy = py.import("numpy")?;
        let mut array = numpy.call_method1("asarray", (object,))?;
        let kind = array.getattr("dtype")?;
        if !kind.getattr("isnative")?.is_truthy()? {
            array = array.call_method1("astype", (kind.call_method1("newbyteorder", ("=",))?,))?;
        }
        if !array.getattr("flags")?.get_item("C_CONTIGUOUS")?.is_truthy()? {
            array = array.call_method1("copy", ("C",))?;
        }
        let interface = array.getattr("__array_interface__")?;
        let text: String = interface.get_item("typestr")?.extract()?;
        let shown = array.getattr("dtype")?.to_string();
        let row = ROWS.iter().find(|row| row.interface == Some(text.as_str())).ok_or_else(|| {
            PyTypeError::new_err(format!("array: there is no such dtype: {shown}\nhelp: complex numbers, texts and objects have none here"))
        })?;
        let sizes: Vec<usize> = array.getattr("shape")?.extract()?;
        let shape = shape_of(&sizes)?;
        let (start, _): (usize, bool) = interface.get_item("data")?.extract()?;
        let bytes: usize = array.getattr("nbytes")?.extract()?;
        Ok(NumpyView { array, start, shape, dtype: row.dtype, bytes })
    }

    /// Whether numpy had to copy the elements to bring them into rows.
    fn is_copy_of(&self, object: &Bound<'py, PyAny>) -> PyResult<bool> {
        let shared = object.py().import("numpy")?.call_method1("may_share_memory", (object, &self.array))?;
        Ok(!shared.is_truthy()?)
    }

    fn copied(&self, device: &Device) -> PyResult<Tensor> {
        let bytes: &[u8] = match NonNull::new(self.start as *mut u8) {
            // SAFETY: numpy says that its array has so many bytes there, in rows; it lives as long as `self`, and the
            // interpreter is held while they are read.
            Some(start) if self.bytes > 0 => unsafe {
                std::slice::from_raw_parts(start.as_ptr(), self.bytes)
            },
            _ => &[],
        };
        let words: Vec<u8>;
        let bytes = if self.dtype == DType::Bool {
            words = bytes.iter().flat_map(|&byte| ((byte != 0) as u32).to_le_bytes()).collect();
            &words
        } else {
            bytes
        };
        guarded(|| Tensor::from_bytes(bytes, self.shape, self.dtype, device))?.map_err(raised)
    }

    /// The tensor that reads numpy's memory where it lies, if that can be done.
    fn lent(&self, device: &Device) -> Option<PyResult<Tensor>> {
        let aligned = self.start.is_multiple_of(self.dtype.size());
        let start = NonNull::new(self.start as *mut u8)?;
        if device != &Device::cpu() || self.dtype == DType::Bool || !aligned || self.bytes == 0 {
            return None;
        }
        let owner: Box<Py<PyAny>> = Box::new(self.array.clone().unbind());
        // SAFETY: the array keeps its bytes as long as the owner lives. That nobody writes to them is what the caller of
        // `asarray` promises, as with all libraries that share memory with numpy.
        let memory = unsafe { lend(start, self.bytes, owner) };
        Some(guarded(|| Tensor::from_memory(memory, self.shape, self.dtype, device)))
    }
}

/// A shape, if it is not too long or too large.
pub fn shape_of(sizes: &[usize]) -> PyResult<Shape> {
    guarded(|| Shape::new(sizes))
}

/// A tensor with the elements of a numpy array, or of what numpy makes one of.
pub fn from_numpy(object: &Bound<'_, PyAny>, device: Option<DeviceArg>) -> PyResult<Tensor> {
    NumpyView::of(object)?.copied(&chosen(device))
}

/// An array with the elements of a numpy array. With `copy=None` or `False` the array reads numpy's memory if it
/// can; with `False` it is an error if it cannot.
#[pyfunction]
#[pyo3(signature = (array, device=None, copy=Some(true)))]
pub fn array_from_numpy(
    array: &Bound<'_, PyAny>,
    device: Option<DeviceArg>,
    copy: Option<bool>,
) -> PyResult<crate::array::PyArray> {
    let (view, device) = (NumpyView::of(array)?, chosen(device));
    if copy != Some(true) {
        let moved = view.is_copy_of(array)?;
        match view.lent(&device) {
            Some(tensor) if copy.is_none() || !moved => return Ok(tensor?.into()),
            _ if copy == Some(false) => {
                let text = "asarray: a copy is needed: the layout, the dtype or the device is another";
                return Err(PyValueError::new_err(text));
            }
            _ => {}
        }
    }
    Ok(view.copied(&device)?.into())
}
