//! The bilinear layer: products of all pairs of features of two tensors.

use super::conv::uniform;
use super::{Module, Parameter};
use farad_tensor::Tensor;
use farad_tensor::engine::inside;
use farad_tensor::ensure;

/// `y = x₁ᵀ · weight · x₂ + bias` for every output: `[.., first] × [.., second] -> [.., outputs]`. Weights and bias start
/// uniform in ±1/√first, drawn from the CPU's random numbers.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::Bilinear;
/// let layer = Bilinear::new(3, 4, 5);
/// let device = Device::cpu();
/// let y = layer.forward(&Tensor::ones([2, 3], &device), &Tensor::ones([2, 4], &device));
/// assert_eq!(y.shape()[..], [2, 5]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct Bilinear {
    /// `[outputs, first, second]`
    pub weight: Parameter,
    /// `[outputs]`
    pub bias: Option<Parameter>,
}

impl Bilinear {
    /// A layer with bias.
    #[track_caller]
    pub fn new(first: usize, second: usize, outputs: usize) -> Bilinear {
        Bilinear { weight: uniform(&[outputs, first, second], first), bias: Some(uniform(&[outputs], first)) }
    }

    /// The layer without its bias.
    pub fn without_bias(mut self) -> Bilinear {
        self.bias = None;
        self
    }

    /// The layer applied to two tensors whose axes but the last are equal.
    #[track_caller]
    pub fn forward(&self, first: &Tensor, second: &Tensor) -> Tensor {
        let _inside = inside("Bilinear");
        let weight = self.weight.value();
        let (outputs, width, other) = (weight.shape()[0], weight.shape()[1], weight.shape()[2]);
        for (tensor, size) in [(first, width), (second, other)] {
            let shape = tensor.shape();
            let last = shape.last().copied().unwrap_or(0);
            ensure!(
                last == size,
                "bilinear: features differ: {shape} and {} ({last} vs {size})",
                weight.shape()
            );
        }
        let matrix = weight.permute(&[1, 0, 2]).reshape([width, outputs * other]);
        let lead = &first.shape()[..first.rank() - 1];
        let products = first.matmul(&matrix).reshape([lead, &[outputs, other]].concat());
        let y = (products * second.unsqueeze(second.rank() as isize - 1)).sum_axes([-1]);
        match &self.bias {
            Some(bias) => y + bias.value(),
            None => y,
        }
    }
}
