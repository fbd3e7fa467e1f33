//! What the blocks of a transformer have in common.

use crate::layers::{Dropout, LayerNorm, Linear, MultiHeadAttention};
use farad_tensor::engine::check_probability;

/// The sizes and habits of a block. Defaults are PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransformerOptions {
    pub(super) width: usize,
    pub(super) heads: usize,
    pub(super) hidden: usize,
    pub(super) dropout: f64,
    pub(super) activation: TransformerActivation,
    pub(super) norm_first: bool,
    pub(super) epsilon: f64,
    pub(super) bias: bool,
}

/// What follows the first layer of the feed-forward part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransformerActivation {
    /// Negative values become zero.
    #[default]
    Relu,
    /// `x · Φ(x)`
    Gelu,
}

impl TransformerOptions {
    /// Blocks of this width and so many heads: 2048 hidden units, dropout 0.1, relu, norms after the
    /// sums, epsilon 1e-5, with biases.
    pub fn new(width: usize, heads: usize) -> TransformerOptions {
        TransformerOptions {
            width,
            heads,
            hidden: 2048,
            dropout: 0.1,
            activation: TransformerActivation::Relu,
            norm_first: false,
            epsilon: 1e-5,
            bias: true,
        }
    }

    /// Units between the two layers of the feed-forward part.
    pub fn hidden(self, hidden: usize) -> TransformerOptions {
        TransformerOptions { hidden, ..self }
    }

    /// The probability with which values are zeroed in training: weights of keys, hidden units, and what is
    /// added. Weights of keys are then computed with all scores in memory; see
    /// [`MultiHeadAttention::dropout`].
    #[track_caller]
    pub fn dropout(self, dropout: f64) -> TransformerOptions {
        check_probability("dropout", dropout);
        TransformerOptions { dropout, ..self }
    }

    /// What follows the first layer of the feed-forward part.
    pub fn activation(self, activation: TransformerActivation) -> TransformerOptions {
        TransformerOptions { activation, ..self }
    }

    /// Whether norms stand before attention and feed-forward part (as in most of today's models) instead
    /// of after the sums.
    pub fn norm_first(self, norm_first: bool) -> TransformerOptions {
        TransformerOptions { norm_first, ..self }
    }

    /// What norms add to the variance.
    pub fn epsilon(self, epsilon: f64) -> TransformerOptions {
        TransformerOptions { epsilon, ..self }
    }

    /// Whether projections, layers and norms have biases.
    pub fn bias(self, bias: bool) -> TransformerOptions {
        TransformerOptions { bias, ..self }
    }

    pub(super) fn norm(&self) -> LayerNorm {
        let norm = LayerNorm::new(self.width).epsilon(self.epsilon);
        if self.bias { norm } else { norm.without_bias() }
    }

    #[track_caller]
    pub(super) fn drop(&self) -> Dropout {
        Dropout::new(self.dropout)
    }

    #[track_caller]
    pub(super) fn attention(&self) -> MultiHeadAttention {
        let layer = MultiHeadAttention::new(self.width, self.heads).dropout(self.dropout);
        if self.bias { layer } else { layer.without_bias() }
    }

    #[track_caller]
    pub(super) fn linear(&self, inputs: usize, outputs: usize) -> Linear {
        let layer = Linear::new(inputs, outputs);
        if self.bias { layer } else { layer.without_bias() }
    }
}
