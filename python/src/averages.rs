//! What trainings keep beside an optimizer: averages of weights, and sums of gradients.

use std::sync::Mutex;

use farad::Tensor;
use farad::optim::{Accumulator, WeightAverage};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{ArrayArg, PyArray};
use crate::errors::detached;
use crate::optimizers::cells;

/// A moving average of parameters. `with average:` puts it in their place, for evaluation.
///
/// >>> import farad as fd
/// >>> w = fd.Parameter(fd.zeros((2,)))
/// >>> average = fd.optim.WeightAverage([w], decay=0.75)
/// >>> w.value = fd.ones((2,)) * 4
/// >>> average.update()
/// >>> with average:
/// ...     w.value.tolist()
/// [1.0, 1.0]
/// >>> w.value.tolist()
/// [4.0, 4.0]
#[pyclass(name = "WeightAverage", module = "farad.optim", frozen)]
pub struct PyWeightAverage {
    average: Mutex<WeightAverage>,
}

impl PyWeightAverage {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut WeightAverage) -> farad::Result<T> + Send,
    ) -> PyResult<T> {
        detached(py, || work(&mut self.average.lock().unwrap_or_else(|e| e.into_inner())))
    }
}

#[pymethods]
impl PyWeightAverage {
    #[new]
    #[pyo3(signature = (parameters, decay=0.999, warmup=false))]
    fn new(py: Python<'_>, parameters: &Bound<'_, PyAny>, decay: f64, warmup: bool) -> PyResult<Self> {
        let parameters = cells(parameters)?;
        let average = detached(py, || {
            let made = WeightAverage::new(parameters, decay);
            Ok(if warmup { made.warmup() } else { made })
        })?;
        Ok(PyWeightAverage { average: Mutex::new(average) })
    }

    /// Takes the parameters as they are now into the average. Call it after a step.
    fn update(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |average| average.update())
    }

    /// The averages, one per parameter.
    #[getter]
    fn values(&self, py: Python<'_>) -> PyResult<Vec<PyArray>> {
        let all = self.with(py, |average| Ok(average.values().to_vec()))?;
        Ok(all.into_iter().map(PyArray::from).collect())
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().with(slf.py(), |average| {
            average.swap_in();
            Ok(())
        })?;
        Ok(slf)
    }

    #[pyo3(signature = (*_what))]
    fn __exit__(&self, py: Python<'_>, _what: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.with(py, |average| {
            average.swap_out();
            Ok(())
        })
    }

    /// The averages and how many updates they had, as named arrays.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, tensor) in self.with(py, |average| average.state())? {
            all.set_item(name, PyArray::from(tensor).into_pyobject(py)?)?;
        }
        Ok(all)
    }

    /// Restores what `state_dict` gave, for the same parameters in the same order.
    fn load_state_dict(&self, py: Python<'_>, state: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut all: Vec<(String, Tensor)> = Vec::new();
        for (name, value) in state {
            all.push((name.extract()?, value.extract::<ArrayArg>()?.0));
        }
        self.with(py, |average| average.restore(&all))
    }
}

/// Sums of gradients: a step as of a large batch, from small ones that fit into memory.
///
/// >>> import farad as fd
/// >>> w = fd.Parameter(fd.zeros((1,)))
/// >>> sgd, sums = fd.optim.Sgd([w], learning_rate=1.0), fd.optim.Accumulator()
/// >>> for target in (1.0, 3.0):
/// ...     sums.add(sgd.gradients((w - target).square().mean()))
/// >>> sgd.apply(sums.take())
/// >>> w.value.tolist()
/// [4.0]
#[pyclass(name = "Accumulator", module = "farad.optim", frozen)]
pub struct PyAccumulator {
    sums: Mutex<Accumulator>,
}

#[pymethods]
impl PyAccumulator {
    #[new]
    fn new() -> PyAccumulator {
        PyAccumulator { sums: Mutex::new(Accumulator::new()) }
    }

    /// Adds the gradients of a batch, one per parameter.
    fn add(&self, py: Python<'_>, gradients: Vec<ArrayArg>) -> PyResult<()> {
        let gradients: Vec<Tensor> = gradients.into_iter().map(|gradient| gradient.0).collect();
        detached(py, || self.sums.lock().unwrap_or_else(|e| e.into_inner()).add(&gradients))
    }

    /// How many batches were added since the sums were taken.
    #[getter]
    fn batches(&self) -> usize {
        self.sums.lock().unwrap_or_else(|e| e.into_inner()).batches()
    }

    /// The mean gradients of the batches, for `opt.apply`; begins anew.
    fn take(&self, py: Python<'_>) -> PyResult<Vec<PyArray>> {
        let means = detached(py, || Ok(self.sums.lock().unwrap_or_else(|e| e.into_inner()).take()))?;
        Ok(means.into_iter().map(PyArray::from).collect())
    }
}
