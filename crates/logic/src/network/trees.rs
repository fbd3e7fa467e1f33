//! Convolutions of logic: trees of gates over windows, the same at every position, then the OR of neighbors.

use farad::Tensor;
use farad::nn::Module;
use farad_circuit::{Gate, Netlist, Wire};

use crate::error::{Error, Result};
use crate::layer::{GateLayer, Pass};
use crate::wires::{Shuffler, Wires};

/// How decidedly gates begin to pass their first operand on.
const STRENGTH: f32 = 5.0;

/// The sizes of a stage of trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeShape {
    /// Bits of a pixel that come in.
    pub channels: usize,
    /// How many of these lie beside each other, pixel by pixel, as a thermometer's do; 1: channels are planes.
    pub beside: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// Trees, each a channel of what comes out.
    pub kernels: usize,
    /// Levels of gates: a tree has `2^depth` leaves.
    pub depth: usize,
    /// Pixels along a side of the window that leaves are drawn from.
    pub window: usize,
    /// Channels that one tree reads at most.
    pub reads: usize,
    /// Positions along a side of the squares whose OR comes out; 1: every position.
    pub pool: usize,
}

/// Trees of gates over windows of a picture: `[channels · height · width, batch] -> [kernels · out · out, batch]`.
///
/// Leaves are drawn once for every kernel, gates are learned, and both are the same at all positions. Where windows reach
/// over the edge they read zeros, so pictures keep their size before pooling. In soft passes the OR of positions is their
/// maximum.
#[derive(Clone, Debug, Module)]
pub struct Trees {
    levels: Vec<GateLayer>,
    #[module(skip)]
    shape: TreeShape,
}

impl Trees {
    /// Trees whose leaves are drawn from a place of a seed.
    pub fn new(shape: TreeShape, seed: u64, stream: u64) -> Result<Trees> {
        let TreeShape { channels, beside, height, width, kernels, depth, window, reads, pool } = shape;
        let refuse = |what, found, wanted| {
            let (inputs, outputs) = (channels * height * width, kernels);
            Err(Error::Wiring { what, inputs, outputs, found, wanted })
        };
        let least = [channels, height, width, kernels, depth, window, reads, pool].into_iter().min();
        if least == Some(0) {
            return refuse("trees have sizes of at least 1", 0, 1);
        }
        if window > height.min(width) {
            return refuse("the window of a tree is larger than the picture", window, height.min(width));
        }
        if pool > height.min(width) {
            return refuse("the square of an OR is larger than the picture", pool, height.min(width));
        }
        if beside == 0 || !channels.is_multiple_of(beside) {
            return refuse("channels do not come in such groups", channels, beside);
        }
        let mut shuffler = Shuffler::new(seed, stream);
        let leaves: Vec<Vec<Leaf>> = (0..kernels).map(|_| leaves(&shape, &mut shuffler)).collect();
        let mut levels = vec![first_level(&shape, &leaves)];
        for level in 1..depth {
            levels.push(next_level(&shape, kernels << (depth - level)));
        }
        let levels =
            levels.into_iter().map(|wires| GateLayer::shared(wires, height * width).passing(STRENGTH));
        Ok(Trees { levels: levels.collect(), shape })
    }

    /// The trees with gates that begin by passing their first operand on with this logit.
    pub fn passing(mut self, strength: f32) -> Trees {
        self.levels = self.levels.into_iter().map(|level| level.passing(strength)).collect();
        self
    }

    /// The sizes.
    pub fn shape(&self) -> TreeShape {
        self.shape
    }

    /// Height and width of what comes out.
    pub fn pooled(&self) -> (usize, usize) {
        (self.shape.height / self.shape.pool, self.shape.width / self.shape.pool)
    }

    /// Bits that come in.
    pub fn inputs(&self) -> usize {
        self.shape.channels * self.shape.height * self.shape.width
    }

    /// Bits that come out.
    pub fn outputs(&self) -> usize {
        let (height, width) = self.pooled();
        self.shape.kernels * height * width
    }

    /// Gates of the circuit, ORs included.
    pub fn gates(&self) -> usize {
        let ors = self.outputs() * (self.shape.pool * self.shape.pool - 1);
        self.levels.iter().map(GateLayer::outputs).sum::<usize>() + ors
    }

    /// The stage on features by samples. `[inputs, batch] -> [outputs, batch]`
    #[track_caller]
    pub fn features(&self, x: &Tensor, pass: Pass) -> Tensor {
        let batch = x.shape()[1];
        // One row more than there are pixels: the zeros beyond the edge.
        let padded = x.pad(&[(0, 1), (0, 0)]);
        let y = self.levels.iter().fold(padded, |x, level| level.features(&x, pass));
        let TreeShape { height, width, kernels, pool, .. } = self.shape;
        if pool == 1 {
            return y;
        }
        let (rows, columns) = self.pooled();
        let y = y.reshape([kernels, height, width, batch]);
        let y = y.narrow(1, 0, rows * pool).narrow(2, 0, columns * pool);
        let squares = y.reshape([kernels, rows, pool, columns, pool, batch]);
        squares.max_axes([2, 4]).reshape([self.outputs(), batch])
    }

    /// Adds the likeliest gates at every position to a netlist, and the ORs.
    pub fn add_to(&self, netlist: &mut Netlist, values: &[Wire]) -> Result<Vec<Wire>> {
        let mut values = values.to_vec();
        values.push(netlist.gate(Gate::FALSE, Wire::NONE, Wire::NONE));
        for level in &self.levels {
            values = level.add_to(netlist, &values)?;
        }
        let TreeShape { height, width, kernels, pool, .. } = self.shape;
        let (rows, columns) = self.pooled();
        let mut pooled = Vec::with_capacity(self.outputs());
        for (kernel, y, x) in
            (0..kernels).flat_map(|k| (0..rows).flat_map(move |y| (0..columns).map(move |x| (k, y, x))))
        {
            let at = |n: usize| {
                let (y, x) = (y * pool + n / pool, x * pool + n % pool);
                values[(kernel * height + y) * width + x]
            };
            let first = at(0);
            pooled.push((1..pool * pool).fold(first, |either, n| netlist.gate(Gate::OR, either, at(n))));
        }
        Ok(pooled)
    }
}

/// What a leaf reads: a channel, and how far from the position.
#[derive(Clone, Copy)]
struct Leaf {
    channel: usize,
    down: isize,
    right: isize,
}

/// The leaves of one tree: places of the window, none twice as long as there are others.
fn leaves(shape: &TreeShape, shuffler: &mut Shuffler) -> Vec<Leaf> {
    let TreeShape { channels, depth, window, reads, .. } = *shape;
    let mut all: Vec<usize> = (0..channels).collect();
    shuffler.shuffle(&mut all);
    let own = &all[..reads.min(channels)];
    let half = (window / 2) as isize;
    let mut places: Vec<Leaf> = vec![];
    for &channel in own {
        for place in 0..window * window {
            let (down, right) = ((place / window) as isize - half, (place % window) as isize - half);
            places.push(Leaf { channel, down, right });
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

/// Gates by kernel, pair of leaves and position, on the pixels of the picture and a row of zeros.
fn first_level(shape: &TreeShape, leaves: &[Vec<Leaf>]) -> Wires {
    let TreeShape { channels, beside, height, width, .. } = *shape;
    let zeros = channels * height * width;
    let at = |leaf: Leaf, y: usize, x: usize| {
        let (y, x) = (y as isize + leaf.down, x as isize + leaf.right);
        let inside = (0..height as isize).contains(&y) && (0..width as isize).contains(&x);
        let pixel = (leaf.channel / beside * height + y.max(0) as usize) * width + x.max(0) as usize;
        let place = pixel * beside + leaf.channel % beside;
        (if inside { place } else { zeros }) as u32
    };
    let (mut a, mut b) = (vec![], vec![]);
    for pair in leaves.iter().flat_map(|tree| tree.chunks_exact(2)) {
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            a.push(at(pair[0], y, x));
            b.push(at(pair[1], y, x));
        }
    }
    Wires { inputs: zeros + 1, a, b }
}

/// Gates on neighboring gates of the level before, of which there are so many at every position.
fn next_level(shape: &TreeShape, before: usize) -> Wires {
    let positions = shape.height * shape.width;
    let place = |n: usize, side: usize| ((2 * (n / positions) + side) * positions + n % positions) as u32;
    let count = before / 2 * positions;
    let side = |side: usize| (0..count).map(|n| place(n, side)).collect();
    Wires { inputs: before * positions, a: side(0), b: side(1) }
}
