//! One layer of a transformer.

use farad::Tensor;
use farad::nn::{Layer, Module};

use super::{FeatureNorm, FeedForward, ModelOptions, SelfAttention};
use crate::error::Result;

/// Attention, then feed-forward, each of normed features and added to what was there:
/// `[batch, time, width] -> [batch, time, width]`.
#[derive(Clone, Debug, Module)]
pub struct Block {
    /// Before attention.
    pub ln_1: FeatureNorm,
    /// Attention.
    pub attn: SelfAttention,
    /// Before feed-forward.
    pub ln_2: FeatureNorm,
    /// Feed-forward.
    pub mlp: FeedForward,
}

impl Block {
    /// One of as many as the options say, by its number: the products that end a residual path start smaller the more
    /// there are.
    pub fn new(options: &ModelOptions, layer: usize) -> Result<Block> {
        let deviation = super::DEVIATION / (2.0 * options.layers as f64).sqrt();
        Ok(Block {
            ln_1: FeatureNorm::new(options),
            attn: SelfAttention::new(options, layer, deviation)?,
            ln_2: FeatureNorm::new(options),
            mlp: FeedForward::new(options, deviation)?,
        })
    }

    /// The block around another way to attend: `attend` is given the normed features.
    #[track_caller]
    pub(crate) fn forward_with(
        &self,
        x: &Tensor,
        attend: impl FnOnce(&SelfAttention, &Tensor) -> Tensor,
    ) -> Tensor {
        let x = x + attend(&self.attn, &self.ln_1.forward(x));
        &x + self.mlp.forward(&self.ln_2.forward(&x))
    }
}

impl Layer for Block {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.forward_with(x, SelfAttention::forward)
    }
}
