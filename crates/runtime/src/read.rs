//! A read from the device to the host, which may not have finished.

use std::future::Future;

use crate::error::{Error, Result};

/// A read in progress.
#[must_use = "a read gives its bytes when awaited"]
pub enum Read {
    /// Already there.
    Done(Vec<u8>),
    /// Failed at once.
    Failed(Error),
    /// Waiting for the device.
    Waiting(Box<dyn PendingRead>),
}

/// A read that has not finished on the device.
pub trait PendingRead: Future<Output = Result<Vec<u8>>> + Send {
    /// Blocks until the bytes are there.
    fn wait(self: Box<Self>) -> Result<Vec<u8>>;
}

impl Read {
    /// Blocks until the bytes are there.
    pub fn wait(self) -> Result<Vec<u8>> {
        match self {
            Read::Done(bytes) => Ok(bytes),
            Read::Failed(error) => Err(error),
            Read::Waiting(read) => read.wait(),
        }
    }

    /// The bytes, without blocking the thread.
    pub async fn get(self) -> Result<Vec<u8>> {
        match self {
            Read::Done(bytes) => Ok(bytes),
            Read::Failed(error) => Err(error),
            Read::Waiting(read) => Box::into_pin(read).await,
        }
    }
}
