//! Adam, with weight decay in the gradient; and what it shares with AdamW.

use std::marker::PhantomData;

use super::{Update, UpdateRule, Updater, Var};
use crate::layers::Parameter;

/// Adam: moments of gradients with bias correction (Kingma and Ba). Weight decay is added to the gradient;
/// [`AdamW`](super::AdamW) has it apart.
pub type Adam = Updater<AdamRule<Coupled>>;

/// Where weight decay goes: into the gradient, or to the weights directly.
pub trait Decay: Clone + Send + Sync + 'static {
    /// Whether it is added to the gradient.
    const COUPLED: bool;
}

/// Weight decay is part of the gradient.
#[derive(Clone)]
pub struct Coupled;

/// Weight decay shrinks weights directly.
#[derive(Clone)]
pub struct Decoupled;

impl Decay for Coupled {
    const COUPLED: bool = true;
}

impl Decay for Decoupled {
    const COUPLED: bool = false;
}

/// The numbers of [`Adam`] and [`AdamW`](super::AdamW).
#[derive(Clone)]
pub struct AdamRule<D> {
    pub(super) rate: f32,
    pub(super) beta1: f32,
    pub(super) beta2: f32,
    pub(super) epsilon: f32,
    pub(super) decay: f32,
    form: AdamForm,
    place: PhantomData<D>,
}

/// What decides the formula of [`Adam`] and [`AdamW`](super::AdamW), the same in all groups.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct AdamForm {
    /// Whether the largest second moment so far divides (AMSGrad).
    largest: bool,
}

impl<D> AdamRule<D> {
    pub(super) fn new(decay: f32) -> AdamRule<D> {
        let (rate, beta1, beta2, epsilon) = (1e-3, 0.9, 0.999, 1e-8);
        AdamRule { rate, beta1, beta2, epsilon, decay, form: AdamForm::default(), place: PhantomData }
    }

    /// What a step is of the first moment, and what the root of the second is multiplied by.
    pub(super) fn corrections(&self, rate: f32, step: u64) -> (f32, f32) {
        let correction = |beta: f32| 1.0 - (beta as f64).powf(step as f64);
        let size = rate as f64 / correction(self.beta1);
        (size as f32, (1.0 / correction(self.beta2).sqrt()) as f32)
    }
}

impl Adam {
    /// For these parameters, with rate 1e-3, betas 0.9 and 0.999, epsilon 1e-8 and no decay.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let weight = Parameter::new(Tensor::ones([2], &Device::cpu()));
    /// let mut adam = Adam::new(vec![weight.clone()]).learning_rate(0.1);
    /// adam.step(&weight.value().square().sum())?;
    /// assert!((weight.value().to_vec::<f32>()?[0] - 0.9).abs() < 1e-5);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn new(parameters: Vec<Parameter>) -> Adam {
        Updater::with_rule(parameters, AdamRule::new(0.0))
    }
}

impl<D: Decay> Updater<AdamRule<D>> {
    /// Decay rates of the two moments.
    pub fn betas(mut self, beta1: impl Into<f64>, beta2: impl Into<f64>) -> Self {
        let (beta1, beta2) = (beta1.into() as f32, beta2.into() as f32);
        (self.own().beta1, self.own().beta2) = (beta1, beta2);
        self
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: impl Into<f64>) -> Self {
        let epsilon = epsilon.into() as f32;
        self.own().epsilon = epsilon;
        self
    }

    /// Weight decay: with [`Adam`], `decay · p` is added to gradients; with [`AdamW`](super::AdamW), weights
    /// shrink by `rate · decay` every step.
    pub fn weight_decay(mut self, decay: impl Into<f64>) -> Self {
        let decay = decay.into() as f32;
        self.own().decay = decay;
        self
    }

    /// Divides by the largest second moment so far, in all groups.
    pub fn amsgrad(self) -> Self {
        self.all(|rule| rule.form.largest = true)
    }
}

impl<D: Decay> UpdateRule for AdamRule<D> {
    type Form = AdamForm;

    fn form(&self) -> AdamForm {
        self.form
    }

    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn states(&self) -> usize {
        2 + self.form.largest as usize
    }

    fn numbers(&self, step: u64, _: usize) -> Vec<f32> {
        let (size, spread) = self.corrections(self.rate, step);
        let keep = (1.0 - self.rate as f64 * self.decay as f64) as f32;
        let decay = if D::COUPLED { self.decay } else { keep };
        let (rest1, rest2) = (1.0 - self.beta1, 1.0 - self.beta2);
        vec![self.beta1, rest1, self.beta2, rest2, size, spread, self.epsilon, decay]
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn update<'g>(form: &AdamForm, u: &Update<'g>) -> (Var<'g>, Vec<Var<'g>>) {
        let [beta1, rest1, beta2, rest2, size, spread, epsilon, decay] = u.numbers();
        let g = if D::COUPLED { u.g + decay * u.p } else { u.g };
        let m = beta1 * u.states[0] + rest1 * g;
        let square = g.square();
        let v = beta2 * u.states[1] + rest2 * square;
        let mut states = vec![m, v];
        if form.largest {
            states.push(u.states[2].max(v));
        }
        let change = adaptive(m, states[states.len() - 1], [size, spread, epsilon]);
        let kept = if D::COUPLED { u.p } else { decay * u.p };
        (kept - change, states)
    }
}

/// `size · m / (√v · spread + epsilon)`
pub(super) fn adaptive<'g>(m: Var<'g>, v: Var<'g>, [size, spread, epsilon]: [Var<'g>; 3]) -> Var<'g> {
    let root = v.sqrt() * spread + epsilon;
    size * m / root
}
