//! Pooling to a size that is asked for, as layers.

use crate::layers::{Layer, Module, Visitor};
use farad_tensor::PerAxis;
use farad_tensor::engine::inside;
use farad_tensor::{Tensor, engine::Pooling};

/// The means of as many windows as asked for, over `N` spatial axes: [`AdaptiveAvgPool1d`], [`AdaptiveAvgPool2d`].
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveAvgPool<const N: usize> {
    outputs: [usize; N],
}

/// The means of as many windows as asked for: `[batch, channels, length] -> [batch, channels, outputs]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::AdaptiveAvgPool1d;
/// let x = Tensor::ones([2, 3, 10], &Device::cpu());
/// assert_eq!(AdaptiveAvgPool1d::new(4).forward(&x).shape()[..], [2, 3, 4]);
/// ```
pub type AdaptiveAvgPool1d = AdaptiveAvgPool<1>;

/// The means of as many windows as asked for: `[batch, channels, height, width] -> [batch, channels, outputs, outputs]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::AdaptiveAvgPool2d;
/// let x = Tensor::ones([2, 3, 8, 9], &Device::cpu());
/// assert_eq!(AdaptiveAvgPool2d::new([1, 2]).forward(&x).shape()[..], [2, 3, 1, 2]);
/// ```
pub type AdaptiveAvgPool2d = AdaptiveAvgPool<2>;

impl<const N: usize> AdaptiveAvgPool<N> {
    /// This many windows along each axis.
    pub fn new(outputs: impl PerAxis<N>) -> AdaptiveAvgPool<N> {
        AdaptiveAvgPool { outputs: outputs.per_axis() }
    }
}

impl<const N: usize> Module for AdaptiveAvgPool<N> {
    fn visit(&self, _: &mut dyn Visitor) {}

    fn kind(&self) -> String {
        format!("AdaptiveAvgPool{N}d")
    }
}

impl<const N: usize> Layer for AdaptiveAvgPool<N> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside(["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"][N - 1]);
        let op = if N == 1 { "adaptive_avg_pool1d" } else { "adaptive_avg_pool2d" };
        x.adaptive(op, self.outputs, Pooling::Mean)
    }
}

/// The largest elements of as many windows as asked for, over `N` spatial axes: [`AdaptiveMaxPool1d`], [`AdaptiveMaxPool2d`].
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveMaxPool<const N: usize> {
    outputs: [usize; N],
}

/// The largest elements of as many windows as asked for: `[batch, channels, length] -> [batch, channels, outputs]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::AdaptiveMaxPool1d;
/// let x = Tensor::ones([2, 3, 10], &Device::cpu());
/// assert_eq!(AdaptiveMaxPool1d::new(4).forward(&x).shape()[..], [2, 3, 4]);
/// ```
pub type AdaptiveMaxPool1d = AdaptiveMaxPool<1>;

/// The largest elements of as many windows as asked for: `[batch, channels, height, width] -> [batch, channels, outputs, outputs]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::AdaptiveMaxPool2d;
/// let x = Tensor::ones([2, 3, 8, 9], &Device::cpu());
/// assert_eq!(AdaptiveMaxPool2d::new([1, 2]).forward(&x).shape()[..], [2, 3, 1, 2]);
/// ```
pub type AdaptiveMaxPool2d = AdaptiveMaxPool<2>;

impl<const N: usize> AdaptiveMaxPool<N> {
    /// This many windows along each axis.
    pub fn new(outputs: impl PerAxis<N>) -> AdaptiveMaxPool<N> {
        AdaptiveMaxPool { outputs: outputs.per_axis() }
    }
}

impl<const N: usize> Module for AdaptiveMaxPool<N> {
    fn visit(&self, _: &mut dyn Visitor) {}

    fn kind(&self) -> String {
        format!("AdaptiveMaxPool{N}d")
    }
}

impl<const N: usize> Layer for AdaptiveMaxPool<N> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside(["AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d"][N - 1]);
        let op = if N == 1 { "adaptive_max_pool1d" } else { "adaptive_max_pool2d" };
        x.adaptive(op, self.outputs, Pooling::Largest)
    }
}
