//! What the outside world can do wrong. Programmer errors panic instead.

use std::path::PathBuf;

use farad_ir::{DType, OpError, Shape};

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum Error {
    #[error(transparent)]
    Op(#[from] OpError),
    #[error("cpu: {0}")]
    Cpu(#[from] farad_cpu::Error),
    #[error("gpu: {0}")]
    Gpu(#[from] farad_gpu::Error),
    #[error(
        "device: unknown name: {name}\nhelp: use `best`, `cpu`, `gpu` or `gpu:1`; `farad devices` lists what there is"
    )]
    DeviceName { name: String },
    #[error(
        "gradient: no history: the tensor {shape} built at {location} was computed by a step and keeps no history\nhelp: take gradients before `step`, or build the tensor again"
    )]
    Spent { shape: Shape, location: String },
    #[error(
        "read: no value: the step that should have computed the tensor {shape} built at {location} failed"
    )]
    Failed { shape: Shape, location: String },
    #[error(
        "read: dtypes differ: tensor {tensor}, asked {asked}\nhelp: cast it first, e.g. `.cast(DType::{asked_name})`"
    )]
    ReadType { tensor: DType, asked: DType, asked_name: String },
    #[error("item: the tensor has more than one element: {shape} ({numel} vs 1)")]
    Item { shape: Shape, numel: usize },
    #[error("{op}: file {path}: {source}")]
    File { op: &'static str, path: PathBuf, source: std::io::Error },
    #[error("load: not a safetensors file: {path}: {message}")]
    Format { path: PathBuf, message: String },
    #[error("step: non-finite value: first made by {op}{location}")]
    NotFinite { op: String, location: String },
    #[error("optimiser: no parameters: nothing to update (0 vs at least 1)")]
    NoParameters,
    #[error("apply: one gradient a parameter: ({got} vs {wanted})")]
    Gradients { got: usize, wanted: usize },
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
