//! What happens to every token on its own.

use farad::Tensor;
use farad::nn::{Dropout, Layer, Module};

use super::{Activation, ModelOptions, Projection};
use crate::error::Result;

/// Two products with an activation between: `[.., width] -> [.., width]`. With swiglu the first gives gates and
/// values side by side, `[width, 2 · hidden]`.
#[derive(Clone, Debug, Module)]
pub struct FeedForward {
    /// The first product.
    pub c_fc: Projection,
    /// The second.
    pub c_proj: Projection,
    #[module(skip)]
    activation: Activation,
    dropout: Dropout,
}

impl FeedForward {
    /// The part of one block; `deviation` is that of the second product's weights.
    pub fn new(options: &ModelOptions, deviation: f64) -> Result<FeedForward> {
        let ModelOptions { width, activation, .. } = *options;
        let [.., bias] = options.biases();
        let hidden = options.hidden();
        let first = if activation == Activation::Swiglu { 2 * hidden } else { hidden };
        Ok(FeedForward {
            c_fc: Projection::new(width, first, super::DEVIATION, bias)?,
            c_proj: Projection::new(hidden, width, deviation, bias)?,
            activation,
            dropout: Dropout::new(options.dropout.into()),
        })
    }
}

impl FeedForward {
    /// What stands between the products.
    pub(crate) fn activation(&self) -> Activation {
        self.activation
    }
}

impl Layer for FeedForward {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.c_fc.forward(x);
        let x = match self.activation {
            Activation::Gelu => x.gelu(),
            Activation::GeluTanh => x.gelu_tanh(),
            Activation::Swiglu => x.swiglu(-1),
        };
        self.dropout.forward(&self.c_proj.forward(&x))
    }
}
