//! The largest of every window, as a layer.

use crate::layers::{Layer, Module, Visitor};
use farad_tensor::Tensor;
use farad_tensor::engine::inside;
use farad_tensor::{PerAxis, PoolOptions};

/// The largest of every window over `N` spatial axes: [`MaxPool1d`], [`MaxPool2d`]. Starts with the kernel as stride and without padding.
#[derive(Clone, Copy, Debug)]
pub struct MaxPool<const N: usize> {
    options: PoolOptions<N>,
}

/// The largest of every window of a line: `[batch, channels, length] -> [batch, channels, length']`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::MaxPool1d;
/// let x = Tensor::ones([2, 3, 10], &Device::cpu());
/// assert_eq!(MaxPool1d::new(3).stride(2).forward(&x).shape()[..], [2, 3, 4]);
/// ```
pub type MaxPool1d = MaxPool<1>;

/// The largest of every window of images: `[batch, channels, height, width] -> [batch, channels, height', width']`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::MaxPool2d;
/// let x = Tensor::ones([2, 3, 8, 9], &Device::cpu());
/// assert_eq!(MaxPool2d::new(2).forward(&x).shape()[..], [2, 3, 4, 4]);
/// assert_eq!(MaxPool2d::new(2).ceil().forward(&x).shape()[..], [2, 3, 4, 5]);
/// ```
pub type MaxPool2d = MaxPool<2>;

impl<const N: usize> MaxPool<N> {
    /// Windows of this size side by side.
    pub fn new(kernel: impl PerAxis<N>) -> MaxPool<N> {
        MaxPool { options: PoolOptions::new(kernel) }
    }

    /// How far the window moves from one output to the next.
    pub fn stride(self, stride: impl PerAxis<N>) -> MaxPool<N> {
        MaxPool { options: self.options.stride(stride) }
    }

    /// Padding on both sides of an axis, at most half of the kernel.
    pub fn padding(self, padding: impl PerAxis<N>) -> MaxPool<N> {
        MaxPool { options: self.options.padding(padding) }
    }

    /// How far apart the window's elements are.
    pub fn dilation(self, dilation: impl PerAxis<N>) -> MaxPool<N> {
        MaxPool { options: self.options.dilation(dilation) }
    }

    /// A last window that reaches beyond the input counts.
    pub fn ceil(self) -> MaxPool<N> {
        MaxPool { options: self.options.ceil() }
    }

    /// How the window moves.
    pub fn options(&self) -> PoolOptions<N> {
        self.options
    }
}

impl<const N: usize> Module for MaxPool<N> {
    fn visit(&self, _: &mut dyn Visitor) {}

    fn kind(&self) -> String {
        format!("MaxPool{N}d")
    }
}

impl<const N: usize> Layer for MaxPool<N> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside(["MaxPool1d", "MaxPool2d", "MaxPool3d"][N - 1]);
        x.max_pool(if N == 1 { "max_pool1d" } else { "max_pool2d" }, &self.options)
    }
}
