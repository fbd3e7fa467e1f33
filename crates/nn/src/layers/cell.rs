//! Cells that layers keep besides parameters: buffers and the mode.
//!
//! Invariant: clones are the same cell, as with parameters.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Module, Visitor};
use crate::error::Result;
use farad_tensor::Device;
use farad_tensor::Tensor;
use farad_tensor::engine::{finish_pending, is_pending, note_pending};

/// A cell that holds a tensor which is kept, saved and moved with its module, but not trained: running
/// statistics, fixed tables. Clones are the same cell.
#[derive(Clone)]
pub struct Buffer(Arc<Mutex<HeldBuffer>>);

/// What a buffer holds.
struct HeldBuffer {
    tensor: Tensor,
    /// How often something that is not computed yet was put in since there was a value.
    pending: u32,
}

/// This many contents of a buffer may follow on each other without being computed: a layer is used more than once before a
/// step now and then. Beyond, each would keep another batch.
const MOST_PENDING: u32 = 4;

impl Buffer {
    /// A buffer that starts with this tensor.
    pub fn new(tensor: Tensor) -> Buffer {
        note_pending(&tensor);
        Buffer(Arc::new(Mutex::new(HeldBuffer { tensor, pending: 0 })))
    }

    /// The current tensor.
    pub fn value(&self) -> Tensor {
        self.lock().tensor.clone()
    }

    /// Puts another tensor in. If it is not computed yet, the next step that computes something which it uses computes
    /// it too, in the same submission; from then on it is a value without history. Where no step comes, every fourth
    /// computes what all buffers of its device wait for, so that what they were made of does not pile up.
    pub fn set(&self, tensor: Tensor) {
        let old = self.value();
        let chained = is_pending(&tensor) && is_pending(&old);
        let mut pending = if chained { self.lock().pending + 1 } else { 0 };
        if pending >= MOST_PENDING {
            finish_pending(tensor.device());
            pending = 0;
        }
        note_pending(&tensor);
        let held = HeldBuffer { tensor, pending };
        let before = std::mem::replace(&mut *self.lock(), held);
        drop(before); // after the lock is released
    }

    /// Whether two handles are the same cell.
    pub fn is(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Moves the current tensor to a device.
    pub fn move_to(&self, device: &Device) -> Result<()> {
        let moved = self.value().to_device(device)?;
        self.set(moved);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HeldBuffer> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({:?})", self.value())
    }
}

impl Module for Buffer {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.buffer(self);
    }
}

/// Whether a layer is in training or in use. It starts in training; [`Module::train`] and [`Module::eval`]
/// set it. Clones are the same cell.
#[derive(Clone, Debug)]
pub struct Mode(Arc<AtomicBool>);

impl Mode {
    /// In training.
    pub fn new() -> Mode {
        Mode(Arc::new(AtomicBool::new(true)))
    }

    /// Whether it is in training.
    pub fn is_training(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Puts it into training or into use.
    pub fn set(&self, training: bool) {
        self.0.store(training, Ordering::Relaxed);
    }
}

impl Default for Mode {
    fn default() -> Mode {
        Mode::new()
    }
}

impl Module for Mode {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.mode(self);
    }

    fn kind(&self) -> String {
        String::new()
    }
}
