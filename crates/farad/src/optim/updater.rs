//! An optimiser: parameters in one array and a rule that updates them.

use super::{Clip, Flat, Optimiser, Rule};
use crate::error::Result;
use crate::nn::Parameter;
use crate::tensor::Tensor;

/// Parameters and the rule that updates them. [`Sgd`](super::Sgd) and [`AdamW`](super::AdamW) are
/// this with their rules; a rule of your own makes another.
pub struct Updater<R> {
    flat: Flat,
    pub(super) rule: R,
}

impl<R: Rule> Updater<R> {
    /// For these parameters, by this rule.
    pub fn with_rule(parameters: Vec<Parameter>, rule: R) -> Updater<R> {
        Updater { flat: Flat::new(parameters), rule }
    }

    /// The learning rate.
    pub fn learning_rate(mut self, rate: f32) -> Updater<R> {
        self.rule.set_rate(rate);
        self
    }

    /// What happens to gradients before the update.
    pub fn clip(mut self, clip: Clip) -> Updater<R> {
        self.flat.clip = clip;
        self
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.flat.steps()
    }
}

impl<R: Rule> Optimiser for Updater<R> {
    #[track_caller]
    fn step(&mut self, loss: &Tensor) -> Result<()> {
        self.flat.step(&self.rule, loss)
    }

    #[track_caller]
    fn apply(&mut self, gradients: &[Tensor]) -> Result<()> {
        self.flat.apply(&self.rule, gradients)
    }

    fn set_learning_rate(&mut self, rate: f32) {
        self.rule.set_rate(rate);
    }

    fn parameters(&self) -> &[Parameter] {
        self.flat.parameters()
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        self.flat.state()
    }

    #[track_caller]
    fn restore(&mut self, state: &[(String, Tensor)]) -> Result<()> {
        self.flat.restore(self.rule.states(), state)
    }
}
