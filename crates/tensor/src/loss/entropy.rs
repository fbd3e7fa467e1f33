//! Cross-entropy of logits against classes or probabilities.

use crate::axes::kept;
use farad_ir::OpError;

use super::likelihood::{Classes, check_weights};
use super::{Reduction, reduction, same_shapes};
use crate::tensor::{Tensor, raise};

/// Cross-entropy of logits `[batch, classes, ..]` against class indices `[batch, ..]` or probabilities
/// `[batch, classes, ..]`; also [`Tensor::cross_entropy`]. One sample alone is `[classes]`.
#[derive(Clone, Debug, Default)]
pub struct CrossEntropy {
    smoothing: f64,
    ignore: Option<i32>,
    weights: Option<Tensor>,
    reduction: Reduction,
}
reduction!(CrossEntropy);

impl CrossEntropy {
    /// Without smoothing, all classes alike, with the mean of all samples.
    pub fn new() -> CrossEntropy {
        CrossEntropy::default()
    }

    /// Moves this share of every target evenly to all classes.
    #[track_caller]
    pub fn smoothing(mut self, share: f64) -> CrossEntropy {
        assert!((0.0..=1.0).contains(&share), "cross_entropy: smoothing is no share: ({share} vs 0 to 1)");
        self.smoothing = share;
        self
    }

    /// Samples with this index count nothing, whatever the number is.
    pub fn ignore(mut self, index: i32) -> CrossEntropy {
        self.ignore = Some(index);
        self
    }

    /// How much each class counts, `[classes]`. With indices the mean is divided by the sum of the samples'
    /// weights, with probabilities by the number of samples.
    pub fn weights(mut self, weights: &Tensor) -> CrossEntropy {
        self.weights = Some(weights.clone());
        self
    }

    /// The loss.
    #[track_caller]
    pub fn loss(&self, logits: &Tensor, targets: &Tensor) -> Tensor {
        check_weights("cross_entropy", logits, self.weights.as_ref());
        if targets.dtype().is_float() { self.soft(logits, targets) } else { self.hard(logits, targets) }
    }

    /// Against indices.
    #[track_caller]
    fn hard(&self, logits: &Tensor, targets: &Tensor) -> Tensor {
        let classes = Classes::new("cross_entropy", logits, targets, self.ignore, self.weights.as_ref());
        let x = logits.single();
        let total = x.logsumexp(kept([classes.axis]));
        let mut losses = classes.weighted(&(&total - classes.pick(&x)));
        if self.smoothing > 0.0 {
            let count = logits.size(classes.axis) as f64;
            let all = match &self.weights {
                Some(weights) => (&total - &x) * classes.along(weights),
                None => &total - &x,
            };
            let even = classes.kept(&(all.sum_axes(kept([classes.axis])) * (1.0 / count)));
            losses = losses * (1.0 - self.smoothing) + even * self.smoothing;
        }
        classes.reduce(&losses, self.reduction).rounded_like(logits)
    }

    /// Against probabilities.
    #[track_caller]
    fn soft(&self, logits: &Tensor, targets: &Tensor) -> Tensor {
        same_shapes("cross_entropy", logits, targets);
        if self.ignore.is_some() {
            let what = "only indices can be ignored, and targets are probabilities".to_string();
            raise(OpError::Sizes { op: "cross_entropy", what, a: targets.rank(), b: logits.rank() - 1 });
        }
        let axis = if logits.rank() == 1 { 0 } else { 1 };
        let (x, mut targets) = (logits.single(), targets.single());
        if self.smoothing > 0.0 {
            targets = targets * (1.0 - self.smoothing) + self.smoothing / logits.size(axis) as f64;
        }
        if let Some(weights) = &self.weights {
            targets = targets * super::likelihood::along(weights, logits.rank(), axis);
        }
        let losses = (targets * (x.logsumexp(kept([axis])) - &x)).sum_axes([axis]);
        self.reduction.of(&losses).rounded_like(logits)
    }
}
