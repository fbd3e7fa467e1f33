//! The layer norm of a block.

use crate::device::Device;
use crate::nn::{Module, Parameter};
use crate::tensor::Tensor;

/// Mean 0 and variance 1 along the last axis, then a learned scale and shift.
#[derive(Clone, Debug, Module)]
pub struct Norm {
    weight: Parameter,
    bias: Option<Parameter>,
    #[module(skip)]
    epsilon: f64,
}

impl Norm {
    pub fn new(width: usize, epsilon: f64, bias: bool) -> Norm {
        let device = Device::cpu();
        let weight = Parameter::new(Tensor::ones([width], &device));
        let bias = bias.then(|| Parameter::new(Tensor::zeros([width], &device)));
        Norm { weight, bias, epsilon }
    }

    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let shift = match &self.bias {
            Some(bias) => bias.value(),
            None => Tensor::zeros([x.size(-1)], x.device()),
        };
        x.layer_norm(&self.weight.value(), &shift, self.epsilon)
    }
}
