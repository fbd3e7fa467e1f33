//! Circuits of gates as Python objects: simplify, prove, export, simulate.
//!
//! Invariant: a circuit never changes; what makes it smaller gives another. Start at [`PyCircuit`].

use std::path::PathBuf;
use std::time::Duration;

use farad::Tensor;
use farad_circuit::equivalence::{Budget, equivalent};
use farad_circuit::repair::{self, Circuits, RepairTask, StartingGrid, repair};
use farad_circuit::simplify::{SimplifyOptions, simplify, simplify_automaton};
use farad_circuit::{Circuit, Drawing, Format, Grid, Simulator, Statistics, export};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{ArrayArg, PyArray};
use crate::errors::{Exception, guarded};

/// An error of circuits as an exception.
fn refused(error: farad_circuit::Error) -> PyErr {
    Exception::Farad.with(error.to_string())
}

/// A circuit of two-input gates: a netlist, or the cell of an automaton.
#[pyclass(name = "Circuit", module = "farad.logic", frozen)]
pub struct PyCircuit {
    /// The circuit.
    pub circuit: Circuit,
}

impl PyCircuit {
    /// Work on the circuit while other Python threads go on.
    fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Circuit) -> farad_circuit::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| guarded(|| work(&self.circuit)))?.map_err(refused)
    }
}

#[pymethods]
impl PyCircuit {
    /// The circuit of a file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<PyCircuit> {
        Ok(PyCircuit {
            circuit: Circuit::read(path).map_err(|error| Exception::File.with(error.to_string()))?,
        })
    }

    /// The circuit in the text of a circuit file.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<PyCircuit> {
        let circuit = guarded(|| Circuit::from_json(text))?.map_err(refused)?;
        Ok(PyCircuit { circuit })
    }

    /// The text of its circuit file.
    fn to_json(&self) -> String {
        self.circuit.to_json()
    }

    fn __reduce__(slf: PyRef<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        let make = slf.py().get_type::<PyCircuit>().getattr("from_json")?;
        Ok((make.unbind(), (slf.circuit.to_json(),)))
    }

    /// Writes its circuit file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.circuit.write(path).map_err(|error| Exception::File.with(error.to_string()))
    }

    /// The name.
    #[getter]
    fn name(&self) -> &str {
        self.circuit.name()
    }

    /// Whether it is the cell of an automaton.
    #[getter]
    fn is_automaton(&self) -> bool {
        matches!(self.circuit, Circuit::Automaton(_))
    }

    /// The names of the inputs.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.circuit.netlist().inputs.clone()
    }

    /// The names of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.circuit.netlist().outputs.iter().map(|output| output.name.clone()).collect()
    }

    /// What can be counted: gates, depth, and more.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counted = Statistics::of(self.circuit.netlist());
        let all = PyDict::new(py);
        for (name, count) in [
            ("inputs", counted.inputs),
            ("registers", counted.registers),
            ("outputs", counted.outputs),
            ("gates", counted.gates),
            ("active", counted.active),
            ("live", counted.live),
            ("depth", counted.depth),
        ] {
            all.set_item(name, count)?;
        }
        Ok(all)
    }

    /// A smaller circuit that is proved to do the same.
    fn simplify(&self, py: Python<'_>) -> PyResult<PyCircuit> {
        let circuit = self.detached(py, |circuit| match circuit {
            Circuit::Netlist(netlist) => {
                Ok(Circuit::from(simplify(netlist, &SimplifyOptions::default())?.netlist))
            }
            Circuit::Automaton(automaton) => {
                Ok(Circuit::Automaton(simplify_automaton(automaton, &SimplifyOptions::default())?.automaton))
            }
        })?;
        Ok(PyCircuit { circuit })
    }

    /// Whether another circuit is proved to do the same: `True` or `False`; `None` if the budget ran out.
    fn prove(&self, py: Python<'_>, other: &PyCircuit) -> PyResult<Option<bool>> {
        let other = &other.circuit;
        self.detached(py, |circuit| {
            let answer = equivalent(circuit.netlist(), other.netlist(), &Budget::default())?;
            Ok(match answer.difference() {
                Some(_) => Some(false),
                None => answer.is_proved().then_some(true),
            })
        })
    }

    /// The files of a format by name: `verilog`, `blif`, `c`, `rust`, `wgsl`, `html` and others.
    fn export<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyDict>> {
        let format = Format::named(format).map_err(refused)?;
        let files = self.detached(py, |circuit| export(circuit, format))?;
        let all = PyDict::new(py);
        for (name, text) in files {
            all.set_item(name, text)?;
        }
        Ok(all)
    }

    /// The circuit as Verilog.
    fn verilog(&self, py: Python<'_>) -> PyResult<String> {
        self.first_file(py, "verilog")
    }

    /// The circuit as C.
    fn c(&self, py: Python<'_>) -> PyResult<String> {
        self.first_file(py, "c")
    }

    /// The outputs for rows of bits: `[samples, inputs]` gives `[samples, outputs]`, as `bool`.
    fn simulate(&self, py: Python<'_>, inputs: ArrayArg) -> PyResult<PyArray> {
        let x = inputs.0;
        let wanted = self.circuit.netlist().inputs.len();
        if x.rank() != 2 || x.shape()[1] != wanted {
            let text = format!("simulate: rows of {wanted} bits are wanted: {}", x.shape());
            return Err(Exception::Op.with(text));
        }
        let bits = crate::errors::detached(py, || x.cast(farad::DType::Bool).to_vec::<bool>())?;
        let samples = x.shape()[0];
        let planes = py.detach(|| guarded(|| planes_of(&bits, samples, wanted)))?;
        let results = self.detached(py, |circuit| {
            let simulator = Simulator::new(circuit.netlist())?;
            Ok(simulator.run(&planes.iter().map(Vec::as_slice).collect::<Vec<_>>()))
        })?;
        let count = results.len();
        let bit = |sample: usize, output: usize| results[output][sample / 64] >> (sample % 64) & 1 == 1;
        let rows: Vec<bool> = (0..samples * count).map(|at| bit(at / count, at % count)).collect();
        let made = guarded(|| Tensor::try_from_vec(&rows, [samples, count], x.device()))?;
        Ok(made.map_err(crate::errors::raised)?.into())
    }

    /// The pictures of an automaton's grid: from random cells, or zeros with `seed=None`; `[steps + 1, height, width]`.
    #[pyo3(signature = (width, height, steps, seed=None))]
    fn film(
        &self,
        py: Python<'_>,
        width: usize,
        height: usize,
        steps: usize,
        seed: Option<u64>,
    ) -> PyResult<PyArray> {
        let Circuit::Automaton(automaton) = &self.circuit else {
            return Err(PyTypeError::new_err("film: only automata have a grid"));
        };
        let work = || -> farad_circuit::Result<Vec<bool>> {
            let mut grid = Grid::new(automaton, width, height)?;
            if let Some(seed) = seed {
                grid.randomize(seed);
            }
            let mut all = grid.picture();
            for _ in 0..steps {
                grid.step();
                all.extend(grid.picture());
            }
            Ok(all)
        };
        let cells = py.detach(|| guarded(work))?.map_err(refused)?;
        let made =
            guarded(|| Tensor::try_from_vec(&cells, [steps + 1, height, width], &farad::Device::cpu()))?;
        Ok(made.map_err(crate::errors::raised)?.into())
    }

    /// Searches for a circuit that shows wanted cells after so many steps, from this automaton, which nearly does.
    ///
    /// `wanted` is `[height, width]`, or `[visible, height, width]`. The grid starts from `random` cells, from the cell in the
    /// `center`, or from `zeros`. Gives the best circuit, its wrong bits, and those of this one.
    #[pyo3(signature = (wanted, steps, origin="random", candidates=2_000_000, seconds=60.0, seed=0))]
    fn repair(
        &self,
        py: Python<'_>,
        wanted: ArrayArg,
        steps: usize,
        origin: &str,
        candidates: u64,
        seconds: f64,
        seed: u64,
    ) -> PyResult<(PyCircuit, u64, u64)> {
        let Circuit::Automaton(automaton) = &self.circuit else {
            return Err(PyTypeError::new_err("repair: only automata are repaired"));
        };
        let origin = match origin {
            "random" => StartingGrid::Random,
            "center" => StartingGrid::Center,
            "zeros" => StartingGrid::Zeros,
            _ => return Err(PyValueError::new_err("repair: the origin is random, center or zeros")),
        };
        let time =
            Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let (wanted, visible) = (wanted.0, automaton.visible.len());
        let (height, width) = match wanted.shape()[..] {
            [height, width] if visible == 1 => (height, width),
            [channels, height, width] if channels == visible => (height, width),
            _ => {
                let text = format!("repair: cells of {visible} channels are wanted: {}", wanted.shape());
                return Err(Exception::Op.with(text));
            }
        };
        let wanted = crate::errors::detached(py, || wanted.cast(farad::DType::Bool).to_vec::<bool>())?;
        let (edge, fire_rate) = (automaton.edge, automaton.fire_rate);
        let task = RepairTask { width, height, steps, edge, fire_rate, origin, wanted, others: vec![] };
        let options = repair::SearchOptions { candidates, time: Some(time), seed, ..Default::default() };
        let circuits = Circuits { learned: automaton, proposals: &[], simplified: None };
        let found = py.detach(|| guarded(|| repair(&circuits, &task, &options)))?.map_err(refused)?;
        Ok((PyCircuit { circuit: Circuit::Automaton(found.automaton) }, found.wrong, found.wrong_before))
    }

    /// A drawing, as SVG.
    fn svg(&self) -> PyResult<String> {
        guarded(|| match &self.circuit {
            Circuit::Netlist(netlist) => Drawing::new(self.circuit.name()).netlist("", netlist).svg(),
            Circuit::Automaton(automaton) => Drawing::new(self.circuit.name()).automaton("", automaton).svg(),
        })
    }

    fn _repr_html_(&self) -> PyResult<String> {
        self.svg()
    }

    fn __repr__(&self) -> String {
        let counted = Statistics::of(self.circuit.netlist());
        format!("Circuit('{}', {} gates, depth {})", self.circuit.name(), counted.active, counted.depth)
    }
}

impl PyCircuit {
    fn first_file(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        let format = Format::named(format).map_err(refused)?;
        Ok(self.detached(py, |circuit| export(circuit, format))?.swap_remove(0).1)
    }
}

/// Bits of rows as one plane of words per column.
fn planes_of(bits: &[bool], samples: usize, columns: usize) -> Vec<Vec<u64>> {
    let mut planes = vec![vec![0u64; samples.div_ceil(64).max(1)]; columns];
    for (at, _) in bits.iter().enumerate().filter(|(_, bit)| **bit) {
        let (sample, column) = (at / columns, at % columns);
        planes[column][sample / 64] |= 1 << (sample % 64);
    }
    planes
}
