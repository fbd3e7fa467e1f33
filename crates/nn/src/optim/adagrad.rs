//! Adagrad.

use farad_ir::{NodeId, Unary};

use super::{Rule, Update, Updater};
use crate::layers::Parameter;

/// Gradients divided by the root of the sum of all their squares so far (Duchi, Hazan and Singer).
pub type Adagrad = Updater<AdagradRule>;

/// The numbers of [`Adagrad`].
#[derive(Clone)]
pub struct AdagradRule {
    rate: f32,
    rate_decay: f32,
    decay: f32,
    epsilon: f32,
    start: f32,
    /// Whether any group has weight decay.
    decays: bool,
}

impl Adagrad {
    /// For these parameters, with rate 0.01, epsilon 1e-10, sums that start with 0, and no decay of rate or
    /// weights.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let weight = Parameter::new(Tensor::ones([2], &Device::cpu()));
    /// let mut optimizer = Adagrad::new(vec![weight.clone()]).learning_rate(0.1);
    /// optimizer.step(&weight.value().square().sum())?;
    /// assert!((weight.value().to_vec::<f32>()?[0] - 0.9).abs() < 1e-5);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn new(parameters: Vec<Parameter>) -> Adagrad {
        let rule = AdagradRule {
            rate: 0.01,
            rate_decay: 0.0,
            decay: 0.0,
            epsilon: 1e-10,
            start: 0.0,
            decays: false,
        };
        Updater::with_rule(parameters, rule)
    }

    /// The rate of step n, counted from 0, is divided by `1 + n · decay`.
    pub fn rate_decay(mut self, decay: f32) -> Adagrad {
        self.own().rate_decay = decay;
        self
    }

    /// Adds `decay · p` to every gradient.
    pub fn weight_decay(mut self, decay: f32) -> Adagrad {
        self.own().decay = decay;
        self.all(|rule| rule.decays |= decay != 0.0)
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: f32) -> Adagrad {
        self.own().epsilon = epsilon;
        self
    }

    /// What the sums of squares start with, in all groups.
    pub fn initial_accumulator(self, start: f32) -> Adagrad {
        self.all(|rule| rule.start = start)
    }
}

impl Rule for AdagradRule {
    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn kind(&self) -> String {
        format!("adagrad decay {}", self.decays)
    }

    fn states(&self) -> usize {
        1
    }

    fn start(&self, _: usize) -> f32 {
        self.start
    }

    fn numbers(&self, step: u64, _: usize) -> Vec<f32> {
        let rate = self.rate as f64 / (1.0 + (step - 1) as f64 * self.rate_decay as f64);
        vec![rate as f32, self.decay, self.epsilon]
    }

    fn update(&self, mut update: Update) -> (NodeId, Vec<NodeId>) {
        let [rate, decay, epsilon] = update.numbers[..] else { unreachable!("three numbers") };
        if self.decays {
            update.pull(decay);
        }
        let square = update.graph.mul(update.g, update.g);
        let sum = update.graph.add(update.states[0], square);
        let root = update.graph.unary(Unary::Sqrt, sum);
        let root = update.graph.add(root, epsilon);
        let change = update.graph.div(update.g, root);
        let change = update.graph.mul(rate, change);
        (update.graph.sub(update.p, change), vec![sum])
    }
}
