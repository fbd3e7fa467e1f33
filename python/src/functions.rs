//! Functions that are no methods: new arrays, several arrays, loops, files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use farad::{DType, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::arguments::ShapeArg;
use crate::array::{ArrayArg, PyArray};
use crate::device::{DeviceArg, chosen};
use crate::dtype::DTypeArg;
use crate::errors::{Exception, detached, guarded};
use crate::operand::Beside;

/// All elements equal to a number.
#[pyfunction]
#[pyo3(signature = (shape, value, dtype, device=None))]
pub fn filled(
    shape: ShapeArg,
    value: Beside,
    dtype: DTypeArg,
    device: Option<DeviceArg>,
) -> PyResult<PyArray> {
    let device = chosen(device);
    guarded(|| {
        let like = Tensor::zeros([], &device).cast(dtype.0);
        let one = match dtype.0 {
            DType::BF16 => value.tensor(&like.cast(DType::F32)).cast(DType::BF16),
            _ => value.tensor(&like),
        };
        one.broadcast_to(shape.0)
    })
    .map(PyArray::from)
}

/// `0, 1, …, n - 1` as `int32`.
#[pyfunction]
#[pyo3(signature = (n, device=None))]
pub fn iota(n: usize, device: Option<DeviceArg>) -> PyResult<PyArray> {
    let device = chosen(device);
    guarded(|| Tensor::arange(n, &device)).map(PyArray::from)
}

/// Arrays as tensors.
pub fn tensors(arrays: Vec<ArrayArg>) -> Vec<Tensor> {
    arrays.into_iter().map(|array| array.0).collect()
}

/// Arrays one after the other along an axis.
#[pyfunction]
pub fn concat_arrays(arrays: Vec<ArrayArg>, axis: isize) -> PyResult<PyArray> {
    let all = tensors(arrays);
    guarded(|| Tensor::concat(&all.iter().collect::<Vec<_>>(), axis)).map(PyArray::from)
}

/// Arrays along a new axis.
#[pyfunction]
pub fn stack_arrays(arrays: Vec<ArrayArg>, axis: isize) -> PyResult<PyArray> {
    let all = tensors(arrays);
    guarded(|| Tensor::stack(&all.iter().collect::<Vec<_>>(), axis)).map(PyArray::from)
}

/// Runs what several arrays need, together.
#[pyfunction]
#[pyo3(signature = (*arrays))]
pub fn compute(py: Python<'_>, arrays: Vec<ArrayArg>) -> PyResult<()> {
    let all = tensors(arrays);
    detached(py, || Tensor::compute_all(&all.iter().collect::<Vec<_>>()))
}

/// Random numbers of a kind: `bits`, `uniform`, `normal`, or `mask` with a probability. With a key, numbers at that
/// seed and place; else the device's next ones.
#[pyfunction]
#[pyo3(signature = (kind, shape, key=None, probability=0.5, device=None))]
pub fn random(
    kind: &str,
    shape: ShapeArg,
    key: Option<(u64, u64)>,
    probability: f64,
    device: Option<DeviceArg>,
) -> PyResult<PyArray> {
    let (device, shape) = (chosen(device), shape.0);
    guarded(|| match (kind, key) {
        ("bits", Some((seed, place))) => Tensor::random_bits_at(seed, place, shape, &device),
        ("bits", None) => Tensor::random_bits(shape, &device),
        ("uniform", Some((seed, place))) => Tensor::rand_at(seed, place, shape, &device),
        ("uniform", None) => Tensor::rand(shape, &device),
        ("normal", Some((seed, place))) => Tensor::randn_at(seed, place, shape, &device),
        ("normal", None) => Tensor::randn(shape, &device),
        ("mask", Some((seed, place))) => Tensor::random_mask_at(seed, place, probability, shape, &device),
        ("mask", None) => Tensor::random_mask(probability, shape, &device),
        _ => panic!("random: unknown kind: {kind}"),
    })
    .map(PyArray::from)
}

thread_local! {
    /// What a Python function refused while a body was recorded; it is raised again afterwards.
    static REFUSED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// What Python gave while something was recorded. An exception ends the recording, by a panic that [`told_by_python`]
/// turns into the exception again.
pub fn recorded<T>(result: PyResult<T>) -> T {
    result.unwrap_or_else(|error| {
        REFUSED.set(Some(error));
        panic!("the body failed")
    })
}

/// A result, with the exception that Python raised in a recording instead of what followed from it.
pub fn told_by_python<T>(result: PyResult<T>) -> PyResult<T> {
    result.map_err(|error| REFUSED.take().unwrap_or(error))
}

/// Calls a body that Python wrote.
fn call_body(
    body: &Bound<'_, PyAny>,
    arguments: impl FnOnce(Python<'_>) -> PyResult<Py<PyTuple>>,
) -> (Vec<Tensor>, Vec<Tensor>) {
    let call = || -> PyResult<(Vec<Tensor>, Vec<Tensor>)> {
        let result = body.call1(arguments(body.py())?.into_bound(body.py()))?;
        let (carries, results): (Vec<ArrayArg>, Vec<ArrayArg>) = result.extract()?;
        Ok((tensors(carries), tensors(results)))
    };
    recorded(call())
}

/// Tensors as a list of arrays.
pub fn list<'py>(py: Python<'py>, tensors: &[Tensor]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, tensors.iter().map(|tensor| PyArray::from(tensor.clone())).collect::<Vec<_>>())
}

/// What a loop gave, or what its body raised.
fn finished(result: PyResult<(Vec<Tensor>, Vec<Tensor>)>) -> PyResult<(Vec<PyArray>, Vec<PyArray>)> {
    let arrays = |all: Vec<Tensor>| all.into_iter().map(PyArray::from).collect();
    told_by_python(result).map(|(carries, results)| (arrays(carries), arrays(results)))
}

/// A loop over the first axis of sequences, recorded once.
#[pyfunction]
pub fn scan_arrays(
    body: &Bound<'_, PyAny>,
    carries: Vec<ArrayArg>,
    sequences: Vec<ArrayArg>,
    reverse: bool,
) -> PyResult<(Vec<PyArray>, Vec<PyArray>)> {
    let (carries, sequences) = (tensors(carries), tensors(sequences));
    let (first, second): (Vec<&Tensor>, Vec<&Tensor>) =
        (carries.iter().collect(), sequences.iter().collect());
    finished(guarded(|| {
        farad::scan_along(&first, &second, reverse, |carry, slice| {
            call_body(body, |py| Ok((list(py, carry)?, list(py, slice)?).into_pyobject(py)?.unbind()))
        })
    }))
}

/// A loop that runs so many times, recorded once.
#[pyfunction]
pub fn repeat_body(
    body: &Bound<'_, PyAny>,
    steps: usize,
    carries: Vec<ArrayArg>,
) -> PyResult<(Vec<PyArray>, Vec<PyArray>)> {
    let carries = tensors(carries);
    let first: Vec<&Tensor> = carries.iter().collect();
    finished(guarded(|| {
        farad::repeat(steps, &first, |carry, number| {
            call_body(body, |py| {
                Ok((list(py, carry)?, PyArray::from(number.clone()).into_pyobject(py)?)
                    .into_pyobject(py)?
                    .unbind())
            })
        })
    }))
}

/// A function of one array whose values gradients compute again instead of keeping them.
#[pyfunction]
pub fn checkpoint(body: &Bound<'_, PyAny>, x: ArrayArg) -> PyResult<PyArray> {
    let result = guarded(|| {
        farad::checkpoint(&x.0, |x| {
            let call = || -> PyResult<Tensor> {
                let array = PyArray::from(x.clone()).into_pyobject(body.py())?;
                Ok(body.call1((array,))?.extract::<ArrayArg>()?.0)
            };
            recorded(call())
        })
    });
    told_by_python(result).map(PyArray::from)
}

/// Writes named arrays to a safetensors file.
#[pyfunction]
pub fn save(py: Python<'_>, path: PathBuf, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
    let mut all: BTreeMap<String, Tensor> = BTreeMap::new();
    for (name, value) in arrays {
        all.insert(name.extract()?, value.extract::<ArrayArg>()?.0);
    }
    detached(py, || farad::StateDict::from_tensors(all).write(&path))
}

/// The named arrays of a safetensors file, or of a file of numpy's with the ending `.npz`.
#[pyfunction]
pub fn load<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    if path.extension().is_some_and(|end| ["pt", "pth", "bin", "ckpt"].iter().any(|other| end == *other)) {
        let help = "save it once by safetensors.torch.save_file(model.state_dict(), \"model.safetensors\")";
        let text = format!("load: files of PyTorch are not read: {}\nhelp: {help}", path.display());
        return Err(Exception::File.with(text));
    }
    let state = detached(py, || farad::StateDict::read(&path))?;
    let all = PyDict::new(py);
    for name in state.names() {
        if let Some(tensor) = state.get(name) {
            all.set_item(name, PyArray::from(tensor.clone()).into_pyobject(py)?)?;
        }
    }
    Ok(all)
}
