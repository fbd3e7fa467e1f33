//! Learning rates as functions of the step, made from a table with one row each.
//!
//! Invariant: a schedule gives the rates of its namesake in Rust. Start at [`ROWS`].

use std::sync::{Arc, Mutex};

use farad::optim::schedule::{self, Annealing, PlateauState, Schedule};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::guarded;
use crate::functions::{recorded, told_by_python};
use crate::keywords::Keywords;

/// A schedule that optimizers and Python hold together.
#[derive(Clone)]
pub struct Shared(Arc<dyn Schedule + Send + Sync>);

impl Schedule for Shared {
    fn rate(&self, step: u64) -> f32 {
        self.0.rate(step)
    }
}

/// A row of the table.
pub struct ScheduleRow {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    make: fn(&Keywords) -> PyResult<Shared>,
}

fn shared(schedule: impl Schedule + Send + Sync + 'static) -> PyResult<Shared> {
    Ok(Shared(Arc::new(schedule)))
}

/// Sets what was given by methods of its name.
macro_rules! set {
    ($k:ident, $made:expr $(, $name:ident)*) => {{
        let mut made = $made;
        $(if let Some(value) = $k.get(stringify!($name))? {
            made = made.$name(value);
        })*
        shared(made)
    }};
}

macro_rules! rows {
    ($($name:ident ($arguments:literal) $about:literal, |$k:ident| $make:expr;)*) => {
        /// All schedules.
        pub const ROWS: &[ScheduleRow] = &[$(ScheduleRow {
            name: stringify!($name),
            arguments: $arguments,
            about: $about,
            make: |$k| $make,
        }),*];
    };
}

#[rustfmt::skip]
rows! {
    Constant ("rate") "The same rate in every step.", |k| shared(schedule::Constant(k.need("rate")?));
    Step ("rate, every, factor=0.1") "Multiplied by a factor after every so many steps.", |k| set!(k, schedule::Step::new(k.need("rate")?, k.need("every")?), factor);
    MultiStep ("rate, milestones, factor=0.1") "Multiplied by a factor at milestones.", |k| set!(k, schedule::MultiStep::new(k.need("rate")?, k.need::<Vec<u64>>("milestones")?), factor);
    Exponential ("rate, factor") "Multiplied by a factor in every step.", |k| shared(schedule::Exponential::new(k.need("rate")?, k.need("factor")?));
    Linear ("rate, steps, start=0.3333333333333333, end=1.0") "Along a line, from one share of the rate to another.", |k| shared(schedule::Linear::new(k.need("rate")?, k.need("steps")?).from(k.or("start", 1.0 / 3.0)?).to(k.or("end", 1.0)?));
    Polynomial ("rate, steps, power=1.0") "Down to zero by a power of the steps that are left.", |k| set!(k, schedule::Polynomial::new(k.need("rate")?, k.need("steps")?), power);
    Cosine ("rate, steps, minimum=0.0") "Down along half a cosine.", |k| set!(k, schedule::Cosine::new(k.need("rate")?, k.need("steps")?), minimum);
    CosineRestarts ("rate, steps, growth=1, minimum=0.0") "Down along half a cosine, again and again; each time so many times as long.", |k| set!(k, schedule::CosineRestarts::new(k.need("rate")?, k.need("steps")?), growth, minimum);
    OneCycle ("rate, steps, rise=0.3, start_divisor=25.0, end_divisor=10000.0, linear=False, three_phases=False") "Up to the rate and far down again.", |k| { let made = schedule::OneCycle::new(k.need("rate")?, k.need("steps")?); let made = if k.or("linear", false)? { made.annealing(Annealing::Linear) } else { made }; let made = if k.or("three_phases", false)? { made.three_phases() } else { made }; set!(k, made, rise, start_divisor, end_divisor) };
    Warmup ("steps, then, start=None") "Up along a line in the first steps, and then as another schedule.", |k| { let made = schedule::Warmup::new(k.need("steps")?, k.need::<ScheduleArg>("then")?.0); match k.get("start")? { Some(share) => shared(made.from(share)), None => shared(made) } };
    Lambda ("rate, share") "The rate times what a function gives for the step.", |k| { let share: Py<PyAny> = k.need("share")?; shared(schedule::Lambda::new(k.need("rate")?, move |step| share_of(&share, step))) };
}

/// What a function of Python gives for a step. What it raises is raised again by the step.
fn share_of(share: &Py<PyAny>, step: u64) -> f64 {
    recorded(Python::attach(|py| share.call1(py, (step,))?.extract(py)))
}

/// A schedule as an argument.
pub struct ScheduleArg(pub Shared);

impl<'a, 'py> FromPyObject<'a, 'py> for ScheduleArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<ScheduleArg> {
        match object.cast::<PySchedule>() {
            Ok(own) => Ok(ScheduleArg(own.get().schedule.clone())),
            Err(_) => Err(pyo3::exceptions::PyTypeError::new_err(format!(
                "a schedule is wanted, not {}\nhelp: farad.schedule has them; Lambda takes a function",
                object.get_type().name()?
            ))),
        }
    }
}

/// A schedule of the table. `farad.schedule` has a class for each row.
#[pyclass(name = "Schedule", module = "farad.schedule", subclass, frozen)]
pub struct PySchedule {
    schedule: Shared,
}

#[pymethods]
impl PySchedule {
    #[new]
    #[pyo3(signature = (kind, *arguments, **keywords))]
    fn new(
        kind: &str,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PySchedule> {
        let row = ROWS.iter().find(|row| row.name == kind);
        let row = row.ok_or_else(|| PyValueError::new_err(format!("schedule: unknown kind: {kind}")))?;
        let keywords = Keywords::new(row.name, row.arguments, arguments, keywords)?;
        Ok(PySchedule { schedule: guarded(|| (row.make)(&keywords))?? })
    }

    /// The rate of a step, counted from 0.
    fn rate(&self, step: u64) -> PyResult<f64> {
        Ok(told_by_python(guarded(|| self.schedule.rate(step)))? as f64)
    }

    fn __call__(&self, step: u64) -> PyResult<f64> {
        self.rate(step)
    }
}

/// A rate that falls when a metric stops getting better. `opt.learning_rate = plateau.observe(loss)` after every epoch.
///
/// >>> from farad import schedule
/// >>> plateau = schedule.Plateau(0.5, patience=0)
/// >>> plateau.observe(1.0), round(plateau.observe(1.0), 3)
/// (0.5, 0.05)
#[pyclass(name = "Plateau", module = "farad.schedule", frozen)]
pub struct PyPlateau {
    plateau: Mutex<schedule::Plateau>,
}

#[pymethods]
impl PyPlateau {
    #[new]
    #[pyo3(signature = (rate, factor=0.1, patience=10, threshold=1e-4, absolute=false, cooldown=0, minimum=0.0, larger_is_better=false))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        rate: f64,
        factor: f64,
        patience: u64,
        threshold: f64,
        absolute: bool,
        cooldown: u64,
        minimum: f64,
        larger_is_better: bool,
    ) -> PyPlateau {
        let made = schedule::Plateau::new(rate).factor(factor).patience(patience).cooldown(cooldown);
        let made = if absolute { made.absolute_threshold(threshold) } else { made.threshold(threshold) };
        let made = if larger_is_better { made.larger_is_better() } else { made };
        PyPlateau { plateau: Mutex::new(made.minimum(minimum)) }
    }

    /// Takes a metric, and gives the rate from now on.
    fn observe(&self, metric: f32) -> f64 {
        self.plateau.lock().unwrap_or_else(|e| e.into_inner()).observe(metric) as f64
    }

    /// The rate now.
    #[getter]
    fn rate(&self) -> f64 {
        self.plateau.lock().unwrap_or_else(|e| e.into_inner()).rate() as f64
    }

    /// What the next rate depends on: the rate, the best metric, how many were no better, how many are still let pass.
    #[getter]
    fn state(&self) -> (f64, Option<f64>, u64, u64) {
        let state = self.plateau.lock().unwrap_or_else(|e| e.into_inner()).state();
        (state.rate, state.best, state.bad, state.rest)
    }

    #[setter]
    fn set_state(&self, state: (f64, Option<f64>, u64, u64)) {
        let (rate, best, bad, rest) = state;
        let state = PlateauState { rate, best, bad, rest };
        self.plateau.lock().unwrap_or_else(|e| e.into_inner()).restore(state);
    }
}

/// The table of schedules: name, arguments, what it is.
#[pyfunction]
pub fn schedule_table() -> Vec<(&'static str, &'static str, &'static str)> {
    ROWS.iter().map(|row| (row.name, row.arguments, row.about)).collect()
}
