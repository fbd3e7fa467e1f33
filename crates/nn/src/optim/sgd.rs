//! Stochastic gradient descent.

use super::{Update, UpdateRule, Updater, Var};
use crate::layers::Parameter;

/// `p ← p - rate · g`, with momentum if asked for (PyTorch's definition) and weight decay added to
/// the gradient.
pub type Sgd = Updater<SgdRule>;

/// The numbers of [`Sgd`].
#[derive(Clone)]
pub struct SgdRule {
    rate: f32,
    momentum: f32,
    dampening: f32,
    decay: f32,
    form: SgdForm,
}

/// What decides the formula of [`Sgd`], the same in all groups.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct SgdForm {
    nesterov: bool,
    /// Whether any group has momentum, or decay.
    moves: bool,
    decays: bool,
}

impl Sgd {
    /// For these parameters, with rate 0.01 and no momentum.
    pub fn new(parameters: Vec<Parameter>) -> Sgd {
        let form = SgdForm::default();
        let rule = SgdRule { rate: 0.01, momentum: 0.0, dampening: 0.0, decay: 0.0, form };
        Updater::with_rule(parameters, rule)
    }

    /// Momentum: `v ← momentum · v + g`, `p ← p - rate · v`.
    pub fn momentum(mut self, momentum: impl Into<f64>) -> Sgd {
        let momentum = momentum.into() as f32;
        self.own().momentum = momentum;
        self.all(|rule| rule.form.moves |= momentum != 0.0)
    }

    /// What the momentum takes of a gradient is smaller by this share, from the second step on.
    pub fn dampening(mut self, dampening: impl Into<f64>) -> Sgd {
        let dampening = dampening.into() as f32;
        self.own().dampening = dampening;
        self
    }

    /// Nesterov's form of momentum, in all groups.
    pub fn nesterov(self) -> Sgd {
        self.all(|rule| rule.form.nesterov = true)
    }

    /// Adds `decay · p` to every gradient.
    pub fn weight_decay(mut self, decay: impl Into<f64>) -> Sgd {
        let decay = decay.into() as f32;
        self.own().decay = decay;
        self.all(|rule| rule.form.decays |= decay != 0.0)
    }
}

impl UpdateRule for SgdRule {
    type Form = SgdForm;

    fn form(&self) -> SgdForm {
        self.form
    }

    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn states(&self) -> usize {
        self.form.moves as usize
    }

    fn numbers(&self, step: u64, _: usize) -> Vec<f32> {
        // The first gradient is the momentum itself.
        let taken = if step == 1 { 1.0 } else { 1.0 - self.dampening };
        vec![self.rate, self.decay, self.momentum, taken]
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn update<'g>(form: &SgdForm, u: &Update<'g>) -> (Var<'g>, Vec<Var<'g>>) {
        let [rate, decay, momentum, taken] = u.numbers();
        let g = if form.decays { u.g + decay * u.p } else { u.g };
        let [v] = u.states[..] else { return (u.p - rate * g, vec![]) };
        let v = momentum * v + taken * g;
        let change = if form.nesterov { g + momentum * v } else { v };
        (u.p - rate * change, vec![v])
    }
}
