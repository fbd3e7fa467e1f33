//! A stack of blocks that look at their own sequence.

use super::{TransformerEncoderLayer, TransformerOptions};
use crate::layers::{Layer, LayerNorm, Module};
use farad_tensor::Attention;
use farad_tensor::Tensor;
use farad_tensor::engine::inside;

/// Blocks one after the other: `[batch, time, width] -> [batch, time, width]`. With causal attention it is what
/// language models are made of.
///
/// ```
/// use farad::prelude::*;
/// use farad::{Attention, nn::{TransformerEncoder, TransformerOptions}};
/// let stack = TransformerEncoder::new(2, &TransformerOptions::new(16, 4).hidden(32)).with_norm();
/// assert_eq!(stack.named_parameters()[0].0, "layers.0.self_attn.in_proj_weight");
/// let y = stack.forward(&Tensor::rand([2, 5, 16], &Device::cpu()), &Attention::new());
/// assert_eq!(y.shape()[..], [2, 5, 16]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct TransformerEncoder {
    layers: Vec<TransformerEncoderLayer>,
    norm: Option<LayerNorm>,
    #[module(skip)]
    options: TransformerOptions,
}

impl TransformerEncoder {
    /// This many blocks, each with parameters of its own.
    #[track_caller]
    pub fn new(layers: usize, options: &TransformerOptions) -> TransformerEncoder {
        let layers = (0..layers).map(|_| TransformerEncoderLayer::new(options)).collect();
        TransformerEncoder { layers, norm: None, options: *options }
    }

    /// With a norm at the end, which blocks with norms first need.
    pub fn with_norm(mut self) -> TransformerEncoder {
        self.norm = Some(self.options.norm());
        self
    }

    /// The blocks applied to a sequence that looks at itself as `options` say.
    #[track_caller]
    pub fn forward(&self, x: &Tensor, options: &Attention) -> Tensor {
        let _inside = inside("TransformerEncoder");
        let mut x = x.clone();
        for layer in &self.layers {
            x = layer.forward(&x, options);
        }
        match &self.norm {
            Some(norm) => norm.forward(&x),
            None => x,
        }
    }
}
