//! RMSprop.

use super::{Update, UpdateRule, Updater, Var};
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
    form: RmsPropForm,
}

/// What decides the formula of [`RmsProp`], the same in all groups.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct RmsPropForm {
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
            form: RmsPropForm::default(),
        };
        Updater::with_rule(parameters, rule)
    }

    /// What the running mean keeps of itself every step.
    pub fn alpha(mut self, alpha: impl Into<f64>) -> RmsProp {
        let alpha = alpha.into() as f32;
        self.own().alpha = alpha;
        self
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: impl Into<f64>) -> RmsProp {
        let epsilon = epsilon.into() as f32;
        self.own().epsilon = epsilon;
        self
    }

    /// Momentum of the divided gradients.
    pub fn momentum(mut self, momentum: impl Into<f64>) -> RmsProp {
        let momentum = momentum.into() as f32;
        self.own().momentum = momentum;
        self.all(|rule| rule.form.moves |= momentum != 0.0)
    }

    /// Adds `decay · p` to every gradient.
    pub fn weight_decay(mut self, decay: impl Into<f64>) -> RmsProp {
        let decay = decay.into() as f32;
        self.own().decay = decay;
        self.all(|rule| rule.form.decays |= decay != 0.0)
    }

    /// Divides by the running standard deviation instead of the root mean square, in all groups.
    pub fn centered(self) -> RmsProp {
        self.all(|rule| rule.form.centered = true)
    }
}

impl UpdateRule for RmsPropRule {
    type Form = RmsPropForm;

    fn form(&self) -> RmsPropForm {
        self.form
    }

    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn states(&self) -> usize {
        1 + self.form.centered as usize + self.form.moves as usize
    }

    fn numbers(&self, _: u64, _: usize) -> Vec<f32> {
        vec![self.rate, self.alpha, 1.0 - self.alpha, self.epsilon, self.momentum, self.decay]
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn update<'g>(form: &RmsPropForm, u: &Update<'g>) -> (Var<'g>, Vec<Var<'g>>) {
        let [rate, alpha, rest, epsilon, momentum, decay] = u.numbers();
        let g = if form.decays { u.g + decay * u.p } else { u.g };
        let square = g.square();
        let mut spread = alpha * u.states[0] + rest * square;
        let mut states = vec![spread];
        if form.centered {
            let mean = alpha * u.states[1] + rest * g;
            states.push(mean);
            spread = spread - mean.square();
        }
        let mut change = g / (spread.sqrt() + epsilon);
        if form.moves {
            change = momentum * u.states[states.len()] + change;
            states.push(change);
        }
        (u.p - rate * change, states)
    }
}
