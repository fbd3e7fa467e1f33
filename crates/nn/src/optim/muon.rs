//! Muon: momentum made orthogonal, for matrices; AdamW for all other parameters, in the same program.
//!
//! Invariant: matrices of one shape lie side by side in the array, so each iteration is three products for all of
//! them together, whatever their number.

use farad_ir::{Binary, Contraction, Graph, NodeId, Op, Reduce, Scalar, Shape, Span, Unary};

use super::adam::{AdamRule, Decoupled, adaptive};
use super::{Rule, Slot, Update, Updater};
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
    nesterov: bool,
    iterations: usize,
    match_rms: bool,
    share: f32,
    adam: AdamRule<Decoupled>,
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
            nesterov: true,
            iterations: 5,
            match_rms: false,
            share: 1.0,
            adam: AdamRule::new(0.0),
        };
        Updater::with_rule(parameters, rule)
    }

    /// What the momentum keeps of itself every step.
    pub fn momentum(mut self, momentum: f32) -> Muon {
        self.own().momentum = momentum;
        self
    }

    /// Plain momentum instead of Nesterov's form, in all groups.
    pub fn without_nesterov(self) -> Muon {
        self.all(|rule| rule.nesterov = false)
    }

    /// How often the iteration is done, in all groups.
    pub fn iterations(self, count: usize) -> Muon {
        self.all(|rule| rule.iterations = count)
    }

    /// All parameters shrink by `rate · decay` every step.
    pub fn weight_decay(mut self, decay: f32) -> Muon {
        self.own().decay = decay;
        self
    }

    /// Steps of matrices `[m, n]` are 0.2 · √max(m, n) times the rate, in all groups, so that rates and decay
    /// that are good for [`AdamW`](super::AdamW) are good here. Otherwise they are √max(1, m / n) times the rate.
    pub fn match_rms(self) -> Muon {
        self.all(|rule| rule.match_rms = true)
    }

    /// The rate of parameters that are no matrices, as a share of the learning rate; 1 unless set.
    pub fn other_rate(mut self, share: f32) -> Muon {
        self.own().share = share;
        self
    }

    /// Decay rates of the two moments of parameters that are no matrices.
    pub fn betas(mut self, beta1: f32, beta2: f32) -> Muon {
        (self.own().adam.beta1, self.own().adam.beta2) = (beta1, beta2);
        self
    }

    /// What keeps the division away from zero, for parameters that are no matrices.
    pub fn epsilon(mut self, epsilon: f32) -> Muon {
        self.own().adam.epsilon = epsilon;
        self
    }
}

impl Rule for MuonRule {
    fn rate(&self) -> f32 {
        self.rate
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    fn kind(&self) -> String {
        let MuonRule { nesterov, iterations, match_rms, .. } = self;
        format!("muon nesterov {nesterov} iterations {iterations} match {match_rms}")
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

    fn update(&self, mut update: Update) -> (NodeId, Vec<NodeId>) {
        let [beta1, rest1, .., size, _, _, keep] = update.numbers[..] else { unreachable!("eight numbers") };
        let m = update.mix(beta1, update.states[0], rest1, update.g);
        let (others, v) = self.others(&mut update, m);
        let ahead = if self.nesterov { update.mix(rest1, update.g, beta1, m) } else { m };
        let mut change = others;
        if let Some(direction) = self.matrices(&mut update, ahead) {
            let step = update.graph.mul(size, direction);
            change = Some(change.map_or(step, |others| update.graph.add(others, step)));
        }
        let kept = update.graph.mul(keep, update.p);
        let new = change.map_or(kept, |change| update.graph.sub(kept, change));
        (new, vec![m, v])
    }
}

impl MuonRule {
    /// The change of parameters that are no matrices, zero elsewhere, and their second moment.
    fn others(&self, update: &mut Update, m: NodeId) -> (Option<NodeId>, NodeId) {
        let len = update.graph.shape(update.p).numel();
        let end = update.graph.shape(update.states[1]).numel();
        if end == 0 {
            let none = update.graph.fill(Scalar::f32(0.0), Shape::new(&[0]));
            return (None, none);
        }
        let numbers: Vec<NodeId> = update.numbers.iter().map(|&n| part(update.graph, n, 0, end)).collect();
        let [_, _, beta2, rest2, size, spread, epsilon, _] = numbers[..] else {
            unreachable!("eight numbers")
        };
        let (g, m) = (part(update.graph, update.g, 0, end), part(update.graph, m, 0, end));
        let square = update.graph.mul(g, g);
        let v = update.mix(beta2, update.states[1], rest2, square);
        let change = adaptive(update, m, v, [size, spread, epsilon]);
        let change = match len - end {
            0 => change,
            rest => update.graph.push(Op::Pad(vec![(0, rest)]), &[change]),
        };
        (Some(change), v)
    }

    /// The directions in which matrices move, zero elsewhere.
    fn matrices(&self, update: &mut Update, ahead: NodeId) -> Option<NodeId> {
        let graph = &mut *update.graph;
        let len = graph.shape(update.p).numel();
        let slots: Vec<Slot> = update.slots.iter().filter(|slot| slot.class == MATRIX).copied().collect();
        let (mut offsets, mut directions) = (Vec::new(), Vec::new());
        for run in slots.chunk_by(|a, b| a.shape == b.shape) {
            let (offset, shape, count) = (run[0].offset, run[0].shape, run.len());
            let (rows, columns, size) = (shape[0], shape[1], shape.numel());
            // Slots are padded, so every matrix but a lone one has its stride to itself.
            let stride = run.get(1).map_or(size, |next| next.offset - offset);
            let x = part(graph, ahead, offset, count * stride);
            let x = graph.reshape(x, Shape::new(&[count, stride]));
            let spans = [(count, 0), (size, 0)].map(|(len, start)| Span { start, len, step: 1 });
            let x = graph.push(Op::Slice(spans.to_vec()), &[x]);
            let x = graph.reshape(x, Shape::new(&[count, rows, columns]));
            let y = orthogonal(graph, x, self.iterations);
            let y = graph.scale(y, self.adjustment(rows, columns));
            let mut y = graph.reshape(y, Shape::new(&[count, size]));
            if stride > size {
                y = graph.push(Op::Pad(vec![(0, 0), (0, stride - size)]), &[y]);
            }
            offsets.push(offset);
            directions.push(graph.reshape(y, Shape::new(&[count * stride])));
        }
        (!slots.is_empty()).then(|| graph.push(Op::Pack(offsets, len), &directions))
    }

    /// What the rate is multiplied by for a matrix of this shape.
    fn adjustment(&self, rows: usize, columns: usize) -> f64 {
        match self.match_rms {
            true => 0.2 * (rows.max(columns) as f64).sqrt(),
            false => (rows as f64 / columns as f64).max(1.0).sqrt(),
        }
    }
}

/// A part of a node of one axis.
fn part(graph: &mut Graph, x: NodeId, start: usize, len: usize) -> NodeId {
    match graph.shape(x).numel() == len {
        true => x,
        false => graph.push(Op::Slice(vec![Span { start, len, step: 1 }]), &[x]),
    }
}

/// Matrices `[count, rows, columns]` with singular values near 1: Newton–Schulz on the smaller side.
fn orthogonal(graph: &mut Graph, x: NodeId, iterations: usize) -> NodeId {
    let tall = graph.shape(x)[1] > graph.shape(x)[2];
    let mut x = if tall { graph.permute(x, &[0, 2, 1]) } else { x };
    let shape = graph.shape(x);
    let (count, m, n) = (shape[0], shape[1], shape[2]);
    let square = graph.mul(x, x);
    let sum = graph.reduce(Reduce::Sum, square, &[1, 2]);
    let norm = graph.unary(Unary::Sqrt, sum);
    let least = graph.fill_like(norm, SMALLEST_NORM);
    let norm = graph.binary(Binary::Max, norm, least);
    let norm = graph.reshape(norm, Shape::new(&[count, 1, 1]));
    let norm = graph.expand(norm, shape);
    x = graph.div(x, norm);
    let [a, b, c] = COEFFICIENTS;
    for _ in 0..iterations {
        let turned = graph.permute(x, &[0, 2, 1]);
        let gram = graph.contract(Contraction::matmul(&[count], m, n, m), x, turned);
        let square = graph.contract(Contraction::matmul(&[count], m, m, m), gram, gram);
        let (linear, cubic) = (graph.scale(gram, b), graph.scale(square, c));
        let factor = graph.add(linear, cubic);
        let product = graph.contract(Contraction::matmul(&[count], m, m, n), factor, x);
        let kept = graph.scale(x, a);
        x = graph.add(kept, product);
    }
    if tall { graph.permute(x, &[0, 2, 1]) } else { x }
}
