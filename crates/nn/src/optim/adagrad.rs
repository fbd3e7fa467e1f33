//! Adagrad.

use super::{Update, UpdateRule, Updater, Var};
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
    form: AdagradForm,
}

/// What decides the formula of [`Adagrad`], the same in all groups.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct AdagradForm {
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
        let form = AdagradForm::default();
        let rule = AdagradRule { rate: 0.01, rate_decay: 0.0, decay: 0.0, epsilon: 1e-10, start: 0.0, form };
        Updater::with_rule(parameters, rule)
    }

    /// The rate of step n, counted from 0, is divided by `1 + n · decay`.
    pub fn rate_decay(mut self, decay: impl Into<f64>) -> Adagrad {
        let decay = decay.into() as f32;
        self.own().rate_decay = decay;
        self
    }

    /// Adds `decay · p` to every gradient.
    pub fn weight_decay(mut self, decay: impl Into<f64>) -> Adagrad {
        let decay = decay.into() as f32;
        self.own().decay = decay;
        self.all(|rule| rule.form.decays |= decay != 0.0)
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: impl Into<f64>) -> Adagrad {
        let epsilon = epsilon.into() as f32;
        self.own().epsilon = epsilon;
        self
    }

    /// What the sums of squares start with, in all groups.
    pub fn initial_accumulator(self, start: impl Into<f64>) -> Adagrad {
        let start = start.into() as f32;
        self.all(|rule| rule.start = start)
    }
}

impl UpdateRule for AdagradRule {
    type Form = AdagradForm;

    fn form(&self) -> AdagradForm {
        self.form
    }

    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
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

    fn is_elementwise(&self) -> bool {
        true
    }

    fn update<'g>(form: &AdagradForm, u: &Update<'g>) -> (Var<'g>, Vec<Var<'g>>) {
        let [rate, decay, epsilon] = u.numbers();
        let g = if form.decays { u.g + decay * u.p } else { u.g };
        let sum = u.states[0] + g.square();
        let change = g / (sum.sqrt() + epsilon);
        (u.p - rate * change, vec![sum])
    }
}
