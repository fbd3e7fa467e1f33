//! The convolution layer.

use farad_ir::Shape;
use farad_tensor::engine::inside;
use farad_tensor::ensure;

use super::{uniform, with_bias};
use crate::layers::{Layer, Module, Parameter, Visitor};
use farad_tensor::Tensor;
use farad_tensor::{ConvOptions, PerAxis};

/// A convolution over `N` spatial axes: [`Conv1d`], [`Conv2d`], [`Conv3d`].
///
/// Weights and bias start uniform in ±1/√fan, where the fan is inputs of a group times kernel elements, drawn from the
/// CPU's random numbers. Options may be set until the layer is used.
#[derive(Clone, Debug)]
pub struct Conv<const N: usize> {
    /// `[outputs, inputs / groups, kernel..]`
    pub weight: Parameter,
    /// `[outputs]`
    pub bias: Option<Parameter>,
    options: ConvOptions<N>,
}

/// A convolution over one axis: `[batch, inputs, length] -> [batch, outputs, length']`. The batch axis
/// may be left out.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::Conv1d;
/// let layer = Conv1d::new(3, 8, 5).padding(2);
/// assert_eq!(layer.forward(&Tensor::ones([4, 3, 20], &Device::cpu())).shape()[..], [4, 8, 20]);
/// ```
pub type Conv1d = Conv<1>;

/// A convolution of images: `[batch, inputs, height, width] -> [batch, outputs, height', width']`. The
/// batch axis may be left out.
///
/// ```
/// use farad::prelude::*;
/// let layer = Conv2d::new(3, 8, 3).stride(2).padding(1);
/// assert_eq!(layer.forward(&Tensor::ones([4, 3, 32, 32], &Device::cpu())).shape()[..], [4, 8, 16, 16]);
/// // Every channel by itself, with a kernel that is not square.
/// let layer = Conv2d::new(8, 8, [1, 5]).padding([0, 2]).groups(8).without_bias();
/// assert_eq!(layer.weight.value().shape()[..], [8, 1, 1, 5]);
/// ```
pub type Conv2d = Conv<2>;

/// A convolution of volumes: `[batch, inputs, depth, height, width] -> [batch, outputs, depth', height', width']`.
/// The batch axis may be left out.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::Conv3d;
/// let layer = Conv3d::new(1, 2, 3);
/// assert_eq!(layer.forward(&Tensor::ones([1, 1, 5, 6, 7], &Device::cpu())).shape()[..], [1, 2, 3, 4, 5]);
/// ```
pub type Conv3d = Conv<3>;

impl<const N: usize> Conv<N> {
    /// A layer with bias, stride 1, no padding, dilation 1 and one group.
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, kernel: impl PerAxis<N>) -> Conv<N> {
        let shape: Vec<usize> = [outputs, inputs].into_iter().chain(kernel.per_axis()).collect();
        let fan = Shape::new(&shape[1..]).numel();
        let (weight, bias) = (uniform(&shape, fan), Some(uniform(&[outputs], fan)));
        Conv { weight, bias, options: ConvOptions::new() }
    }

    /// How far the kernel moves from one output to the next.
    pub fn stride(mut self, stride: impl PerAxis<N>) -> Conv<N> {
        self.options = self.options.stride(stride);
        self
    }

    /// Zeros around the input, on both sides of an axis.
    pub fn padding(mut self, padding: impl PerAxis<N>) -> Conv<N> {
        self.options = self.options.padding(padding);
        self
    }

    /// How far apart the kernel's elements are.
    pub fn dilation(mut self, dilation: impl PerAxis<N>) -> Conv<N> {
        self.options = self.options.dilation(dilation);
        self
    }

    /// Channels divided into this many groups that do not see each other. The weights are drawn anew.
    ///
    /// # Panics
    /// If the groups do not divide inputs and outputs.
    #[track_caller]
    pub fn groups(mut self, groups: usize) -> Conv<N> {
        let shape = self.weight.value().shape();
        let (outputs, inputs) = (shape[0], shape[1] * self.options.groups);
        for (what, channels) in [("inputs", inputs), ("outputs", outputs)] {
            let divides = groups > 0 && channels.is_multiple_of(groups);
            ensure!(divides, "conv{N}d: groups do not divide {what} ({channels} vs {groups})");
        }
        let kernel: [usize; N] = std::array::from_fn(|axis| shape[axis + 2]);
        let drawn = Conv::<N>::new(inputs / groups, outputs, kernel);
        self.weight = drawn.weight;
        self.bias = self.bias.and(drawn.bias);
        self.options = self.options.groups(groups);
        self
    }

    /// The layer without its bias.
    pub fn without_bias(mut self) -> Conv<N> {
        self.bias = None;
        self
    }

    /// How the kernel moves.
    pub fn options(&self) -> ConvOptions<N> {
        self.options
    }
}

impl<const N: usize> Module for Conv<N> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.child("weight", &self.weight);
        visitor.child("bias", &self.bias);
    }

    fn kind(&self) -> String {
        format!("Conv{N}d")
    }
}

impl<const N: usize> Layer for Conv<N> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside(["Conv1d", "Conv2d", "Conv3d"][N - 1]);
        let op = ["conv0d", "conv1d", "conv2d", "conv3d"].get(N).copied().unwrap_or("conv");
        with_bias(x.convolve(op, &self.weight.value(), &self.options), &self.bias, N)
    }
}
