//! Low-rank adapters (LoRA): small products beside large ones, which alone are trained.

use farad::nn::{Module, Parameter};
use farad::{Device, Tensor};

use crate::error::Result;

/// What is added to a product: `scale · x · a · b` for each part of its outputs that has an adapter.
#[derive(Clone, Debug, Module)]
pub struct Lora {
    /// One for each part of the outputs, in their order.
    pub parts: Vec<Option<LoraPart>>,
    /// Outputs of each part.
    #[module(skip)]
    outputs: Vec<usize>,
    scale: f64,
}

/// The adapter of one part.
#[derive(Clone, Debug, Module)]
pub struct LoraPart {
    /// `[inputs, rank]`
    pub a: Parameter,
    /// `[rank, outputs]`, zeros at first: a new adapter changes nothing.
    pub b: Parameter,
}

impl LoraPart {
    /// A new one on the CPU, drawn from the CPU's random numbers.
    fn new(inputs: usize, rank: usize, outputs: usize) -> Result<LoraPart> {
        let cpu = Device::cpu();
        let bound = 1.0 / (inputs as f64).sqrt();
        let a = (Tensor::rand([inputs, rank], &cpu) * (2.0 * bound) - bound).detach()?;
        Ok(LoraPart {
            a: Parameter::new(a),
            b: Parameter::new(Tensor::zeros([rank, outputs], &cpu).detach()?),
        })
    }
}

impl Lora {
    /// New adapters of a rank for a product whose outputs are these parts; those that are false get none.
    pub(super) fn new(inputs: usize, parts: &[(usize, bool)], rank: usize, scale: f64) -> Result<Lora> {
        let part =
            |&(outputs, has): &(usize, bool)| has.then(|| LoraPart::new(inputs, rank, outputs)).transpose();
        Ok(Lora {
            parts: parts.iter().map(part).collect::<Result<_>>()?,
            outputs: parts.iter().map(|(outputs, _)| *outputs).collect(),
            scale,
        })
    }

    /// What is added to the outputs: `[.., inputs] -> [.., outputs]`.
    #[track_caller]
    pub(super) fn forward(&self, x: &Tensor) -> Tensor {
        self.joined(
            |part| x.matmul(&part.a.value()).matmul(&part.b.value()),
            |outputs| {
                let mut shape = x.shape().to_vec();
                *shape.last_mut().expect("inputs") = outputs;
                Tensor::zeros(shape, x.device())
            },
        )
    }

    /// What is added to the weight `[inputs, outputs]` when it is merged.
    pub(super) fn weight(&self, inputs: usize, device: &Device) -> Tensor {
        self.joined(
            |part| part.a.value().matmul(&part.b.value()),
            |outputs| Tensor::zeros([inputs, outputs], device),
        )
    }

    #[track_caller]
    fn joined(&self, part: impl Fn(&LoraPart) -> Tensor, none: impl Fn(usize) -> Tensor) -> Tensor {
        let parts = self.parts.iter().zip(&self.outputs);
        let parts: Vec<Tensor> = parts
            .map(|(adapter, &outputs)| match adapter {
                Some(adapter) => part(adapter) * self.scale,
                None => none(outputs),
            })
            .collect();
        match &parts[..] {
            [one] => one.clone(),
            several => Tensor::concat(&several.iter().collect::<Vec<_>>(), -1),
        }
    }
}
