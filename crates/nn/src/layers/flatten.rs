//! Axes folded into one.

use super::{Layer, Module};
use farad_tensor::Tensor;
use farad_tensor::engine::inside;

/// All axes from one on folded into it, by default all but the batch: `[batch, ..] -> [batch, features]`.
///
/// ```
/// use farad::prelude::*;
/// let x = Tensor::ones([2, 3, 4, 5], &Device::cpu());
/// assert_eq!(Flatten::new().forward(&x).shape()[..], [2, 60]);
/// assert_eq!(Flatten::from(2).forward(&x).shape()[..], [2, 3, 20]);
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct Flatten {
    axis: usize,
}

impl Flatten {
    /// All axes but the first.
    pub fn new() -> Flatten {
        Flatten { axis: 1 }
    }
}

impl Default for Flatten {
    fn default() -> Flatten {
        Flatten::new()
    }
}

/// All axes from this one on.
impl From<usize> for Flatten {
    fn from(axis: usize) -> Flatten {
        Flatten { axis }
    }
}

impl Layer for Flatten {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("Flatten");
        x.flatten(self.axis)
    }
}
