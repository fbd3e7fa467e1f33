//! Attention by matrix products and softmax, which holds the scores of all queries and keys.

use farad_ir::DType;

use super::Attention;
use crate::tensor::Tensor;

/// Scores from here down are of what is not seen.
const HIDDEN: f64 = -1e30;

/// Queries `[.., heads, queries, width]`, keys and values with as many heads.
#[track_caller]
pub fn composed(q: &Tensor, k: &Tensor, v: &Tensor, options: &Attention, scale: f64) -> Tensor {
    let mut scores = q.matmul(&k.transpose(-1, -2)) * scale;
    let mut seen = positions(q, k, options);
    let rank = q.rank();
    let batch = &q.shape()[..rank.saturating_sub(3)];
    if let Some(keys) = options.seen(batch, k.size(-2)) {
        let heads = if rank > 2 { keys.unsqueeze(-2) } else { keys };
        seen = both(seen, heads.unsqueeze(-2));
    }
    match &options.mask {
        Some(mask) if mask.dtype().is_float() => {
            seen = both(seen, mask.greater(HIDDEN));
            scores = scores + mask.maximum(HIDDEN);
        }
        Some(mask) => seen = both(seen, mask.cast(DType::Bool)),
        None => {}
    }
    let mut powers = match seen {
        Some(seen) => {
            let seen = seen.broadcast_to(scores.shape());
            // A row of which nothing is seen becomes zeros.
            let powers = seen.select(&scores, &scores.full_like(HIDDEN)).softmax(-1);
            seen.select(&powers, &powers.full_like(0.0))
        }
        None => scores.softmax(-1),
    };
    if options.dropout > 0.0 {
        powers = powers.dropout(options.dropout);
    }
    powers.matmul(v)
}

/// What is seen by its place alone, `[queries, keys]`.
#[track_caller]
fn positions(q: &Tensor, k: &Tensor, options: &Attention) -> Option<Tensor> {
    options.causal.then(|| {
        let (query, key) = (Tensor::arange(q.size(-2), q.device()), Tensor::arange(k.size(-2), q.device()));
        key.less_equal(query.unsqueeze(1) + options.offset.min(k.size(-2)) as f64)
    })
}

#[track_caller]
fn both(a: Option<Tensor>, b: Tensor) -> Option<Tensor> {
    Some(match a {
        Some(a) => a.and(&b),
        None => b,
    })
}
