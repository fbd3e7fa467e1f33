//! What may stand beside an array: another array, a number, or what numpy can make an array of.
//!
//! Invariant: a number takes the array's dtype, as it does beside a tensor in Rust. Start at [`Beside`].

use farad::{DType, Device, Tensor};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use crate::array::PyArray;
use crate::device::DeviceArg;
use crate::host::from_numpy;
use crate::parameter::PyParameter;

/// Largest whole number that a float holds with all below it.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// An operand.
pub enum Beside {
    /// An array.
    Tensor(Tensor),
    /// An array of numpy, on the CPU: it goes to the device of the array beside it.
    Host(Tensor),
    /// A number.
    Number(f64),
    /// A whole number that a float does not hold.
    Long(i128),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Beside {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Beside> {
        if let Ok(array) = object.cast::<PyArray>() {
            return Ok(Beside::Tensor(array.borrow().tensor.clone()));
        }
        if let Ok(number) = object.cast::<PyFloat>() {
            return Ok(Beside::Number(number.extract()?));
        }
        if let Ok(truth) = object.cast::<PyBool>() {
            return Ok(Beside::Number(truth.is_true() as u8 as f64));
        }
        if object.cast::<PyInt>().is_ok() {
            let long: i128 = object
                .extract()
                .map_err(|_| PyOverflowError::new_err("number: no dtype has a whole number this large"))?;
            let number = long as f64;
            return Ok(if number.abs() <= EXACT { Beside::Number(number) } else { Beside::Long(long) });
        }
        if let Ok(parameter) = object.cast::<PyParameter>() {
            return Ok(Beside::Tensor(parameter.get().parameter.value()));
        }
        if object.hasattr("__array_interface__")? {
            // Numpy's own numbers are numbers, as Python's are: they take the array's dtype.
            if object.is_instance(&object.py().import("numpy")?.getattr("generic")?)? {
                return Beside::extract(object.call_method0("item")?.as_borrowed());
            }
            return Ok(Beside::Host(from_numpy(&object, Some(DeviceArg(Device::cpu())))?));
        }
        Err(pyo3::exceptions::PyTypeError::new_err(format!(
            "operand: neither an array nor a number: {}",
            object.get_type().name()?
        )))
    }
}

impl Beside {
    /// The operand as a tensor beside `x`. May panic.
    pub fn tensor(&self, x: &Tensor) -> Tensor {
        match self {
            Beside::Tensor(tensor) => tensor.clone(),
            Beside::Host(tensor) => tensor.to_device(x.device()).unwrap_or_else(|error| panic!("{error}")),
            &Beside::Number(number) => {
                let fits = x.dtype().is_float() || number.fract() == 0.0;
                let like = if x.dtype() == DType::BF16 { x.cast(DType::F32) } else { x.clone() };
                if fits { like.full_like(number) } else { Tensor::full(number, [], x.device()) }
            }
            &Beside::Long(long) => long_tensor(long, x),
        }
    }
}

/// A whole number beyond what floats hold, in the dtype of `x`.
fn long_tensor(long: i128, x: &Tensor) -> Tensor {
    match (x.dtype(), i64::try_from(long), u64::try_from(long)) {
        (DType::I64, Ok(long), _) => Tensor::from_vec(vec![long], [], x.device()),
        (DType::U64, _, Ok(long)) => Tensor::from_vec(vec![long], [], x.device()),
        _ => x.full_like(long as f64),
    }
}

/// Both operands in a dtype that holds both on this device: where there are 64 bits, `u32` and `i32` meet in `i64`.
pub fn met(a: Tensor, b: Tensor) -> (Tensor, Tensor) {
    let mixed = matches!((a.dtype(), b.dtype()), (DType::I32, DType::U32) | (DType::U32, DType::I32));
    if mixed && !a.device().is_gpu() && !b.device().is_gpu() {
        return (a.cast(DType::I64), b.cast(DType::I64));
    }
    (a, b)
}
