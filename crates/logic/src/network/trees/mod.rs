//! Logic convolutions: trees of gates over windows, the same at every position, followed by the OR of
//! neighbors.
//!
//! A whole stage is one kernel in each direction. A tree is unrolled gate by gate, and its nodes are registers.
//! Gradients of leaves are gathered by the inputs, so there are no atomics. Hard gates with soft gradients take
//! values from one set of coefficients and gradients from another.
//!
//! [`Trees`] is the stage, [`TreeShape`] has its sizes as a user gives them and `geometry` as the ops need
//! them; `op` has the ops.

mod cpu;
mod geometry;
mod gpu;
mod op;
mod reference;

use std::sync::{Arc, Mutex};

use farad::nn::{Module, Parameter};
use farad::{Device, Tensor};
use farad_circuit::{Gate, Netlist, Wire};

use crate::error::{Error, Result};
use crate::gates::{GateTable, hard_gates, initial_logits};
use crate::layer::Pass;
use crate::wires::Shuffler;
use geometry::{Geometry, Leaf};
use op::trees;

/// The initial preference of gates for passing their first operand through.
const STRENGTH: f32 = 5.0;
/// Most positions along a side of a cell: the index of the largest must fit in a byte.
const LARGEST_POOL: usize = 15;

/// The sizes of a stage of trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeShape {
    /// Input bits per pixel.
    pub channels: usize,
    /// How many of these are adjacent, pixel by pixel, as in a thermometer code; with 1, channels are planes.
    pub beside: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// Trees, each of which makes one output channel.
    pub kernels: usize,
    /// Levels of gates: a tree has `2^depth` leaves.
    pub depth: usize,
    /// Side of the window that leaves are drawn from, in pixels.
    pub window: usize,
    /// Whether windows extend beyond the edge, so that there are as many positions as pixels.
    pub padded: bool,
    /// Most channels that one tree reads.
    pub reads: usize,
    /// Side of the squares of positions that are combined by OR; with 1, there is an output per position.
    pub pool: usize,
}

/// Trees of gates over windows of a picture: `[channels · height · width, batch] -> [kernels · out · out, batch]`.
///
/// Leaves are drawn once for every kernel, gates are learned, and both are the same at all positions. Beyond
/// the edge, windows read zeros. In soft passes the OR of positions is their maximum, and only the first of the
/// largest has a gradient.
#[derive(Clone, Debug, Module)]
pub struct Trees {
    levels: Vec<TreeLevel>,
    #[module(skip)]
    shape: TreeShape,
    #[module(skip)]
    geometry: Geometry,
    #[module(skip)]
    leaves: Arc<Vec<Leaf>>,
    /// Leaves and readers, and the gate table, on the device where they were last used.
    #[module(skip)]
    placed: Arc<Mutex<Option<PlacedTrees>>>,
}

/// The gates of all trees on one level.
#[derive(Clone, Debug, Module)]
struct TreeLevel {
    /// `[kernels · gates, 16]`
    logits: Parameter,
}

#[derive(Clone, Debug)]
struct PlacedTrees {
    device: Device,
    arrays: [Tensor; 2],
    table: GateTable,
}

impl TreeShape {
    /// Positions from top to bottom and from left to right.
    fn positions(&self) -> (usize, usize) {
        match self.padded {
            true => (self.height, self.width),
            false => (self.height + 1 - self.window, self.width + 1 - self.window),
        }
    }

    /// The sizes as the ops need them, or what is wrong with them.
    fn geometry(&self) -> Result<Geometry> {
        let TreeShape { channels, beside, height, width, kernels, depth, window, reads, pool, .. } = *self;
        let refuse = |what, found, wanted| {
            let (inputs, outputs) = (channels * height * width, kernels);
            Err(Error::Wiring { what, inputs, outputs, found, wanted })
        };
        let least = [channels, height, width, kernels, depth, window, reads, pool].into_iter().min();
        if least == Some(0) {
            return refuse("trees need sizes of at least 1", 0, 1);
        }
        if depth > 6 {
            return refuse("trees have at most 6 levels", depth, 6);
        }
        if window > height.min(width) {
            return refuse("the window of a tree is larger than the picture", window, height.min(width));
        }
        let (down, right) = self.positions();
        if pool > down.min(right).min(LARGEST_POOL) {
            let most = down.min(right).min(LARGEST_POOL);
            return refuse("the square of an OR is larger than the picture", pool, most);
        }
        if beside == 0 || !channels.is_multiple_of(beside) {
            return refuse("the groups do not divide the channels", channels, beside);
        }
        let offset = if self.padded { window / 2 } else { 0 };
        let (rows, columns) = (down / pool, right / pool);
        Ok(Geometry { channels, beside, height, width, kernels, depth, offset, rows, columns, pool })
    }
}

impl Trees {
    /// Trees whose leaves are drawn from a position in a seed's stream.
    pub fn new(shape: TreeShape, seed: u64, stream: u64) -> Result<Trees> {
        let geometry = shape.geometry()?;
        let mut shuffler = Shuffler::new(seed, stream);
        let leaves: Vec<Leaf> = (0..shape.kernels).flat_map(|_| leaves(&shape, &mut shuffler)).collect();
        let level = |n: usize| {
            let gates = shape.kernels << (shape.depth - 1 - n);
            TreeLevel { logits: Parameter::new(initial_logits(&[gates], STRENGTH, &Device::cpu())) }
        };
        let levels = (0..shape.depth).map(level).collect();
        Ok(Trees { levels, shape, geometry, leaves: Arc::new(leaves), placed: Arc::default() })
    }

    /// The trees with gates that initially pass their first operand through, with this logit.
    pub fn passing(self, strength: f32) -> Trees {
        for level in &self.levels {
            let gates = level.logits.value().shape()[0];
            level.logits.set(initial_logits(&[gates], strength, &Device::cpu()));
        }
        self
    }

    /// The sizes.
    pub fn shape(&self) -> TreeShape {
        self.shape
    }

    /// Height and width of the output.
    pub fn pooled(&self) -> (usize, usize) {
        (self.geometry.rows, self.geometry.columns)
    }

    /// Input bits.
    pub fn inputs(&self) -> usize {
        self.geometry.inputs()
    }

    /// Output bits.
    pub fn outputs(&self) -> usize {
        self.geometry.outputs()
    }

    /// Gates of the circuit, including the ORs.
    pub fn gates(&self) -> usize {
        let squares = self.shape.pool * self.shape.pool;
        self.outputs() * (squares * self.geometry.gates() + squares - 1)
    }

    /// The stage on feature-major data. `[inputs, batch] -> [outputs, batch]`
    #[track_caller]
    pub fn features(&self, x: &Tensor, pass: Pass) -> Tensor {
        let logits = self.logits();
        let PlacedTrees { arrays, table, .. } = self.placed(logits.device());
        let apply = |values: &Tensor, slopes: &Tensor| trees(self.geometry, values, slopes, &arrays, x);
        match pass {
            Pass::Soft => {
                let soft = table.soft(&logits);
                apply(&soft, &soft)
            }
            Pass::Hard => {
                let hard = table.hard(&logits);
                apply(&hard, &hard)
            }
            Pass::Straight => apply(&table.hard(&logits), &table.soft(&logits)),
        }
    }

    /// The logits of all trees, level by level. `[kernels, gates, 16]`
    fn logits(&self) -> Tensor {
        let kernels = self.shape.kernels;
        let level = |level: &TreeLevel| {
            let logits = level.logits.value();
            let gates = logits.shape()[0] / kernels;
            logits.reshape([kernels, gates, 16])
        };
        let levels: Vec<Tensor> = self.levels.iter().map(level).collect();
        Tensor::concat(&levels.iter().collect::<Vec<_>>(), 1)
    }

    /// Adds the most likely gates at every position to a netlist, and the ORs.
    pub fn add_to(&self, netlist: &mut Netlist, values: &[Wire]) -> Result<Vec<Wire>> {
        let (geometry, count) = (&self.geometry, self.geometry.leaves());
        let gates = hard_gates(&self.logits().to_vec::<f32>()?);
        let zero = netlist.gate(Gate::FALSE, Wire::NONE, Wire::NONE);
        let mut pooled = Vec::with_capacity(self.outputs());
        for (kernel, gates) in gates.chunks_exact(geometry.gates()).enumerate() {
            let leaves = &self.leaves[kernel * count..][..count];
            let tree = |cell: usize, square: usize, netlist: &mut Netlist| {
                let at = geometry.position(cell, square);
                let read = |&leaf: &Leaf| geometry.place(leaf, at).map_or(zero, |place| values[place]);
                let mut nodes: Vec<Wire> = leaves.iter().map(read).collect();
                for (n, &gate) in gates.iter().enumerate() {
                    nodes.push(netlist.gate(gate, nodes[2 * n], nodes[2 * n + 1]));
                }
                nodes[2 * gates.len()]
            };
            for cell in 0..geometry.cells() {
                let first = tree(cell, 0, netlist);
                let mut either = first;
                for square in 1..geometry.pool * geometry.pool {
                    let own = tree(cell, square, netlist);
                    either = netlist.gate(Gate::OR, either, own);
                }
                pooled.push(either);
            }
        }
        Ok(pooled)
    }

    fn placed(&self, device: &Device) -> PlacedTrees {
        let mut place = self.placed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let placed = place.take().filter(|placed| placed.device == *device);
        let placed = placed.unwrap_or_else(|| {
            let words: Vec<u32> = self.leaves.iter().flat_map(|&leaf| self.geometry.words(leaf)).collect();
            let readers = self.geometry.readers(&self.leaves);
            let (count, length) = (self.leaves.len(), readers.len());
            let arrays =
                [Tensor::from_vec(words, [count, 3], device), Tensor::from_vec(readers, [length], device)];
            PlacedTrees { arrays, table: GateTable::on(device), device: device.clone() }
        });
        *place = Some(placed.clone());
        placed
    }
}

/// The leaves of one tree: positions in the window, without repetition as long as there are others.
fn leaves(shape: &TreeShape, shuffler: &mut Shuffler) -> Vec<Leaf> {
    let TreeShape { channels, depth, window, reads, .. } = *shape;
    let mut all: Vec<usize> = (0..channels).collect();
    shuffler.shuffle(&mut all);
    let own = &all[..reads.min(channels)];
    let mut places: Vec<Leaf> = vec![];
    for &channel in own {
        for place in 0..window * window {
            places.push(Leaf { channel, down: place / window, right: place % window });
        }
    }
    let count = 1 << depth;
    let mut leaves = Vec::with_capacity(count);
    while leaves.len() < count {
        shuffler.shuffle(&mut places);
        leaves.extend(places.iter().take(count - leaves.len()));
    }
    leaves
}
