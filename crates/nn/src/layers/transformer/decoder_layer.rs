//! A block that looks at its own sequence and at another.

use super::TransformerOptions;
use super::feed_forward::FeedForward;
use crate::layers::{Dropout, Layer, LayerNorm, Module, MultiHeadAttention};
use farad_tensor::Attention;
use farad_tensor::Tensor;
use farad_tensor::engine::inside;

/// Self-attention, attention to a memory, and a feed-forward part, each added to its input:
/// `[batch, time, width], [batch, places, width] -> [batch, time, width]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::{Attention, nn::{TransformerDecoderLayer, TransformerOptions}};
/// let block = TransformerDecoderLayer::new(&TransformerOptions::new(16, 4).hidden(32).dropout(0.0));
/// let (x, memory) = (Tensor::rand([2, 5, 16], &Device::cpu()), Tensor::rand([2, 9, 16], &Device::cpu()));
/// let y = block.forward(&x, &memory, &Attention::new().causal(), &Attention::new());
/// assert_eq!(y.shape()[..], [2, 5, 16]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct TransformerDecoderLayer {
    self_attn: MultiHeadAttention,
    multihead_attn: MultiHeadAttention,
    #[module(flatten)]
    feed_forward: FeedForward,
    norm1: LayerNorm,
    norm2: LayerNorm,
    norm3: LayerNorm,
    dropout: Dropout,
    norm_first: bool,
}

impl TransformerDecoderLayer {
    /// A block.
    #[track_caller]
    pub fn new(options: &TransformerOptions) -> TransformerDecoderLayer {
        TransformerDecoderLayer {
            self_attn: options.attention(),
            multihead_attn: options.attention(),
            feed_forward: FeedForward::new(options),
            norm1: options.norm(),
            norm2: options.norm(),
            norm3: options.norm(),
            dropout: options.drop(),
            norm_first: options.norm_first,
        }
    }

    /// The block applied to a sequence that looks at itself and at the memory as both options say.
    #[track_caller]
    pub fn forward(&self, x: &Tensor, memory: &Tensor, own: &Attention, other: &Attention) -> Tensor {
        let _inside = inside("TransformerDecoderLayer");
        let drop = &self.dropout;
        if self.norm_first {
            let own_input = self.norm1.forward(x);
            let x = x + drop.forward(&self.self_attn.forward(&own_input, &own_input, &own_input, own));
            let question = self.norm2.forward(&x);
            let x = &x + drop.forward(&self.multihead_attn.forward(&question, memory, memory, other));
            return &x + drop.forward(&self.feed_forward.forward(&self.norm3.forward(&x)));
        }
        let x = self.norm1.forward(&(x + drop.forward(&self.self_attn.forward(x, x, x, own))));
        let found = self.multihead_attn.forward(&x, memory, memory, other);
        let x = self.norm2.forward(&(&x + drop.forward(&found)));
        self.norm3.forward(&(&x + drop.forward(&self.feed_forward.forward(&x))))
    }
}
