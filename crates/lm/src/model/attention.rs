//! Causal attention of a sequence to itself.

use farad::nn::{Dropout, Layer, Module, Rotary};
use farad::{Attention, Tensor};

use super::{ModelOptions, Positions, Projection};
use crate::error::Result;

/// Every token looks at itself and those before it, in several heads: `[batch, time, width] -> [batch, time, width]`.
#[derive(Clone, Debug, Module)]
pub struct SelfAttention {
    /// Queries, keys and values by one product, `[width, 3 · width]`.
    pub c_attn: Projection,
    /// Applied to all heads together, `[width, width]`.
    pub c_proj: Projection,
    rotary: Option<Rotary>,
    dropout: Dropout,
    heads: usize,
}

impl SelfAttention {
    /// The part of one block; `deviation` is that of the last product's weights.
    pub fn new(options: &ModelOptions, deviation: f64) -> Result<SelfAttention> {
        let ModelOptions { width, heads, bias, .. } = *options;
        let rotary = (options.positions == Positions::Rotary).then(|| Rotary::new(width / heads));
        Ok(SelfAttention {
            c_attn: Projection::new(width, 3 * width, super::DEVIATION, bias)?,
            c_proj: Projection::new(width, width, deviation, bias)?,
            rotary,
            dropout: Dropout::new(options.dropout.into()),
            heads,
        })
    }

    /// Queries, keys and values, `[batch, heads, time, columns]` each, before they are turned.
    #[track_caller]
    pub(crate) fn project(&self, x: &Tensor) -> [Tensor; 3] {
        let (batch, time, width) = (x.size(0), x.size(1), x.size(2));
        let y = self.c_attn.forward(x).reshape([batch, time, 3, self.heads, width / self.heads]);
        let y = y.permute(&[2, 0, 3, 1, 4]);
        std::array::from_fn(|part| y.slice(part as isize))
    }

    /// Turns queries or keys by their places, if that is how this model tells places apart.
    #[track_caller]
    pub(crate) fn turn(&self, x: &Tensor, places: impl Fn(&Rotary, &Tensor) -> Tensor) -> Tensor {
        self.rotary.as_ref().map_or_else(|| x.clone(), |rotary| places(rotary, x))
    }

    /// All heads together again, through the last product.
    #[track_caller]
    pub(crate) fn join(&self, y: &Tensor) -> Tensor {
        let (batch, time) = (y.size(0), y.size(2));
        let y = y.transpose(1, 2).reshape([batch, time, self.heads * y.size(3)]);
        self.dropout.forward(&self.c_proj.forward(&y))
    }
}

impl Layer for SelfAttention {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let [q, k, v] = self.project(x);
        let [q, k] = [q, k].map(|t| self.turn(&t, Rotary::forward));
        self.join(&q.attention(&k, &v, &Attention::new().causal()))
    }
}
