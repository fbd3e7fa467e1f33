//! Muon: momentum made orthogonal, for matrices; AdamW for all other parameters, in the same program.
//!
//! Invariant: matrices of one shape lie side by side in the array, so each iteration is three products for all of
//! them together, whatever their number.

use farad_ir::{Scalar, Shape};

use super::adam::{AdamRule, Decoupled, adaptive};
use super::{Slot, Update, UpdateRule, Updater, Var};
use crate::layers::Parameter;

/// Muon (Keller Jordan; the definition is that of PyTorch's `torch.optim.Muon`, with the iteration in `f32` where
/// PyTorch has `bf16`): a matrix's step is its momentum, made nearly orthogonal by a Newton–Schulz iteration.
/// Parameters that do not have two axes are updated as by [`AdamW`](super::AdamW). Embeddings and a network's
/// last layer are better given to an optimizer of their own.
pub type Muon = Updater<MuonRule>;

/// The iteration's polynomial, `a x + b x³ + c x⁵`: steep at zero, near one from there on.
const COEFFICIENTS: [f64; 3] = [3.4445, -4.775, 2.0315];
/// What keeps a matrix of zeros from being divided by its norm.
const SMALLEST_NORM: f64 = 1e-7;
/// The classes of parameters: what comes first in the array is updated as by AdamW.
const OTHER: usize = 0;
const MATRIX: usize = 1;

/// The numbers of [`Muon`].
#[derive(Clone)]
pub struct MuonRule {
    rate: f32,
    momentum: f32,
    decay: f32,
    share: f32,
    adam: AdamRule<Decoupled>,
    form: MuonForm,
}

/// What decides the formula of [`Muon`], the same in all groups.
#[derive(Clone, Copy, Debug, Hash)]
pub struct MuonForm {
    nesterov: bool,
    iterations: usize,
    match_rms: bool,
}

impl Muon {
    /// For these parameters, with rate 1e-3, momentum 0.95 in Nesterov's form, decay 0.1 and five iterations;
    /// betas 0.9 and 0.999 and epsilon 1e-8 for parameters that are no matrices.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let weight = Parameter::new(Tensor::ones([2, 2], &Device::cpu()));
    /// let bias = Parameter::new(Tensor::ones([2], &Device::cpu()));
    /// let mut muon = Muon::new(vec![weight.clone(), bias.clone()]).learning_rate(0.1).weight_decay(0.0);
    /// muon.step(&(weight.value() * bias.value()).sum())?;
    /// // The gradient has rank one: its direction has the length that the iteration gives, about 1.
    /// let step = weight.value().to_vec::<f32>()?[0] - 1.0;
    /// assert!((-0.06..-0.03).contains(&step), "{step}");
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn new(parameters: Vec<Parameter>) -> Muon {
        let rule = MuonRule {
            rate: 1e-3,
            momentum: 0.95,
            decay: 0.1,
            share: 1.0,
            adam: AdamRule::new(0.0),
            form: MuonForm { nesterov: true, iterations: 5, match_rms: false },
        };
        Updater::with_rule(parameters, rule)
    }

    /// What the momentum keeps of itself every step.
    pub fn momentum(mut self, momentum: impl Into<f64>) -> Muon {
        let momentum = momentum.into() as f32;
        self.own().momentum = momentum;
        self
    }

    /// Plain momentum instead of Nesterov's form, in all groups.
    pub fn without_nesterov(self) -> Muon {
        self.all(|rule| rule.form.nesterov = false)
    }

    /// How often the iteration is done, in all groups.
    pub fn iterations(self, count: usize) -> Muon {
        self.all(|rule| rule.form.iterations = count)
    }

    /// All parameters shrink by `rate · decay` every step.
    pub fn weight_decay(mut self, decay: impl Into<f64>) -> Muon {
        let decay = decay.into() as f32;
        self.own().decay = decay;
        self
    }

    /// Steps of matrices `[m, n]` are 0.2 · √max(m, n) times the rate, in all groups, so that rates and decay
    /// that are good for [`AdamW`](super::AdamW) are good here. Otherwise they are √max(1, m / n) times the rate.
    pub fn match_rms(self) -> Muon {
        self.all(|rule| rule.form.match_rms = true)
    }

    /// The rate of parameters that are no matrices, as a share of the learning rate; 1 unless set.
    pub fn other_rate(mut self, share: impl Into<f64>) -> Muon {
        let share = share.into() as f32;
        self.own().share = share;
        self
    }

    /// Decay rates of the two moments of parameters that are no matrices.
    pub fn betas(mut self, beta1: impl Into<f64>, beta2: impl Into<f64>) -> Muon {
        let (beta1, beta2) = (beta1.into() as f32, beta2.into() as f32);
        (self.own().adam.beta1, self.own().adam.beta2) = (beta1, beta2);
        self
    }

    /// What keeps the division away from zero, for parameters that are no matrices.
    pub fn epsilon(mut self, epsilon: impl Into<f64>) -> Muon {
        let epsilon = epsilon.into() as f32;
        self.own().adam.epsilon = epsilon;
        self
    }
}

impl UpdateRule for MuonRule {
    type Form = MuonForm;

    fn form(&self) -> MuonForm {
        self.form
    }

    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn states(&self) -> usize {
        2
    }

    fn class(&self, shape: Shape) -> usize {
        if shape.rank() == 2 && shape.numel() > 0 { MATRIX } else { OTHER }
    }

    fn keeps(&self, state: usize, class: usize) -> bool {
        state == 0 || class == OTHER
    }

    fn numbers(&self, step: u64, class: usize) -> Vec<f32> {
        let keep = |rate: f64| (1.0 - rate * self.decay as f64) as f32;
        if class == MATRIX {
            let (momentum, rate) = (self.momentum, self.rate);
            return vec![momentum, 1.0 - momentum, 0.0, 0.0, rate, 0.0, 0.0, keep(rate as f64)];
        }
        let rate = self.rate * self.share;
        let (size, spread) = self.adam.corrections(rate, step);
        let AdamRule { beta1, beta2, epsilon, .. } = self.adam;
        vec![beta1, 1.0 - beta1, beta2, 1.0 - beta2, size, spread, epsilon, keep(rate as f64)]
    }

    fn update<'g>(form: &MuonForm, u: &Update<'g>) -> (Var<'g>, Vec<Var<'g>>) {
        let [beta1, rest1, _, _, size, _, _, keep] = u.numbers();
        let m = beta1 * u.states[0] + rest1 * u.g;
        let (others, v) = others(u, m);
        let ahead = if form.nesterov { rest1 * u.g + beta1 * m } else { m };
        let matrices = form.matrices(u, ahead).map(|direction| size * direction);
        let change = match (others, matrices) {
            (Some(others), Some(matrices)) => Some(others + matrices),
            (others, matrices) => others.or(matrices),
        };
        let kept = keep * u.p;
        (change.map_or(kept, |change| kept - change), vec![m, v])
    }
}

/// The change of parameters that are no matrices, zero elsewhere, and their second moment.
fn others<'g>(u: &Update<'g>, m: Var<'g>) -> (Option<Var<'g>>, Var<'g>) {
    let end = u.states[1].len();
    if end == 0 {
        return (None, u.p.writer().fill(Scalar::float(u.p.dtype(), 0.0), Shape::new(&[0])));
    }
    let [_, _, beta2, rest2, size, spread, epsilon, _] = u.numbers().map(|number| number.part(0, end));
    let (g, m) = (u.g.part(0, end), m.part(0, end));
    let square = g.square();
    let v = beta2 * u.states[1] + rest2 * square;
    (Some(adaptive(m, v, [size, spread, epsilon]).padded(u.p.len())), v)
}

impl MuonForm {
    /// The directions in which matrices move, zero elsewhere.
    fn matrices<'g>(&self, u: &Update<'g>, ahead: Var<'g>) -> Option<Var<'g>> {
        let slots: Vec<Slot> = u.slots.iter().filter(|slot| slot.class == MATRIX).copied().collect();
        let mut directions = Vec::new();
        for run in slots.chunk_by(|a, b| a.shape == b.shape) {
            let (offset, shape, count) = (run[0].offset, run[0].shape, run.len());
            let (rows, columns, size) = (shape[0], shape[1], shape.numel());
            // Slots are padded, so every matrix but a lone one has its stride to itself.
            let stride = run.get(1).map_or(size, |next| next.offset - offset);
            let x = ahead.part(offset, count * stride).reshape([count, stride]);
            let x = x.first(size).reshape([count, rows, columns]);
            let y = orthogonal(x, self.iterations) * self.adjustment(rows, columns);
            let y = y.reshape([count, size]).padded(stride);
            directions.push((offset, y.reshape([count * stride])));
        }
        (!slots.is_empty()).then(|| Var::packed(&directions, u.p.len()))
    }

    /// What the rate is multiplied by for a matrix of this shape.
    fn adjustment(&self, rows: usize, columns: usize) -> f64 {
        match self.match_rms {
            true => 0.2 * (rows.max(columns) as f64).sqrt(),
            false => (rows as f64 / columns as f64).max(1.0).sqrt(),
        }
    }
}

/// Matrices `[count, rows, columns]` with singular values near 1: Newton–Schulz on the smaller side.
fn orthogonal(x: Var, iterations: usize) -> Var {
    let tall = x.shape()[1] > x.shape()[2];
    let x = if tall { x.transposed() } else { x };
    let norm = x.square().sum(&[1, 2]).sqrt().max(SMALLEST_NORM);
    let mut x = x / norm.reshape([x.shape()[0], 1, 1]).expand(x.shape());
    let [a, b, c] = COEFFICIENTS;
    for _ in 0..iterations {
        let gram = x.matmul(x.transposed());
        let square = gram.matmul(gram);
        let product = (gram * b + square * c).matmul(x);
        x = x * a + product;
    }
    if tall { x.transposed() } else { x }
}
