//! A stack of blocks that look at their own sequence and at another.

use super::{TransformerDecoderLayer, TransformerOptions};
use crate::layers::{Layer, LayerNorm, Module};
use farad_tensor::Attention;
use farad_tensor::Tensor;
use farad_tensor::engine::inside;

/// Blocks one after the other, all with the same memory:
/// `[batch, time, width], [batch, places, width] -> [batch, time, width]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::{Attention, nn::{TransformerDecoder, TransformerOptions}};
/// let stack = TransformerDecoder::new(2, &TransformerOptions::new(16, 4).hidden(32)).with_norm();
/// let (x, memory) = (Tensor::rand([2, 5, 16], &Device::cpu()), Tensor::rand([2, 9, 16], &Device::cpu()));
/// let y = stack.forward(&x, &memory, &Attention::new().causal(), &Attention::new());
/// assert_eq!(y.shape()[..], [2, 5, 16]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct TransformerDecoder {
    layers: Vec<TransformerDecoderLayer>,
    norm: Option<LayerNorm>,
    #[module(skip)]
    options: TransformerOptions,
}

impl TransformerDecoder {
    /// This many blocks, each with parameters of its own.
    #[track_caller]
    pub fn new(layers: usize, options: &TransformerOptions) -> TransformerDecoder {
        let layers = (0..layers).map(|_| TransformerDecoderLayer::new(options)).collect();
        TransformerDecoder { layers, norm: None, options: *options }
    }

    /// With a norm at the end, which blocks with norms first need.
    pub fn with_norm(mut self) -> TransformerDecoder {
        self.norm = Some(self.options.norm());
        self
    }

    /// The blocks applied to a sequence that looks at itself and at the memory as both options say.
    #[track_caller]
    pub fn forward(&self, x: &Tensor, memory: &Tensor, own: &Attention, other: &Attention) -> Tensor {
        let _inside = inside("TransformerDecoder");
        let mut x = x.clone();
        for layer in &self.layers {
            x = layer.forward(&x, memory, own, other);
        }
        match &self.norm {
            Some(norm) => norm.forward(&x),
            None => x,
        }
    }
}
