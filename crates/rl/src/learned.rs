//! Numbers that Adam moves: one row per seed, so that a step of all of them is one kernel.
//!
//! Invariant: seeds share nothing. A seed whose gradient is not finite keeps its numbers.

use farad::Tensor;

/// Added to the root of Adam's second moments.
const SMALL: f64 = 1e-8;

/// Numbers that are learned, with Adam's moments: `[seeds, numbers]` each.
#[derive(Clone)]
pub(crate) struct Learned {
    pub weights: Tensor,
    first: Tensor,
    second: Tensor,
}

impl Learned {
    pub fn new(weights: Tensor) -> Learned {
        Learned { first: weights.full_like(0.0), second: weights.full_like(0.0), weights }
    }

    pub fn tensors(&self) -> [&Tensor; 3] {
        [&self.weights, &self.first, &self.second]
    }

    pub fn tensors_mut(&mut self) -> [&mut Tensor; 3] {
        [&mut self.weights, &mut self.first, &mut self.second]
    }

    /// The names of the tensors of `part`, in their order.
    pub fn names(part: &str) -> [String; 3] {
        ["weights", "first", "second"].map(|name| format!("{part}.{name}"))
    }

    /// From its tensors.
    pub fn of(parts: &[Tensor]) -> Learned {
        Learned { weights: parts[0].clone(), first: parts[1].clone(), second: parts[2].clone() }
    }

    /// After a step of Adam with these decay rates of its moments; `step` counts from 1.
    pub fn stepped(&self, gradient: &Tensor, step: &Tensor, rate: &Tensor, betas: [f64; 2]) -> Learned {
        let correction = |beta: f64| 1.0 - (step * beta.ln()).exp();
        let first = &self.first * betas[0] + gradient * (1.0 - betas[0]);
        let second = &self.second * betas[1] + gradient.square() * (1.0 - betas[1]);
        let by = (&first / correction(betas[0])) / ((&second / correction(betas[1])).sqrt() + SMALL);
        Learned { weights: &self.weights - by * rate, first, second }
    }

    /// The same with a gradient that is no longer than `longest`. Also returns how long it was, `[seeds, 1]`.
    pub fn stepped_within(
        &self,
        gradient: &Tensor,
        longest: f64,
        step: &Tensor,
        rate: &Tensor,
        betas: [f64; 2],
    ) -> (Learned, Tensor) {
        let norm = gradient.square().sum_axes(farad::kept([1])).sqrt();
        let fine = norm.is_finite();
        let short = gradient * (longest / (&norm + SMALL)).minimum(1.0);
        let short = fine.select(&short, &short.full_like(0.0));
        let moved = self.stepped(&short, step, rate, betas);
        let pairs = moved.tensors().into_iter().zip(self.tensors());
        let kept: Vec<Tensor> = pairs.map(|(new, old)| fine.select(new, old)).collect();
        (Learned::of(&kept), norm)
    }
}
