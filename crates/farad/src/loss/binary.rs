//! Losses of answers that are yes or no: binary cross-entropy of probabilities and of logits, focal loss.

use super::{Reduction, reduction, same_shapes};
use crate::tensor::Tensor;

/// A logarithm of nothing counts as this.
const LOWEST_LOGARITHM: f64 = -100.0;

/// `-(t · log x + (1 - t) · log(1 - x))` of probabilities against targets between 0 and 1, with logarithms of at
/// least -100; also [`Tensor::binary_cross_entropy`].
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
        let losses = -(&t * logarithm(&p) + (1.0 - &t) * logarithm(&(1.0 - &p)));
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

    /// How much a yes counts beside a no, e.g. one number a class; broadcast to the elements.
    pub fn positive_weights(mut self, weights: &Tensor) -> BinaryCrossEntropyWithLogits {
        self.yes = Some(weights.clone());
        self
    }

    /// The loss of logits against targets of their shape.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, target: &Tensor) -> Tensor {
        same_shapes("binary_cross_entropy_with_logits", x, target);
        let (logits, t) = (x.single(), target.single());
        let losses = match &self.yes {
            Some(yes) => {
                let factor = (yes.single() - 1.0) * &t + 1.0;
                (1.0 - &t) * &logits + factor * softplus_of_negative(&logits)
            }
            None => entropy(&logits, &t),
        };
        self.reduction.of(&weighted(losses, self.weights.as_ref())).rounded_like(x)
    }
}

/// Binary cross-entropy of logits in which what is sure and right counts little: times `(1 - p)^gamma`, where `p` is
/// the probability of the target, and `alpha` for yes, `1 - alpha` for no (Lin and others; torchvision's
/// `sigmoid_focal_loss`, with the mean unless told otherwise).
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

    /// What yes counts; no counts the rest.
    pub fn alpha(mut self, alpha: f64) -> Focal {
        self.alpha = Some(alpha);
        self
    }

    /// Yes and no count alike.
    pub fn without_alpha(mut self) -> Focal {
        self.alpha = None;
        self
    }

    /// How little what is sure counts.
    pub fn gamma(mut self, gamma: f64) -> Focal {
        self.gamma = gamma;
        self
    }

    /// The loss of logits against targets of their shape.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, target: &Tensor) -> Tensor {
        same_shapes("focal", x, target);
        let (logits, t) = (x.single(), target.single());
        let p = logits.sigmoid();
        let wrong = &p * (1.0 - &t) + (1.0 - &p) * &t;
        let mut losses = entropy(&logits, &t);
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

/// Binary cross-entropy of logits, element by element.
#[track_caller]
fn entropy(x: &Tensor, t: &Tensor) -> Tensor {
    (1.0 - t) * x + softplus_of_negative(x)
}

/// `log(1 + e^-x)`, with a half as its slope at zero.
#[track_caller]
fn softplus_of_negative(x: &Tensor) -> Tensor {
    let size = x.abs();
    let rest = ((-&size).exp() + 1.0).log();
    rest + (size - x) * 0.5
}

/// The logarithm, and the lowest of nothing, where its slope is zero.
#[track_caller]
fn logarithm(x: &Tensor) -> Tensor {
    let least = f32::MIN_POSITIVE as f64;
    let log = x.maximum(least).log();
    x.greater(least).select(&log, &log.full_like(LOWEST_LOGARITHM))
}

#[track_caller]
fn weighted(losses: Tensor, weights: Option<&Tensor>) -> Tensor {
    match weights {
        Some(weights) => losses * weights.single(),
        None => losses,
    }
}
