//! Adam with decoupled weight decay.

use farad_ir::{Graph, NodeId, Unary};

use super::{Rule, Updater};
use crate::nn::Parameter;

/// AdamW: moments of gradients with bias correction; decay shrinks weights directly and is no part
/// of the gradient.
pub type AdamW = Updater<AdamRule>;

/// The numbers of [`AdamW`].
pub struct AdamRule {
    rate: f32,
    beta1: f32,
    beta2: f32,
    epsilon: f32,
    decay: f32,
}

impl AdamW {
    /// For these parameters, with rate 1e-3, betas 0.9 and 0.999, epsilon 1e-8 and decay 0.01.
    pub fn new(parameters: Vec<Parameter>) -> AdamW {
        let rule = AdamRule { rate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, decay: 0.01 };
        Updater::with_rule(parameters, rule)
    }

    /// Decay rates of the two moments.
    pub fn betas(mut self, beta1: f32, beta2: f32) -> AdamW {
        (self.rule.beta1, self.rule.beta2) = (beta1, beta2);
        self
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: f32) -> AdamW {
        self.rule.epsilon = epsilon;
        self
    }

    /// Weights shrink by `rate · decay` every step.
    pub fn weight_decay(mut self, decay: f32) -> AdamW {
        self.rule.decay = decay;
        self
    }
}

impl Rule for AdamRule {
    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn kind(&self) -> String {
        "adamw".into()
    }

    fn states(&self) -> usize {
        2
    }

    fn numbers(&self, step: u64) -> Vec<f32> {
        let correction = |beta: f32| 1.0 - (beta as f64).powi(step as i32);
        let size = self.rate as f64 / correction(self.beta1);
        let spread = 1.0 / correction(self.beta2).sqrt();
        let keep = 1.0 - self.rate as f64 * self.decay as f64;
        vec![
            self.beta1,
            1.0 - self.beta1,
            self.beta2,
            1.0 - self.beta2,
            size as f32,
            spread as f32,
            self.epsilon,
            keep as f32,
        ]
    }

    fn update(
        &self,
        graph: &mut Graph,
        p: NodeId,
        g: NodeId,
        states: &[NodeId],
        numbers: &[NodeId],
    ) -> (NodeId, Vec<NodeId>) {
        let [beta1, rest1, beta2, rest2, size, spread, epsilon, keep] = numbers[..] else {
            unreachable!("eight numbers were given")
        };
        let (a, b) = (graph.mul(beta1, states[0]), graph.mul(rest1, g));
        let m = graph.add(a, b);
        let square = graph.mul(g, g);
        let (a, b) = (graph.mul(beta2, states[1]), graph.mul(rest2, square));
        let v = graph.add(a, b);
        let root = graph.unary(Unary::Sqrt, v);
        let root = graph.mul(root, spread);
        let root = graph.add(root, epsilon);
        let change = graph.mul(size, m);
        let change = graph.div(change, root);
        let kept = graph.mul(keep, p);
        (graph.sub(kept, change), vec![m, v])
    }
}
