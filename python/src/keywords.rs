//! Arguments of table rows: positions and keywords of a call, by the names in the row.
//!
//! Invariant: an argument that the row does not name, one given twice, and one that is missing is a `TypeError`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The arguments of one call.
pub struct Keywords<'py> {
    name: &'static str,
    signature: &'static str,
    given: Bound<'py, PyDict>,
}

/// The arguments of a signature with their defaults. A comma in parentheses parts nothing.
fn parts(signature: &'static str) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    let mut depth = 0;
    let outside = signature.split(move |letter| {
        depth += (letter == '(') as i32 - (letter == ')') as i32;
        letter == ',' && depth == 0
    });
    outside.map(str::trim).filter(|part| !part.is_empty()).map(|part| match part.split_once('=') {
        Some((name, default)) => (name, Some(default)),
        None => (part, None),
    })
}

impl<'py> Keywords<'py> {
    /// The arguments by name. `signature` is as in a Python signature: `inputs, outputs, bias=True`.
    pub fn new(
        name: &'static str,
        signature: &'static str,
        positions: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Keywords<'py>> {
        let names: Vec<&str> = parts(signature).map(|(name, _)| name).collect();
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
        Ok(Keywords { name, signature, given })
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

    /// A number, or the default that stands in the signature.
    pub fn number(&self, name: &str) -> PyResult<Option<f64>> {
        let written = || {
            let (_, default) = parts(self.signature).find(|(own, _)| *own == name)?;
            default?.parse().ok()
        };
        Ok(self.get(name)?.or_else(written))
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
