//! Scaled dot-product attention.

use farad_ir::{DType, Exact, OpError, Shape};

use super::{Tensor, raise};
use crate::attention::{Attention, AttentionOp, WIDEST, composed};

/// Queries and keys up to which a GPU is faster with products and all scores.
const SHORT: usize = 512;

impl Tensor {
    /// Attention: every query (`self`) gets the mean of the values, weighted by the softmax of its products with
    /// the keys.
    /// `[batch.., heads, queries, width], [batch.., key heads, keys, width], [batch.., key heads, keys, values]
    /// -> [batch.., heads, queries, values]`
    ///
    /// Heads may share keys: their number is a multiple of the key heads'. A query that sees nothing gets zeros.
    ///
    /// The scores of all queries and keys are never held, neither here nor for the gradients. There are exceptions,
    /// which use products and softmax instead: few queries and keys ([`Attention::composed`]), [`Attention::mask`],
    /// [`Attention::dropout`], heads wider than 128, values of another width, and gradients of gradients.
    ///
    /// ```
    /// use farad::prelude::*;
    /// use farad::Attention;
    /// let device = Device::cpu();
    /// let q = Tensor::rand([2, 4, 10, 16], &device);
    /// let (k, v) = (Tensor::rand([2, 4, 30, 16], &device), Tensor::ones([2, 4, 30, 16], &device));
    /// let y = q.attention(&k, &v, &Attention::new());
    /// assert_eq!(y.shape()[..], [2, 4, 10, 16]);
    /// assert!((y.to_vec::<f32>()?[0] - 1.0).abs() < 1e-6);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn attention(&self, keys: &Tensor, values: &Tensor, options: &Attention) -> Tensor {
        check(self, keys, values);
        let both = super::meet("attention", self.dtype(), keys.dtype());
        let dtype = super::meet("attention", both, values.dtype());
        let [q, k, v] = [self, keys, values].map(|t| t.cast(dtype));
        let scale = options.scale.unwrap_or(1.0 / (q.size(-1).max(1) as f64).sqrt());
        let fits = v.size(-1) == q.size(-1) && (1..=WIDEST).contains(&q.size(-1)) && dtype != DType::F64;
        if k.size(-2) == 0 || q.numel() == 0 || v.numel() == 0 {
            return Tensor::zeros(q.shape().with(q.rank() - 1, v.size(-1)), q.device()).cast(dtype);
        }
        let short = q.device().is_gpu() && q.size(-2).max(k.size(-2)) <= SHORT;
        let short = short || crate::traced::is_composing();
        if options.composed.unwrap_or(short) || options.mask.is_some() || options.dropout > 0.0 || !fits {
            let sharing = heads(&q) / heads(&k);
            return composed(&q, &k.shared_by(sharing), &v.shared_by(sharing), options, scale);
        }
        q.cast(DType::F32).flash(&k.cast(DType::F32), &v.cast(DType::F32), options, scale).cast(dtype)
    }

    /// Attention by the kernels.
    #[track_caller]
    fn flash(&self, k: &Tensor, v: &Tensor, options: &Attention, scale: f64) -> Tensor {
        let width = self.size(-1);
        // Rows of whole vectors; columns of zeros change no score.
        let folded = |t: &Tensor| {
            let rows = t.size(-2);
            let t = t.reshape([t.numel() / (rows * width), rows, width]);
            if width.is_multiple_of(4) { t } else { t.pad(&[(0, 0), (0, 0), (0, 4 - width % 4)]) }
        };
        let (q, keys, values) = (folded(self), folded(k), folded(v));
        let batch = &self.shape()[..self.rank().saturating_sub(3)];
        let seen = options.seen(batch, k.size(-2));
        let seen =
            seen.map(|seen| seen.cast(DType::U32).reshape([batch.iter().product::<usize>(), k.size(-2)]));
        let op = AttentionOp { scale: Exact(scale), offset: options.causal.then_some(options.offset) };
        let operands: Vec<&Tensor> = [&q, &keys, &values].into_iter().chain(seen.as_ref()).collect();
        let y = Tensor::custom(op, &operands).swap_remove(0);
        let y = if width.is_multiple_of(4) { y } else { y.narrow(2, 0, width) };
        y.reshape(self.shape())
    }

    /// Every head repeated for those that share it.
    #[track_caller]
    fn shared_by(&self, heads: usize) -> Tensor {
        if heads == 1 {
            return self.clone();
        }
        let mut sizes = self.shape().to_vec();
        let axis = self.rank() - 3;
        sizes.insert(axis + 1, heads);
        let spread = self.unsqueeze(axis as isize + 1).expand(&sizes);
        spread.reshape(self.shape().with(axis, self.shape()[axis] * heads))
    }
}

fn heads(t: &Tensor) -> usize {
    if t.rank() > 2 { t.size(-3) } else { 1 }
}

/// Says what does not fit.
#[track_caller]
fn check(q: &Tensor, k: &Tensor, v: &Tensor) {
    let op = "attention";
    for t in [q, k, v] {
        if t.rank() < 2 {
            raise(OpError::RankTooLow { op, shape: t.shape(), rank: t.rank(), least: 2 });
        }
        if !t.dtype().is_float() {
            raise(OpError::DType {
                op,
                dtype: t.dtype(),
                help: "\nhelp: cast it first, e.g. `.cast(DType::F32)`",
            });
        }
    }
    same(q, k, &[]);
    let rank = k.rank();
    // Keys and values agree but for the width, queries and keys but for rows and shared heads.
    same(k, v, &(0..rank - 1).collect::<Vec<_>>());
    same(q, k, &(0..rank.saturating_sub(3)).chain([rank - 1]).collect::<Vec<_>>());
    let (a, b) = (heads(q), heads(k));
    if a != b && (b == 0 || a % b != 0) {
        let what = format!("heads do not share keys evenly: {} and {}", q.shape(), k.shape());
        raise(OpError::Sizes { op, what, a, b });
    }
}

#[track_caller]
fn same(lhs: &Tensor, rhs: &Tensor, axes: &[usize]) {
    let op = "attention";
    let (lhs, rhs): (Shape, Shape) = (lhs.shape(), rhs.shape());
    if lhs.rank() != rhs.rank() {
        raise(OpError::Ranks { op, lhs, rhs, a: lhs.rank(), b: rhs.rank() });
    }
    if let Some(&axis) = axes.iter().find(|&&axis| lhs[axis] != rhs[axis]) {
        raise(OpError::Shapes { op, lhs, rhs, a: lhs[axis], b: rhs[axis] });
    }
}
