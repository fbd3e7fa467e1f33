//! A parameter: a cell that holds its current tensor.

use std::fmt;
use std::sync::{Arc, Mutex};

use crate::device::Device;
use crate::error::Result;
use crate::tensor::Tensor;

/// A cell that holds a learned tensor. Clones are the same cell; tensors taken from it keep their
/// numbers when an optimiser puts new ones in.
#[derive(Clone)]
pub struct Parameter(Arc<Mutex<Tensor>>);

impl Parameter {
    /// A parameter that starts with this tensor.
    pub fn new(tensor: Tensor) -> Parameter {
        Parameter(Arc::new(Mutex::new(tensor)))
    }

    /// The current tensor.
    pub fn value(&self) -> Tensor {
        self.lock().clone()
    }

    /// Puts another tensor in.
    pub fn set(&self, tensor: Tensor) {
        let old = std::mem::replace(&mut *self.lock(), tensor);
        drop(old); // after the lock is released
    }

    /// Whether two handles are the same cell.
    pub fn is(&self, other: &Parameter) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Moves the current tensor to a device.
    pub fn move_to(&self, device: &Device) -> Result<()> {
        let moved = self.value().to_device(device)?;
        self.set(moved);
        Ok(())
    }

    /// How many hold the current tensor's node: the cell itself, and whoever took it or recorded
    /// with it.
    pub(crate) fn holders(&self) -> usize {
        Arc::strong_count(&self.lock().node)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Tensor> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parameter({:?})", self.value())
    }
}
