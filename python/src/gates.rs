//! Networks of soft gates, which learn which of the sixteen functions of two bits to be.

use farad::nn::{Layer, Module};
use farad_circuit::Circuit;
use farad_logic::GateNetwork;
use pyo3::prelude::*;

use crate::array::{ArrayArg, PyArray};
use crate::circuits::PyCircuit;
use crate::device::DeviceArg;
use crate::errors::{detached, guarded, raised};
use crate::parameter::PyParameter;

/// Layers of soft gates: `[batch, widths[0]]` gives `[batch, widths[-1]]`, numbers from 0 to 1.
#[pyclass(name = "GateNetwork", module = "farad.logic", frozen)]
pub struct PyGateNetwork {
    network: GateNetwork,
}

#[pymethods]
impl PyGateNetwork {
    #[new]
    #[pyo3(signature = (widths, seed=0))]
    fn new(widths: Vec<usize>, seed: u64) -> PyResult<PyGateNetwork> {
        Ok(PyGateNetwork { network: guarded(|| GateNetwork::new(&widths, seed))? })
    }

    /// What the soft gates say.
    fn __call__(&self, x: ArrayArg) -> PyResult<PyArray> {
        Ok(guarded(|| self.network.forward(&x.0))?.into())
    }

    /// What the gates say when each is the function that it is most.
    fn hard(&self, x: ArrayArg) -> PyResult<PyArray> {
        Ok(guarded(|| self.network.hard(&x.0))?.into())
    }

    /// The hard gates as a circuit.
    #[pyo3(signature = (name="network"))]
    fn harden(&self, name: &str) -> PyResult<PyCircuit> {
        let netlist = guarded(|| self.network.to_netlist(name))?.map_err(raised)?;
        Ok(PyCircuit { circuit: Circuit::from(netlist) })
    }

    /// The parameters that are trained.
    fn parameters(&self) -> Vec<PyParameter> {
        self.network.parameters().into_iter().map(|parameter| PyParameter { parameter }).collect()
    }

    /// All parameters with their paths.
    fn named_parameters(&self) -> Vec<(String, PyParameter)> {
        let all = self.network.named_parameters().into_iter();
        all.map(|(name, parameter)| (name, PyParameter { parameter })).collect()
    }

    /// Moves the parameters to a device.
    fn to(&self, py: Python<'_>, device: DeviceArg) -> PyResult<()> {
        let cells = self.network.named_parameters();
        let buffers = self.network.named_buffers();
        detached(py, || {
            cells.iter().try_for_each(|(_, parameter)| parameter.move_to(&device.0))?;
            buffers.iter().try_for_each(|(_, buffer)| buffer.move_to(&device.0))
        })
    }
}
