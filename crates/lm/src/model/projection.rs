//! A product with a matrix that lies as GPT-2 stores it.

use farad::nn::{Layer, Module, Parameter, init};
use farad::{Device, Tensor};

use super::Lora;
use super::format::computed;
use crate::error::Result;

/// `y = x · weight + bias`: `[.., inputs] -> [.., outputs]`. The weight is `[inputs, outputs]`, the other way
/// round than [`Linear`](farad::nn::Linear)'s.
#[derive(Clone, Debug, Module)]
pub struct Projection {
    /// `[inputs, outputs]`
    pub weight: Parameter,
    /// `[outputs]`
    pub bias: Option<Parameter>,
    /// `[outputs]`: what results are multiplied with if the weight is 8-bit integers.
    pub scale: Option<Parameter>,
    /// What is trained instead of the weight, if that is frozen.
    pub lora: Option<Lora>,
}

impl Projection {
    /// With normal weights of this deviation, drawn from the CPU's random numbers, and a bias of zeros.
    pub fn new(inputs: usize, outputs: usize, deviation: f64, bias: bool) -> Result<Projection> {
        let cpu = Device::cpu();
        let weight = Parameter::new(Tensor::zeros([inputs, outputs], &cpu));
        init::normal(&weight, 0.0, deviation)?;
        let bias = bias.then(|| Parameter::new(Tensor::zeros([outputs], &cpu)));
        Ok(Projection { weight, bias, scale: None, lora: None })
    }

    /// Gives it new adapters; see [`Lora`]. They are on the CPU.
    pub(crate) fn adapt(&mut self, parts: &[(usize, bool)], rank: usize, scale: f64) -> Result<()> {
        if parts.iter().any(|(_, has)| *has) {
            self.lora = Some(Lora::new(self.weight.value().size(0), parts, rank, scale)?);
        }
        Ok(())
    }

    /// Adds the adapters to the weight and forgets them.
    pub(crate) fn merge(&mut self) -> Result<()> {
        let Some(lora) = self.lora.take() else { return Ok(()) };
        let weight = computed(&self.weight.value());
        // Integers would lose what is added.
        let weight = match self.scale.take() {
            Some(scale) => weight * scale.value(),
            None => weight,
        };
        self.weight.set((&weight + lora.weight(weight.size(0), weight.device())).detach()?);
        Ok(())
    }
}

impl Layer for Projection {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = x.matmul(&computed(&self.weight.value()));
        let y = match &self.scale {
            Some(scale) => y * scale.value(),
            None => y,
        };
        let y = match &self.bias {
            Some(bias) => y + bias.value(),
            None => y,
        };
        match &self.lora {
            Some(lora) => y + lora.forward(x),
            None => y,
        }
    }
}
