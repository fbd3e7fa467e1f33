//! Errors of descriptions and roll-outs.

use farad_tensor::Error;

/// Why a world could not be made, or what went wrong in it.
#[derive(thiserror::Error, Debug, Clone, PartialEq)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum WorldError {
    #[error("world: not a description: {message}")]
    Syntax { message: String },
    #[error(
        "world: version: not supported by this program ({found} vs {known})\nhelp: descriptions of this program have \"version\": {known}"
    )]
    Version { found: u64, known: u64 },
    #[error("world: {path}: {message}")]
    Field { path: String, message: String },
    #[error("world: {path}: too many ({found} vs at most {most})")]
    TooMany { path: String, found: usize, most: usize },
    #[error("world: no such world: {name}\nhelp: there are {known}")]
    Unknown { name: String, known: String },
    #[error("world: {what}: shapes differ ({found} vs {wanted})")]
    Sizes { what: &'static str, found: String, wanted: String },
    #[error(
        "world: exploded at step {step}: body \"{body}\" of world {world}: {what}\nhelp: use more sub-steps, softer springs or smaller forces"
    )]
    Exploded { step: usize, world: usize, body: String, what: String },
}

impl From<WorldError> for Error {
    fn from(error: WorldError) -> Error {
        Error::Part(Box::new(error))
    }
}

/// A result with [`WorldError`].
pub type WorldResult<T> = std::result::Result<T, WorldError>;

pub(crate) fn wrong<T>(path: impl Into<String>, message: impl Into<String>) -> WorldResult<T> {
    Err(WorldError::Field { path: path.into(), message: message.into() })
}
