//! The fully connected layer.

use super::conv::uniform;
use super::{Layer, Module, Parameter};
use farad_tensor::Tensor;
use farad_tensor::engine::inside;

/// `y = x · weightᵀ + bias`: `[.., inputs] -> [.., outputs]`.
///
/// ```
/// use farad::prelude::*;
/// let layer = Linear::new(3, 2);
/// let y = layer.forward(&Tensor::ones([4, 3], &Device::cpu()));
/// assert_eq!(y.shape()[..], [4, 2]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct Linear {
    /// `[outputs, inputs]`
    pub weight: Parameter,
    /// `[outputs]`
    pub bias: Option<Parameter>,
}

impl Linear {
    /// A layer with bias. Weights and bias start uniform in ±1/√inputs, drawn from the CPU's random
    /// numbers.
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize) -> Linear {
        Linear { weight: uniform(&[outputs, inputs], inputs), bias: Some(uniform(&[outputs], inputs)) }
    }

    /// The layer without its bias.
    pub fn without_bias(mut self) -> Linear {
        self.bias = None;
        self
    }
}

impl Layer for Linear {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("Linear");
        let y = x.matmul(&self.weight.value().transpose(0, 1));
        match &self.bias {
            Some(bias) => y + bias.value(),
            None => y,
        }
    }
}
