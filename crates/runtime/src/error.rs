//! The error type that all backends share.

use std::error::Error as StdError;

/// A backend's own error, with the backend's name and the kind of fault.
#[derive(Debug, thiserror::Error)]
#[error("{backend}: {source}")]
pub struct Error {
    backend: &'static str,
    fault: Fault,
    source: Box<dyn StdError + Send + Sync>,
}

/// Kinds of faults that callers react to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Memory ran out; the backend can still be used.
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

    /// The kind of fault.
    pub fn fault(&self) -> Fault {
        self.fault
    }

    /// The backend's own error, if it is of this type.
    pub fn downcast<E: StdError + 'static>(&self) -> Option<&E> {
        self.source.downcast_ref()
    }
}
