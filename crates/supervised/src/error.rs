//! What can be wrong with a supervised training. Programmer errors panic instead.

use std::fmt;

pub use farad_tensor::{Error, Result};

/// Why something could not be done.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum FitError {
    #[error(
        "fit: epochs: more steps were made already ({asked} vs {made})\nhelp: ask for more epochs; the run is whole as it is"
    )]
    StepsMade { asked: u64, made: u64 },
    #[error(
        "data: they have changed: {path}: other {what} than the run was made with ({now} vs {then})\nhelp: bring the old ones back, or train anew"
    )]
    DataChanged { path: String, what: &'static str, then: String, now: String },
    #[error(
        "train: nothing is left to judge on: {samples} samples to train, none to test\nhelp: take more data, or a larger part of them with --set test=0.15"
    )]
    NoTest { samples: usize },
    #[error(
        "train: there is one class: {path}: {class}\nhelp: there must be two to tell apart; name another column with --set target=NAME, or add what is of another class"
    )]
    OneClass { path: String, class: String },
    #[error(
        "train: every sample is a class of its own: {path} ({samples} samples)\nhelp: there must be several of each; name another column with --set target=NAME"
    )]
    OwnClasses { path: String, samples: usize },
    #[error(
        "train: class_weights is for classes, and numbers are learned here\nhelp: leave it out, or say --set target_kind=class"
    )]
    NoClasses,
    #[error("predict: no such file or folder: {path}\nhelp: the model takes {takes}: {files}")]
    NoSamples { path: String, takes: String, files: &'static str },
    #[error("predict: not what the model takes: {path}: {found}\nhelp: it takes {takes}: {files}")]
    OtherSamples { path: String, found: String, takes: String, files: &'static str },
    #[error("{path}: {source}")]
    OfFile { path: String, source: Box<Error> },
    #[error("train: the model does not take these inputs: {model}: {shape}\nhelp: it takes {wanted}")]
    ModelInput { model: String, shape: String, wanted: &'static str },
    #[error(
        "weights: {path}: {what}\nhelp: it must be a ResNet under torchvision's names, such as resnet18 or resnet50, saved as safetensors"
    )]
    PublishedWeights { path: String, what: String },
}

/// The same as `Display`.
impl fmt::Debug for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<FitError> for Error {
    fn from(error: FitError) -> Error {
        Error::Part(Box::new(error))
    }
}
