//! Attention in several heads, with learned projections before and after.

use farad_ir::OpError;
use farad_tensor::engine::inside;

use crate::layers::{Layer, Linear, Mode, Module, Parameter};
use farad_tensor::Attention;
use farad_tensor::Device;
use farad_tensor::{
    Tensor,
    engine::{check_probability, is_same, raise},
};

/// Attention of `heads` heads, each over a part of the width:
/// `[batch.., queries, width], [batch.., keys, width], [batch.., keys, width] -> [batch.., queries, width]`.
///
/// Parameters, their names and how they start are those of PyTorch's `MultiheadAttention` (with `batch_first`).
/// Keys that are to be left out are those that [`Attention::key_mask`] does *not* name: the opposite of
/// PyTorch's `key_padding_mask`.
///
/// ```
/// use farad::prelude::*;
/// use farad::{Attention, nn::MultiHeadAttention};
/// let layer = MultiHeadAttention::new(16, 4);
/// let x = Tensor::rand([2, 5, 16], &Device::cpu());
/// let y = layer.forward(&x, &x, &x, &Attention::new().causal());
/// assert_eq!(y.shape()[..], [2, 5, 16]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct MultiHeadAttention {
    /// `[3 · width, width]`: for queries, keys and values.
    pub in_proj_weight: Parameter,
    /// `[3 · width]`
    pub in_proj_bias: Option<Parameter>,
    /// Applied to all heads together.
    pub out_proj: Linear,
    heads: usize,
    #[module(skip)]
    dropout: f64,
    mode: Mode,
}

impl MultiHeadAttention {
    /// A layer with biases and without dropout. Panics if the heads do not divide the width.
    #[track_caller]
    pub fn new(width: usize, heads: usize) -> MultiHeadAttention {
        if heads == 0 || !width.is_multiple_of(heads) {
            let what = "heads do not divide the width".to_string();
            raise(OpError::Sizes { op: "multi_head_attention", what, a: width, b: heads });
        }
        let device = Device::cpu();
        // As one matrix [3 · width, width].
        let bound = (6.0 / (4 * width).max(1) as f64).sqrt();
        let weight = (Tensor::rand([3 * width, width], &device) * 2.0 - 1.0) * bound;
        let out_proj = Linear::new(width, width);
        if let Some(bias) = &out_proj.bias {
            bias.set(Tensor::zeros([width], &device));
        }
        MultiHeadAttention {
            in_proj_weight: Parameter::new(weight),
            in_proj_bias: Some(Parameter::new(Tensor::zeros([3 * width], &device))),
            out_proj,
            heads,
            dropout: 0.0,
            mode: Mode::new(),
        }
    }

    /// The layer without its biases.
    pub fn without_bias(mut self) -> MultiHeadAttention {
        self.in_proj_bias = None;
        self.out_proj = self.out_proj.without_bias();
        self
    }

    /// In training, zeroes weights of keys with this probability. Without tensor cores that is computed with all
    /// scores in memory: see [`Attention::dropout`].
    #[track_caller]
    pub fn dropout(mut self, probability: f64) -> MultiHeadAttention {
        check_probability("dropout", probability);
        self.dropout = probability;
        self
    }

    /// How many heads there are.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// What `queries` find in `values` by `keys`. Tensors that are given twice are projected by one product.
    #[track_caller]
    pub fn forward(&self, queries: &Tensor, keys: &Tensor, values: &Tensor, options: &Attention) -> Tensor {
        let _inside = inside("MultiHeadAttention");
        let [q, k, v] = self.project(queries, keys, values);
        self.attend(&q, &k, &v, options)
    }

    /// Queries, keys and values `[batch.., heads, time, width / heads]`: what a cache keeps, and where
    /// [`Rotary`](super::Rotary) goes in between.
    #[track_caller]
    pub fn project(&self, queries: &Tensor, keys: &Tensor, values: &Tensor) -> [Tensor; 3] {
        match (is_same(queries, keys), is_same(keys, values)) {
            (true, true) => self.parts(queries, 0),
            (false, true) => {
                let [q] = self.parts(queries, 0);
                let [k, v] = self.parts(keys, 1);
                [q, k, v]
            }
            _ => {
                let ([q], [k], [v]) = (self.parts(queries, 0), self.parts(keys, 1), self.parts(values, 2));
                [q, k, v]
            }
        }
    }

    /// The result from queries, keys and values that [`MultiHeadAttention::project`] gave.
    #[track_caller]
    pub fn attend(&self, q: &Tensor, k: &Tensor, v: &Tensor, options: &Attention) -> Tensor {
        let mut options = options.clone();
        if self.mode.is_training() && self.dropout > 0.0 {
            options = options.dropout(self.dropout);
        }
        let y = q.attention(k, v, &options).transpose(-3, -2);
        let mut sizes = y.shape()[..y.rank() - 2].to_vec();
        sizes.push(y.size(-1) * y.size(-2));
        self.out_proj.forward(&y.reshape(sizes))
    }

    /// `COUNT` projections from number `first` on, by one product.
    #[track_caller]
    fn parts<const COUNT: usize>(&self, x: &Tensor, first: usize) -> [Tensor; COUNT] {
        let width = self.in_proj_weight.value().size(1);
        if x.rank() < 2 {
            let (shape, rank) = (x.shape(), x.rank());
            raise(OpError::RankTooLow { op: "multi_head_attention", shape, rank, least: 2 });
        }
        let weight = self.in_proj_weight.value().narrow(0, first * width, COUNT * width);
        let mut y = x.matmul(&weight.transpose(0, 1));
        if let Some(bias) = &self.in_proj_bias {
            y = y + bias.value().narrow(0, first * width, COUNT * width);
        }
        let batch = x.rank() - 2;
        let mut sizes = x.shape()[..=batch].to_vec();
        sizes.extend([COUNT, self.heads, width / self.heads]);
        let y = y.reshape(sizes);
        // [batch.., time, part, head, column] as [part, batch.., head, time, column]
        let time = batch as isize;
        let order: Vec<isize> =
            [time + 1].into_iter().chain(0..time).chain([time + 2, time, time + 3]).collect();
        let y = y.permute(&order);
        std::array::from_fn(|part| y.slice(part as isize))
    }
}
