//! Memory of the device: bytes as the host wrote them, or numbers as a kernel wrote them.
//!
//! Invariant: what a kernel wrote stays as numbers until the host asks for bytes, so nothing is rounded in between.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use farad_ir::DType;
use farad_runtime::Allocation;

use crate::device::DeviceState;
use crate::number::{decode, encode};

/// A piece of memory of a device.
pub(crate) struct Held {
    pub bytes: usize,
    pub contents: Mutex<Contents>,
    pub home: Arc<DeviceState>,
}

/// What memory holds.
pub(crate) enum Contents {
    Bytes(Vec<u8>),
    Numbers(DType, Vec<f64>),
}

impl Contents {
    /// The numbers, as elements of this dtype.
    pub fn numbers(&self, dtype: DType) -> Vec<f64> {
        match self {
            Contents::Numbers(held, numbers) if *held == dtype => numbers.clone(),
            Contents::Bytes(bytes) => decode(dtype, bytes),
            _ => decode(dtype, &self.bytes(usize::MAX)),
        }
    }

    /// As [`Contents::numbers`], but moves the numbers out of the memory for the duration of a run.
    pub fn take(&mut self, dtype: DType) -> Vec<f64> {
        match self {
            Contents::Numbers(held, numbers) if *held == dtype => std::mem::take(numbers),
            _ => self.numbers(dtype),
        }
    }

    /// The first `most` bytes.
    pub fn bytes(&self, most: usize) -> Vec<u8> {
        match self {
            Contents::Bytes(bytes) => bytes[..most.min(bytes.len())].to_vec(),
            Contents::Numbers(dtype, numbers) => {
                let count = numbers.len().min(most.div_ceil(dtype.size()));
                let mut bytes = Vec::with_capacity(count * dtype.size());
                numbers[..count].iter().for_each(|&x| encode(*dtype, x, &mut bytes));
                bytes.truncate(most);
                bytes
            }
        }
    }
}

impl Held {
    pub fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Allocation for Held {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.home.live.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
