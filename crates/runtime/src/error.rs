//! What a backend could not do, whichever it is.

use std::error::Error as StdError;

/// A backend's own error, with its name and what kind of trouble it is.
#[derive(Debug, thiserror::Error)]
#[error("{backend}: {source}")]
pub struct Error {
    backend: &'static str,
    fault: Fault,
    source: Box<dyn StdError + Send + Sync>,
}

/// Kinds of trouble that callers act upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There was too little memory; the backend goes on.
    OutOfMemory,
    /// Anything else.
    Other,
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of the backend with this name.
    pub fn new(backend: &'static str, fault: Fault, source: impl StdError + Send + Sync + 'static) -> Error {
        Error { backend, fault, source: Box::new(source) }
    }

    /// What kind of trouble it is.
    pub fn fault(&self) -> Fault {
        self.fault
    }

    /// The backend's own error, if it is of this type.
    pub fn downcast<E: StdError + 'static>(&self) -> Option<&E> {
        self.source.downcast_ref()
    }
}
