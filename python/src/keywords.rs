//! Arguments of table rows: positions and keywords of a call, by the names in the row.
//!
//! Invariant: an argument that the row does not name, one given twice, and one that is missing is a `TypeError`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The arguments of one call.
pub struct Keywords<'py> {
    name: &'static str,
    given: Bound<'py, PyDict>,
}

impl<'py> Keywords<'py> {
    /// The arguments by name. `names` is as in a Python signature: `inputs, outputs, bias=True`.
    pub fn new(
        name: &'static str,
        names: &'static str,
        positions: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Keywords<'py>> {
        let names: Vec<&str> = names
            .split(", ")
            .filter_map(|name| name.split('=').next())
            .filter(|name| !name.is_empty())
            .collect();
        let wrong = |what: String| {
            PyTypeError::new_err(format!("{name}: {what}\nhelp: it takes {}", names.join(", ")))
        };
        let given = PyDict::new(positions.py());
        if positions.len() > names.len() {
            return Err(wrong(format!("too many arguments ({} vs {})", positions.len(), names.len())));
        }
        for (name, value) in names.iter().zip(positions) {
            given.set_item(name, value)?;
        }
        for (key, value) in keywords.into_iter().flatten() {
            let key: String = key.extract()?;
            if !names.contains(&key.as_str()) || given.contains(&key)? {
                return Err(wrong(format!("no such argument, or given twice: {key}")));
            }
            given.set_item(key, value)?;
        }
        Ok(Keywords { name, given })
    }

    /// An argument, if it was given and is not `None`.
    pub fn get<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        match self.given.get_item(name)? {
            Some(value) if !value.is_none() => match value.extract::<T>() {
                Ok(value) => Ok(Some(value)),
                Err(error) => {
                    let error: PyErr = error.into();
                    Err(PyTypeError::new_err(format!("{}: {name}: {error}", self.name)))
                }
            },
            _ => Ok(None),
        }
    }

    /// An argument, or its default.
    pub fn or<T>(&self, name: &str, default: T) -> PyResult<T>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        Ok(self.get(name)?.unwrap_or(default))
    }

    /// An argument that has no default.
    pub fn need<T>(&self, name: &str) -> PyResult<T>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        self.get(name)?
            .ok_or_else(|| PyTypeError::new_err(format!("{}: an argument is missing: {name}", self.name)))
    }
}
