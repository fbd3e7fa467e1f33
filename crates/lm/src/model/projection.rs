//! A product with a matrix that lies as GPT-2 stores it.

use farad::nn::{Layer, Module, Parameter, init};
use farad::{Device, Tensor};

use crate::error::Result;

/// `y = x · weight + bias`: `[.., inputs] -> [.., outputs]`. The weight is `[inputs, outputs]`, the other way
/// round than [`Linear`](farad::nn::Linear)'s.
#[derive(Clone, Debug, Module)]
pub struct Projection {
    /// `[inputs, outputs]`
    pub weight: Parameter,
    /// `[outputs]`
    pub bias: Option<Parameter>,
}

impl Projection {
    /// With normal weights of this deviation, drawn from the CPU's random numbers, and a bias of zeros.
    pub fn new(inputs: usize, outputs: usize, deviation: f64, bias: bool) -> Result<Projection> {
        let cpu = Device::cpu();
        let weight = Parameter::new(Tensor::zeros([inputs, outputs], &cpu));
        init::normal(&weight, 0.0, deviation)?;
        let bias = bias.then(|| Parameter::new(Tensor::zeros([outputs], &cpu)));
        Ok(Projection { weight, bias })
    }
}

impl Layer for Projection {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = x.matmul(&self.weight.value());
        match &self.bias {
            Some(bias) => y + bias.value(),
            None => y,
        }
    }
}
