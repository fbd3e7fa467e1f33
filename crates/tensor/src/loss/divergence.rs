//! Divergence of distributions.

use super::{Reduction, reduction, same_shapes};
use crate::tensor::Tensor;

/// Kullback–Leibler divergence of log-probabilities `x` from target probabilities: `t · (log t - x)` element by
/// element; also [`Tensor::kl_divergence`].
#[derive(Clone, Copy, Debug, Default)]
pub struct KlDivergence {
    logarithms: bool,
    by_batch: bool,
    reduction: Reduction,
}
reduction!(KlDivergence);

impl KlDivergence {
    /// Of probabilities, with the mean of all elements.
    pub fn new() -> KlDivergence {
        KlDivergence::default()
    }

    /// Targets are logarithms of probabilities.
    pub fn log_target(mut self) -> KlDivergence {
        self.logarithms = true;
        self
    }

    /// The sum divided by the size of the first axis: the mean of the samples' divergences.
    pub fn batch_mean(mut self) -> KlDivergence {
        (self.by_batch, self.reduction) = (true, Reduction::Sum);
        self
    }

    /// The loss of log-probabilities against targets of their shape.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, target: &Tensor) -> Tensor {
        same_shapes("kl_divergence", x, target);
        let (log, t) = (x.single(), target.single());
        let losses = if self.logarithms {
            t.exp() * (&t - log)
        } else {
            // 0 · log 0 is 0.
            let some = t.greater(0.0);
            let own = &t * some.select(&t, &t.full_like(1.0)).log();
            own - &t * log
        };
        let mut loss = self.reduction.of(&losses);
        if self.by_batch && self.reduction == Reduction::Sum {
            loss = loss * (1.0 / x.shape().first().copied().unwrap_or(1) as f64);
        }
        loss.rounded_like(x)
    }
}
