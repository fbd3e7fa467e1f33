//! Negative log-likelihood of classes, and what it shares with cross-entropy: targets that are indices.

use farad_ir::{DType, OpError, Shape};

use super::{Reduction, reduction};
use crate::tensor::{Tensor, raise};

/// `-x[target]` for log-probabilities `[batch, classes, ..]` and class indices `[batch, ..]`; also
/// [`Tensor::negative_log_likelihood`]. One sample alone is `[classes]`.
#[derive(Clone, Debug, Default)]
pub struct NegativeLogLikelihood {
    ignore: Option<i32>,
    weights: Option<Tensor>,
    reduction: Reduction,
}
reduction!(NegativeLogLikelihood);

impl NegativeLogLikelihood {
    /// All classes alike, with the mean of all samples.
    pub fn new() -> NegativeLogLikelihood {
        NegativeLogLikelihood::default()
    }

    /// Samples with this index count nothing, whatever the number is.
    pub fn ignore(mut self, index: i32) -> NegativeLogLikelihood {
        self.ignore = Some(index);
        self
    }

    /// How much each class counts, `[classes]`. The mean is divided by the sum of the samples' weights.
    pub fn weights(mut self, weights: &Tensor) -> NegativeLogLikelihood {
        self.weights = Some(weights.clone());
        self
    }

    /// The loss.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, targets: &Tensor) -> Tensor {
        let op = "negative_log_likelihood";
        check_weights(op, x, self.weights.as_ref());
        let classes = Classes::new(op, x, targets, self.ignore, self.weights.as_ref());
        let losses = classes.weighted(&-classes.pick(&x.single()));
        classes.reduce(&losses, self.reduction).rounded_like(x)
    }
}

/// Targets that are class indices. Everything here keeps the class axis, with size 1.
pub(super) struct Classes {
    pub axis: isize,
    /// Indices, 0 where they are ignored.
    index: Tensor,
    /// Which samples count, if not all do.
    counts: Option<Tensor>,
    /// What each sample counts, if not 1.
    weights: Option<Tensor>,
}

impl Classes {
    #[track_caller]
    pub fn new(
        op: &'static str,
        x: &Tensor,
        targets: &Tensor,
        ignore: Option<i32>,
        weights: Option<&Tensor>,
    ) -> Classes {
        let axis = if x.rank() == 1 { 0 } else { 1 };
        check(op, x.shape(), targets.shape(), axis);
        let mut index = targets.positions(op).unsqueeze(axis as isize);
        let mut counts = None;
        if let Some(ignore) = ignore {
            // What is ignored may be negative.
            index = index.cast(DType::I32);
            let kept = index.not_equal(ignore);
            index = kept.select(&index, &index.full_like(0.0));
            counts = Some(kept);
        }
        let mut classes = Classes { axis: axis as isize, index, counts, weights: None };
        if let Some(weights) = weights {
            let each = along(&weights.single(), x.rank(), axis as isize);
            // One weight a class, read for every sample.
            let each = each.broadcast_to(x.shape());
            classes.weights = Some(classes.kept(&classes.pick(&each)));
        }
        classes
    }

    /// The element of each sample's class.
    #[track_caller]
    pub fn pick(&self, x: &Tensor) -> Tensor {
        x.gather(self.axis, &self.index)
    }

    /// One number per class, to combine with logits.
    #[track_caller]
    pub fn along(&self, weights: &Tensor) -> Tensor {
        along(&weights.single(), self.index.rank(), self.axis)
    }

    /// Zero where a sample is ignored.
    #[track_caller]
    pub fn kept(&self, losses: &Tensor) -> Tensor {
        match &self.counts {
            Some(counts) => counts.select(losses, &losses.full_like(0.0)),
            None => losses.clone(),
        }
    }

    /// Losses times what their samples count.
    #[track_caller]
    pub fn weighted(&self, losses: &Tensor) -> Tensor {
        match &self.weights {
            Some(weights) => self.kept(losses) * weights,
            None => self.kept(losses),
        }
    }

    #[track_caller]
    pub fn reduce(&self, losses: &Tensor, reduction: Reduction) -> Tensor {
        match (reduction, &self.weights, &self.counts) {
            (Reduction::None, ..) => losses.squeeze(self.axis),
            (Reduction::Mean, Some(weights), _) => losses.sum() / weights.sum(),
            (Reduction::Mean, None, Some(counts)) => losses.sum() / counts.cast(losses.dtype()).sum(),
            _ => reduction.of(losses),
        }
    }
}

/// One number per class as a tensor of this rank.
#[track_caller]
pub(super) fn along(weights: &Tensor, rank: usize, axis: isize) -> Tensor {
    let mut sizes = vec![1; rank];
    sizes[axis as usize] = weights.numel();
    weights.reshape(sizes)
}

/// Panics unless there is one index per sample.
#[track_caller]
fn check(op: &'static str, x: Shape, targets: Shape, axis: usize) {
    if x.rank() > 0 && x.without(&[axis]) == targets {
        return;
    }
    // The first sizes that disagree, apart from the classes.
    let samples: Vec<usize> =
        x.iter().enumerate().filter(|(n, _)| *n != axis).map(|(_, &size)| size).collect();
    let apart = samples.iter().zip(targets.iter()).find(|(a, b)| a != b);
    let (a, b) = apart.map_or((samples.len(), targets.rank()), |(&a, &b)| (a, b));
    let what = match x.rank() {
        0..=2 => format!("logits are [batch, classes] and labels [batch]: {x} and {targets}"),
        _ => format!("logits are [batch, classes, ..] and labels [batch, ..]: {x} and {targets}"),
    };
    raise(OpError::Sizes { op, what, a, b });
}

/// Panics unless there is a weight per class.
#[track_caller]
pub(super) fn check_weights(op: &'static str, x: &Tensor, weights: Option<&Tensor>) {
    let Some(weights) = weights else { return };
    let classes = match x.rank() {
        0 => 0,
        1 => x.shape()[0],
        _ => x.shape()[1],
    };
    if weights.rank() != 1 || weights.numel() != classes {
        let what = format!("one weight per class: {} and {}", x.shape(), weights.shape());
        raise(OpError::Sizes { op, what, a: classes, b: weights.numel() });
    }
}
