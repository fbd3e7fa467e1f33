//! Worlds and the agents that learn in them: worlds of the library, and worlds that are written in Python.
//!
//! A world in Python is a class whose functions record ops on arrays. They are called while an update is recorded, and not at
//! every step: a roll-out is one loop on the device.
//!
//! Invariant: an exception in a world's function ends the update and is raised again. Start at [`PyWorld`].

use std::sync::{Arc, Mutex};

use farad::train::settings::SettingsTable as _;
use farad::{Device, Tensor};
use farad_rl::train::{ALGORITHMS, Algorithm, NamedAlgorithm, NamedWorld, Settings, WORLDS};
use farad_rl::{Actions, Actor, Agents, Environment, Transition, episodes, trace};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{ArrayArg, PyArray};
use crate::device::{DeviceArg, PyDevice, chosen};
use crate::errors::{detached, guarded, raised};
use crate::functions::{list, recorded, tensors, told_by_python};

/// A world that Python wrote. Its object takes and gives lists of arrays; `farad/rl.py` sees to that.
struct PythonWorld {
    object: Py<PyAny>,
    observations: usize,
    actions: Actions,
    longest: usize,
}

impl Environment for PythonWorld {
    fn observations(&self) -> usize {
        self.observations
    }

    fn actions(&self) -> Actions {
        self.actions
    }

    fn longest(&self) -> usize {
        self.longest
    }

    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        let device = PyDevice { device: device.clone() };
        recorded(Python::attach(|py| {
            let state = self.object.bind(py).call_method1("begin", (worlds, device))?;
            Ok(tensors(state.extract::<Vec<ArrayArg>>()?))
        }))
    }

    fn observe(&self, state: &[Tensor]) -> Tensor {
        recorded(Python::attach(|py| {
            let seen = self.object.bind(py).call_method1("observe", (list(py, state)?,))?;
            Ok(seen.extract::<ArrayArg>()?.0)
        }))
    }

    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition {
        recorded(Python::attach(|py| {
            let action = PyArray::from(action.clone());
            let next = self.object.bind(py).call_method1("step", (list(py, state)?, action))?;
            let (state, reward, ended): (Vec<ArrayArg>, ArrayArg, ArrayArg) = next.extract()?;
            Ok(Transition { state: tensors(state), reward: reward.0, ended: ended.0 })
        }))
    }
}

/// Many worlds that agents act in, all at once.
#[pyclass(name = "World", module = "farad.rl", frozen, subclass)]
pub struct PyWorld {
    environment: Arc<dyn Environment>,
    /// Its row, if it is one of the library's.
    row: Option<&'static NamedWorld>,
}

#[pymethods]
impl PyWorld {
    /// A world that Python wrote.
    #[staticmethod]
    fn written(
        object: Py<PyAny>,
        observations: usize,
        discrete: bool,
        actions: usize,
        longest: usize,
    ) -> PyResult<PyWorld> {
        if observations == 0 || actions == 0 || longest == 0 {
            return Err(PyValueError::new_err("world: observations, actions and longest are at least 1"));
        }
        let actions = if discrete { Actions::Discrete(actions) } else { Actions::Continuous(actions) };
        let environment = Arc::new(PythonWorld { object, observations, actions, longest });
        Ok(PyWorld { environment, row: None })
    }

    /// A world of the library.
    #[staticmethod]
    #[pyo3(signature = (name, device=None))]
    fn named(py: Python<'_>, name: &str, device: Option<DeviceArg>) -> PyResult<PyWorld> {
        let row = NamedWorld::of(name).filter(|row| row.name != "world").ok_or_else(|| {
            let names: Vec<&str> =
                WORLDS.iter().map(|row| row.name).filter(|name| *name != "world").collect();
            PyValueError::new_err(format!(
                "world: there is no `{name}`\nhelp: use one of {}",
                names.join(", ")
            ))
        })?;
        let device = chosen(device);
        let environment = detached(py, || (row.make)(&Settings::new(row, "ppo"), &device))?;
        Ok(PyWorld { environment, row: Some(row) })
    }

    /// Numbers that an agent sees of a world.
    #[getter]
    fn observations(&self) -> usize {
        self.environment.observations()
    }

    /// The most steps of an episode.
    #[getter]
    fn longest(&self) -> usize {
        self.environment.longest()
    }

    /// Choices of an action, or the numbers that it is made of.
    #[getter]
    fn actions(&self) -> usize {
        self.environment.actions().outputs()
    }

    /// Whether an action is one of several choices.
    #[getter]
    fn is_discrete(&self) -> bool {
        matches!(self.environment.actions(), Actions::Discrete(_))
    }

    /// States of so many worlds at their start.
    #[pyo3(signature = (worlds, device=None))]
    fn begin(&self, worlds: usize, device: Option<DeviceArg>) -> PyResult<Vec<PyArray>> {
        let device = chosen(device);
        let state = told_by_python(guarded(|| self.environment.begin(worlds, &device)))?;
        Ok(state.into_iter().map(PyArray::from).collect())
    }

    /// What agents see, `[worlds, observations]`.
    fn observe(&self, state: Vec<ArrayArg>) -> PyResult<PyArray> {
        let state = tensors(state);
        Ok(told_by_python(guarded(|| self.environment.observe(&state)))?.into())
    }

    /// One step of all worlds: the next state, rewards, and which worlds ended.
    fn step(&self, state: Vec<ArrayArg>, action: ArrayArg) -> PyResult<(Vec<PyArray>, PyArray, PyArray)> {
        let state = tensors(state);
        let next = told_by_python(guarded(|| self.environment.step(&state, &action.0)))?;
        Ok((next.state.into_iter().map(PyArray::from).collect(), next.reward.into(), next.ended.into()))
    }
}

/// Agents that learn in a world.
#[pyclass(name = "Learner", module = "farad.rl", frozen)]
pub struct PyLearner {
    algorithm: Mutex<Box<dyn Algorithm>>,
    settings: Settings,
}

impl PyLearner {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Box<dyn Algorithm>) -> farad::Result<T> + Send,
    ) -> PyResult<T> {
        told_by_python(detached(py, || work(&mut self.algorithm.lock().unwrap_or_else(|e| e.into_inner()))))
    }
}

#[pymethods]
impl PyLearner {
    #[new]
    #[pyo3(signature = (world, algorithm, settings, device=None))]
    fn new(
        py: Python<'_>,
        world: &PyWorld,
        algorithm: &str,
        settings: Vec<(String, String)>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyLearner> {
        let row = NamedAlgorithm::of(algorithm).ok_or_else(|| {
            let names: Vec<&str> = ALGORITHMS.iter().map(|row| row.name).collect();
            let text =
                format!("learner: no such algorithm: {algorithm}\nhelp: use one of {}", names.join(", "));
            PyValueError::new_err(text)
        })?;
        let mut all = match world.row {
            Some(row) => Settings::new(row, algorithm),
            None => {
                let mut usual = Settings { algorithm: algorithm.into(), ..Settings::default() };
                (row.usual)(&mut usual);
                usual
            }
        };
        for (key, text) in settings {
            all.assign(&key, &text).map_err(raised)?;
        }
        let (device, environment) = (chosen(device), world.environment.clone());
        let made = detached(py, || {
            device.seed(all.seed);
            farad::seed(all.seed);
            (row.make)(environment, &all, &device)
        });
        Ok(PyLearner { algorithm: Mutex::new(told_by_python(made)?), settings: all })
    }

    /// One update, or one generation. Gives its statistics, `[seeds, columns]`, without waiting for them.
    fn update(&self, py: Python<'_>) -> PyResult<PyArray> {
        Ok(self.with(py, |algorithm| algorithm.update())?.into())
    }

    /// An error that names update, step, world and body if a world exploded so far. The statistics of its agent are not finite.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |algorithm| algorithm.check())
    }

    /// What the columns of `update` are.
    #[getter]
    fn columns(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        self.with(py, |algorithm| Ok(algorithm.columns().to_vec()))
    }

    /// How many updates were planned.
    #[getter]
    fn updates(&self) -> u64 {
        self.settings.updates
    }

    /// Most steps per update, over all worlds.
    #[getter]
    fn steps_per_update(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |algorithm| Ok(algorithm.steps_per_update()))
    }

    /// The agents as they are now.
    fn agents(&self, py: Python<'_>) -> PyResult<PyAgents> {
        Ok(PyAgents { agents: self.with(py, |algorithm| algorithm.agents().detach())? })
    }

    /// Goes on with the weights of other agents.
    fn take(&self, py: Python<'_>, agents: &PyAgents) -> PyResult<()> {
        self.with(py, |algorithm| algorithm.take(&agents.agents))
    }

    /// Everything that training needs to go on, as named arrays.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        named(py, self.with(py, |algorithm| Ok(algorithm.tensors()))?)
    }

    /// Goes on from what `state_dict` gave after so many updates.
    fn load_state_dict(&self, py: Python<'_>, state: &Bound<'_, PyDict>, updates: u64) -> PyResult<()> {
        let mut all: Vec<(String, Tensor)> = vec![];
        for (name, value) in state {
            all.push((name.extract()?, value.extract::<ArrayArg>()?.0));
        }
        self.with(py, |algorithm| algorithm.restore(&all, updates))
    }
}

/// Arrays by their names.
fn named(py: Python<'_>, tensors: Vec<(String, Tensor)>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for (name, tensor) in tensors {
        all.set_item(name, PyArray::from(tensor).into_pyobject(py)?)?;
    }
    Ok(all)
}

/// Agents that take their best action, one per seed.
#[pyclass(name = "Agents", module = "farad.rl", frozen)]
pub struct PyAgents {
    agents: Agents,
}

#[pymethods]
impl PyAgents {
    fn __len__(&self) -> usize {
        self.agents.agents()
    }

    /// One of them.
    fn __getitem__(&self, agent: usize) -> PyResult<PyAgents> {
        if agent >= self.agents.agents() {
            let text = format!("agents: there is no {agent} ({agent} vs {})", self.agents.agents());
            return Err(pyo3::exceptions::PyIndexError::new_err(text));
        }
        Ok(PyAgents { agents: guarded(|| self.agents.one(agent))? })
    }

    /// The best actions for what is seen, `[agents · worlds, observations]`.
    fn act(&self, seen: ArrayArg) -> PyResult<PyArray> {
        Ok(guarded(|| self.agents.act(&seen.0))?.into())
    }

    /// Sums of rewards and lengths of one episode in each of so many worlds, `[agents, worlds]` each.
    #[pyo3(signature = (world, worlds=100, device=None))]
    fn returns(
        &self,
        py: Python<'_>,
        world: &PyWorld,
        worlds: usize,
        device: Option<DeviceArg>,
    ) -> PyResult<(PyArray, PyArray)> {
        let device = chosen(device);
        let found = detached(py, || {
            let totals = episodes(&*world.environment, &self.agents, worlds, None, &device);
            let all = [&totals.returns, &totals.lengths].into_iter().chain(&totals.broken);
            Tensor::compute_all(&all.collect::<Vec<_>>())?;
            totals.check(&*world.environment)?;
            Ok((totals.returns, totals.lengths))
        });
        let (totals, lengths) = told_by_python(found)?;
        Ok((totals.into(), lengths.into()))
    }

    /// One episode of the first agent, step by step: states, actions and rewards, as lists of numbers.
    #[pyo3(signature = (world, device=None))]
    fn episode(
        &self,
        py: Python<'_>,
        world: &PyWorld,
        device: Option<DeviceArg>,
    ) -> PyResult<(Vec<Vec<f32>>, Vec<Vec<f32>>, Vec<f32>)> {
        let device = chosen(device);
        let played =
            told_by_python(detached(py, || trace(&*world.environment, &self.agents.one(0), &device)))?;
        Ok((played.states, played.actions, played.rewards))
    }

    /// Their weights, as named arrays.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tensors = self.agents.tensors().into_iter().cloned();
        named(py, self.agents.names().into_iter().zip(tensors).collect())
    }
}

/// The worlds of the library: name and what it is.
#[pyfunction]
pub fn world_table() -> Vec<(&'static str, &'static str)> {
    WORLDS.iter().filter(|row| row.name != "world").map(|row| (row.name, row.about)).collect()
}

/// What a training of agents can be told: key and what it does.
#[pyfunction]
pub fn agent_settings() -> Vec<(&'static str, &'static str)> {
    Settings::rows().into_iter().map(|row| (row.key, row.help)).collect()
}
