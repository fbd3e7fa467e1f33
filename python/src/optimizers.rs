//! Optimizers as Python objects, made from a table with one row each.
//!
//! Invariant: a step is what it is in Rust: gradients and update in one submission, replayed when it was seen before.

use std::sync::Mutex;

use farad::optim::{self, AnyOptimizer, Clip, Optimizer, UpdateRule, Updater};
use farad::{Parameter, Tensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::array::{ArrayArg, PyArray};
use crate::errors::{Exception, detached, guarded};
use crate::keywords::Keywords;
use crate::parameter::PyParameter;

/// A row of the table.
pub struct OptimizerRow {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    make: fn(Vec<Parameter>, &Keywords) -> PyResult<Box<dyn AnyOptimizer>>,
}

/// What all optimizers can be told.
fn finished<R: UpdateRule + Clone + Send + 'static>(
    made: Updater<R>,
    k: &Keywords,
) -> PyResult<Box<dyn AnyOptimizer>> {
    let made = match k.get::<f64>("learning_rate")? {
        Some(rate) => made.learning_rate(rate),
        None => made,
    };
    let clip = match (k.get::<f32>("clip_norm")?, k.get::<f32>("clip_value")?) {
        (Some(norm), _) => Clip::Norm(norm),
        (_, Some(value)) => Clip::Value(value),
        _ => Clip::None,
    };
    Ok(Box::new(made.clip(clip)))
}

macro_rules! optional {
    ($k:ident, $made:ident $(, $name:ident)*) => {{
        let mut made = $made;
        $(if let Some(number) = $k.get::<f64>(stringify!($name))? {
            made = made.$name(number);
        })*
        made
    }};
}

macro_rules! rows {
    ($($name:ident ($arguments:literal) $about:literal, |$p:ident, $k:ident| $make:expr;)*) => {
        /// All optimizers.
        pub const ROWS: &[OptimizerRow] = &[$(OptimizerRow {
            name: stringify!($name),
            arguments: $arguments,
            about: $about,
            make: |$p, $k| $make,
        }),*];
    };
}

#[rustfmt::skip]
rows! {
    AdamW ("learning_rate=0.001, betas=(0.9, 0.999), epsilon=1e-8, weight_decay=0.01, clip_norm=None, clip_value=None") "Moments of gradients; decay shrinks weights directly.", |p, k| { let m = optim::AdamW::new(p); let m = match k.get::<(f64, f64)>("betas")? { Some((a, b)) => m.betas(a, b), None => m }; finished(optional!(k, m, epsilon, weight_decay), k) };
    Adam ("learning_rate=0.001, betas=(0.9, 0.999), epsilon=1e-8, weight_decay=0.0, clip_norm=None, clip_value=None") "Moments of gradients; decay is part of the gradient.", |p, k| { let m = optim::Adam::new(p); let m = match k.get::<(f64, f64)>("betas")? { Some((a, b)) => m.betas(a, b), None => m }; finished(optional!(k, m, epsilon, weight_decay), k) };
    Sgd ("learning_rate=0.01, momentum=0.0, dampening=0.0, nesterov=False, weight_decay=0.0, clip_norm=None, clip_value=None") "Stochastic gradient descent.", |p, k| { let m = optim::Sgd::new(p); let m = if k.or("nesterov", false)? { m.nesterov() } else { m }; finished(optional!(k, m, momentum, dampening, weight_decay), k) };
    RmsProp ("learning_rate=0.01, alpha=0.99, epsilon=1e-8, momentum=0.0, weight_decay=0.0, clip_norm=None, clip_value=None") "Gradients divided by the root of their running mean square.", |p, k| { let m = optim::RmsProp::new(p); finished(optional!(k, m, alpha, epsilon, momentum, weight_decay), k) };
    Adagrad ("learning_rate=0.01, epsilon=1e-10, weight_decay=0.0, clip_norm=None, clip_value=None") "Gradients divided by the root of the sum of their squares.", |p, k| { let m = optim::Adagrad::new(p); finished(optional!(k, m, epsilon, weight_decay), k) };
    Lion ("learning_rate=0.0001, betas=(0.9, 0.99), weight_decay=0.0, clip_norm=None, clip_value=None") "Steps of equal length by the sign of a mean of gradients.", |p, k| { let m = optim::Lion::new(p); let m = match k.get::<(f64, f64)>("betas")? { Some((a, b)) => m.betas(a, b), None => m }; finished(optional!(k, m, weight_decay), k) };
    Muon ("learning_rate=0.02, momentum=0.95, weight_decay=0.0, clip_norm=None, clip_value=None") "Momentum of matrices made orthogonal; AdamW for the rest.", |p, k| { let m = optim::Muon::new(p); finished(optional!(k, m, momentum, weight_decay), k) };
}

/// An optimizer of the table. `farad.optim` has a class for each row.
#[pyclass(name = "Optimizer", module = "farad.optim", subclass, frozen)]
pub struct PyOptimizer {
    optimizer: Mutex<Box<dyn AnyOptimizer>>,
    rate: Mutex<Option<f64>>,
}

impl PyOptimizer {
    /// Work on the optimizer while other Python threads go on.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Box<dyn AnyOptimizer>) -> farad::Result<T> + Send,
    ) -> PyResult<T> {
        detached(py, || work(&mut self.optimizer.lock().unwrap_or_else(|e| e.into_inner())))
    }
}

#[pymethods]
impl PyOptimizer {
    #[new]
    #[pyo3(signature = (kind, parameters, *arguments, **keywords))]
    fn new(
        kind: &str,
        parameters: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyOptimizer> {
        let row = ROWS.iter().find(|row| row.name == kind);
        let row = row.ok_or_else(|| PyValueError::new_err(format!("optimizer: unknown kind: {kind}")))?;
        let cells: Vec<Parameter> = parameters
            .try_iter()?
            .map(|item| Ok(item?.cast::<PyParameter>()?.get().parameter.clone()))
            .collect::<PyResult<_>>()?;
        let keywords = Keywords::new(row.name, row.arguments, arguments, keywords)?;
        let rate = keywords.get("learning_rate")?;
        let optimizer = guarded(|| (row.make)(cells, &keywords))??;
        Ok(PyOptimizer { optimizer: Mutex::new(optimizer), rate: Mutex::new(rate) })
    }

    /// Gradients of the loss and the update, together: one submission, no waiting.
    fn step(&self, py: Python<'_>, loss: ArrayArg) -> PyResult<()> {
        self.with(py, |optimizer| optimizer.step(&loss.0))
    }

    /// The update from gradients made elsewhere, one for each parameter.
    fn apply(&self, py: Python<'_>, gradients: Vec<ArrayArg>) -> PyResult<()> {
        let gradients: Vec<Tensor> = gradients.into_iter().map(|gradient| gradient.0).collect();
        self.with(py, |optimizer| optimizer.apply(&gradients))
    }

    /// The gradients of a loss as `apply` takes them.
    fn gradients(&self, py: Python<'_>, loss: ArrayArg) -> PyResult<Vec<PyArray>> {
        Ok(self.with(py, |optimizer| optimizer.gradients(&loss.0))?.into_iter().map(PyArray::from).collect())
    }

    /// The learning rate that was last set; `None` if it is the optimizer's own.
    #[getter]
    fn learning_rate(&self) -> Option<f64> {
        *self.rate.lock().unwrap_or_else(|e| e.into_inner())
    }

    #[setter]
    fn set_learning_rate(&self, py: Python<'_>, rate: f64) -> PyResult<()> {
        *self.rate.lock().unwrap_or_else(|e| e.into_inner()) = Some(rate);
        self.with(py, |optimizer| {
            optimizer.set_learning_rate(rate as f32);
            Ok(())
        })
    }

    /// How many steps were skipped because a gradient was not finite, in mixed precision or with clipping. Waits.
    fn overflows(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |optimizer| optimizer.overflows())
    }

    /// The parameters, in order.
    #[getter]
    fn parameters(&self) -> Vec<PyParameter> {
        let optimizer = self.optimizer.lock().unwrap_or_else(|e| e.into_inner());
        optimizer.parameters().iter().map(|parameter| PyParameter { parameter: parameter.clone() }).collect()
    }

    /// Steps, moments and the loss scale, as named arrays.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, tensor) in self.with(py, |optimizer| optimizer.state())? {
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
        if all.is_empty() {
            return Err(Exception::Op.with("load_state_dict: nothing in it"));
        }
        self.with(py, |optimizer| optimizer.restore(&all))
    }
}

/// The table of optimizers: name, arguments, what it is.
#[pyfunction]
pub fn optimizer_table() -> Vec<(&'static str, &'static str, &'static str)> {
    ROWS.iter().map(|row| (row.name, row.arguments, row.about)).collect()
}
