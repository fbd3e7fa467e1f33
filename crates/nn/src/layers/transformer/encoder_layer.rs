//! A block that looks at its own sequence.

use super::TransformerOptions;
use super::feed_forward::FeedForward;
use crate::layers::{Dropout, Layer, LayerNorm, Module, MultiHeadAttention};
use farad_tensor::Attention;
use farad_tensor::Tensor;
use farad_tensor::engine::inside;

/// Self-attention and a feed-forward part, each added to its input: `[batch, time, width] -> [batch, time, width]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::{Attention, nn::{TransformerEncoderLayer, TransformerOptions}};
/// let block = TransformerEncoderLayer::new(&TransformerOptions::new(16, 4).hidden(32).norm_first(true));
/// block.eval();
/// let y = block.forward(&Tensor::rand([2, 5, 16], &Device::cpu()), &Attention::new().causal());
/// assert_eq!(y.shape()[..], [2, 5, 16]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct TransformerEncoderLayer {
    self_attn: MultiHeadAttention,
    #[module(flatten)]
    feed_forward: FeedForward,
    norm1: LayerNorm,
    norm2: LayerNorm,
    dropout: Dropout,
    norm_first: bool,
}

impl TransformerEncoderLayer {
    /// A block.
    #[track_caller]
    pub fn new(options: &TransformerOptions) -> TransformerEncoderLayer {
        TransformerEncoderLayer {
            self_attn: options.attention(),
            feed_forward: FeedForward::new(options),
            norm1: options.norm(),
            norm2: options.norm(),
            dropout: options.drop(),
            norm_first: options.norm_first,
        }
    }

    /// The block applied to a sequence that looks at itself as `options` say.
    #[track_caller]
    pub fn forward(&self, x: &Tensor, options: &Attention) -> Tensor {
        let _inside = inside("TransformerEncoderLayer");
        if self.norm_first {
            let x = x + self.look(&self.norm1.forward(x), options);
            return &x + self.dropout.forward(&self.feed_forward.forward(&self.norm2.forward(&x)));
        }
        let x = self.norm1.forward(&(x + self.look(x, options)));
        self.norm2.forward(&(&x + self.dropout.forward(&self.feed_forward.forward(&x))))
    }

    #[track_caller]
    fn look(&self, x: &Tensor, options: &Attention) -> Tensor {
        self.dropout.forward(&self.self_attn.forward(x, x, x, options))
    }
}
