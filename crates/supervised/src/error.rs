//! What can be wrong with a supervised training. Programmer errors panic instead.

use std::fmt;

pub use farad_tensor::{Error, Result};

/// Why something could not be done.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum FitError {
    #[error(
        "fit: the loss is not finite: step {step} ({loss})\nhelp: try a smaller learning rate; FARAD_DEBUG=nan names the first op that made a bad value"
    )]
    Diverged { step: u64, loss: f32 },
    #[error(
        "fit: epochs: more steps were made already ({asked} vs {made})\nhelp: ask for more epochs; the run is whole as it is"
    )]
    StepsMade { asked: u64, made: u64 },
}

/// As it reads.
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
