//! The feed-forward part of a block.

use super::{TransformerActivation, TransformerOptions};
use crate::layers::{Dropout, Layer, Linear, Module};
use farad_tensor::Tensor;
use farad_tensor::engine::inside;

/// Two layers with an activation between them; its parts are the block's.
#[derive(Clone, Debug, Module)]
pub struct FeedForward {
    linear1: Linear,
    linear2: Linear,
    dropout: Dropout,
    #[module(skip)]
    activation: TransformerActivation,
}

impl FeedForward {
    #[track_caller]
    pub fn new(options: &TransformerOptions) -> FeedForward {
        FeedForward {
            linear1: options.linear(options.width, options.hidden),
            linear2: options.linear(options.hidden, options.width),
            dropout: options.drop(),
            activation: options.activation,
        }
    }

    /// `[.., width] -> [.., width]`
    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("FeedForward");
        let hidden = self.linear1.forward(x);
        let hidden = match self.activation {
            TransformerActivation::Relu => hidden.relu(),
            TransformerActivation::Gelu => hidden.gelu(),
        };
        self.linear2.forward(&self.dropout.forward(&hidden))
    }
}
