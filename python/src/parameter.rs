//! Parameters as Python objects: cells that hold their current array.

use farad::Parameter;
use pyo3::prelude::*;

use crate::array::{ArrayArg, PyArray};
use crate::device::DeviceArg;
use crate::errors::detached;

/// A cell that holds an array which is trained.
///
/// >>> import farad as fd
/// >>> w = fd.Parameter(fd.ones((2,)))
/// >>> w.value.tolist()
/// [1.0, 1.0]
#[pyclass(name = "Parameter", module = "farad", frozen, weakref, skip_from_py_object)]
pub struct PyParameter {
    /// The cell.
    pub parameter: Parameter,
}

#[pymethods]
impl PyParameter {
    #[new]
    fn new(value: &Bound<'_, PyAny>) -> PyResult<PyParameter> {
        // Lists and numbers, too: whatever `fd.asarray` takes.
        let made = value.py().import("farad._creation")?.call_method1("asarray", (value,))?;
        Ok(PyParameter { parameter: Parameter::new(made.extract::<ArrayArg>()?.0) })
    }

    /// The current array.
    #[getter]
    fn value(&self) -> PyArray {
        self.parameter.value().into()
    }

    #[setter]
    fn set_value(&self, value: ArrayArg) {
        self.parameter.set(value.0);
    }

    /// Whether it is taken out of training.
    #[getter]
    fn frozen(&self) -> bool {
        self.parameter.is_frozen()
    }

    /// Takes it out of training: a module's `parameters` leave it out.
    fn freeze(&self) {
        self.parameter.freeze();
    }

    /// Takes it back into training.
    fn unfreeze(&self) {
        self.parameter.unfreeze();
    }

    /// Moves it to a device.
    fn to(&self, py: Python<'_>, device: DeviceArg) -> PyResult<()> {
        detached(py, || self.parameter.move_to(&device.0))
    }
}
