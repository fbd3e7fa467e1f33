//! ONNX models: read, run, trained and written.

use std::path::PathBuf;

use farad::nn::Module;
use farad::{DType, Tensor};
use farad_onnx::proto::Message;
use farad_onnx::{Model, Ports, export};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::array::{ArrayArg, PyArray};
use crate::device::DeviceArg;
use crate::errors::{Exception, detached, guarded, raised};
use crate::parameter::PyParameter;

/// A model of an ONNX file. Called with arrays in the order of its inputs, or by name.
#[pyclass(name = "OnnxModel", module = "farad.onnx", frozen)]
pub struct OnnxModel {
    model: Model,
}

#[pymethods]
impl OnnxModel {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<OnnxModel> {
        let read = py.detach(|| guarded(|| Model::load(&path)))?;
        Ok(OnnxModel { model: read.map_err(|error| Exception::File.with(error.to_string()))? })
    }

    /// The names of what goes in.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.model.inputs().iter().map(|port| port.name.clone()).collect()
    }

    /// The names of what comes out.
    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.model.outputs().iter().map(|port| port.name.clone()).collect()
    }

    #[pyo3(signature = (*inputs, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let names = self.inputs();
        if inputs.len() > names.len() {
            return Err(PyTypeError::new_err(format!(
                "onnx: too many inputs ({} vs {})",
                inputs.len(),
                names.len()
            )));
        }
        let mut given: Vec<(String, Tensor)> = Vec::new();
        for (name, value) in names.into_iter().zip(inputs) {
            given.push((name, value.extract::<ArrayArg>()?.0));
        }
        for (name, value) in named.into_iter().flatten() {
            given.push((name.extract()?, value.extract::<ArrayArg>()?.0));
        }
        let pairs: Vec<(&str, &Tensor)> =
            given.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        let results = guarded(|| self.model.run(&pairs))?.map_err(raised)?;
        let mut arrays: Vec<PyArray> = results.into_iter().map(|(_, tensor)| tensor.into()).collect();
        if arrays.len() == 1 {
            return Ok(arrays.swap_remove(0).into_pyobject(py)?.into_any());
        }
        Ok(PyTuple::new(py, arrays)?.into_any())
    }

    /// All parameters with their paths.
    fn named_parameters(&self) -> Vec<(String, PyParameter)> {
        let all = self.model.named_parameters().into_iter();
        all.map(|(name, parameter)| (name, PyParameter { parameter })).collect()
    }

    /// The parameters that are trained.
    fn parameters(&self) -> Vec<PyParameter> {
        self.model.parameters().into_iter().map(|parameter| PyParameter { parameter }).collect()
    }

    /// Moves the parameters to a device.
    fn to(&self, py: Python<'_>, device: DeviceArg) -> PyResult<()> {
        let (cells, buffers) = (self.model.named_parameters(), self.model.named_buffers());
        detached(py, || {
            cells.iter().try_for_each(|(_, parameter)| parameter.move_to(&device.0))?;
            buffers.iter().try_for_each(|(_, buffer)| buffer.move_to(&device.0))
        })
    }
}

/// The bytes of an ONNX file of what a function computes of `[batch, ..]`. `state` is by name what the function uses.
#[pyfunction]
pub fn onnx_bytes<'py>(
    forward: &Bound<'py, PyAny>,
    state: &Bound<'py, PyDict>,
    shape: Vec<usize>,
    whole: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = forward.py();
    let mut named: Vec<(String, Tensor)> = Vec::new();
    for (name, value) in state {
        named.push((name.extract()?, value.extract::<ArrayArg>()?.0));
    }
    let dtype = if whole { DType::I32 } else { DType::F32 };
    let ports = Ports { input: "x", shape: &shape, dtype, output: "y" };
    let refused = std::cell::RefCell::new(None);
    let exported = guarded(|| {
        export(&named, &ports, |x| {
            let call = || -> PyResult<Tensor> {
                let x = PyArray::from(x.clone()).into_pyobject(py)?;
                Ok(forward.call1((x,))?.extract::<ArrayArg>()?.0)
            };
            call().unwrap_or_else(|error| {
                refused.replace(Some(error));
                panic!("the function failed")
            })
        })
    });
    let file = exported.map_err(|error| refused.take().unwrap_or(error))?.map_err(raised)?;
    Ok(PyBytes::new(py, &file.encode()))
}
