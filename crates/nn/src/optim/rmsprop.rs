//! RMSprop.

use farad_ir::{NodeId, Unary};

use super::{Rule, Update, Updater};
use crate::layers::Parameter;

/// Gradients divided by the root of their running mean square (Hinton; PyTorch's definition, with epsilon
/// outside the root), with momentum and centering if asked for.
pub type RmsProp = Updater<RmsPropRule>;

/// The numbers of [`RmsProp`].
#[derive(Clone)]
pub struct RmsPropRule {
    rate: f32,
    alpha: f32,
    epsilon: f32,
    momentum: f32,
    decay: f32,
    centered: bool,
    /// Whether any group has momentum, or decay.
    moves: bool,
    decays: bool,
}

impl RmsProp {
    /// For these parameters, with rate 0.01, alpha 0.99, epsilon 1e-8, no momentum and no decay.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let weight = Parameter::new(Tensor::ones([2], &Device::cpu()));
    /// let mut optimizer = RmsProp::new(vec![weight.clone()]);
    /// optimizer.step(&weight.value().square().sum())?;
    /// assert!((weight.value().to_vec::<f32>()?[0] - 0.9).abs() < 1e-5);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn new(parameters: Vec<Parameter>) -> RmsProp {
        let rule = RmsPropRule {
            rate: 0.01,
            alpha: 0.99,
            epsilon: 1e-8,
            momentum: 0.0,
            decay: 0.0,
            centered: false,
            moves: false,
            decays: false,
        };
        Updater::with_rule(parameters, rule)
    }

    /// What the running mean keeps of itself every step.
    pub fn alpha(mut self, alpha: f32) -> RmsProp {
        self.own().alpha = alpha;
        self
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: f32) -> RmsProp {
        self.own().epsilon = epsilon;
        self
    }

    /// Momentum of the divided gradients.
    pub fn momentum(mut self, momentum: f32) -> RmsProp {
        self.own().momentum = momentum;
        self.all(|rule| rule.moves |= momentum != 0.0)
    }

    /// Adds `decay · p` to every gradient.
    pub fn weight_decay(mut self, decay: f32) -> RmsProp {
        self.own().decay = decay;
        self.all(|rule| rule.decays |= decay != 0.0)
    }

    /// Divides by the running standard deviation instead of the root mean square, in all groups.
    pub fn centered(self) -> RmsProp {
        self.all(|rule| rule.centered = true)
    }
}

impl Rule for RmsPropRule {
    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn kind(&self) -> String {
        format!("rmsprop centered {} momentum {} decay {}", self.centered, self.moves, self.decays)
    }

    fn states(&self) -> usize {
        1 + self.centered as usize + self.moves as usize
    }

    fn numbers(&self, _: u64, _: usize) -> Vec<f32> {
        vec![self.rate, self.alpha, 1.0 - self.alpha, self.epsilon, self.momentum, self.decay]
    }

    fn update(&self, mut update: Update) -> (NodeId, Vec<NodeId>) {
        let [rate, alpha, rest, epsilon, momentum, decay] = update.numbers[..] else {
            unreachable!("six numbers")
        };
        if self.decays {
            update.pull(decay);
        }
        let square = update.graph.mul(update.g, update.g);
        let mut spread = update.mix(alpha, update.states[0], rest, square);
        let mut states = vec![spread];
        if self.centered {
            let mean = update.mix(alpha, update.states[1], rest, update.g);
            states.push(mean);
            let square = update.graph.mul(mean, mean);
            spread = update.graph.sub(spread, square);
        }
        let root = update.graph.unary(Unary::Sqrt, spread);
        let root = update.graph.add(root, epsilon);
        let mut change = update.graph.div(update.g, root);
        if self.moves {
            let kept = update.graph.mul(momentum, *update.states.last().expect("momentum is the last"));
            change = update.graph.add(kept, change);
            states.push(change);
        }
        let change = update.graph.mul(rate, change);
        (update.graph.sub(update.p, change), states)
    }
}
