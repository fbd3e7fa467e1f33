//! The feed-forward part of a block, and dropout between its parts.

use super::{TransformerActivation, TransformerOptions};
use crate::nn::{Layer, Linear, Mode, Module};
use crate::tensor::Tensor;

/// Two layers with an activation between them; its parts are the block's.
#[derive(Clone, Debug, Module)]
pub struct FeedForward {
    linear1: Linear,
    linear2: Linear,
    #[module(flatten)]
    drop: DropValues,
    #[module(skip)]
    activation: TransformerActivation,
}

/// Zeroes values in training.
#[derive(Clone, Debug, Module)]
pub struct DropValues {
    #[module(skip)]
    probability: f64,
    mode: Mode,
}

impl DropValues {
    pub fn new(options: &TransformerOptions) -> DropValues {
        DropValues { probability: options.dropout, mode: Mode::new() }
    }

    #[track_caller]
    pub fn forward(&self, x: Tensor) -> Tensor {
        if self.probability > 0.0 && self.mode.is_training() { x.dropout(self.probability) } else { x }
    }
}

impl FeedForward {
    #[track_caller]
    pub fn new(options: &TransformerOptions) -> FeedForward {
        FeedForward {
            linear1: options.linear(options.width, options.hidden),
            linear2: options.linear(options.hidden, options.width),
            drop: DropValues::new(options),
            activation: options.activation,
        }
    }

    /// `[.., width] -> [.., width]`
    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let hidden = self.linear1.forward(x);
        let hidden = match self.activation {
            TransformerActivation::Relu => hidden.relu(),
            TransformerActivation::Gelu => hidden.gelu(),
        };
        self.linear2.forward(&self.drop.forward(hidden))
    }
}
