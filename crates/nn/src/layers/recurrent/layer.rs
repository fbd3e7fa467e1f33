//! A recurrent layer over sequences.

use farad_ir::OpError;
use farad_tensor::engine::inside;

use super::cell::{Cell, State, zeros};
use super::weights::RecurrentWeights;
use crate::layers::{Mode, Module, Visitor};
use farad_tensor::engine::sequence::scan_along;
use farad_tensor::{
    Tensor,
    engine::{check_probability, raise},
};

/// A recurrent layer over sequences `[time, batch, inputs] -> [time, batch, hidden]`, with options: several layers,
/// each over the one before, both directions (hidden states side by side, `2 · hidden`), dropout between layers,
/// `[batch, time, ..]` instead of `[time, batch, ..]`.
///
/// Parameters are named and laid out as PyTorch's: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0`, with
/// `_reverse` behind for the way back. States are lists: layer by layer, the way there before the way back, each of
/// `[batch, hidden]`.
///
/// ```
/// use farad::prelude::*;
/// let gru = Gru::new(3, 5).layers(2).dropout(0.1).batch_first();
/// let x = Tensor::rand([2, 7, 3], &Device::cpu());
/// let (y, states) = gru.forward(&x);
/// let (more, _) = gru.forward_from(&x, &states);
/// assert_eq!(more.shape(), y.shape());
/// ```
#[derive(Clone, Debug)]
pub struct Recurrent<C> {
    /// The cells, layer by layer, the way there before the way back.
    pub cells: Vec<C>,
    mode: Mode,
    inputs: usize,
    hidden: usize,
    directions: usize,
    bias: bool,
    batch_first: bool,
    dropout: f64,
}

impl<C: Cell> Recurrent<C> {
    /// One layer in one direction, with biases. All weights start uniform in ±1/√hidden.
    #[track_caller]
    pub fn new(inputs: usize, hidden: usize) -> Recurrent<C> {
        let mut layer = Recurrent {
            cells: Vec::new(),
            mode: Mode::new(),
            inputs,
            hidden,
            directions: 1,
            bias: true,
            batch_first: false,
            dropout: 0.0,
        };
        layer.make(1);
        layer
    }

    /// New cells for this many layers.
    #[track_caller]
    fn make(&mut self, layers: usize) {
        let weights = |layer: usize| {
            let inputs = if layer == 0 { self.inputs } else { self.hidden * self.directions };
            RecurrentWeights::new(inputs, self.hidden, C::GATES, self.bias)
        };
        let count = layers * self.directions;
        self.cells = (0..count).map(|n| C::of(weights(n / self.directions))).collect();
    }

    /// The number of layers, each over the one before. The weights are drawn anew.
    #[track_caller]
    pub fn layers(mut self, layers: usize) -> Recurrent<C> {
        self.make(layers);
        self
    }

    /// Over the sequence in both directions. The weights are drawn anew.
    #[track_caller]
    pub fn bidirectional(mut self) -> Recurrent<C> {
        let layers = self.cells.len() / self.directions;
        self.directions = 2;
        self.make(layers);
        self
    }

    /// Without biases. The weights are drawn anew.
    #[track_caller]
    pub fn without_bias(mut self) -> Recurrent<C> {
        self.bias = false;
        self.make(self.cells.len() / self.directions);
        self
    }

    /// Takes and gives `[batch, time, ..]`. States stay as they are.
    pub fn batch_first(mut self) -> Recurrent<C> {
        self.batch_first = true;
        self
    }

    /// While training, outputs of every layer but the last are dropped with this probability.
    #[track_caller]
    pub fn dropout(mut self, probability: f64) -> Recurrent<C> {
        check_probability("dropout", probability);
        self.dropout = probability;
        self
    }

    /// The outputs of the last layer at all positions, and the last states of all layers, from states of zeros.
    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> (Tensor, Vec<C::State>) {
        self.run(x, None)
    }

    /// As [`Recurrent::forward`], from these states.
    #[track_caller]
    pub fn forward_from(&self, x: &Tensor, states: &[C::State]) -> (Tensor, Vec<C::State>) {
        let _inside = inside("Recurrent");
        if states.len() != self.cells.len() {
            let what = format!("one state a layer and direction: {}", C::LAYER);
            raise(OpError::Sizes { op: "forward_from", what, a: states.len(), b: self.cells.len() });
        }
        self.run(x, Some(states))
    }

    #[track_caller]
    fn run(&self, x: &Tensor, states: Option<&[C::State]>) -> (Tensor, Vec<C::State>) {
        if x.rank() != 3 {
            let what = format!("sequences have three axes: {}", x.shape());
            raise(OpError::Sizes { op: "forward", what, a: x.rank(), b: 3 });
        }
        let mut y = if self.batch_first { x.transpose(0, 1) } else { x.clone() };
        let mut last = Vec::new();
        for (layer, cells) in self.cells.chunks(self.directions).enumerate() {
            if layer > 0 && self.dropout > 0.0 && self.mode.is_training() {
                y = y.dropout(self.dropout);
            }
            let mut outputs = Vec::new();
            for (direction, cell) in cells.iter().enumerate() {
                let state = states.map(|all| &all[last.len()]);
                let (output, state) = self.direction(cell, &y, state, direction == 1);
                outputs.push(output);
                last.push(state);
            }
            y = match &outputs[..] {
                [one] => one.clone(),
                both => Tensor::concat(&both.iter().collect::<Vec<_>>(), 2),
            };
        }
        (if self.batch_first { y.transpose(0, 1) } else { y }, last)
    }

    /// One layer in one direction: hidden states at all positions, and the last state.
    #[track_caller]
    fn direction(&self, cell: &C, x: &Tensor, state: Option<&C::State>, reverse: bool) -> (Tensor, C::State) {
        let inputs = cell.inputs(x);
        let start =
            state.map_or_else(|| zeros::<C::State>(&inputs, x.shape()[1], self.hidden), C::State::clone);
        let parts = start.parts();
        let (last, outputs) =
            scan_along(&parts.iter().collect::<Vec<_>>(), &[&inputs], reverse, |carries, slices| {
                let next = cell.step(&slices[0], &C::State::from_parts(carries)).parts();
                let hidden = next[0].clone();
                (next, vec![hidden])
            });
        (outputs[0].clone(), C::State::from_parts(&last))
    }
}

impl<C: Cell> Module for Recurrent<C> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        for (n, cell) in self.cells.iter().enumerate() {
            let (layer, back) = (n / self.directions, n % self.directions == 1);
            let name = |part: &str| format!("{part}_l{layer}{}", if back { "_reverse" } else { "" });
            let weights = cell.weights();
            visitor.child(&name("weight_ih"), &weights.weight_ih);
            visitor.child(&name("weight_hh"), &weights.weight_hh);
            for (part, bias) in [("bias_ih", &weights.bias_ih), ("bias_hh", &weights.bias_hh)] {
                if let Some(bias) = bias {
                    visitor.child(&name(part), bias);
                }
            }
        }
        visitor.child("mode", &self.mode);
    }

    fn kind(&self) -> String {
        C::LAYER.into()
    }
}
