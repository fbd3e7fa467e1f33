//! Losses of yes-or-no targets: binary cross-entropy of probabilities and of logits, focal loss.

use super::{Reduction, reduction, same_shapes};
use crate::tensor::Tensor;

/// The logarithm of zero counts as this.
const LOWEST_LOGARITHM: f64 = -100.0;

/// What slopes of probabilities are divided by at least.
const LEAST_DIVISOR: f64 = 1e-12;

/// `-(t · log x + (1 - t) · log(1 - x))` of probabilities against targets between 0 and 1, with logarithms of at
/// least -100 and the slope `(x - t) / max(x · (1 - x), 1e-12)`, as PyTorch has them; also
/// [`Tensor::binary_cross_entropy`].
#[derive(Clone, Debug, Default)]
pub struct BinaryCrossEntropy {
    weights: Option<Tensor>,
    reduction: Reduction,
}
reduction!(BinaryCrossEntropy);

impl BinaryCrossEntropy {
    /// All elements alike, with their mean.
    pub fn new() -> BinaryCrossEntropy {
        BinaryCrossEntropy::default()
    }

    /// How much each element counts; broadcast to the elements.
    pub fn weights(mut self, weights: &Tensor) -> BinaryCrossEntropy {
        self.weights = Some(weights.clone());
        self
    }

    /// The loss of probabilities against targets of their shape.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, target: &Tensor) -> Tensor {
        same_shapes("binary_cross_entropy", x, target);
        let (p, t) = (x.single(), target.single());
        let losses = of_chances(&p, &t);
        self.reduction.of(&weighted(losses, self.weights.as_ref())).rounded_like(x)
    }
}

/// Binary cross-entropy of logits, without overflow: `log(1 + e^-x)` for yes, `log(1 + e^x)` for no; also
/// [`Tensor::binary_cross_entropy_with_logits`].
#[derive(Clone, Debug, Default)]
pub struct BinaryCrossEntropyWithLogits {
    weights: Option<Tensor>,
    yes: Option<Tensor>,
    reduction: Reduction,
}
reduction!(BinaryCrossEntropyWithLogits);

impl BinaryCrossEntropyWithLogits {
    /// All elements alike, with their mean.
    pub fn new() -> BinaryCrossEntropyWithLogits {
        BinaryCrossEntropyWithLogits::default()
    }

    /// How much each element counts; broadcast to the elements.
    pub fn weights(mut self, weights: &Tensor) -> BinaryCrossEntropyWithLogits {
        self.weights = Some(weights.clone());
        self
    }

    /// How much a yes counts beside a no, e.g. one number per class; broadcast to the elements.
    pub fn positive_weights(mut self, weights: &Tensor) -> BinaryCrossEntropyWithLogits {
        self.yes = Some(weights.clone());
        self
    }

    /// The loss of logits against targets of their shape.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, target: &Tensor) -> Tensor {
        same_shapes("binary_cross_entropy_with_logits", x, target);
        let (logits, t) = (x.single(), target.single());
        let losses = entropy(&logits, &t, self.yes.as_ref());
        self.reduction.of(&weighted(losses, self.weights.as_ref())).rounded_like(x)
    }
}

/// Focal loss: binary cross-entropy of logits in which confident right answers count little. It is multiplied by
/// `(1 - p)^gamma`, where `p` is the probability of the target, and by `alpha` for yes or `1 - alpha` for no (Lin and
/// others; torchvision's `sigmoid_focal_loss`, with the mean by default).
#[derive(Clone, Copy, Debug)]
pub struct Focal {
    alpha: Option<f64>,
    gamma: f64,
    reduction: Reduction,
}
reduction!(Focal);

impl Default for Focal {
    fn default() -> Focal {
        Focal { alpha: Some(0.25), gamma: 2.0, reduction: Reduction::Mean }
    }
}

impl Focal {
    /// With alpha 0.25 and gamma 2, and the mean of all elements.
    pub fn new() -> Focal {
        Focal::default()
    }

    /// The weight of yes; no has `1 - alpha`.
    pub fn alpha(mut self, alpha: f64) -> Focal {
        self.alpha = Some(alpha);
        self
    }

    /// Yes and no have equal weights.
    pub fn without_alpha(mut self) -> Focal {
        self.alpha = None;
        self
    }

    /// The exponent: the larger it is, the less confident right answers count.
    pub fn gamma(mut self, gamma: f64) -> Focal {
        self.gamma = gamma;
        self
    }

    /// The loss of logits against targets of their shape.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, target: &Tensor) -> Tensor {
        same_shapes("focal", x, target);
        let (logits, t) = (x.single(), target.single());
        // Not 1 - p for the chance of no: that is nothing where p rounds to 1.
        let wrong = logits.sigmoid() * (1.0 - &t) + (-&logits).sigmoid() * &t;
        let mut losses = entropy(&logits, &t, None);
        // Squares and the like have gradients at zero that powers by logarithms have not.
        losses = match self.gamma {
            0.0 => losses,
            1.0 => losses * wrong,
            2.0 => losses * wrong.square(),
            gamma => losses * wrong.pow(gamma),
        };
        if let Some(alpha) = self.alpha {
            losses = losses * (&t * alpha + (1.0 - &t) * (1.0 - alpha));
        }
        self.reduction.of(&losses).rounded_like(x)
    }
}

/// Binary cross-entropy of logits, element by element: `(1 - t) · softplus(x) + t · softplus(-x)`, the latter times a
/// weight if there is one. What both have in common is computed once, and nothing cancels where an answer is sure and right.
#[track_caller]
fn entropy(x: &Tensor, t: &Tensor, weights: Option<&Tensor>) -> Tensor {
    // A choice, not |x|: both branches meet at zero with all their slopes.
    let (positive, zero) = (x.greater(0.0), x.full_like(0.0));
    let (yes, no) = (weighted(t.clone(), weights), 1.0 - t);
    let far = &no * positive.select(x, &zero) + &yes * positive.select(&zero, &-x);
    let near = positive.select(&-x, x).exp().log1p();
    far + if weights.is_some() { (no + yes) * near } else { near }
}

/// Binary cross-entropy of probabilities, element by element.
#[track_caller]
fn of_chances(p: &Tensor, t: &Tensor) -> Tensor {
    let edge = (p * (1.0 - p)).less(LEAST_DIVISOR);
    let inner = kept(&edge.not(), p);
    let within = -(t * inner.log() + (1.0 - t) * (-&inner).log1p());
    // At the edge the value is cut, and its slope is that of a parabola, which adds nothing to the value.
    let (still, fixed) = (p.stop_gradient(), t.stop_gradient());
    let (yes, no) = (still.greater(0.0), still.less(1.0));
    let logs =
        [kept(&yes, &still).log(), (-kept(&no, &still)).log1p()].map(|log| log.maximum(LOWEST_LOGARITHM));
    let lowest = still.full_like(LOWEST_LOGARITHM);
    let cut = -(t * yes.select(&logs[0], &lowest) + (1.0 - t) * no.select(&logs[1], &lowest));
    let parabola = (p * 0.5 - fixed) * p * (1.0 / LEAST_DIVISOR);
    let flat = parabola.stop_gradient();
    edge.select(&(cut + (parabola - flat)), &within)
}

/// The elements, and halves where they do not count.
#[track_caller]
fn kept(counts: &Tensor, x: &Tensor) -> Tensor {
    counts.select(x, &x.full_like(0.5))
}

#[track_caller]
fn weighted(losses: Tensor, weights: Option<&Tensor>) -> Tensor {
    match weights {
        Some(weights) => losses * weights.single(),
        None => losses,
    }
}
