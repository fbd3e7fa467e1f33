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
    key_heads: usize,
    columns: usize,
    #[module(skip)]
    window: Option<usize>,
}

impl SelfAttention {
    /// The part of a block by its number; `deviation` is that of the last product's weights.
    pub fn new(options: &ModelOptions, layer: usize, deviation: f64) -> Result<SelfAttention> {
        let (width, columns, parts) = (options.width, options.head_width(), options.attention_parts());
        let rotary = (options.positions == Positions::Rotary).then(|| options.family.rotary(columns));
        let [into, out, _] = options.biases();
        Ok(SelfAttention {
            c_attn: Projection::new(width, parts.iter().sum(), super::DEVIATION, into)?,
            c_proj: Projection::new(parts[0], width, deviation, out)?,
            rotary,
            dropout: Dropout::new(options.dropout.into()),
            heads: options.heads,
            key_heads: options.key_heads(),
            columns,
            window: options.window_of(layer),
        })
    }

    /// Heads of queries.
    pub(crate) fn heads(&self) -> usize {
        self.heads
    }

    /// How many tokens a token sees, itself included; none: all before it.
    pub(crate) fn window(&self) -> Option<usize> {
        self.window
    }

    /// Queries, keys and values, `[batch, heads, time, columns]` each, of what the first product gives. They are not
    /// turned yet.
    #[track_caller]
    pub(crate) fn split(&self, y: &Tensor) -> [Tensor; 3] {
        let (batch, time, columns) = (y.size(0), y.size(1), self.columns);
        if self.key_heads == self.heads {
            let y = y.reshape([batch, time, 3, self.heads, columns]).permute(&[2, 0, 3, 1, 4]);
            return std::array::from_fn(|part| y.slice(part as isize));
        }
        let heads = [self.heads, self.key_heads, self.key_heads];
        let first = [0, self.heads, self.heads + self.key_heads];
        let y = y.reshape([batch, time, heads.iter().sum(), columns]);
        std::array::from_fn(|part| y.narrow(2, first[part], heads[part]).transpose(1, 2))
    }

    /// Turns queries or keys by their places, if that is how this model tells places apart.
    #[track_caller]
    pub(crate) fn turn(&self, x: &Tensor, places: impl Fn(&Rotary, &Tensor) -> Tensor) -> Tensor {
        self.rotary.as_ref().map_or_else(|| x.clone(), |rotary| places(rotary, x))
    }

    /// All heads side by side again, `[batch, time, heads · columns]`.
    #[track_caller]
    pub(crate) fn join(&self, y: &Tensor) -> Tensor {
        let (batch, time) = (y.size(0), y.size(2));
        y.transpose(1, 2).reshape([batch, time, self.heads * y.size(3)])
    }
}

impl Layer for SelfAttention {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let [q, k, v] = self.split(&self.c_attn.forward(x));
        let [q, k] = [q, k].map(|t| self.turn(&t, Rotary::forward));
        let options = match self.window.filter(|&window| window < x.size(1)) {
            Some(window) => {
                let place = Tensor::arange(x.size(1), x.device());
                Attention::new().mask(&within(&place.unsqueeze(1), &place, window))
            }
            None => Attention::new().causal(),
        };
        let y = self.join(&q.attention(&k, &v, &options));
        self.dropout.forward(&self.c_proj.forward(&y))
    }
}

/// Which keys at places are seen by queries at places `[.., 1]`: those up to the query's own, at most `window`.
#[track_caller]
pub(crate) fn within(queries: &Tensor, keys: &Tensor, window: usize) -> Tensor {
    keys.less_equal(queries).and(keys.greater(queries - window as f64))
}
