//! Farad for Python: the module `farad._farad`, which the package `farad` beside it is made of.
//!
//! Invariant: nothing here computes anything of its own. Arrays are tensors of the library (`array`), ops are rows of a
//! table (`ops`), and errors are exceptions with the same texts (`errors`). Start at `array`.

mod arguments;
mod array;
mod averages;
mod charts;
mod circuits;
mod data;
mod device;
mod dtype;
mod errors;
mod functions;
mod gates;
mod host;
mod keywords;
mod language;
mod layers;
mod lines;
mod onnx;
mod operand;
mod ops;
mod optimizers;
mod parameter;
mod precision;
mod runs;
mod schedules;
mod worlds;

use pyo3::prelude::*;
use pyo3::wrap_pyfunction;

/// The compiled part of the package `farad`.
#[pymodule]
fn _farad(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::quiet_panics();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<array::PyArray>()?;
    module.add_class::<dtype::PyDType>()?;
    module.add_class::<device::PyDevice>()?;
    module.add_class::<host::HostMemory>()?;
    module.add_class::<parameter::PyParameter>()?;
    module.add_class::<layers::PyLayer>()?;
    module.add_class::<optimizers::PyOptimizer>()?;
    module.add_class::<averages::PyWeightAverage>()?;
    module.add_class::<averages::PyAccumulator>()?;
    module.add_class::<schedules::PySchedule>()?;
    module.add_class::<schedules::PyPlateau>()?;
    module.add_class::<circuits::PyCircuit>()?;
    module.add_class::<gates::PyGateNetwork>()?;
    module.add_class::<onnx::OnnxModel>()?;
    module.add_class::<data::PyDataSet>()?;
    module.add_class::<data::PyLoader>()?;
    module.add_class::<language::PyLanguageModel>()?;
    module.add_class::<worlds::PyWorld>()?;
    module.add_class::<worlds::PyLearner>()?;
    module.add_class::<worlds::PyAgents>()?;
    for row in &dtype::ROWS {
        module.add(row.name, dtype::PyDType { dtype: row.dtype })?;
    }
    module.add_function(wrap_pyfunction!(dtype::dtype, module)?)?;
    module.add_function(wrap_pyfunction!(device::get_default_device, module)?)?;
    module.add_function(wrap_pyfunction!(device::set_default_device, module)?)?;
    module.add_function(wrap_pyfunction!(device::best_device, module)?)?;
    module.add_function(wrap_pyfunction!(device::devices, module)?)?;
    module.add_function(wrap_pyfunction!(device::forked, module)?)?;
    module.add_function(wrap_pyfunction!(device::seed, module)?)?;
    module.add_function(wrap_pyfunction!(host::array_from_numpy, module)?)?;
    module.add_function(wrap_pyfunction!(ops::op_table, module)?)?;
    module.add_function(wrap_pyfunction!(ops::left_out, module)?)?;
    module.add_function(wrap_pyfunction!(layers::layer_table, module)?)?;
    module.add_function(wrap_pyfunction!(optimizers::optimizer_table, module)?)?;
    module.add_function(wrap_pyfunction!(schedules::schedule_table, module)?)?;
    module.add_function(wrap_pyfunction!(functions::filled, module)?)?;
    module.add_function(wrap_pyfunction!(functions::iota, module)?)?;
    module.add_function(wrap_pyfunction!(functions::concat_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(functions::stack_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(functions::compute, module)?)?;
    module.add_function(wrap_pyfunction!(functions::random, module)?)?;
    module.add_function(wrap_pyfunction!(functions::scan_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(functions::repeat_body, module)?)?;
    module.add_function(wrap_pyfunction!(functions::checkpoint, module)?)?;
    module.add_function(wrap_pyfunction!(data::data_table, module)?)?;
    module.add_function(wrap_pyfunction!(onnx::onnx_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(runs::train_run, module)?)?;
    module.add_function(wrap_pyfunction!(runs::train_subjects, module)?)?;
    module.add_function(wrap_pyfunction!(runs::train_settings, module)?)?;
    module.add_function(wrap_pyfunction!(runs::predict_run, module)?)?;
    module.add_function(wrap_pyfunction!(precision::set_mixed, module)?)?;
    module.add_function(wrap_pyfunction!(charts::line_chart, module)?)?;
    module.add_function(wrap_pyfunction!(worlds::world_table, module)?)?;
    module.add_function(wrap_pyfunction!(worlds::agent_settings, module)?)?;
    module.add_function(wrap_pyfunction!(functions::save, module)?)?;
    module.add_function(wrap_pyfunction!(functions::load, module)?)
}
