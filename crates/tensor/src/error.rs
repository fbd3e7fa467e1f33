//! What devices, memory and files can do wrong. Programmer errors panic instead.

use std::fmt;
use std::panic::Location;
use std::path::PathBuf;

use farad_ir::{DType, OpError, Shape};

/// Why something could not be done.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum Error {
    /// What a part that stands on tensors could not do, e.g. a `DataError`; [`Error::part`] finds it.
    #[error(transparent)]
    Part(Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Op(#[from] OpError),
    #[error(transparent)]
    Backend(#[from] farad_runtime::Error),
    #[error("{op}: no memory for its {what}: {dtype} {shape}{built}: {source}", built = built(*.location))]
    NoMemory {
        op: String,
        what: &'static str,
        shape: Shape,
        dtype: DType,
        location: Option<&'static Location<'static>>,
        source: Box<Error>,
    },
    #[error("device: this build has no GPUs\nhelp: build farad with the feature `gpu`")]
    NoGpus,
    #[error(
        "device: unknown name: {name}\nhelp: use {}; `farad devices` lists what there is",
        crate::backend::device_names_sentence("`")
    )]
    DeviceName { name: String },
    #[error(
        "gradient: no history: the tensor {shape} built at {location} keeps no history: a step computed it, or its history grew too long\nhelp: take gradients before `step` and before 65,536 ops, or build the tensor again"
    )]
    Spent { shape: Shape, location: String },
    #[error(
        "read: no value: the step that should have computed the tensor {shape} built at {location} failed"
    )]
    Failed { shape: Shape, location: String },
    #[error(
        "read: no value yet: the tensor {shape} stands for a carry or a slice of the scan at {location}\nhelp: use it inside the scan's body only, and return what you want to read"
    )]
    Placeholder { shape: Shape, location: String },
    #[error(
        "read: dtypes differ: tensor {tensor}, asked {asked}\nhelp: cast it first, e.g. `.cast(DType::{asked_name})`"
    )]
    ReadType { tensor: DType, asked: DType, asked_name: String },
    #[error(
        "cast: {to} does not have the number {value}, element {place} of {from}\nhelp: cast to `DType::F32` or `DType::F64` if it may be rounded, or keep it on the cpu as {from}"
    )]
    DoesNotFit { value: i128, place: usize, from: DType, to: DType },
    #[error("item: the tensor has more than one element: {shape} ({numel} vs 1)")]
    Item { shape: Shape, numel: usize },
    #[error("{op}: file {path}: {source}")]
    File { op: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{op}: {path}{place}: {source}")]
    InFile { op: &'static str, path: PathBuf, place: String, source: Box<Error> },
    #[error("load: not a safetensors file: {path}: {message}")]
    Format { path: PathBuf, message: String },
    #[error(
        "{op}: truncated: {path} ({found} bytes vs {wanted})\nhelp: the file was cut; get it again from where it came from"
    )]
    Truncated { op: &'static str, path: PathBuf, found: u64, wanted: u64 },
    #[error("{op}: not {wanted}: {path}: it starts with {found}")]
    Foreign { op: &'static str, path: PathBuf, wanted: &'static str, found: String },
    #[error("{op}: damaged file: {path}{place}: {what}")]
    Damaged { op: &'static str, path: PathBuf, place: String, what: String },
    #[error("tune: nothing to tune: {device}: {why}")]
    NothingToTune { device: String, why: &'static str },
    #[error("tuning: not a table: {path}: {message}\nhelp: `farad tune` makes one")]
    Tuning { path: PathBuf, message: String },
    #[error(
        "tuning: made on another adapter: ({table} vs {device})\nhelp: times of one GPU say nothing about another; run `farad tune` here"
    )]
    TuningAdapter { table: String, device: String },
    #[error("step: non-finite value: first made by {op}{location}")]
    NotFinite { op: String, location: String },
    #[error("step: non-finite value: already in an input{location} (element {element} of {len})")]
    NotFiniteInput { location: String, element: usize, len: usize },
    #[error("{op}: no such tensor: {name}: {place}")]
    NoTensor { op: &'static str, name: String, place: String },
    #[error("{op}: shapes differ: {name}: found {found}, wanted {wanted} ({disagree})", disagree = disagreement(.found, .wanted))]
    TensorShape { op: &'static str, name: String, found: Shape, wanted: Shape },
    #[error("{op}: dtypes differ: {name} ({found} vs {wanted})")]
    TensorType { op: &'static str, name: String, found: DType, wanted: DType },
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The same as `Display`, so that `fn main() -> Result<()>` prints the message.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// The error of a part (`DataError`, `NnError`, `TrainError`, …), if it is one.
    pub fn part<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match self {
            Error::Part(error) => error.downcast_ref(),
            _ => None,
        }
    }

    /// Whether a device had too little memory. The device goes on: free something and try again.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Error::Backend(error) => error.fault() == farad_runtime::Fault::OutOfMemory,
            Error::NoMemory { .. } => true,
            _ => false,
        }
    }
}

fn built(location: Option<&'static Location<'static>>) -> String {
    location.map_or_else(String::new, |at| format!(" built at {}:{}", at.file(), at.line()))
}

/// The first numbers in which two shapes disagree.
pub fn disagreement(found: &Shape, wanted: &Shape) -> String {
    match found.iter().zip(wanted.iter()).position(|(a, b)| a != b) {
        _ if found.rank() != wanted.rank() => format!("rank {} vs {}", found.rank(), wanted.rank()),
        Some(axis) => format!("axis {axis}: {} vs {}", found[axis], wanted[axis]),
        None => format!("{} vs {}", found.numel(), wanted.numel()),
    }
}
