//! Lion.

use super::{Update, UpdateRule, Updater, Var};
use crate::layers::Parameter;

/// Lion (Chen and others, 2023): every weight moves by the rate, in the direction of the sign of a mean of
/// gradients. One moment; rates a third to a tenth of [`AdamW`](super::AdamW)'s, decay larger by as much.
pub type Lion = Updater<LionRule>;

/// The numbers of [`Lion`].
#[derive(Clone)]
pub struct LionRule {
    rate: f32,
    beta1: f32,
    beta2: f32,
    decay: f32,
}

impl Lion {
    /// For these parameters, with rate 1e-4, betas 0.9 and 0.99 and no decay.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let weight = Parameter::new(Tensor::ones([2], &Device::cpu()));
    /// let mut lion = Lion::new(vec![weight.clone()]).learning_rate(0.25);
    /// lion.step(&weight.value().square().sum())?;
    /// assert_eq!(weight.value().to_vec::<f32>()?, [0.75, 0.75]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn new(parameters: Vec<Parameter>) -> Lion {
        Updater::with_rule(parameters, LionRule { rate: 1e-4, beta1: 0.9, beta2: 0.99, decay: 0.0 })
    }

    /// What the direction and the moment keep of the moment.
    pub fn betas(mut self, beta1: impl Into<f64>, beta2: impl Into<f64>) -> Lion {
        let (beta1, beta2) = (beta1.into() as f32, beta2.into() as f32);
        (self.own().beta1, self.own().beta2) = (beta1, beta2);
        self
    }

    /// Weights shrink by `rate · decay` every step.
    pub fn weight_decay(mut self, decay: impl Into<f64>) -> Lion {
        let decay = decay.into() as f32;
        self.own().decay = decay;
        self
    }
}

impl UpdateRule for LionRule {
    type Form = ();

    fn form(&self) {}

    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn states(&self) -> usize {
        1
    }

    fn numbers(&self, _: u64, _: usize) -> Vec<f32> {
        let keep = (1.0 - self.rate as f64 * self.decay as f64) as f32;
        vec![self.rate, keep, self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2]
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn update<'g>(_: &(), u: &Update<'g>) -> (Var<'g>, Vec<Var<'g>>) {
        let [rate, keep, beta1, rest1, beta2, rest2] = u.numbers();
        let m = u.states[0];
        let direction = (beta1 * m + rest1 * u.g).sign();
        let m = beta2 * m + rest2 * u.g;
        (keep * u.p - rate * direction, vec![m])
    }
}
