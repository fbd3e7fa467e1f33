//! Arrays: tensors as Python objects, with operators, indices and reads.
//!
//! Invariant: an array holds one tensor, and ops record on it without computing. Assigning to a part puts another
//! tensor in. The named ops are in the table of `ops`. Start at [`PyArray`].

use farad::{DType, Part, Tensor};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyFloat, PyInt, PySlice, PyTuple};

use crate::device::{DeviceArg, PyDevice};
use crate::dtype::PyDType;
use crate::errors::{detached, guarded};
use crate::host::HostMemory;
use crate::operand::{Beside, met};
use crate::parameter::PyParameter;

/// An array of numbers on a device. Lazy: ops record, and reading a result computes it.
///
/// >>> import farad as fd
/// >>> x = fd.array([1.0, 2.0, 3.0])
/// >>> float((x * 2 + 1).sum())
/// 15.0
#[pyclass(name = "Array", module = "farad", weakref, subclass, skip_from_py_object)]
pub struct PyArray {
    /// The tensor.
    pub tensor: Tensor,
}

impl From<Tensor> for PyArray {
    fn from(tensor: Tensor) -> PyArray {
        PyArray { tensor }
    }
}

/// What an operator gives: nothing where the operand is none that it knows, so that Python asks the operand.
struct Answered(Option<PyArray>);

impl<'py> IntoPyObject<'py> for Answered {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0 {
            Some(array) => Ok(array.into_pyobject(py)?.into_any()),
            None => Ok(py.NotImplemented().into_bound(py)),
        }
    }
}

type Answer = PyResult<Answered>;

fn answered(tensor: Tensor) -> Answered {
    Answered(Some(tensor.into()))
}

/// A binary operator on what both operands are as tensors.
fn binary(x: &Tensor, other: &Bound<'_, PyAny>, swapped: bool, op: fn(&Tensor, &Tensor) -> Tensor) -> Answer {
    let Ok(other) = other.extract::<Beside>() else { return Ok(Answered(None)) };
    let apply = || {
        let (a, b) = met(x.clone(), other.tensor(x));
        if swapped { op(&b, &a) } else { op(&a, &b) }
    };
    guarded(apply).map(answered)
}

/// As [`binary`], with numbers as they are: a number that changes from step to step compiles nothing.
fn arithmetic(
    x: &Tensor,
    other: &Bound<'_, PyAny>,
    tensors: fn(&Tensor, &Tensor) -> Tensor,
    number: fn(&Tensor, f64) -> Tensor,
) -> Answer {
    match other.extract::<Beside>() {
        Ok(Beside::Number(value)) if x.dtype() == DType::Bool && !other.is_instance_of::<PyBool>() => {
            let dtype = if is_fraction(other)? { DType::F32 } else { DType::I32 };
            guarded(|| number(&x.cast(dtype), value)).map(answered)
        }
        Ok(Beside::Number(value)) => guarded(|| number(x, value)).map(answered),
        Ok(other) => {
            let (a, b) = guarded(|| met(x.clone(), other.tensor(x)))?;
            guarded(|| tensors(&a, &b)).map(answered)
        }
        Err(_) => Ok(Answered(None)),
    }
}

/// Whether a number is a float, of Python or of numpy.
fn is_fraction(number: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(number.is_instance_of::<PyFloat>()
        || (number.hasattr("dtype")?
            && number.getattr("dtype")?.getattr("kind")?.extract::<String>()? == "f"))
}

/// An operand of a matrix product: no number.
fn factor(other: &Bound<'_, PyAny>) -> PyResult<Beside> {
    match other.extract::<Beside>()? {
        Beside::Number(_) | Beside::Long(_) => Err(PyTypeError::new_err("matmul: a number is no matrix")),
        other => Ok(other),
    }
}

/// Integers and truth values as floats, for ops that give fractions.
pub fn floating(x: &Tensor) -> Tensor {
    if x.dtype().is_float() { x.clone() } else { x.cast(DType::F32) }
}

/// The largest whole number not above `a / b`.
pub fn floor_divide(a: &Tensor, b: &Tensor) -> Tensor {
    if a.dtype().is_float() || b.dtype().is_float() { (a / b).floor() } else { (a - a.remainder(b)) / b }
}

/// Bits shifted left; none are left where the count is as large as the dtype.
pub fn shift_left(a: &Tensor, b: &Tensor) -> Tensor {
    let dtype = a.dtype().promote(b.dtype()).unwrap_or(a.dtype());
    let (a, b) = (a.cast(dtype), b.cast(dtype));
    let shifted = a.shift_left(&b);
    b.less((dtype.size() * 8) as f64).select(&shifted, &shifted.full_like(0.0))
}

/// Bits shifted right, keeping the sign, also where the count is as large as the dtype.
pub fn shift_right(a: &Tensor, b: &Tensor) -> Tensor {
    let dtype = a.dtype().promote(b.dtype()).unwrap_or(a.dtype());
    let (a, b, bits) = (a.cast(dtype), b.cast(dtype), (dtype.size() * 8) as f64);
    let shifted = a.shift_right(b.minimum(bits - 1.0));
    if dtype.is_signed_int() { shifted } else { b.less(bits).select(&shifted, &shifted.full_like(0.0)) }
}

#[pymethods]
impl PyArray {
    /// The sizes of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.shape().iter())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.rank()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.tensor.numel()
    }

    /// The element type.
    #[getter]
    fn dtype(&self) -> PyDType {
        PyDType { dtype: self.tensor.dtype() }
    }

    /// Where it lives.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice { device: self.tensor.device().clone() }
    }

    /// The axes in reverse order: of a matrix, its two axes swapped.
    #[getter]
    #[allow(non_snake_case)]
    fn T(&self) -> PyResult<PyArray> {
        let order: Vec<isize> = (0..self.tensor.rank() as isize).rev().collect();
        Ok(guarded(|| self.tensor.permute(&order))?.into())
    }

    /// The last two axes swapped.
    #[getter]
    #[allow(non_snake_case)]
    fn mT(&self) -> PyResult<PyArray> {
        if self.tensor.rank() < 2 {
            return Err(PyTypeError::new_err(format!("mT: not matrices: {}", self.tensor.shape())));
        }
        Ok(guarded(|| self.tensor.transpose(-1, -2))?.into())
    }

    /// The array on another device; itself if it is there already.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device(
        &self,
        py: Python<'_>,
        device: DeviceArg,
        stream: Option<Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        if stream.is_some() {
            return Err(PyTypeError::new_err("to_device: devices have no streams of their own here"));
        }
        Ok(detached(py, || self.tensor.to_device(&device.0))?.into())
    }

    /// Runs what the array needs without waiting for it.
    fn compute(&self, py: Python<'_>) -> PyResult<()> {
        crate::device::reachable(self.tensor.device())?;
        detached(py, || self.tensor.compute())
    }

    /// The value alone, without its history: gradients do not flow into it.
    fn detach(&self, py: Python<'_>) -> PyResult<PyArray> {
        Ok(detached(py, || self.tensor.detach())?.into())
    }

    /// The gradient of this array, which holds one number, at another array or parameter, or at a list of them.
    fn gradient(&self, py: Python<'_>, at: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if let Some(x) = held(at) {
            return Ok(Py::new(py, PyArray::from(detached(py, || self.tensor.gradient(&x))?))?.into_any());
        }
        let wrong = || PyTypeError::new_err("gradient: an array, a parameter, or a list of them is wanted");
        let all: Vec<Tensor> = at
            .try_iter()
            .map_err(|_| wrong())?
            .map(|item| held(&item?).ok_or_else(wrong))
            .collect::<PyResult<_>>()?;
        let wrt: Vec<&Tensor> = all.iter().collect();
        let found = detached(py, || self.tensor.gradients_at(&wrt))?;
        let found: Vec<PyArray> = found.into_iter().map(PyArray::from).collect();
        Ok(found.into_pyobject(py)?.into_any().unbind())
    }

    /// The only element as a Python number.
    fn item(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.tensor.numel() != 1 {
            return Err(crate::errors::raised(farad::Error::Item {
                shape: self.tensor.shape(),
                numel: self.tensor.numel(),
            }));
        }
        let bytes = self.bytes(py)?;
        number(py, self.tensor.dtype(), &bytes)
    }

    /// Elements on the host, for numpy; `copy=False` shares memory where it can.
    fn _host(&self, py: Python<'_>, copy: bool) -> PyResult<HostMemory> {
        HostMemory::of(py, &self.tensor, copy)
    }

    /// Another tensor is put in.
    fn _assign(&mut self, other: &PyArray) {
        self.tensor = other.tensor.clone();
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> Answer {
        arithmetic(&self.tensor, other, |a, b| a + b, |a, b| a + b)
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> Answer {
        arithmetic(&self.tensor, other, |a, b| b + a, |a, b| b + a)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> Answer {
        arithmetic(&self.tensor, other, |a, b| a - b, |a, b| a - b)
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> Answer {
        arithmetic(&self.tensor, other, |a, b| b - a, |a, b| b - a)
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> Answer {
        arithmetic(&self.tensor, other, |a, b| a * b, |a, b| a * b)
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> Answer {
        arithmetic(&self.tensor, other, |a, b| b * a, |a, b| b * a)
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> Answer {
        arithmetic(&self.tensor, other, |a, b| floating(a) / floating(b), |a, b| floating(a) / b)
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> Answer {
        arithmetic(&self.tensor, other, |a, b| floating(b) / floating(a), |a, b| b / floating(a))
    }

    fn __floordiv__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, false, floor_divide)
    }

    fn __rfloordiv__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, true, floor_divide)
    }

    fn __mod__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, false, |a, b| a.remainder(b))
    }

    fn __rmod__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, true, |a, b| a.remainder(b))
    }

    fn __pow__(&self, other: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> Answer {
        if modulo.is_some() {
            return Ok(Answered(None));
        }
        arithmetic(&self.tensor, other, crate::ops::power, crate::ops::power_of_number)
    }

    fn __rpow__(&self, other: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> Answer {
        if modulo.is_some() {
            return Ok(Answered(None));
        }
        binary(&self.tensor, other, true, crate::ops::power)
    }

    fn __matmul__(&self, other: &Bound<'_, PyAny>) -> Answer {
        let Ok(other) = factor(other) else { return Ok(Answered(None)) };
        guarded(|| {
            let (a, b) = met(self.tensor.clone(), other.tensor(&self.tensor));
            a.matmul(&b)
        })
        .map(answered)
    }

    fn __rmatmul__(&self, other: &Bound<'_, PyAny>) -> Answer {
        let Ok(other) = factor(other) else { return Ok(Answered(None)) };
        guarded(|| {
            let (a, b) = met(other.tensor(&self.tensor), self.tensor.clone());
            a.matmul(&b)
        })
        .map(answered)
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, false, |a, b| a.and(b))
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, true, |a, b| a.and(b))
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, false, |a, b| a.or(b))
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, true, |a, b| a.or(b))
    }

    fn __xor__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, false, |a, b| a.xor(b))
    }

    fn __rxor__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, true, |a, b| a.xor(b))
    }

    fn __lshift__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, false, shift_left)
    }

    fn __rlshift__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, true, shift_left)
    }

    fn __rshift__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, false, shift_right)
    }

    fn __rrshift__(&self, other: &Bound<'_, PyAny>) -> Answer {
        binary(&self.tensor, other, true, shift_right)
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> Answer {
        let compare: fn(&Tensor, &Tensor) -> Tensor = match op {
            CompareOp::Lt => |a, b| a.less(b),
            CompareOp::Le => |a, b| a.less_equal(b),
            CompareOp::Gt => |a, b| a.greater(b),
            CompareOp::Ge => |a, b| a.greater_equal(b),
            CompareOp::Eq => |a, b| a.equal(b),
            CompareOp::Ne => |a, b| a.not_equal(b),
        };
        binary(&self.tensor, other, false, compare)
    }

    fn __neg__(&self) -> PyResult<PyArray> {
        Ok(guarded(|| crate::ops::negative(&self.tensor))?.into())
    }

    fn __pos__(&self) -> PyArray {
        self.tensor.clone().into()
    }

    fn __invert__(&self) -> PyResult<PyArray> {
        Ok(guarded(|| self.tensor.not())?.into())
    }

    fn __abs__(&self) -> PyResult<PyArray> {
        Ok(guarded(|| crate::ops::absolute(&self.tensor))?.into())
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.single(py)?.bind(py).is_truthy()
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        match self.single(py)?.bind(py) {
            truth if truth.is_instance_of::<PyBool>() => Ok(truth.is_truthy()? as u8 as f64),
            number => number.extract(),
        }
    }

    fn __int__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let single = self.single(py)?;
        Ok(py.get_type::<PyInt>().call1((single,))?.unbind())
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if !self.tensor.dtype().is_int() {
            let text = format!("index: not a whole number: {}", self.tensor.dtype());
            return Err(PyTypeError::new_err(text));
        }
        self.single(py)
    }

    fn __complex__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let number = self.__float__(py)?;
        Ok(py.import("builtins")?.getattr("complex")?.call1((number,))?.unbind())
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.tensor.shape().first() {
            Some(&size) => Ok(size),
            None => Err(PyTypeError::new_err("len: an array without axes has no length")),
        }
    }

    fn __getitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let tensor = slf.borrow().tensor.clone();
        match basic(&tensor, key)? {
            Some(tensor) => Ok(Py::new(py, PyArray { tensor })?.into_any()),
            None => Ok(py.import("farad._indexing")?.call_method1("getitem", (slf, key))?.unbind()),
        }
    }

    fn __setitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.py().import("farad._indexing")?.call_method1("setitem", (slf, key, value))?;
        Ok(())
    }

    /// Shape, dtype and device alone; computes nothing.
    fn _head(&self) -> String {
        let shape = self.tensor.shape();
        format!("{}{shape}", crate::dtype::row_of(self.tensor.dtype()).name)
    }
}

impl PyArray {
    fn bytes(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let tensor = &self.tensor;
        crate::device::reachable(tensor.device())?;
        detached(py, || Ok(tensor.read()?.wait()?))
    }

    /// The only element, for conversions to Python's numbers.
    fn single(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.tensor.numel() != 1 {
            let text = format!(
                "an array with {} elements is no single number\nhelp: x.any(), x.all(), or fd.where",
                self.tensor.numel()
            );
            return Err(PyTypeError::new_err(text));
        }
        self.item(py)
    }
}

/// An element's bytes as a Python number.
fn number(py: Python<'_>, dtype: DType, bytes: &[u8]) -> PyResult<Py<PyAny>> {
    macro_rules! whole {
        ($type:ty) => {
            <$type>::from_le_bytes(bytes[..size_of::<$type>()].try_into()?)
                .into_pyobject(py)?
                .into_any()
                .unbind()
        };
    }
    Ok(match dtype {
        DType::Bool => PyBool::new(py, bytes.iter().any(|&byte| byte != 0)).to_owned().into_any().unbind(),
        DType::I8 => whole!(i8),
        DType::I16 => whole!(i16),
        DType::I32 => whole!(i32),
        DType::I64 => whole!(i64),
        DType::U8 => whole!(u8),
        DType::U16 => whole!(u16),
        DType::U32 => whole!(u32),
        DType::U64 => whole!(u64),
        DType::F32 => whole!(f32),
        DType::F64 => whole!(f64),
        DType::F16 | DType::BF16 => {
            let bits = u16::from_le_bytes(bytes[..2].try_into()?);
            half_value(dtype, bits).into_pyobject(py)?.into_any().unbind()
        }
    })
}

fn half_value(dtype: DType, bits: u16) -> f64 {
    if dtype == DType::BF16 {
        return f32::from_bits((bits as u32) << 16) as f64;
    }
    let (sign, exponent, fraction) = (bits >> 15, (bits >> 10) & 31, (bits & 1023) as f64);
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction / 1024.0) * 2f64.powi(exponent as i32 - 15),
    };
    if sign == 1 { -size } else { size }
}

/// The part that a key of whole numbers, slices, `None` and `...` names; `None` for keys with arrays in them.
fn basic(x: &Tensor, key: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let keys: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let plain = |key: &Bound<'_, PyAny>| {
        key.is_none()
            || key.is_instance_of::<PyEllipsis>()
            || key.is_instance_of::<PySlice>()
            || (key.is_instance_of::<PyInt>() && !key.is_instance_of::<PyBool>())
    };
    if !keys.iter().all(plain) {
        return Ok(None);
    }
    let is_dots = |key: &Bound<'_, PyAny>| key.is_instance_of::<PyEllipsis>();
    let taken = keys.iter().filter(|key| !key.is_none() && !is_dots(key)).count();
    if taken > x.rank() || keys.iter().filter(|key| is_dots(key)).count() > 1 {
        let text = format!("index: too many for an array of {} axes ({taken} vs {})", x.rank(), x.rank());
        return Err(PyIndexError::new_err(text));
    }
    let (mut parts, mut flips, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for key in &keys {
        let axis = parts.len();
        if key.is_none() {
            sizes.push(1);
        } else if is_dots(key) {
            for axis in axis..axis + x.rank() - taken {
                parts.push(Part::Range(0, None));
                sizes.push(x.shape()[axis]);
            }
        } else if let Ok(slice) = key.cast::<PySlice>() {
            let found = slice.indices(x.shape()[axis] as isize)?;
            let (step, len) = (found.step.unsigned_abs(), found.slicelength);
            let last = found.start + (len as isize - 1) * found.step;
            let (low, high) = (found.start.min(last).max(0) as usize, found.start.max(last) as usize);
            if found.step < 0 && len > 1 {
                flips.push(axis as isize);
            }
            parts.push(if len == 0 {
                Part::Range(0, Some(0))
            } else {
                Part::Step(low, Some(high + 1), step)
            });
            sizes.push(len);
        } else {
            let (at, size) = (key.extract::<isize>()?, x.shape()[axis] as isize);
            if !(-size..size).contains(&at) {
                let text = format!("index: out of range: {at} on axis {axis} ({at} vs {size})");
                return Err(PyIndexError::new_err(text));
            }
            let at = at.rem_euclid(size) as usize;
            parts.push(Part::Range(at, Some(at + 1)));
        }
    }
    sizes.extend(&x.shape()[parts.len()..]);
    guarded(|| {
        let part = if parts.is_empty() { x.clone() } else { x.slice(parts) };
        let part = if flips.is_empty() { part } else { part.flip(&flips) };
        part.reshape(sizes)
    })
    .map(Some)
}

/// An array of numpy where arrays live that do not say so.
fn settled(tensor: Tensor) -> PyResult<Tensor> {
    let device = crate::device::default_device();
    guarded(|| tensor.to_device(&device))?.map_err(crate::errors::raised)
}

/// The tensor of an array or of a parameter.
fn held(object: &Bound<'_, PyAny>) -> Option<Tensor> {
    if let Ok(array) = object.cast::<PyArray>() {
        return Some(array.borrow().tensor.clone());
    }
    Some(object.cast::<PyParameter>().ok()?.get().parameter.value())
}

/// An array as an argument.
pub struct ArrayArg(pub Tensor);

impl<'a, 'py> FromPyObject<'a, 'py> for ArrayArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<ArrayArg> {
        if let Ok(array) = object.cast::<PyArray>() {
            return Ok(ArrayArg(array.borrow().tensor.clone()));
        }
        match object.extract::<Beside>() {
            Ok(Beside::Tensor(tensor)) => Ok(ArrayArg(tensor)),
            Ok(Beside::Host(tensor)) => Ok(ArrayArg(settled(tensor)?)),
            _ => Err(PyTypeError::new_err(format!(
                "an array is wanted here, not {}",
                object.get_type().name()?
            ))),
        }
    }
}
