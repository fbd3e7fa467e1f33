//! Adam, with weight decay in the gradient; and what it shares with AdamW.

use std::marker::PhantomData;

use farad_ir::{Binary, NodeId, Unary};

use super::{Rule, Update, Updater};
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
    /// Whether the largest second moment so far divides (AMSGrad).
    largest: bool,
    place: PhantomData<D>,
}

impl<D> AdamRule<D> {
    pub(super) fn new(decay: f32) -> AdamRule<D> {
        let (rate, beta1, beta2, epsilon) = (1e-3, 0.9, 0.999, 1e-8);
        AdamRule { rate, beta1, beta2, epsilon, decay, largest: false, place: PhantomData }
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
    pub fn betas(mut self, beta1: f32, beta2: f32) -> Self {
        (self.own().beta1, self.own().beta2) = (beta1, beta2);
        self
    }

    /// What keeps the division away from zero.
    pub fn epsilon(mut self, epsilon: f32) -> Self {
        self.own().epsilon = epsilon;
        self
    }

    /// Weight decay: with [`Adam`], `decay · p` is added to gradients; with [`AdamW`](super::AdamW), weights
    /// shrink by `rate · decay` every step.
    pub fn weight_decay(mut self, decay: f32) -> Self {
        self.own().decay = decay;
        self
    }

    /// Divides by the largest second moment so far, in all groups.
    pub fn amsgrad(self) -> Self {
        self.all(|rule| rule.largest = true)
    }
}

impl<D: Decay> Rule for AdamRule<D> {
    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn kind(&self) -> String {
        format!("adam coupled {} largest {}", D::COUPLED, self.largest)
    }

    fn states(&self) -> usize {
        2 + self.largest as usize
    }

    fn numbers(&self, step: u64, _: usize) -> Vec<f32> {
        let (size, spread) = self.corrections(self.rate, step);
        let keep = (1.0 - self.rate as f64 * self.decay as f64) as f32;
        let decay = if D::COUPLED { self.decay } else { keep };
        let (rest1, rest2) = (1.0 - self.beta1, 1.0 - self.beta2);
        vec![self.beta1, rest1, self.beta2, rest2, size, spread, self.epsilon, decay]
    }

    fn update(&self, mut update: Update) -> (NodeId, Vec<NodeId>) {
        let [beta1, rest1, beta2, rest2, size, spread, epsilon, decay] = update.numbers[..] else {
            unreachable!("eight numbers")
        };
        if D::COUPLED {
            update.pull(decay);
        }
        let m = update.mix(beta1, update.states[0], rest1, update.g);
        let square = update.graph.mul(update.g, update.g);
        let v = update.mix(beta2, update.states[1], rest2, square);
        let mut states = vec![m, v];
        let mut divisor = v;
        if self.largest {
            divisor = update.graph.binary(Binary::Max, update.states[2], v);
            states.push(divisor);
        }
        let change = adaptive(&mut update, m, divisor, [size, spread, epsilon]);
        let kept = if D::COUPLED { update.p } else { update.graph.mul(decay, update.p) };
        (update.graph.sub(kept, change), states)
    }
}

/// `size · m / (√v · spread + epsilon)`
pub(super) fn adaptive(
    update: &mut Update,
    m: NodeId,
    v: NodeId,
    [size, spread, epsilon]: [NodeId; 3],
) -> NodeId {
    let root = update.graph.unary(Unary::Sqrt, v);
    let root = update.graph.mul(root, spread);
    let root = update.graph.add(root, epsilon);
    let change = update.graph.mul(size, m);
    update.graph.div(change, root)
}
