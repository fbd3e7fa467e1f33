//! The structure of a cell, and the layout of every array that the ops share.

use farad_circuit::Edge;

use crate::wires::Wires;

/// The structure of an automaton of soft gates.
///
/// A cell has `channels` numbers of state. Perception: each of `kernels` small circuits is applied to every
/// channel of the 3×3 neighborhood separately (row by row, 4 is the center). They share one wiring but have
/// their own gates. Update: one circuit from the center's channels and everything perceived to the next state.
///
/// Arrays, for `seeds` independent automata at once:
/// - coefficients `[seeds, gates, 4]`: perception gates of kernel 0 layer by layer, then those of
///   kernel 1, …, then update gates layer by layer;
/// - wires `[seeds, wires]`, `u32`: `a | b << 16`, indices into the previous layer; the perception circuit's
///   gates layer by layer (once for all kernels), then the update circuit's;
/// - consumers `[seeds, consumers]`, `u32`: for each update layer, the `inputs + 1` offsets of the reader lists
///   of its inputs, then the lists: `2·gate + side`, where side 1 is operand `b`, ascending;
/// - states `[seeds, batch, height, width, channels]`;
/// - fired `[seeds, steps, height, width]`: 1 where a cell takes its next state, 0 where it keeps its own; the
///   same for the whole batch.
///
/// Inputs of the update circuit: the center's channels, then what was perceived, at
/// `channels + (channel·bits + bit)·kernels + kernel`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Topology {
    /// Numbers of state per cell.
    pub channels: usize,
    /// Perception circuits.
    pub kernels: usize,
    /// Widths of a perception circuit, the 9 inputs first.
    pub perception: Vec<usize>,
    /// Widths of the update circuit, inputs first; the last is `channels`.
    pub update: Vec<usize>,
    /// What lies beyond the edge.
    pub edge: Edge,
}

impl Topology {
    /// Bits that one kernel perceives of one channel.
    pub fn bits(&self) -> usize {
        *self.perception.last().expect("checked")
    }

    /// Gates of one perception circuit.
    pub fn perception_gates(&self) -> usize {
        self.perception[1..].iter().sum()
    }

    /// Gates of the update circuit.
    pub fn update_gates(&self) -> usize {
        self.update[1..].iter().sum()
    }

    /// All gates that have their own coefficients.
    pub fn gates(&self) -> usize {
        self.kernels * self.perception_gates() + self.update_gates()
    }

    /// Words of the wires array for one seed.
    pub fn wires(&self) -> usize {
        self.perception_gates() + self.update_gates()
    }

    /// Words of the consumers array for one seed.
    pub fn consumers(&self) -> usize {
        self.update.windows(2).map(|pair| pair[0] + 1 + 2 * pair[1]).sum()
    }

    /// Values of one cell at one step that the backward pass needs: inputs of the update circuit, and outputs
    /// of all its layers except the last.
    pub fn activations(&self) -> usize {
        self.update[..self.update.len() - 1].iter().sum()
    }

    /// Gate evaluations of one cell in one step.
    pub fn evaluations(&self) -> usize {
        self.channels * self.kernels * self.perception_gates() + self.update_gates()
    }

    /// Checks the topology; returns what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let wanted = self.channels * (1 + self.kernels * self.perception.last().copied().unwrap_or(0));
        let widest = self.perception.iter().chain(&self.update).max().copied().unwrap_or(0);
        if self.channels == 0 || self.kernels == 0 {
            Err(format!("needs channels and kernels ({} and {})", self.channels, self.kernels))
        } else if self.perception.len() < 2 || self.perception[0] != 9 {
            Err(format!("perception starts at 9 neighbors and has a layer ({:?})", self.perception))
        } else if self.update.len() < 2 || self.update[0] != wanted {
            let first = self.update.first().copied().unwrap_or(0);
            Err(format!("the update circuit has a wrong number of inputs ({first} vs {wanted})"))
        } else if self.update.last() != Some(&self.channels) {
            let last = self.update[self.update.len() - 1];
            Err(format!("the update circuit's outputs are not the channels ({last} vs {})", self.channels))
        } else if widest > 1 << 16 || self.perception.contains(&0) || self.update.contains(&0) {
            Err(format!("widths must be between 1 and 65536 ({:?}, {:?})", self.perception, self.update))
        } else {
            Ok(())
        }
    }

    /// The wiring of one automaton as published: the first perception layer pairs the neighbors with the
    /// center, all others are wired `unique`.
    ///
    /// # Panics
    /// If a layer has fewer than half as many gates as inputs.
    #[track_caller]
    pub fn wire(&self, seed: u64) -> Vec<Wires> {
        let circuits = [&self.perception, &self.update];
        let mut layers = Vec::new();
        for (circuit, widths) in circuits.into_iter().enumerate() {
            for pair in widths.windows(2) {
                let stream = layers.len() as u64;
                layers.push(match (circuit, layers.len()) {
                    (0, 0) => Wires::first_kernel(pair[1], seed, stream),
                    _ => Wires::unique(pair[0], pair[1], seed, stream),
                });
            }
        }
        layers
    }

    /// The wires array of one automaton, from its layers.
    pub fn pack_wires(&self, layers: &[Wires]) -> Vec<u32> {
        let pairs = layers.iter().flat_map(|layer| layer.a.iter().zip(&layer.b));
        pairs.map(|(a, b)| a | b << 16).collect()
    }

    /// The consumers array of one automaton, from its layers.
    pub fn pack_consumers(&self, layers: &[Wires]) -> Vec<u32> {
        let mut words = Vec::with_capacity(self.consumers());
        for layer in &layers[self.perception.len() - 1..] {
            let consumers = layer.consumers();
            words.extend(consumers.starts);
            words.extend(consumers.entries);
        }
        words
    }
}
