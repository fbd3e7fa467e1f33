//! What can be wrong with runs. Programmer errors panic instead.

use std::fmt;
use std::path::PathBuf;

pub use farad_tensor::{Error, Result};

/// Why something could not be done.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum TrainError {
    #[error("train: too large for the device: {device}: {parts} ({needed} at least vs {has})\nhelp: {help}")]
    DeviceTooSmall { device: String, parts: String, needed: String, has: String, help: &'static str },
    #[error(
        "train: a tensor is too large for the device: {device} ({largest} vs at most {most} in one)\nhelp: {help}"
    )]
    TensorTooLarge { device: String, largest: String, most: String, help: &'static str },
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
    #[error("notes: damaged: {path}: {why}\nhelp: mend the file, or delete it")]
    NotesDamaged { path: PathBuf, why: String },
    #[error("notes: {why}")]
    NotesRefused { why: String },
    #[error("settings: `{text}` is not key=value\nhelp: such as --set batch=64")]
    Assignment { text: String },
    #[error("settings: there is no key `{key}`{nearest}\nhelp: the keys are {keys}")]
    UnknownKey { key: String, nearest: String, keys: String },
    #[error("settings: {key} takes {wanted}, not `{found}`")]
    Setting { key: String, wanted: String, found: String },
    #[error("settings: there is no {key} `{found}`{nearest}\nhelp: there are {known}")]
    Choice { key: String, found: String, nearest: String, known: String },
    #[error("settings: {place}: {message}")]
    SettingsFile { place: String, message: String },
    #[error(
        "{kind}: the loss is not finite: {unit} {step} ({loss})\nhelp: try a smaller learning rate; FARAD_DEBUG=nan names the first op that made a bad value"
    )]
    Diverged { kind: String, unit: &'static str, step: u64, loss: f32 },
    #[error(
        "settings: {unit}s: more were made already ({asked} vs {made})\nhelp: ask for more than {made}; the run is whole as it is"
    )]
    StepsMade { unit: &'static str, asked: u64, made: u64 },
    #[error("run: the run's device cannot be used: {device}: {source}\nhelp: name another with --device")]
    RunDevice { device: String, source: Box<Error> },
    #[error(
        "train: weights are of another kind of training: {path} ({found} vs {wanted})\nhelp: `farad runs` lists what there is"
    )]
    OtherKind { path: PathBuf, found: String, wanted: String },
    #[error(
        "train: a batch has fewer samples than there are ranks: ({batch} vs {ranks})\nhelp: take --batch {ranks} or more, or fewer ranks"
    )]
    SmallBatch { batch: usize, ranks: usize },
    #[error(
        "train: there is less to spread than there are ranks: {what} ({count} vs {ranks})\nhelp: take {ranks} or more, or fewer ranks"
    )]
    FewForRanks { what: &'static str, count: usize, ranks: usize },
    #[error("train: {subject} needs --data\nhelp: name the file or folder to learn from")]
    NeedsData { subject: String },
    #[error("run: nothing was learned yet: {} has no checkpoint\nhelp: go on with `farad train --resume {}`", path.display(), crate::run::shell_word(path))]
    NothingLearned { path: PathBuf },
    #[error("predict: the samples have another shape: ({found} vs {wanted})")]
    SampleShape { found: String, wanted: String },
    #[error(
        "predict: neither classes nor numbers come from this: {path} is a run of kind {kind}\nhelp: {help}"
    )]
    NoPredictor { path: PathBuf, kind: String, help: String },
    #[error("picture: cannot be encoded: {path}: {message}")]
    Picture { path: PathBuf, message: String },
}

/// The same as `Display`.
impl fmt::Debug for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<TrainError> for Error {
    fn from(error: TrainError) -> Error {
        Error::Part(Box::new(error))
    }
}
