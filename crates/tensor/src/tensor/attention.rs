//! Scaled dot-product attention: which form computes it.

use farad_ir::{DType, Exact, OpError, Shape};

use super::{Tensor, raise};
use crate::attention::{Attention, AttentionDropout, AttentionOp, WIDEST, composed};
use crate::precision::Precision;

/// Queries and keys up to which a GPU without tensor cores is faster with products and all scores. Measured; see
/// docs/lab/attention.md.
const SHORT: usize = 512;

/// Queries and keys below which products are faster than tensor cores' kernels: f16 and `f32`. Cases:
/// `attention_fwdbwd_32x6x256x64_f16`, `attention_fwdbwd_32x6x256x64_f32`.
const FEW: [usize; 2] = [64, 256];

/// Queries below which a kernel's rows would be mostly empty. Not measured.
const ROWS: usize = 16;

impl Tensor {
    /// Attention: every query (`self`) gets the mean of the values, weighted by the softmax of its products with
    /// the keys.
    /// `[batch.., heads, queries, width], [batch.., key heads, keys, width], [batch.., key heads, keys, values]
    /// -> [batch.., heads, queries, values]`
    ///
    /// Heads may share keys: their number is a multiple of the key heads'. A query that sees nothing gets zeros.
    ///
    /// The scores of all queries and keys are never held, neither here nor for the gradients. There are exceptions,
    /// which use products and softmax instead: few queries and keys ([`Attention::composed`]), heads wider than 128,
    /// values of another width, and gradients of gradients. Without tensor cores, so do [`Attention::mask`] and
    /// [`Attention::dropout`].
    ///
    /// On tensor cores, f16 tensors stay f16, and so does what is recorded in
    /// [`Precision::Mixed`](crate::Precision::Mixed); sums are `f32`. `f32` tensors keep their precision: see
    /// docs/lab/attention.md.
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
        if !fits || !takes_kernels(&q, &k, options) {
            let sharing = heads(&q) / heads(&k);
            return composed(&q, &k.shared_by(sharing), &v.shared_by(sharing), options, scale).cast(dtype);
        }
        let inner = if is_f16(&q) { DType::F16 } else { DType::F32 };
        q.cast(inner).flash(&k.cast(inner), &v.cast(inner), options, scale).cast(dtype)
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
        let lead = &self.shape()[..self.rank() - 2];
        let batch = &lead[..lead.len().saturating_sub(1)];
        let seen = options.seen(batch, k.size(-2));
        let seen =
            seen.map(|seen| seen.cast(DType::U32).reshape([batch.iter().product::<usize>(), k.size(-2)]));
        let added = options.mask.as_ref().map(|mask| added(mask, lead, [self.size(-2), k.size(-2)]));
        let dropout = (options.dropout > 0.0).then_some(AttentionDropout(Exact(options.dropout)));
        let seed = dropout.map(|_| Tensor::random_bits([4], self.device()));
        let op = AttentionOp {
            scale: Exact(scale),
            offset: options.causal.then_some(options.offset),
            is_f16: self.dtype() == DType::F16,
            mask: seen.is_some(),
            bias: added.as_ref().map(|(_, every)| *every),
            dropout,
        };
        let added = added.map(|(added, _)| added);
        let operands: Vec<&Tensor> =
            [&q, &keys, &values].into_iter().chain(&seen).chain(&added).chain(&seed).collect();
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

/// Whether the kernels compute it in f16.
fn is_f16(q: &Tensor) -> bool {
    let mixed = q.dtype() == DType::F32 && Precision::current() == Precision::Mixed;
    q.device().attends_on_matrices() && (q.dtype() == DType::F16 || mixed)
}

/// Whether the kernels compute it, by a fixed rule on device, sizes and options.
fn takes_kernels(q: &Tensor, k: &Tensor, options: &Attention) -> bool {
    let matrices = q.device().attends_on_matrices();
    let special = options.mask.is_some() || options.dropout > 0.0;
    if special && (!matrices || options.dropout >= 1.0) {
        return false;
    }
    let (queries, keys) = (q.size(-2), k.size(-2));
    let enough = match (q.device().is_gpu(), matrices) {
        (false, _) => true,
        (true, false) => queries.max(keys) > SHORT,
        (true, true) => queries >= ROWS && queries.max(keys) >= FEW[!is_f16(q) as usize],
    };
    !options.composed.unwrap_or(!enough || crate::traced::is_composing())
}

/// What is added to the scores, `[matrices, queries, keys]`, and how many heads in a row share a matrix. `lead` are the
/// axes of the scores before queries and keys, over which the mask broadcasts.
#[track_caller]
fn added(mask: &Tensor, lead: &[usize], [queries, keys]: [usize; 2]) -> (Tensor, usize) {
    let numbers = match mask.dtype().is_float() {
        true => mask.cast(DType::F32),
        // Hidden: below what counts as seen.
        false => (mask.cast(DType::Bool).cast(DType::F32) - 1.0) * 2e30,
    };
    let missing = (lead.len() + 2).saturating_sub(mask.rank());
    let own: Vec<usize> = std::iter::repeat_n(1, missing).chain(mask.shape().iter().copied()).collect();
    let varies = |axis: &usize| lead[*axis] > 1 && own[*axis] > 1;
    let first = (0..lead.len()).find(varies).unwrap_or(lead.len());
    let last = (0..lead.len()).rev().find(varies).map_or(first, |axis| axis + 1);
    let mut sizes = vec![1; first];
    sizes.extend(&lead[first..last]);
    sizes.resize(lead.len(), 1);
    sizes.extend([queries, keys]);
    let count: usize = lead[first..last].iter().product();
    let every = lead[last..].iter().product();
    (numbers.broadcast_to(&sizes).reshape([count, queries, keys]), every)
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
