//! Losses of pairs that belong together or do not.

use farad_ir::OpError;

use super::{Reduction, reduction, same_shapes};
use crate::tensor::{Tensor, raise};

/// Keeps a length from being zero.
const SMALLEST_SQUARE: f64 = 1e-12;

/// Pairs of vectors `[batch, width]` with targets `[batch]`: 1 brings directions together (`1 - cosine`), -1 drives
/// them apart (`max(0, cosine - margin)`).
#[derive(Clone, Copy, Debug, Default)]
pub struct CosineEmbedding {
    margin: f64,
    reduction: Reduction,
}
reduction!(CosineEmbedding);

impl CosineEmbedding {
    /// With margin 0 and the mean of all pairs.
    pub fn new() -> CosineEmbedding {
        CosineEmbedding::default()
    }

    /// From which cosine on a pair that does not belong together costs something.
    pub fn margin(mut self, margin: f64) -> CosineEmbedding {
        self.margin = margin;
        self
    }

    /// The loss of pairs.
    #[track_caller]
    pub fn loss(&self, first: &Tensor, second: &Tensor, target: &Tensor) -> Tensor {
        same_shapes("cosine_embedding", first, second);
        let (pairs, targets) = (first.shape(), target.shape());
        if pairs.rank() != 2 || targets.rank() != 1 || pairs[0] != targets[0] {
            let what = format!("vectors are [batch, width] and targets [batch]: {pairs} and {targets}");
            let (a, b) = (pairs.first().copied().unwrap_or(0), targets.first().copied().unwrap_or(0));
            raise(OpError::Sizes { op: "cosine_embedding", what, a, b });
        }
        let (x, y) = (first.single(), second.single());
        let sum = |product: Tensor| product.sum_axes([1]);
        let squares = (sum(x.square()) + SMALLEST_SQUARE) * (sum(y.square()) + SMALLEST_SQUARE);
        let cosine = sum(&x * &y) / squares.sqrt();
        let apart = (&cosine - self.margin).relu();
        let losses = target.greater(0.0).select(&(1.0 - &cosine), &apart);
        self.reduction.of(&losses).rounded_like(first)
    }
}

/// Distances with targets of the same shape: 1 brings together (`x`), -1 drives apart up to a margin
/// (`max(0, margin - x)`).
#[derive(Clone, Copy, Debug)]
pub struct HingeEmbedding {
    margin: f64,
    reduction: Reduction,
}
reduction!(HingeEmbedding);

impl Default for HingeEmbedding {
    fn default() -> HingeEmbedding {
        HingeEmbedding { margin: 1.0, reduction: Reduction::Mean }
    }
}

impl HingeEmbedding {
    /// With margin 1 and the mean of all elements.
    pub fn new() -> HingeEmbedding {
        HingeEmbedding::default()
    }

    /// Up to which distance what does not belong together costs something.
    pub fn margin(mut self, margin: f64) -> HingeEmbedding {
        self.margin = margin;
        self
    }

    /// The loss of distances.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, target: &Tensor) -> Tensor {
        same_shapes("hinge_embedding", x, target);
        let distance = x.single();
        let losses = target.greater(0.0).select(&distance, &(self.margin - &distance).relu());
        self.reduction.of(&losses).rounded_like(x)
    }
}
