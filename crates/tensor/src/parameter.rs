//! A parameter: a cell that holds its current tensor.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::device::Device;
use crate::error::Result;
use crate::tensor::Tensor;

/// A cell that holds a learned tensor. Clones are the same cell; tensors taken from it keep their
/// numbers when an optimizer puts new ones in.
#[derive(Clone)]
pub struct Parameter(Arc<ParameterCell>);

struct ParameterCell {
    tensor: Mutex<Tensor>,
    frozen: AtomicBool,
}

impl Parameter {
    /// A parameter that starts with this tensor.
    pub fn new(tensor: Tensor) -> Parameter {
        Parameter(Arc::new(ParameterCell { tensor: Mutex::new(tensor), frozen: AtomicBool::new(false) }))
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

    /// Takes the parameter out of training: a module's `parameters` leave it out.
    pub fn freeze(&self) {
        self.0.frozen.store(true, Ordering::Relaxed);
    }

    /// Takes the parameter back into training.
    pub fn unfreeze(&self) {
        self.0.frozen.store(false, Ordering::Relaxed);
    }

    /// Whether the parameter is taken out of training.
    pub fn is_frozen(&self) -> bool {
        self.0.frozen.load(Ordering::Relaxed)
    }

    /// Moves the current tensor to a device.
    pub fn move_to(&self, device: &Device) -> Result<()> {
        let moved = self.value().to_device(device)?;
        self.set(moved);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Tensor> {
        self.0.tensor.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parameter({:?})", self.value())
    }
}

impl Tensor {
    /// The gradients of this loss at parameters, for an optimizer's `apply`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let weight = Parameter::new(Tensor::full(3.0, [], &Device::cpu()));
    /// let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.5);
    /// let gradients = weight.value().square().gradients(sgd.parameters())?;
    /// assert_eq!(gradients[0].item()?, 6.0);
    /// sgd.apply(&gradients)?;
    /// assert_eq!(weight.value().item()?, 0.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn gradients(&self, parameters: &[Parameter]) -> Result<Vec<Tensor>> {
        let values: Vec<Tensor> = parameters.iter().map(Parameter::value).collect();
        self.gradients_at(&values.iter().collect::<Vec<_>>())
    }
}
