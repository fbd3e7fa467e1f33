//! What the outside world can do wrong. Programmer errors panic instead.

use std::panic::Location;
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
    #[error("{op}: no memory for its {what}: {dtype} {shape}{built}: {source}", built = built(*.location))]
    NoMemory {
        op: String,
        what: &'static str,
        shape: Shape,
        dtype: DType,
        location: Option<&'static Location<'static>>,
        source: Box<Error>,
    },
    #[error("train: too large for the device: {device}: {parts} ({needed} at least vs {has})\nhelp: {help}")]
    DeviceTooSmall { device: String, parts: String, needed: String, has: String, help: &'static str },
    #[error(
        "train: a tensor is too large for the device: {device} ({largest} vs at most {most} in one)\nhelp: {help}"
    )]
    TensorTooLarge { device: String, largest: String, most: String, help: &'static str },
    #[error(
        "device: unknown name: {name}\nhelp: use `best`, `cpu`, `gpu` or `gpu:1`; `farad devices` lists what there is"
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
    DoesNotFit { value: i64, place: usize, from: DType, to: DType },
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
    #[error("{op}: file is too large: {path} ({found} bytes vs at most {most})")]
    TooLarge { op: &'static str, path: PathBuf, found: u64, most: u64 },
    #[error(
        "{op}: checksums differ: {path} ({found:08x} vs {wanted:08x})\nhelp: the file is damaged or of another set; get it again, or read other sets of this format with `idx_set`"
    )]
    Checksum { op: &'static str, path: PathBuf, found: u32, wanted: u32 },
    #[error(
        "{op}: files are missing: {folder}: {files}\nhelp: get them from {from}\nand put them into {folder}"
    )]
    MissingData { op: &'static str, files: String, from: &'static str, folder: PathBuf },
    #[error("{op}: a file, where a folder is expected: {path}\nhelp: name the folder that holds {wanted}")]
    FileNotFolder { op: &'static str, path: PathBuf, wanted: String },
    #[error("{op}: a folder, where a file is expected: {path}\nhelp: name the file itself{inside}")]
    FolderNotFile { op: &'static str, path: PathBuf, inside: String },
    #[error("images: another class: {path}\nhelp: the classes are {classes}; a test folder has no others")]
    OtherClass { path: PathBuf, classes: String },
    #[error("images: no pictures: {path}\nhelp: it takes one folder a class with .png or .jpg files in it")]
    NoPictures { path: PathBuf },
    #[error(
        "csv: a value is missing: {path}: line {line}, column `{column}`\nhelp: fill it in, leave the row out, or ignore the column"
    )]
    MissingValue { path: PathBuf, line: u64, column: String },
    #[error(
        "csv: not a number: {path}: line {line}, column `{column}`: `{found}`\nhelp: ignore the column, or write it as numbers"
    )]
    NotNumber { path: PathBuf, line: u64, column: String, found: String },
    #[error(
        "csv: no column is left to learn from: {path}: its columns are {columns}\nhelp: it needs one beside the target, separated by commas, semicolons, tabs or bars"
    )]
    NoInputs { path: PathBuf, columns: String },
    #[error(
        "csv: no samples: {path}: no line below the header (0 vs at least 1)\nhelp: a table has a line a sample; if its first line is one already, say `--set header=false`"
    )]
    EmptyTable { path: PathBuf },
    #[error("csv: no such column: {path}: `{column}`\nhelp: the columns are {columns}")]
    NoColumn { path: PathBuf, column: String, columns: String },
    #[error("text: a letter that the model does not know: {letter:?} at {place}")]
    UnknownLetter { letter: char, place: usize },
    #[error("text: too short for a window: ({letters} letters vs more than {length}, which is at least 1)")]
    TextTooShort { letters: usize, length: usize },
    #[error("{op}: no samples: (0 vs at least 1)")]
    NoSamples { op: &'static str },
    #[error("data: no such sample: ({index} vs below {len})")]
    NoSample { index: usize, len: usize },
    #[error("data: inputs and targets differ in length: {inputs} and {targets}{}", rows(.inputs, .targets))]
    Unequal { inputs: Shape, targets: Shape },
    #[error("{op}: targets are no classes: they are not whole numbers")]
    NotClasses { op: &'static str },
    #[error("classes: target outside: sample {sample} ({class} vs below {count})")]
    Class { sample: usize, class: i64, count: usize },
    #[error("batch: shapes differ: sample {index} of the batch is {found}, those before {wanted} ({disagree})\nhelp: bring them to one size, e.g. with `Resize`", disagree = disagreement(.found, .wanted))]
    SampleShape { index: usize, found: Shape, wanted: Shape },
    #[error("batch: kinds of elements differ: sample {index} of the batch has another than those before")]
    SampleKind { index: usize },
    #[error("{op}: inputs have another shape: ({found} vs {wanted})")]
    TransformShape { op: &'static str, found: Shape, wanted: String },
    #[error(
        "fit: the loss is not finite: step {step} ({loss})\nhelp: try a smaller learning rate; FARAD_DEBUG=nan names the first op that made a bad value"
    )]
    Diverged { step: u64, loss: f32 },
    #[error(
        "fit: epochs: more steps were made already ({asked} vs {made})\nhelp: ask for more epochs; the run is whole as it is"
    )]
    StepsMade { asked: u64, made: u64 },
    #[error("loader: a batch has samples: (0 vs at least 1)")]
    BatchSize,
    #[error(
        "loader: not one whole batch: ({samples} samples vs {batch})\nhelp: take a smaller batch, or keep the last one"
    )]
    NoBatch { samples: usize, batch: usize },
    #[error("loader: position does not fit: {what} ({found} vs {wanted})")]
    Position { what: &'static str, found: usize, wanted: usize },
    #[error("loader: making batch {batch} panicked: {message}")]
    Worker { batch: usize, message: String },
    #[error("loader: no thread could be started: {source}")]
    Thread { source: std::io::Error },
    #[error(
        "state: two tensors of one name: {name}\nhelp: rename in another order, or leave one out with `ignore`"
    )]
    NameTwice { name: String },
    #[error("state: does not fit the module: {difference}")]
    StateDiffers { difference: Box<crate::state_dict::Difference> },
    #[error("run: folder is not empty: {path}\nhelp: choose a new folder, or resume the run in this one")]
    RunExists { path: PathBuf },
    #[error("run: not a run: {path}: {why}\nhelp: a run is a folder that farad made, with a `config.toml`")]
    NotRun { path: PathBuf, why: String },
    #[error(
        "run: newer version: {path} (version {found} vs {reads})\nhelp: this build reads version {reads}; use the farad that made the run, or a newer one"
    )]
    RunVersion { path: PathBuf, found: i64, reads: i64 },
    #[error(
        "run: in use: {path}: process {process} is writing to it\nhelp: wait until it is done, or stop it"
    )]
    RunInUse { path: PathBuf, process: String },
    #[error("run: damaged config: {path}: {message}")]
    RunConfig { path: PathBuf, message: String },
    #[error(
        "log: columns differ: {path}: found `{found}`, wanted `{wanted}`\nhelp: resume with the settings that the run was made with"
    )]
    LogColumns { path: PathBuf, found: String, wanted: String },
    #[error(
        "checkpoint: truncated: {path} ({found} bytes vs at least {wanted})\nhelp: the file was cut after farad wrote it; copy it again from where it came from"
    )]
    CheckpointTruncated { path: PathBuf, found: u64, wanted: u64 },
    #[error(
        "checkpoint: checksums differ: {path} ({found:08x} vs {wanted:08x})\nhelp: its bytes changed after farad wrote it; copy it again from where it came from"
    )]
    CheckpointChecksum { path: PathBuf, found: u32, wanted: u32 },
    #[error(
        "{source}\nhelp: the one before it is whole ({step} steps): mv {} {}",
        crate::run::shell_word(before),
        crate::run::shell_word(path)
    )]
    CheckpointBefore { source: Box<Error>, path: String, before: String, step: u64 },
    #[error("checkpoint: not a checkpoint: {path}: {why}")]
    NotCheckpoint { path: PathBuf, why: String },
    #[error(
        "checkpoint: newer version: {path} (version {found} vs {reads})\nhelp: this build reads version {reads}; use the farad that wrote it, or a newer one"
    )]
    CheckpointVersion { path: PathBuf, found: u64, reads: u64 },
    #[error("checkpoint: kinds differ: {path} ({found} vs {wanted})")]
    CheckpointKind { path: PathBuf, found: String, wanted: String },
    #[error("checkpoint: value cannot be read: {path}: {message}")]
    CheckpointValue { path: PathBuf, message: String },
    #[error("{op}: no such tensor: {name}: {place}")]
    NoTensor { op: &'static str, name: String, place: String },
    #[error("{op}: shapes differ: {name}: found {found}, wanted {wanted} ({disagree})", disagree = disagreement(.found, .wanted))]
    TensorShape { op: &'static str, name: String, found: Shape, wanted: Shape },
    #[error("{op}: dtypes differ: {name} ({found} vs {wanted})")]
    TensorType { op: &'static str, name: String, found: DType, wanted: DType },
    #[error("restore: more tensors than the optimizer has: {name} is left over ({got} vs {wanted})")]
    StateLeftOver { name: String, got: usize, wanted: usize },
    #[error("tune: nothing to tune: {device}: {why}")]
    NothingToTune { device: String, why: &'static str },
    #[error("tuning: not a table: {path}: {message}\nhelp: `farad tune` makes one")]
    Tuning { path: PathBuf, message: String },
    #[error(
        "tuning: made on another adapter: ({table} vs {device})\nhelp: times of one GPU say nothing about another; run `farad tune` here"
    )]
    TuningAdapter { table: String, device: String },
    #[error("picture: cannot be encoded: {path}: {message}")]
    Picture { path: PathBuf, message: String },
    #[error("step: non-finite value: first made by {op}{location}")]
    NotFinite { op: String, location: String },
    #[error("step: non-finite value: already in an input{location} (element {element} of {len})")]
    NotFiniteInput { location: String, element: usize, len: usize },
    #[error("optimizer: no parameters: nothing to update (0 vs at least 1)")]
    NoParameters,
    #[error("apply: one gradient a parameter: ({got} vs {wanted})")]
    Gradients { got: usize, wanted: usize },
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether a device had too little memory. The device goes on: free something and try again.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Error::Cpu(error) => matches!(error, farad_cpu::Error::OutOfMemory { .. }),
            Error::Gpu(error) => matches!(error, farad_gpu::Error::OutOfMemory { .. }),
            Error::NoMemory { .. } => true,
            _ => false,
        }
    }
}

fn built(location: Option<&'static Location<'static>>) -> String {
    location.map_or_else(String::new, |at| format!(" built at {}:{}", at.file(), at.line()))
}

/// The first sizes of two shapes.
fn rows(inputs: &Shape, targets: &Shape) -> String {
    match (inputs.first(), targets.first()) {
        (Some(a), Some(b)) => format!(" ({a} vs {b})"),
        _ => " (both need a first axis)".into(),
    }
}

/// The first numbers in which two shapes disagree.
fn disagreement(found: &Shape, wanted: &Shape) -> String {
    match found.iter().zip(wanted.iter()).position(|(a, b)| a != b) {
        _ if found.rank() != wanted.rank() => format!("rank {} vs {}", found.rank(), wanted.rank()),
        Some(axis) => format!("axis {axis}: {} vs {}", found[axis], wanted[axis]),
        None => format!("{} vs {}", found.numel(), wanted.numel()),
    }
}
