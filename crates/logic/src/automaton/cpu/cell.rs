//! What the cells of a tile compute in a step, and the gradient of that.
//!
//! Rows of a tile: `patch` is the neighborhood ([`CellCircuits::patch_row`]); `values` are the inputs of the
//! update circuit, then the outputs of all its layers. Perception processes channels in blocks, if there are
//! enough. Its intermediate values are small, and are recomputed where they are needed again.

use std::ops::Range;

use pulp::Simd;

use super::super::topology::Topology;
use super::rows::{CellRow, ChannelRows, GateRows, layer, layer_back};

/// Channels of a block.
pub const CHANNELS: usize = 4;

/// The circuits of one seed's cells.
pub struct CellCircuits<'a> {
    pub topology: &'a Topology,
    wires: &'a [u32],
    coefficients: &'a [[f32; 4]],
    /// The first gate of each layer of a perception circuit, and the end.
    perception: Vec<usize>,
    /// The first row of values of each layer of the update circuit, inputs first, and the end.
    update: Vec<usize>,
}

/// Buffers that the gradient of a tile needs besides its values.
pub struct Slopes<'a> {
    /// Two buffers, one for each of two consecutive layers of the update circuit.
    pub layers: [&'a mut [CellRow]; 2],
    /// Blocks for the gates of a perception circuit.
    pub inner: &'a mut [CellRow],
    /// The gradient of the patch: the result.
    pub patch: &'a mut [CellRow],
}

/// Prefix sums of widths, starting with 0.
fn starts(widths: &[usize]) -> Vec<usize> {
    let mut sum = 0;
    let ends = widths.iter().map(|width| {
        sum += width;
        sum
    });
    std::iter::once(0).chain(ends).collect()
}

impl<'a> CellCircuits<'a> {
    /// The circuits of the seed with these wires and coefficients.
    pub fn new(topology: &'a Topology, wires: &'a [u32], coefficients: &'a [[f32; 4]]) -> CellCircuits<'a> {
        let (perception, update) = (starts(&topology.perception[1..]), starts(&topology.update));
        CellCircuits { topology, wires, coefficients, perception, update }
    }

    /// Layers of the update circuit.
    pub fn update_layers(&self) -> usize {
        self.update.len() - 2
    }

    #[inline(always)]
    fn gates(&self, wire: usize, gate: usize, len: usize) -> GateRows<'a> {
        GateRows { wires: &self.wires[wire..wire + len], coefficients: &self.coefficients[gate..gate + len] }
    }

    /// The index of a perception layer's first gate, among all gates.
    #[inline(always)]
    fn perception_gate(&self, kernel: usize, layer: usize) -> usize {
        kernel * self.perception[self.perception.len() - 1] + self.perception[layer]
    }

    #[inline(always)]
    fn perception_gates(&self, kernel: usize, layer: usize) -> GateRows<'a> {
        let (from, to) = (self.perception[layer], self.perception[layer + 1]);
        self.gates(from, self.perception_gate(kernel, layer), to - from)
    }

    /// The index of an update layer's first gate, within its circuit.
    #[inline(always)]
    fn update_gate(&self, layer: usize) -> usize {
        self.update[layer + 1] - self.update[1]
    }

    #[inline(always)]
    fn update_gates(&self, layer: usize) -> GateRows<'a> {
        let (from, to) = (self.update_gate(layer), self.update_gate(layer + 1));
        let perception = self.perception[self.perception.len() - 1];
        self.gates(perception + from, self.topology.kernels * perception + from, to - from)
    }

    /// The index of a perceived bit among the inputs of the update circuit.
    #[inline(always)]
    fn perceived(&self, kernel: usize, channel: usize, bit: usize) -> usize {
        let bits = self.topology.perception[self.topology.perception.len() - 1];
        self.topology.channels + (channel * bits + bit) * self.topology.kernels + kernel
    }

    /// Channels that are in full blocks; the rest are blocks of one.
    fn blocked(&self) -> usize {
        self.topology.channels / CHANNELS * CHANNELS
    }

    /// The channels, block by block.
    pub fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let (blocked, channels) = (self.blocked(), self.topology.channels);
        let whole = (0..blocked).step_by(CHANNELS).map(|first| first..first + CHANNELS);
        whole.chain((blocked..channels).map(|channel| channel..channel + 1))
    }

    /// The row of a patch for a channel in direction `n`: the directions of a block follow each other, with its
    /// channels adjacent.
    #[inline(always)]
    pub fn patch_row(&self, channel: usize, n: usize) -> usize {
        if channel < self.blocked() {
            (channel / CHANNELS * 9 + n) * CHANNELS + channel % CHANNELS
        } else {
            channel * 9 + n
        }
    }

    /// Computes the inputs of the update circuit from the patch. `inner` has blocks for a perception circuit's
    /// gates.
    #[inline(always)]
    pub fn perceive<S: Simd>(&self, s: S, patch: &[CellRow], values: &mut [CellRow], inner: &mut [CellRow]) {
        let (blocks, rest) = patch.split_at(9 * self.blocked());
        for (n, seen) in blocks.chunks_exact(9 * CHANNELS).enumerate() {
            self.perceive_block::<S, CHANNELS>(s, n * CHANNELS, seen, values, inner);
        }
        for (n, seen) in rest.chunks_exact(9).take(self.topology.channels - self.blocked()).enumerate() {
            self.perceive_block::<S, 1>(s, self.blocked() + n, seen, values, inner);
        }
    }

    #[inline(always)]
    fn perceive_block<S: Simd, const K: usize>(
        &self,
        s: S,
        first: usize,
        seen: &[CellRow],
        values: &mut [CellRow],
        inner: &mut [CellRow],
    ) {
        let (seen, inner) = (seen.as_chunks::<K>().0, inner.as_chunks_mut::<K>().0);
        values[first..first + K].copy_from_slice(&seen[4]);
        let last = self.perception.len() - 2;
        for kernel in 0..self.topology.kernels {
            self.perceive_layers(s, kernel, last + 1, seen, inner);
            for (bit, block) in inner[self.perception[last]..self.perception[last + 1]].iter().enumerate() {
                for (n, row) in block.iter().enumerate() {
                    values[self.perceived(kernel, first + n, bit)] = *row;
                }
            }
        }
    }

    /// Computes this many layers of a perception circuit.
    #[inline(always)]
    fn perceive_layers<S: Simd, const K: usize>(
        &self,
        s: S,
        kernel: usize,
        layers: usize,
        seen: &[ChannelRows<K>],
        inner: &mut [ChannelRows<K>],
    ) {
        for n in 0..layers {
            let (before, after) = inner.split_at_mut(self.perception[n]);
            let inputs = if n == 0 { seen } else { &before[self.perception[n - 1]..] };
            layer(s, self.perception_gates(kernel, n), inputs, after);
        }
    }

    /// Computes this many layers of the update circuit from its inputs.
    #[inline(always)]
    pub fn update<S: Simd>(&self, s: S, layers: usize, values: &mut [CellRow]) {
        for n in 0..layers {
            let (before, after) = values.split_at_mut(self.update[n + 1]);
            let inputs = before[self.update[n]..].as_chunks::<1>().0;
            layer(s, self.update_gates(n), inputs, after.as_chunks_mut::<1>().0);
        }
    }

    /// The gradient of the patch from that of the outputs, which is in the first of the layer buffers. Adds the
    /// gradients of the coefficients to `sums`.
    #[inline(always)]
    pub fn back<S: Simd>(
        &self,
        s: S,
        patch: &[CellRow],
        values: &[CellRow],
        inner: &mut [CellRow],
        slopes: Slopes,
        sums: &mut [[f32; 4]],
    ) {
        let [mut upstream, mut below] = slopes.layers;
        let first = self.topology.kernels * self.perception[self.perception.len() - 1];
        for n in (0..self.update_layers()).rev() {
            let inputs = &values[self.update[n]..self.update[n + 1]];
            below[..inputs.len()].fill(CellRow::ZERO);
            let sums = &mut sums[first + self.update_gate(n)..];
            let (g, to) = (upstream.as_chunks::<1>().0, below.as_chunks_mut::<1>().0);
            layer_back(s, self.update_gates(n), inputs.as_chunks::<1>().0, g, to, sums);
            std::mem::swap(&mut upstream, &mut below);
        }
        let blocked = self.blocked();
        let (seen, to) = (patch.split_at(9 * blocked), slopes.patch.split_at_mut(9 * blocked));
        let blocks = seen.0.chunks_exact(9 * CHANNELS).zip(to.0.chunks_exact_mut(9 * CHANNELS));
        for (n, (seen, to)) in blocks.enumerate() {
            let first = n * CHANNELS;
            self.perceive_back::<S, CHANNELS>(s, first, seen, inner, upstream, slopes.inner, to, sums);
        }
        for (n, (seen, to)) in seen.1.chunks_exact(9).zip(to.1.chunks_exact_mut(9)).enumerate() {
            self.perceive_back::<S, 1>(s, blocked + n, seen, inner, upstream, slopes.inner, to, sums);
        }
    }

    /// The gradient of a block's channels in the patch, from that of the update circuit's inputs.
    #[inline(always)]
    fn perceive_back<S: Simd, const K: usize>(
        &self,
        s: S,
        first: usize,
        seen: &[CellRow],
        inner: &mut [CellRow],
        g: &[CellRow],
        slopes: &mut [CellRow],
        to: &mut [CellRow],
        sums: &mut [[f32; 4]],
    ) {
        let (seen, inner) = (seen.as_chunks::<K>().0, inner.as_chunks_mut::<K>().0);
        let (slopes, to) = (slopes.as_chunks_mut::<K>().0, to.as_chunks_mut::<K>().0);
        to.fill([CellRow::ZERO; K]);
        to[4].copy_from_slice(&g[first..first + K]);
        let last = self.perception.len() - 2;
        for kernel in 0..self.topology.kernels {
            self.perceive_layers(s, kernel, last, seen, inner);
            slopes[..self.perception[last]].fill([CellRow::ZERO; K]);
            let outputs = &mut slopes[self.perception[last]..self.perception[last + 1]];
            for (bit, block) in outputs.iter_mut().enumerate() {
                for (n, row) in block.iter_mut().enumerate() {
                    *row = g[self.perceived(kernel, first + n, bit)];
                }
            }
            for n in (0..=last).rev() {
                let gates = self.perception_gates(kernel, n);
                let sums = &mut sums[self.perception_gate(kernel, n)..];
                let (before, upstream) = slopes.split_at_mut(self.perception[n]);
                if n == 0 {
                    layer_back(s, gates, seen, upstream, to, sums);
                } else {
                    let below = self.perception[n - 1];
                    layer_back(s, gates, &inner[below..], upstream, &mut before[below..], sums);
                }
            }
        }
    }
}
