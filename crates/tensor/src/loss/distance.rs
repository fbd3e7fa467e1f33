//! How far numbers are from their targets: squared, absolute, Huber, smooth.

use super::{Reduction, reduction, same_shapes};
use crate::tensor::Tensor;

/// `(x - target)²`; also [`Tensor::mean_squared_error`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SquaredError {
    reduction: Reduction,
}
reduction!(SquaredError);

impl SquaredError {
    /// With the mean of all elements.
    pub fn new() -> SquaredError {
        SquaredError::default()
    }

    /// The loss of `x` against targets of its shape.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, target: &Tensor) -> Tensor {
        let difference = difference("mean_squared_error", x, target);
        self.reduction.of(&difference.square()).rounded_like(x)
    }
}

/// `|x - target|`; also [`Tensor::mean_absolute_error`].
#[derive(Clone, Copy, Debug, Default)]
pub struct AbsoluteError {
    reduction: Reduction,
}
reduction!(AbsoluteError);

impl AbsoluteError {
    /// With the mean of all elements.
    pub fn new() -> AbsoluteError {
        AbsoluteError::default()
    }

    /// The loss of `x` against targets of its shape.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, target: &Tensor) -> Tensor {
        let difference = difference("mean_absolute_error", x, target);
        self.reduction.of(&difference.abs()).rounded_like(x)
    }
}

/// `d² / 2` up to a distance of `delta`, `delta · (|d| - delta / 2)` beyond; also [`Tensor::huber`].
#[derive(Clone, Copy, Debug)]
pub struct Huber {
    delta: f64,
    reduction: Reduction,
}
reduction!(Huber);

impl Huber {
    /// With this distance at which squares end, and the mean of all elements.
    #[track_caller]
    pub fn new(delta: f64) -> Huber {
        assert!(delta > 0.0, "huber: delta is not positive: ({delta} vs more than 0)");
        Huber { delta, reduction: Reduction::Mean }
    }

    /// The loss of `x` against targets of its shape.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, target: &Tensor) -> Tensor {
        let distance = difference("huber", x, target).abs();
        // With the distance cut at delta, one formula is both: c · (|d| - c / 2).
        let near = distance.minimum(self.delta);
        self.reduction.of(&(&near * (&distance - &near * 0.5))).rounded_like(x)
    }
}

/// `d² / (2 · beta)` up to a distance of `beta`, `|d| - beta / 2` beyond; also [`Tensor::smooth_l1`].
#[derive(Clone, Copy, Debug)]
pub struct SmoothL1 {
    beta: f64,
    reduction: Reduction,
}
reduction!(SmoothL1);

impl SmoothL1 {
    /// With this distance at which squares end (0: there are none), and the mean of all elements.
    #[track_caller]
    pub fn new(beta: f64) -> SmoothL1 {
        assert!(beta >= 0.0, "smooth_l1: beta is negative: ({beta} vs at least 0)");
        SmoothL1 { beta, reduction: Reduction::Mean }
    }

    /// The loss of `x` against targets of its shape.
    #[track_caller]
    pub fn loss(&self, x: &Tensor, target: &Tensor) -> Tensor {
        let distance = difference("smooth_l1", x, target).abs();
        if self.beta == 0.0 {
            return self.reduction.of(&distance).rounded_like(x);
        }
        let near = distance.minimum(self.beta);
        let losses = &near * (&distance - &near * 0.5) * (1.0 / self.beta);
        self.reduction.of(&losses).rounded_like(x)
    }
}

#[track_caller]
fn difference(op: &'static str, x: &Tensor, target: &Tensor) -> Tensor {
    same_shapes(op, x, target);
    x.single() - target.single()
}
