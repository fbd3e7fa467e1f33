//! Trainings of the command, from Python: what `farad train` learns, in a run folder.
//!
//! Invariant: a run that Python started can go on by the command, and the other way round. Ctrl-C and a notebook's
//! stop button end a training after its step, with a checkpoint. Start at [`train_run`].

use std::path::PathBuf;
use std::sync::Mutex;

use farad::Device;
use farad::fit::Supervised;
use farad::run::{Run, Stop};
use farad::train::{Asked, Kinds, Prediction, Progress, Training, TrainingKind, Watcher};
use farad_lm::train::Language;
use farad_logic::boolean::BooleanTables;
use farad_logic::classify::Classifiers;
use farad_logic::train::Automata;
use farad_rl::controller::Controllers;
use farad_rl::train::Worlds;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::ArrayArg;
use crate::device::DeviceArg;
use crate::errors::{guarded, raised};

/// All kinds.
const KINDS: Kinds =
    Kinds(&[&Automata, &Classifiers, &BooleanTables, &Supervised, &Language, &Worlds, &Controllers]);

/// What watches a training for Python.
struct PythonWatcher {
    callback: Option<Py<PyAny>>,
    stop: Stop,
    raised: Mutex<Option<PyErr>>,
}

impl PythonWatcher {
    fn tell(&self, done: u64, all: u64, losses: Vec<f32>, words: &str) {
        Python::attach(|py| {
            let told = py.check_signals().and_then(|()| match &self.callback {
                Some(callback) => callback.call1(py, (done, all, losses, words)).map(drop),
                None => Ok(()),
            });
            if let Err(error) = told {
                self.stop.set();
                self.raised.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
            }
        });
    }
}

impl Watcher for PythonWatcher {
    fn trained(&self, progress: &Progress) {
        self.tell(progress.step, progress.steps, progress.losses.clone(), &progress.words);
    }

    fn advanced(&self, done: u64, all: u64, what: &str) {
        self.tell(done, all, vec![], what);
    }
}

/// What a training gave: its folder, whether it was stopped, its results as JSON, and the same in words.
type TrainingEnd = (PathBuf, bool, Vec<String>, Vec<String>);

/// What a training needs, without Python.
struct TrainOrder {
    subject: String,
    folder: Option<PathBuf>,
    settings: Vec<(String, String)>,
    device: Option<Device>,
}

/// The first free folder of a name and a seed.
fn free_folder(name: &str, seed: u64) -> PathBuf {
    let numbered = |n: u32| {
        PathBuf::from(if n == 1 { format!("runs/{name}-{seed}") } else { format!("runs/{name}-{seed}-{n}") })
    };
    (1..).map(numbered).find(|path| !path.exists()).expect("there are enough numbers")
}

/// Starts a training, or goes on with the run of the folder, to its end.
fn carry_out(order: TrainOrder, resumes: bool, watcher: &PythonWatcher) -> farad::Result<TrainingEnd> {
    let run = match (&order.folder, resumes) {
        (Some(folder), true) => Some(Run::resume(folder)?),
        _ => None,
    };
    let (kind, subject) = kind_of(&order.subject, run.as_ref())?;
    let rows: Vec<&str> = kind.settings().iter().map(|row| row.key).collect();
    let (assigned, flags): (Vec<_>, Vec<_>) =
        order.settings.into_iter().partition(|(key, _)| rows.contains(&key.as_str()));
    let set: Vec<String> = assigned.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    let asked =
        Asked { subject: &subject, file: None, flags, set: &set, device: order.device, watcher, group: None };
    let (prepared, run) = match run {
        Some(run) => (kind.resume(&run, &asked)?, run),
        None => {
            let prepared = kind.prepare(&asked)?;
            let folder = order.folder.unwrap_or_else(|| free_folder(&subject, prepared.seed()));
            let run = Run::create(&folder, kind.name(), prepared.config())?;
            (prepared, run)
        }
    };
    let trainee = prepared.begin(&run)?;
    let mut training = Training::open(run, trainee)?;
    let summary = training.train(&watcher.stop, watcher)?;
    let folder = training.run().path().to_path_buf();
    if summary.interrupted {
        return Ok((folder, true, vec![], vec![]));
    }
    let outcome = training.conclude(&summary, watcher)?;
    Ok((folder, false, outcome.json.iter().map(|value| value.to_string()).collect(), outcome.lines))
}

fn kind_of(subject: &str, run: Option<&Run>) -> farad::Result<(&'static dyn TrainingKind, String)> {
    if let Some(run) = run {
        return Ok((KINDS.of(run)?, String::new()));
    }
    let found = KINDS.learning(subject).map(|(kind, subject)| (kind, subject.name.to_string()));
    found.ok_or_else(|| {
        let names: Vec<&str> =
            KINDS.all().flat_map(|kind| kind.subjects()).map(|subject| subject.name).collect();
        let text =
            format!("train: nothing of this name to learn: {subject}\nhelp: use one of {}", names.join(", "));
        farad::Error::Part(text.into())
    })
}

/// Trains a subject into a run folder, or goes on with a run.
#[pyfunction]
pub fn train_run(
    py: Python<'_>,
    subject: String,
    folder: Option<PathBuf>,
    settings: Vec<(String, String)>,
    device: Option<DeviceArg>,
    callback: Option<Py<PyAny>>,
    resumes: bool,
) -> PyResult<TrainingEnd> {
    let watcher = PythonWatcher { callback, stop: Stop::new(), raised: Mutex::new(None) };
    let order = TrainOrder { subject, folder, settings, device: device.map(|device| device.0) };
    let given = py.detach(|| guarded(|| carry_out(order, resumes, &watcher)))?;
    if let Some(error) = watcher.raised.lock().unwrap_or_else(|e| e.into_inner()).take() {
        return Err(error);
    }
    given.map_err(raised)
}

/// What can be learned: name and what it is.
#[pyfunction]
pub fn train_subjects() -> Vec<(&'static str, &'static str)> {
    KINDS.all().flat_map(|kind| kind.subjects()).map(|subject| (subject.name, subject.about)).collect()
}

/// What a subject can be told: key, and what it does.
#[pyfunction]
pub fn train_settings(subject: &str) -> PyResult<Vec<(&'static str, &'static str)>> {
    let (kind, _) = kind_of(subject, None).map_err(raised)?;
    Ok(kind.settings().into_iter().map(|row| (row.key, row.help)).collect())
}

/// What the model of a run says of samples: classes as whole numbers, or lists of numbers.
#[pyfunction]
#[pyo3(signature = (folder, samples, device=None))]
pub fn predict_run(
    py: Python<'_>,
    folder: PathBuf,
    samples: ArrayArg,
    device: Option<DeviceArg>,
) -> PyResult<Vec<Vec<f64>>> {
    let device = device.map_or_else(Device::cpu, |device| device.0);
    let work = || -> farad::Result<Vec<Prediction>> {
        let run = Run::open(&folder)?;
        KINDS.of(&run)?.predictor(&run, &device)?.predict(&samples.0)
    };
    let said = py.detach(|| guarded(work))?.map_err(raised)?;
    let numbers = |prediction: Prediction| match prediction {
        Prediction::Class { class, .. } => vec![class as f64],
        Prediction::Numbers(numbers) => numbers,
    };
    if said.is_empty() {
        return Err(PyValueError::new_err("predict: there are no samples"));
    }
    Ok(said.into_iter().map(numbers).collect())
}
