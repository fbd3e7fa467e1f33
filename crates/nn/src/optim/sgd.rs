//! Stochastic gradient descent.

use farad_ir::NodeId;

use super::{Rule, Update, Updater};
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
    nesterov: bool,
    /// Whether any group has momentum, or decay.
    moves: bool,
    decays: bool,
}

impl Sgd {
    /// For these parameters, with rate 0.01 and no momentum.
    pub fn new(parameters: Vec<Parameter>) -> Sgd {
        let rule = SgdRule {
            rate: 0.01,
            momentum: 0.0,
            dampening: 0.0,
            decay: 0.0,
            nesterov: false,
            moves: false,
            decays: false,
        };
        Updater::with_rule(parameters, rule)
    }

    /// Momentum: `v ← momentum · v + g`, `p ← p - rate · v`.
    pub fn momentum(mut self, momentum: f32) -> Sgd {
        self.own().momentum = momentum;
        self.all(|rule| rule.moves |= momentum != 0.0)
    }

    /// What the momentum takes of a gradient is smaller by this share, from the second step on.
    pub fn dampening(mut self, dampening: f32) -> Sgd {
        self.own().dampening = dampening;
        self
    }

    /// Nesterov's form of momentum, in all groups.
    pub fn nesterov(self) -> Sgd {
        self.all(|rule| rule.nesterov = true)
    }

    /// Adds `decay · p` to every gradient.
    pub fn weight_decay(mut self, decay: f32) -> Sgd {
        self.own().decay = decay;
        self.all(|rule| rule.decays |= decay != 0.0)
    }
}

impl Rule for SgdRule {
    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn kind(&self) -> String {
        format!("sgd momentum {} nesterov {} decay {}", self.moves, self.nesterov, self.decays)
    }

    fn states(&self) -> usize {
        self.moves as usize
    }

    fn numbers(&self, step: u64, _: usize) -> Vec<f32> {
        // The first gradient is the momentum itself.
        let taken = if step == 1 { 1.0 } else { 1.0 - self.dampening };
        vec![self.rate, self.decay, self.momentum, taken]
    }

    fn update(&self, mut update: Update) -> (NodeId, Vec<NodeId>) {
        let [rate, decay, momentum, taken] = update.numbers[..] else { unreachable!("four numbers") };
        if self.decays {
            update.pull(decay);
        }
        let mut states = Vec::new();
        let mut change = update.g;
        if let [v] = update.states[..] {
            let v = update.mix(momentum, v, taken, update.g);
            states.push(v);
            change = v;
            if self.nesterov {
                let ahead = update.graph.mul(momentum, v);
                change = update.graph.add(update.g, ahead);
            }
        }
        let change = update.graph.mul(rate, change);
        (update.graph.sub(update.p, change), states)
    }
}
