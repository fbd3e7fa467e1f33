//! Data sets and the loader that brings batches to a device, as Python objects.
//!
//! Invariant: the same seed gives the same batches as in Rust. Start at [`PyLoader`].

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use farad::data::{self, Batches, DataLoader, Dataset, Split, TensorSet};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};

use crate::array::{ArrayArg, PyArray};
use crate::device::{DeviceArg, chosen};
use crate::errors::{Exception, detached, guarded};
use crate::keywords::Keywords;

/// A row of the table of data sets.
struct DataSetRow {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    make: fn(&Keywords) -> PyResult<farad::Result<TensorSet>>,
}

/// The part of a set that a word names.
fn split(k: &Keywords) -> PyResult<Split> {
    match k.or("split", "train".to_string())?.as_str() {
        "train" => Ok(Split::Train),
        "test" => Ok(Split::Test),
        other => Err(PyValueError::new_err(format!("split: train or test is wanted, not {other}"))),
    }
}

macro_rules! rows {
    ($($name:ident ($arguments:literal) $about:literal, |$k:ident| $make:expr;)*) => {
        const ROWS: &[DataSetRow] = &[$(DataSetRow {
            name: stringify!($name),
            arguments: $arguments,
            about: $about,
            make: |$k| Ok($make),
        }),*];
    };
}

#[rustfmt::skip]
rows! {
    arrays ("inputs, targets") "Samples along the first axes of two arrays.", |k| TensorSet::new(&k.need::<ArrayArg>("inputs")?.0, &k.need::<ArrayArg>("targets")?.0);
    moons ("count, noise=0.1, seed=0") "Points on two half circles.", |k| Ok(data::moons(k.need("count")?, k.or("noise", 0.1)?, k.or("seed", 0)?));
    blobs ("count, classes=3, noise=0.2, seed=0") "Points around centers.", |k| Ok(data::blobs(k.need("count")?, k.or("classes", 3)?, k.or("noise", 0.2)?, k.or("seed", 0)?));
    spirals ("count, arms=2, noise=0.05, seed=0") "Points on the arms of a spiral.", |k| Ok(data::spirals(k.need("count")?, k.or("arms", 2)?, k.or("noise", 0.05)?, k.or("seed", 0)?));
    digits ("count, seed=0") "Digits that are drawn, 28 by 28 pixels.", |k| Ok(data::digits(k.need("count")?, k.or("seed", 0)?));
    colored_digits ("count, seed=0") "Digits in color, 32 by 32 pixels.", |k| Ok(data::colored_digits(k.need("count")?, k.or("seed", 0)?));
    sine ("count, length=32, noise=0.05, seed=0") "Windows of a series, and what comes next.", |k| Ok(data::sine(k.need("count")?, k.or("length", 32)?, k.or("noise", 0.05)?, k.or("seed", 0)?));
    mnist ("folder, split='train'") "MNIST from its files.", |k| data::mnist(k.need::<PathBuf>("folder")?, split(k)?);
    fashion_mnist ("folder, split='train'") "Fashion-MNIST from its files.", |k| data::fashion_mnist(k.need::<PathBuf>("folder")?, split(k)?);
    cifar10 ("folder, split='train'") "CIFAR-10 from its files.", |k| data::cifar10(k.need::<PathBuf>("folder")?, split(k)?);
}

/// Samples: inputs with their targets.
#[pyclass(name = "DataSet", module = "farad.data", frozen)]
pub struct PyDataSet {
    set: Arc<TensorSet>,
}

#[pymethods]
impl PyDataSet {
    #[new]
    #[pyo3(signature = (kind, *arguments, **keywords))]
    fn new(
        kind: &str,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyDataSet> {
        let row = ROWS.iter().find(|row| row.name == kind);
        let row = row.ok_or_else(|| PyValueError::new_err(format!("data set: unknown kind: {kind}")))?;
        let keywords = Keywords::new(row.name, row.arguments, arguments, keywords)?;
        let set = guarded(|| (row.make)(&keywords))??;
        Ok(PyDataSet { set: Arc::new(set.map_err(|error| Exception::File.with(error.to_string()))?) })
    }

    fn __len__(&self) -> usize {
        self.set.len()
    }

    /// The names of the classes, if targets are classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.set.classes().to_vec()
    }
}

/// What a loader takes: a data set, or a pair of arrays.
struct Samples(Arc<TensorSet>);

impl<'a, 'py> FromPyObject<'a, 'py> for Samples {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Samples> {
        if let Ok(own) = object.cast::<PyDataSet>() {
            return Ok(Samples(own.get().set.clone()));
        }
        let pair = object.cast::<PyTuple>().ok().and_then(|pair| pair.extract::<(ArrayArg, ArrayArg)>().ok());
        let (inputs, targets) = pair.ok_or_else(|| {
            let kind = object.get_type().name().map(|name| name.to_string()).unwrap_or_default();
            let help = "farad.data has data sets; (inputs, targets) is one, too";
            PyTypeError::new_err(format!("loader: a data set is wanted, not {kind}\nhelp: {help}"))
        })?;
        let set = guarded(|| TensorSet::new(&inputs.0, &targets.0))?.map_err(crate::errors::raised)?;
        Ok(Samples(Arc::new(set)))
    }
}

/// The seed of the order: a number, or 0 for `True`; `False` is no shuffling.
struct Shuffle(Option<u64>);

impl<'a, 'py> FromPyObject<'a, 'py> for Shuffle {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Shuffle> {
        match object.cast::<PyBool>() {
            Ok(truth) => Ok(Shuffle(truth.is_true().then_some(0))),
            Err(_) => Ok(Shuffle(Some(object.extract()?))),
        }
    }
}

/// The loader between two batches, or between two epochs.
enum LoaderStanding {
    Idle(DataLoader),
    Running(Box<Batches<DataLoader>>),
    /// While it changes from one to the other.
    Between,
}

/// Batches of a data set on a device: `for x, y in loader` is one epoch.
#[pyclass(name = "DataLoader", module = "farad.data", frozen)]
pub struct PyLoader {
    standing: Mutex<LoaderStanding>,
    /// Batches per epoch.
    batches: usize,
}

#[pymethods]
impl PyLoader {
    #[new]
    #[pyo3(signature = (dataset, batch, shuffle=None, drop_last=false, workers=None, device=None))]
    fn new(
        dataset: Samples,
        batch: usize,
        shuffle: Option<Shuffle>,
        drop_last: bool,
        workers: Option<usize>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyLoader> {
        let (set, device) = (dataset.0, chosen(device));
        let loader = guarded(|| {
            let mut loader = DataLoader::new(set, batch).drop_last(drop_last).device(&device);
            if let Some(Shuffle(Some(seed))) = shuffle {
                loader = loader.shuffle(seed);
            }
            match workers {
                Some(workers) => loader.workers(workers),
                None => loader,
            }
        })?;
        let batches = loader.batches().map_err(crate::errors::raised)?;
        Ok(PyLoader { standing: Mutex::new(LoaderStanding::Idle(loader)), batches })
    }

    /// Batches per epoch.
    fn __len__(&self) -> usize {
        self.batches
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        {
            let mut standing = slf.standing.lock().unwrap_or_else(|e| e.into_inner());
            let loader = match std::mem::replace(&mut *standing, LoaderStanding::Between) {
                LoaderStanding::Idle(loader) => Some(loader),
                LoaderStanding::Running(batches) => Some(batches.into_loader()),
                LoaderStanding::Between => None,
            };
            if let Some(loader) = loader {
                *standing = LoaderStanding::Running(Box::new(loader.into_iter()));
            }
        }
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<(PyArray, PyArray)>> {
        let next = detached(py, || {
            let mut standing = self.standing.lock().unwrap_or_else(|e| e.into_inner());
            let LoaderStanding::Running(batches) = &mut *standing else { return Ok(None) };
            if let Some(batch) = batches.next() {
                return batch.map(Some);
            }
            if let LoaderStanding::Running(batches) =
                std::mem::replace(&mut *standing, LoaderStanding::Between)
            {
                *standing = LoaderStanding::Idle(batches.into_loader());
            }
            Ok(None)
        })?;
        Ok(next.map(|(x, y)| (x.into(), y.into())))
    }
}

/// The table of data sets: name, arguments, what it is.
#[pyfunction]
pub fn data_table() -> Vec<(&'static str, &'static str, &'static str)> {
    ROWS.iter().map(|row| (row.name, row.arguments, row.about)).collect()
}
