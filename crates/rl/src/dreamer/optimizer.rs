//! LaProp with adaptive gradient clipping, for the weights of many agents.

use farad::Tensor;

/// Decay rates of momentum and of squares, and what is added to roots.
const BETAS: [f64; 2] = [0.9, 0.999];
const SMALL: f64 = 1e-20;
/// The largest norm of a weight's gradient, in norms of the weight; and the least norm that a weight counts with.
const CLIP: f64 = 0.3;
const LEAST: f64 = 1e-3;

/// Weights in training, `[agents, numbers]` each.
#[derive(Clone)]
pub(super) struct LearnedRow {
    pub weights: Tensor,
    momentum: Tensor,
    squares: Tensor,
}

impl LearnedRow {
    pub fn new(weights: Tensor) -> LearnedRow {
        LearnedRow { momentum: weights.full_like(0.0), squares: weights.full_like(0.0), weights }
    }

    pub fn tensors(&self) -> [&Tensor; 3] {
        [&self.weights, &self.momentum, &self.squares]
    }

    pub fn tensors_mut(&mut self) -> [&mut Tensor; 3] {
        [&mut self.weights, &mut self.momentum, &mut self.squares]
    }

    /// After a step along gradients of the same layout; `step` counts from 1. What is divided by the root of its mean
    /// square is the gradient, and the momentum is that of the quotients.
    pub fn stepped(&self, gradient: &Tensor, step: &Tensor, rate: &Tensor) -> LearnedRow {
        let correction = |beta: f64| 1.0 - (step * beta.ln()).exp();
        let squares = &self.squares * BETAS[1] + gradient.square() * (1.0 - BETAS[1]);
        let by = gradient / ((&squares / correction(BETAS[1])).sqrt() + SMALL);
        let momentum = &self.momentum * BETAS[0] + by * (1.0 - BETAS[0]);
        LearnedRow { weights: &self.weights - &momentum / correction(BETAS[0]) * rate, momentum, squares }
    }
}

/// The norms of every agent's part of a weight, broadcast along it.
fn norms(x: &Tensor) -> Tensor {
    let axes: Vec<isize> = (1..x.rank() as isize).collect();
    x.square().sum_axes(farad::kept(axes)).sqrt()
}

/// A weight's gradient, no longer than a share of the weight.
pub(super) fn clipped(gradient: &Tensor, weight: &Tensor) -> Tensor {
    let most = norms(weight).maximum(LEAST) * CLIP;
    // Stored, or every number of the weight would work it out again.
    gradient * (most / norms(gradient).maximum(1e-20)).minimum(1.0).computed_once()
}
