//! Optimizers as Python objects, made from a table with one row each.
//!
//! Invariant: a step is what it is in Rust: gradients and update in one submission, replayed when it was seen before.

use std::sync::Mutex;

use farad::optim::{self, AnyOptimizer, Clip, Optimizer, UpdateRule, Updater};
use farad::{Parameter, Tensor};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::array::{ArrayArg, PyArray};
use crate::errors::{Exception, detached, guarded};
use crate::functions::told_by_python;
use crate::keywords::Keywords;
use crate::parameter::PyParameter;
use crate::schedules::ScheduleArg;

/// A row of the table.
pub struct OptimizerRow {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    make: fn(&Groups, &Keywords) -> PyResult<Box<dyn AnyOptimizer>>,
}

/// Parameters with a learning rate and a weight decay of their own, where they have any.
struct Group {
    parameters: Vec<Parameter>,
    learning_rate: Option<f64>,
    weight_decay: Option<f64>,
}

/// The groups of an optimizer, at least one.
pub struct Groups(Vec<Group>);

impl Groups {
    /// Parameters, or dictionaries with the keys `parameters`, `learning_rate` and `weight_decay`. What a group does not say
    /// is the optimizer's, and not that of the group before.
    fn of(given: &Bound<'_, PyAny>, k: &Keywords) -> PyResult<Groups> {
        let items: Vec<Bound<'_, PyAny>> = given.try_iter()?.collect::<PyResult<_>>()?;
        if !items.iter().any(|item| item.is_instance_of::<PyDict>()) {
            let parameters = cells(given)?;
            return Ok(Groups(vec![Group { parameters, learning_rate: None, weight_decay: None }]));
        }
        let mut groups = items.iter().map(Group::of).collect::<PyResult<Vec<Group>>>()?;
        for group in &mut groups {
            group.learning_rate = group.learning_rate.or(k.number("learning_rate")?);
            group.weight_decay = group.weight_decay.or(k.number("weight_decay")?);
        }
        Ok(Groups(groups))
    }

    fn first(&self) -> Vec<Parameter> {
        self.0[0].parameters.clone()
    }
}

impl Group {
    fn of(given: &Bound<'_, PyAny>) -> PyResult<Group> {
        const KEYS: [&str; 3] = ["parameters", "learning_rate", "weight_decay"];
        let wrong = |what: &str| {
            let help = "a group is a dictionary with parameters, and learning_rate or weight_decay";
            PyTypeError::new_err(format!("optimizer: {what}\nhelp: {help}"))
        };
        let all = given.cast::<PyDict>().map_err(|_| wrong("parameters stand beside groups"))?;
        for key in all.keys() {
            let key: String = key.extract()?;
            if !KEYS.contains(&key.as_str()) {
                return Err(wrong(&format!("groups have no {key}")));
            }
        }
        let number = |key: &str| all.get_item(key)?.map(|value| value.extract::<f64>()).transpose();
        let parameters = all.get_item(KEYS[0])?.ok_or_else(|| wrong("a group has no parameters"))?;
        Ok(Group {
            parameters: cells(&parameters)?,
            learning_rate: number(KEYS[1])?,
            weight_decay: number(KEYS[2])?,
        })
    }
}

/// The parameters in a list.
pub fn cells(given: &Bound<'_, PyAny>) -> PyResult<Vec<Parameter>> {
    let cell = |item: Bound<'_, PyAny>| match item.cast::<PyParameter>() {
        Ok(cell) => Ok(cell.get().parameter.clone()),
        Err(_) => Err(PyTypeError::new_err(format!(
            "optimizer: parameters are wanted, not {}\nhelp: model.parameters(), or fd.Parameter(array)",
            item.get_type().name()?
        ))),
    };
    given.try_iter()?.map(|item| cell(item?)).collect()
}

/// What all optimizers can be told, apart from groups.
fn finished<R: UpdateRule + Clone + Send + 'static>(
    made: Updater<R>,
    k: &Keywords,
) -> PyResult<Box<dyn AnyOptimizer>> {
    let made = match k.get::<ScheduleArg>("schedule")? {
        Some(schedule) => made.schedule(schedule.0),
        None => made,
    };
    let clip = match (k.get::<f32>("clip_norm")?, k.get::<f32>("clip_value")?) {
        (Some(norm), _) => Clip::Norm(norm),
        (_, Some(value)) => Clip::Value(value),
        _ => Clip::None,
    };
    Ok(Box::new(made.clip(clip)))
}

/// Numbers that were given, by methods of their name; then groups, and what all optimizers can be told.
macro_rules! finished {
    ($groups:ident, $k:ident, $made:ident $(, $name:ident)*) => {{
        let mut made = $made;
        $(if let Some(number) = $k.get::<f64>(stringify!($name))? {
            made = made.$name(number);
        })*
        if let Some(rate) = $k.get::<f64>("learning_rate")? {
            made = made.learning_rate(rate);
        }
        for (place, group) in $groups.0.iter().enumerate() {
            if place > 0 {
                made = made.group(group.parameters.clone());
            }
            if let Some(rate) = group.learning_rate {
                made = made.learning_rate(rate);
            }
            if let Some(decay) = group.weight_decay {
                made = made.weight_decay(decay);
            }
        }
        finished(made, $k)
    }};
}

macro_rules! rows {
    ($($name:ident ($arguments:literal) $about:literal, |$g:ident, $k:ident| $make:expr;)*) => {
        /// All optimizers.
        pub const ROWS: &[OptimizerRow] = &[$(OptimizerRow {
            name: stringify!($name),
            arguments: $arguments,
            about: $about,
            make: |$g, $k| $make,
        }),*];
    };
}

#[rustfmt::skip]
rows! {
    AdamW ("learning_rate=0.001, betas=(0.9, 0.999), epsilon=1e-8, weight_decay=0.01, clip_norm=None, clip_value=None, schedule=None") "Moments of gradients; decay shrinks weights directly.", |g, k| { let m = optim::AdamW::new(g.first()); let m = match k.get::<(f64, f64)>("betas")? { Some((a, b)) => m.betas(a, b), None => m }; finished!(g, k, m, epsilon, weight_decay) };
    Adam ("learning_rate=0.001, betas=(0.9, 0.999), epsilon=1e-8, weight_decay=0.0, clip_norm=None, clip_value=None, schedule=None") "Moments of gradients; decay is part of the gradient.", |g, k| { let m = optim::Adam::new(g.first()); let m = match k.get::<(f64, f64)>("betas")? { Some((a, b)) => m.betas(a, b), None => m }; finished!(g, k, m, epsilon, weight_decay) };
    Sgd ("learning_rate=0.01, momentum=0.0, dampening=0.0, nesterov=False, weight_decay=0.0, clip_norm=None, clip_value=None, schedule=None") "Stochastic gradient descent.", |g, k| { let m = optim::Sgd::new(g.first()); let m = if k.or("nesterov", false)? { m.nesterov() } else { m }; finished!(g, k, m, momentum, dampening, weight_decay) };
    RmsProp ("learning_rate=0.01, alpha=0.99, epsilon=1e-8, momentum=0.0, weight_decay=0.0, clip_norm=None, clip_value=None, schedule=None") "Gradients divided by the root of their running mean square.", |g, k| { let m = optim::RmsProp::new(g.first()); finished!(g, k, m, alpha, epsilon, momentum, weight_decay) };
    Adagrad ("learning_rate=0.01, epsilon=1e-10, weight_decay=0.0, clip_norm=None, clip_value=None, schedule=None") "Gradients divided by the root of the sum of their squares.", |g, k| { let m = optim::Adagrad::new(g.first()); finished!(g, k, m, epsilon, weight_decay) };
    Lion ("learning_rate=0.0001, betas=(0.9, 0.99), weight_decay=0.0, clip_norm=None, clip_value=None, schedule=None") "Steps of equal length by the sign of a mean of gradients.", |g, k| { let m = optim::Lion::new(g.first()); let m = match k.get::<(f64, f64)>("betas")? { Some((a, b)) => m.betas(a, b), None => m }; finished!(g, k, m, weight_decay) };
    Muon ("learning_rate=0.02, momentum=0.95, weight_decay=0.0, clip_norm=None, clip_value=None, schedule=None") "Momentum of matrices made orthogonal; AdamW for the rest.", |g, k| { let m = optim::Muon::new(g.first()); finished!(g, k, m, momentum, weight_decay) };
}

/// An optimizer of the table. `farad.optim` has a class for each row.
#[pyclass(name = "Optimizer", module = "farad.optim", subclass, frozen)]
pub struct PyOptimizer {
    optimizer: Mutex<Box<dyn AnyOptimizer>>,
    /// Whether a schedule sets the learning rate.
    scheduled: bool,
}

impl PyOptimizer {
    /// Work on the optimizer while other Python threads go on.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Box<dyn AnyOptimizer>) -> farad::Result<T> + Send,
    ) -> PyResult<T> {
        told_by_python(detached(py, || work(&mut self.optimizer.lock().unwrap_or_else(|e| e.into_inner()))))
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
        let keywords = Keywords::new(row.name, row.arguments, arguments, keywords)?;
        let groups = Groups::of(parameters, &keywords)?;
        let scheduled = keywords.get::<ScheduleArg>("schedule")?.is_some();
        let optimizer = guarded(|| (row.make)(&groups, &keywords))??;
        Ok(PyOptimizer { optimizer: Mutex::new(optimizer), scheduled })
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

    /// The learning rate, of the first group; with a schedule that of the last step.
    #[getter]
    fn learning_rate(&self, py: Python<'_>) -> PyResult<f64> {
        let rate = self.with(py, |optimizer| Ok(optimizer.learning_rate()))?;
        Ok(rate.to_string().parse()?) // 0.001, and not the nearest f32 as f64
    }

    #[setter]
    fn set_learning_rate(&self, py: Python<'_>, rate: f64) -> PyResult<()> {
        if self.scheduled {
            return Err(PyValueError::new_err("learning_rate: a schedule sets it"));
        }
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
    fn parameters(&self, py: Python<'_>) -> PyResult<Vec<PyParameter>> {
        let all = self.with(py, |optimizer| Ok(optimizer.parameters().to_vec()))?;
        Ok(all.into_iter().map(|parameter| PyParameter { parameter }).collect())
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
