//! The options of attention.

use farad_ir::DType;

use crate::tensor::{Tensor, check_probability};

/// How queries look at keys: see [`Tensor::attention`].
///
/// ```
/// use farad::prelude::*;
/// use farad::Attention;
/// let device = Device::cpu();
/// let x = Tensor::rand([1, 2, 3, 8], &device);
/// let first = x.attention(&x, &x, &Attention::new().causal()).narrow(2, 0, 1);
/// // The first query sees the first key only.
/// assert_eq!(first.to_vec::<f32>()?, x.narrow(2, 0, 1).to_vec::<f32>()?);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Attention {
    pub(crate) causal: bool,
    pub(crate) offset: usize,
    pub(crate) scale: Option<f64>,
    pub(crate) key_mask: Option<Tensor>,
    pub(crate) key_lengths: Option<Tensor>,
    pub(crate) mask: Option<Tensor>,
    pub(crate) dropout: f64,
    pub(crate) composed: Option<bool>,
}

impl Attention {
    /// Every query sees every key; scores are divided by the root of the width.
    pub fn new() -> Attention {
        Attention::default()
    }

    /// Query `i` sees keys up to `i`, counted from the first of both; see [`Attention::offset`].
    pub fn causal(mut self) -> Attention {
        self.causal = true;
        self
    }

    /// Causal, with the first query at place `offset` among the keys: query `i` sees keys up to
    /// `i + offset`. For new queries after cached keys it is the number of cached ones.
    pub fn offset(mut self, offset: usize) -> Attention {
        (self.causal, self.offset) = (true, offset);
        self
    }

    /// What scores are multiplied with, instead of `1/√width`.
    pub fn scale(mut self, scale: f64) -> Attention {
        self.scale = Some(scale);
        self
    }

    /// Truth values `[batch.., keys]` (or `[keys]`): which keys are seen at all.
    pub fn key_mask(mut self, seen: &Tensor) -> Attention {
        self.key_mask = Some(seen.clone());
        self
    }

    /// Whole numbers `[batch..]`: how many keys are seen, from the first.
    pub fn key_lengths(mut self, lengths: &Tensor) -> Attention {
        self.key_lengths = Some(lengths.clone());
        self
    }

    /// For every query and key, `[.., queries, keys]`, broadcast over what comes before: `bool` values that say what is
    /// seen, or numbers that are added to the scores (below -1e30: not seen). Without tensor cores it is computed in
    /// the composed form, which holds all scores; so is the gradient at the numbers.
    pub fn mask(mut self, mask: &Tensor) -> Attention {
        self.mask = Some(mask.clone());
        self
    }

    /// Probabilities are zeroed with this probability and the others scaled up. Tensor cores' kernels draw which ones
    /// from a stream of their own; other devices use the composed form.
    #[track_caller]
    pub fn dropout(mut self, probability: f64) -> Attention {
        check_probability("dropout", probability);
        self.dropout = probability;
        self
    }

    /// Whether to compute by matrix products and softmax, which holds all scores, or by the kernels, which never do.
    /// Without this, GPUs use products for few queries and keys, where they are faster: up to 512, on tensor cores
    /// below 256 (`f32`) or 64 (f16).
    pub fn composed(mut self, composed: bool) -> Attention {
        self.composed = Some(composed);
        self
    }

    /// Which keys are seen, `[batch.., keys]`.
    #[track_caller]
    pub(crate) fn seen(&self, batch: &[usize], keys: usize) -> Option<Tensor> {
        let shape: Vec<usize> = batch.iter().copied().chain([keys]).collect();
        // Closures would lose the caller's line.
        let mut seen = None;
        if let Some(mask) = &self.key_mask {
            seen = Some(mask.cast(DType::Bool).broadcast_to(&shape));
        }
        if let Some(lengths) = &self.key_lengths {
            let place = Tensor::arange(keys, lengths.device());
            let within = place.less(lengths.cast(DType::I32).unsqueeze(-1)).broadcast_to(&shape);
            seen = Some(match seen {
                Some(seen) => seen.and(&within),
                None => within,
            });
        }
        seen
    }
}
