//! The mean of every window, as a layer.

use crate::layers::{Layer, Module, Visitor};
use farad_tensor::Tensor;
use farad_tensor::engine::inside;
use farad_tensor::{PerAxis, PoolOptions};

/// The mean of every window over `N` spatial axes: [`AvgPool1d`], [`AvgPool2d`]. Starts with the kernel as stride and without padding.
#[derive(Clone, Copy, Debug)]
pub struct AvgPool<const N: usize> {
    options: PoolOptions<N>,
}

/// The mean of every window of a line: `[batch, channels, length] -> [batch, channels, length']`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::AvgPool1d;
/// let x = Tensor::ones([2, 3, 10], &Device::cpu());
/// assert_eq!(AvgPool1d::new(3).stride(2).forward(&x).shape()[..], [2, 3, 4]);
/// ```
pub type AvgPool1d = AvgPool<1>;

/// The mean of every window of images: `[batch, channels, height, width] -> [batch, channels, height', width']`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::AvgPool2d;
/// let x = Tensor::ones([2, 3, 8, 9], &Device::cpu());
/// assert_eq!(AvgPool2d::new(2).forward(&x).shape()[..], [2, 3, 4, 4]);
/// assert_eq!(AvgPool2d::new(2).ceil().forward(&x).shape()[..], [2, 3, 4, 5]);
/// ```
pub type AvgPool2d = AvgPool<2>;

impl<const N: usize> AvgPool<N> {
    /// Windows of this size side by side.
    pub fn new(kernel: impl PerAxis<N>) -> AvgPool<N> {
        AvgPool { options: PoolOptions::new(kernel) }
    }

    /// How far the window moves from one output to the next.
    pub fn stride(self, stride: impl PerAxis<N>) -> AvgPool<N> {
        AvgPool { options: self.options.stride(stride) }
    }

    /// Padding on both sides of an axis, at most half of the kernel.
    pub fn padding(self, padding: impl PerAxis<N>) -> AvgPool<N> {
        AvgPool { options: self.options.padding(padding) }
    }

    /// Padding is not counted in what is divided by.
    pub fn without_padding_counted(self) -> AvgPool<N> {
        AvgPool { options: self.options.without_padding_counted() }
    }

    /// A last window that reaches beyond the input counts.
    pub fn ceil(self) -> AvgPool<N> {
        AvgPool { options: self.options.ceil() }
    }

    /// How the window moves.
    pub fn options(&self) -> PoolOptions<N> {
        self.options
    }
}

impl<const N: usize> Module for AvgPool<N> {
    fn visit(&self, _: &mut dyn Visitor) {}

    fn kind(&self) -> String {
        format!("AvgPool{N}d")
    }
}

impl<const N: usize> Layer for AvgPool<N> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside(["AvgPool1d", "AvgPool2d", "AvgPool3d"][N - 1]);
        x.avg_pool(if N == 1 { "avg_pool1d" } else { "avg_pool2d" }, &self.options)
    }
}
