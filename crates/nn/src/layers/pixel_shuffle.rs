//! Channels laid out as pixels, as a layer.

use super::{Layer, Module};
use farad_tensor::Tensor;
use farad_tensor::engine::inside;

/// [`Tensor::pixel_shuffle`] as a layer: `[batch, channels · factor², height, width] -> [batch, channels, height · factor,
/// width · factor]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::PixelShuffle;
/// let x = Tensor::ones([2, 12, 4, 5], &Device::cpu());
/// assert_eq!(PixelShuffle::new(2).forward(&x).shape()[..], [2, 3, 8, 10]);
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct PixelShuffle {
    factor: usize,
}

impl PixelShuffle {
    /// Images that many times as high and wide.
    pub fn new(factor: usize) -> PixelShuffle {
        PixelShuffle { factor }
    }
}

impl Layer for PixelShuffle {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("PixelShuffle");
        x.pixel_shuffle(self.factor)
    }
}
