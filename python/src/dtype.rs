//! Element types as Python objects, and the names that the standard gives them.
//!
//! Invariant: there is one row per dtype of the library. Start at [`DTypeRow`].

use farad::DType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// What Python knows of a dtype.
pub struct DTypeRow {
    /// The dtype.
    pub dtype: DType,
    /// Its name in Python.
    pub name: &'static str,
    /// What numpy's array interface calls it; `None` where numpy has no such type.
    pub interface: Option<&'static str>,
}

const fn row(dtype: DType, name: &'static str, interface: Option<&'static str>) -> DTypeRow {
    DTypeRow { dtype, name, interface }
}

/// All dtypes.
pub const ROWS: [DTypeRow; 13] = [
    row(DType::Bool, "bool", Some("|b1")),
    row(DType::I8, "int8", Some("|i1")),
    row(DType::I16, "int16", Some("<i2")),
    row(DType::I32, "int32", Some("<i4")),
    row(DType::I64, "int64", Some("<i8")),
    row(DType::U8, "uint8", Some("|u1")),
    row(DType::U16, "uint16", Some("<u2")),
    row(DType::U32, "uint32", Some("<u4")),
    row(DType::U64, "uint64", Some("<u8")),
    row(DType::F16, "float16", Some("<f2")),
    row(DType::BF16, "bfloat16", None),
    row(DType::F32, "float32", Some("<f4")),
    row(DType::F64, "float64", Some("<f8")),
];

/// The row of a dtype.
pub fn row_of(dtype: DType) -> &'static DTypeRow {
    ROWS.iter().find(|row| row.dtype == dtype).expect("every dtype has a row")
}

/// An element type: `fd.float32` and its like.
#[pyclass(name = "DType", module = "farad", frozen, skip_from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PyDType {
    /// The dtype.
    pub dtype: DType,
}

#[pymethods]
impl PyDType {
    /// The name, e.g. `float32`.
    #[getter]
    fn name(&self) -> &'static str {
        row_of(self.dtype).name
    }

    /// Bytes per element in an array on the host.
    #[getter]
    fn itemsize(&self) -> usize {
        if self.dtype == DType::Bool { 1 } else { self.dtype.size() }
    }

    /// `bool`, `signed integer`, `unsigned integer` or `real floating`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.dtype {
            DType::Bool => "bool",
            dtype if dtype.is_float() => "real floating",
            dtype if dtype.is_signed_int() => "signed integer",
            _ => "unsigned integer",
        }
    }

    /// Equal to itself, and to what numpy or a name calls so: `x.dtype == np.float32`, `x.dtype == "float32"`.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.extract::<DTypeArg>().is_ok_and(|other| other.0 == self.dtype)
    }

    fn __hash__(&self) -> usize {
        ROWS.iter().position(|row| row.dtype == self.dtype).unwrap_or_default()
    }

    fn __repr__(&self) -> String {
        format!("farad.{}", row_of(self.dtype).name)
    }

    fn __str__(&self) -> &'static str {
        row_of(self.dtype).name
    }

    fn __reduce__(slf: PyRef<'_, Self>) -> PyResult<(Py<PyAny>, (&'static str,))> {
        let make = slf.py().import("farad._farad")?.getattr("dtype")?;
        Ok((make.unbind(), (row_of(slf.dtype).name,)))
    }
}

/// The dtype of this name, or of what numpy calls so.
#[pyfunction]
pub fn dtype(name: DTypeArg) -> PyDType {
    PyDType { dtype: name.0 }
}

/// A dtype as an argument: an object of [`PyDType`], a name, a numpy dtype, or Python's `bool`, `int` or `float`.
#[derive(Clone, Copy)]
pub struct DTypeArg(pub DType);

impl<'a, 'py> FromPyObject<'a, 'py> for DTypeArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<DTypeArg> {
        if let Ok(own) = object.cast::<PyDType>() {
            return Ok(DTypeArg(own.get().dtype));
        }
        let name: String = match object.extract() {
            Ok(name) => name,
            Err(_) => match object.getattr("name").and_then(|name| name.extract()) {
                Ok(name) => name,
                Err(_) => object.getattr("__name__").and_then(|name| name.extract()).unwrap_or_default(),
            },
        };
        match name.as_str() {
            "float" => Ok(DTypeArg(DType::F32)),
            "int" => Ok(DTypeArg(DType::I32)),
            "bool_" => Ok(DTypeArg(DType::Bool)),
            name => {
                let row = ROWS.iter().find(|row| row.name == name || row.dtype.name() == name);
                let shown = object.repr().map(|text| text.to_string()).unwrap_or_default();
                row.map(|row| DTypeArg(row.dtype)).ok_or_else(|| {
                    PyTypeError::new_err(format!(
                        "dtype: unknown: {shown}\nhelp: use one of {}",
                        ROWS.map(|row| row.name).join(", ")
                    ))
                })
            }
        }
    }
}
