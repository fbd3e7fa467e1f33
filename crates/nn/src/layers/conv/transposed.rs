//! The transposed convolution layer.

use farad_ir::Shape;
use farad_tensor::engine::inside;
use farad_tensor::ensure;

use super::{uniform, with_bias};
use crate::layers::{Layer, Module, Parameter, Visitor};
use farad_tensor::Tensor;
use farad_tensor::{ConvOptions, PerAxis};

/// A transposed convolution over `N` spatial axes: [`ConvTranspose1d`], [`ConvTranspose2d`].
///
/// Weights and bias start uniform in ±1/√fan, where the fan is outputs of a group times kernel elements (as PyTorch
/// counts it), drawn from the CPU's random numbers.
#[derive(Clone, Debug)]
pub struct ConvTranspose<const N: usize> {
    /// `[inputs, outputs / groups, kernel..]`
    pub weight: Parameter,
    /// `[outputs]`
    pub bias: Option<Parameter>,
    options: ConvOptions<N>,
}

/// A transposed convolution over one axis: `[batch, inputs, length] -> [batch, outputs, length']`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::ConvTranspose1d;
/// let layer = ConvTranspose1d::new(3, 8, 4).stride(2).padding(1);
/// assert_eq!(layer.forward(&Tensor::ones([4, 3, 10], &Device::cpu())).shape()[..], [4, 8, 20]);
/// ```
pub type ConvTranspose1d = ConvTranspose<1>;

/// A transposed convolution of images: `[batch, inputs, height, width] -> [batch, outputs, height', width']`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::ConvTranspose2d;
/// let layer = ConvTranspose2d::new(3, 8, 3).stride(2).padding(1).output_padding(1);
/// assert_eq!(layer.forward(&Tensor::ones([4, 3, 8, 8], &Device::cpu())).shape()[..], [4, 8, 16, 16]);
/// ```
pub type ConvTranspose2d = ConvTranspose<2>;

impl<const N: usize> ConvTranspose<N> {
    /// A layer with bias, stride 1, no padding, dilation 1 and one group.
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, kernel: impl PerAxis<N>) -> ConvTranspose<N> {
        let shape: Vec<usize> = [inputs, outputs].into_iter().chain(kernel.per_axis()).collect();
        let fan = Shape::new(&shape[1..]).numel();
        let (weight, bias) = (uniform(&shape, fan), Some(uniform(&[outputs], fan)));
        ConvTranspose { weight, bias, options: ConvOptions::new() }
    }

    /// How far apart the inputs are in the output.
    pub fn stride(mut self, stride: impl PerAxis<N>) -> ConvTranspose<N> {
        self.options = self.options.stride(stride);
        self
    }

    /// How much is cut off the output, on both sides of an axis.
    pub fn padding(mut self, padding: impl PerAxis<N>) -> ConvTranspose<N> {
        self.options = self.options.padding(padding);
        self
    }

    /// How much longer the output is at its end.
    pub fn output_padding(mut self, padding: impl PerAxis<N>) -> ConvTranspose<N> {
        self.options = self.options.output_padding(padding);
        self
    }

    /// How far apart the kernel's elements are.
    pub fn dilation(mut self, dilation: impl PerAxis<N>) -> ConvTranspose<N> {
        self.options = self.options.dilation(dilation);
        self
    }

    /// Channels divided into this many groups that do not see each other. The weights are drawn anew.
    ///
    /// # Panics
    /// If the groups do not divide inputs and outputs.
    #[track_caller]
    pub fn groups(mut self, groups: usize) -> ConvTranspose<N> {
        let shape = self.weight.value().shape();
        let (inputs, outputs) = (shape[0], shape[1] * self.options.groups);
        for (what, channels) in [("inputs", inputs), ("outputs", outputs)] {
            let divides = groups > 0 && channels.is_multiple_of(groups);
            ensure!(divides, "conv_transpose{N}d: groups do not divide {what} ({channels} vs {groups})");
        }
        let shape: Vec<usize> = [inputs, outputs / groups].iter().chain(&shape[2..]).copied().collect();
        let fan = Shape::new(&shape[1..]).numel();
        self.weight = uniform(&shape, fan);
        self.bias = self.bias.map(|_| uniform(&[outputs], fan));
        self.options = self.options.groups(groups);
        self
    }

    /// The layer without its bias.
    pub fn without_bias(mut self) -> ConvTranspose<N> {
        self.bias = None;
        self
    }

    /// How the kernel moves.
    pub fn options(&self) -> ConvOptions<N> {
        self.options
    }
}

impl<const N: usize> Module for ConvTranspose<N> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.child("weight", &self.weight);
        visitor.child("bias", &self.bias);
    }

    fn kind(&self) -> String {
        format!("ConvTranspose{N}d")
    }
}

impl<const N: usize> Layer for ConvTranspose<N> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside(["ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"][N - 1]);
        let op = ["conv_transpose", "conv_transpose1d", "conv_transpose2d"].get(N).copied();
        let op = op.unwrap_or("conv_transpose");
        with_bias(x.convolve_transposed(op, &self.weight.value(), &self.options), &self.bias, N)
    }
}
