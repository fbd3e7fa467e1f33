//! The layer that changes nothing.

use super::{Layer, Module};
use farad_tensor::Tensor;
use farad_tensor::engine::inside;

/// Gives back what it is given: the shape stays. For places where a layer is optional.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::Identity;
/// let x = Tensor::ones([2], &Device::cpu());
/// assert_eq!(Identity.forward(&x).to_vec::<f32>()?, [1.0, 1.0]);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Module)]
pub struct Identity;

impl Layer for Identity {
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("Identity");
        x.clone()
    }
}
