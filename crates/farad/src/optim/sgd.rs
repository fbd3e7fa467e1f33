//! Stochastic gradient descent.

use farad_ir::{Graph, NodeId};

use super::{Rule, Updater};
use crate::nn::Parameter;

/// `p ← p - rate · g`, with momentum if asked for (PyTorch's definition) and weight decay added to
/// the gradient.
pub type Sgd = Updater<SgdRule>;

/// The numbers of [`Sgd`].
pub struct SgdRule {
    rate: f32,
    momentum: f32,
    nesterov: bool,
    decay: f32,
}

impl Sgd {
    /// For these parameters, with rate 0.01 and no momentum.
    pub fn new(parameters: Vec<Parameter>) -> Sgd {
        Updater::with_rule(parameters, SgdRule { rate: 0.01, momentum: 0.0, nesterov: false, decay: 0.0 })
    }

    /// Momentum: `v ← momentum · v + g`, `p ← p - rate · v`.
    pub fn momentum(mut self, momentum: f32) -> Sgd {
        self.rule.momentum = momentum;
        self
    }

    /// Nesterov's form of momentum.
    pub fn nesterov(mut self) -> Sgd {
        self.rule.nesterov = true;
        self
    }

    /// Adds `decay · p` to every gradient.
    pub fn weight_decay(mut self, decay: f32) -> Sgd {
        self.rule.decay = decay;
        self
    }
}

impl Rule for SgdRule {
    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn kind(&self) -> String {
        format!(
            "sgd momentum {} nesterov {} decay {}",
            self.momentum != 0.0,
            self.nesterov,
            self.decay != 0.0
        )
    }

    fn states(&self) -> usize {
        (self.momentum != 0.0) as usize
    }

    fn numbers(&self, _: u64) -> Vec<f32> {
        vec![self.rate, self.momentum, self.decay]
    }

    fn update(
        &self,
        graph: &mut Graph,
        p: NodeId,
        g: NodeId,
        states: &[NodeId],
        numbers: &[NodeId],
    ) -> (NodeId, Vec<NodeId>) {
        let [rate, momentum, decay] = numbers[..] else { unreachable!("three numbers were given") };
        let mut g = g;
        if self.decay != 0.0 {
            let pull = graph.mul(decay, p);
            g = graph.add(g, pull);
        }
        let mut new_states = Vec::new();
        if let [v] = states[..] {
            let kept = graph.mul(momentum, v);
            let v = graph.add(kept, g);
            new_states.push(v);
            g = if self.nesterov {
                let ahead = graph.mul(momentum, v);
                graph.add(g, ahead)
            } else {
                v
            };
        }
        let change = graph.mul(rate, g);
        (graph.sub(p, change), new_states)
    }
}
