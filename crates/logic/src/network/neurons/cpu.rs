//! The ops on the CPU.

use farad_circuit::Gate;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::op::NeuronExtent;
use super::{CANDIDATES, reads_first, reads_second};
use crate::row_grid::cpu::{LANES, row};

/// A candidate's operands for some samples: zeros if it has none.
struct NeuronOperands<'a> {
    a: &'a [f32],
    b: &'a [f32],
    c: [f32; 4],
}

/// The operands of a row's candidate; `zeros` replace what lies beyond the inputs.
#[inline(always)]
fn operands<'a>(
    extent: &NeuronExtent,
    wires: &[u32],
    x: &'a [f32],
    zeros: &'a [f32],
    gate: Gate,
) -> NeuronOperands<'a> {
    let n = gate.number() as usize;
    let read = |wire: u32, is: bool| match is && (wire as usize) < extent.inputs {
        true => row(x, wire as usize, extent.batch),
        false => zeros,
    };
    NeuronOperands {
        a: read(wires[2 * n], reads_first(gate)),
        b: read(wires[2 * n + 1], reads_second(gate)),
        c: gate.coefficients().map(f32::from),
    }
}

/// `[neurons, 16], [rows, 16, 2], [inputs, batch] -> [rows, batch]`
pub fn forward(extent: &NeuronExtent, weights: &[f32], wires: &[u32], x: &[f32], y: &mut [f32]) {
    if extent.batch == 0 {
        return;
    }
    let (arch, zeros) = (Arch::new(), vec![0f32; extent.batch]);
    y.par_chunks_mut(extent.batch).enumerate().for_each(|(row, y)| {
        let (weights, wires) = (&weights[row / extent.places * CANDIDATES..], &wires[2 * CANDIDATES * row..]);
        arch.dispatch(NeuronOutputs { extent, weights, wires, x, zeros: &zeros, y });
    });
}

/// The output of one neuron at one position. A struct, because closures are not compiled for the machine's
/// vector instructions.
struct NeuronOutputs<'a> {
    extent: &'a NeuronExtent,
    weights: &'a [f32],
    wires: &'a [u32],
    x: &'a [f32],
    zeros: &'a [f32],
    y: &'a mut [f32],
}

impl WithSimd for NeuronOutputs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.y.fill(0.0);
        for (gate, &weight) in Gate::ALL.into_iter().zip(self.weights) {
            let NeuronOperands { a, b, c } = operands(self.extent, self.wires, self.x, self.zeros, gate);
            let c = c.map(|c| weight * c);
            for ((y, &a), &b) in self.y.iter_mut().zip(a).zip(b) {
                *y += c[0] + c[2] * b + a * (c[1] + c[3] * b);
            }
        }
    }
}

/// Gradients of the weights. `[rows, 16, 2], [inputs, batch], [rows, batch] -> [neurons, 16]`
pub fn weights(extent: &NeuronExtent, wires: &[u32], x: &[f32], g: &[f32], sums: &mut [f32]) {
    let (arch, zeros) = (Arch::new(), vec![0f32; extent.batch]);
    sums.par_chunks_mut(CANDIDATES).enumerate().for_each(|(neuron, sums)| {
        arch.dispatch(NeuronWeights { extent, wires, x, g, zeros: &zeros, neuron, sums });
    });
}

/// The gradients of one neuron's weights.
struct NeuronWeights<'a> {
    extent: &'a NeuronExtent,
    wires: &'a [u32],
    x: &'a [f32],
    g: &'a [f32],
    zeros: &'a [f32],
    neuron: usize,
    sums: &'a mut [f32],
}

impl WithSimd for NeuronWeights<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let NeuronExtent { places, batch, .. } = *self.extent;
        for row in self.neuron * places..(self.neuron + 1) * places {
            let (g, wires) = (&self.g[row * batch..][..batch], &self.wires[2 * CANDIDATES * row..]);
            for (gate, sum) in Gate::ALL.into_iter().zip(&mut *self.sums) {
                *sum += product(g, &operands(self.extent, wires, self.x, self.zeros, gate));
            }
        }
    }
}

/// The sum over samples of a gradient times a candidate's output.
#[inline(always)]
fn product(g: &[f32], NeuronOperands { a, b, c }: &NeuronOperands) -> f32 {
    let mut sums = [0f32; LANES];
    let value = |a: f32, b: f32| c[0] + c[2] * b + a * (c[1] + c[3] * b);
    let whole = g.len() / LANES * LANES;
    let blocks = g.chunks_exact(LANES).zip(a.chunks_exact(LANES)).zip(b.chunks_exact(LANES));
    for ((g, a), b) in blocks {
        for lane in 0..LANES {
            sums[lane] += g[lane] * value(a[lane], b[lane]);
        }
    }
    for (lane, n) in (whole..g.len()).enumerate() {
        sums[lane] += g[n] * value(a[n], b[n]);
    }
    sums.iter().sum()
}

/// Gradients of the inputs. `[neurons, 16], readers, [inputs, batch], [rows, batch] -> [inputs, batch]`
pub fn inputs(
    extent: &NeuronExtent,
    weights: &[f32],
    readers: &[u32],
    x: &[f32],
    g: &[f32],
    result: &mut [f32],
) {
    let batch = extent.batch;
    if batch == 0 {
        return;
    }
    let (arch, zeros) = (Arch::new(), vec![0f32; batch]);
    result.par_chunks_mut(batch).enumerate().for_each(|(input, sums)| {
        arch.dispatch(NeuronInputs { extent, weights, readers, x, g, zeros: &zeros, input, sums });
    });
}

/// The gradients of one input.
struct NeuronInputs<'a> {
    extent: &'a NeuronExtent,
    weights: &'a [f32],
    readers: &'a [u32],
    x: &'a [f32],
    g: &'a [f32],
    zeros: &'a [f32],
    input: usize,
    sums: &'a mut [f32],
}

impl WithSimd for NeuronInputs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let NeuronExtent { inputs, places, batch, .. } = *self.extent;
        let (starts, lists) = self.readers.split_at(inputs + 1);
        let own = 2 * starts[self.input] as usize..2 * starts[self.input + 1] as usize;
        self.sums.fill(0.0);
        for pair in lists[own].chunks_exact(2) {
            let (side, slot, row) = (pair[0] as usize & 1, pair[0] as usize >> 1 & 15, pair[0] as usize >> 5);
            let c = Gate::ALL[slot].coefficients().map(f32::from);
            let weight = self.weights[row / places * CANDIDATES + slot];
            let (own, both) = (weight * c[1 + side], weight * c[3]);
            let other = match (pair[1] as usize) < inputs {
                true => &self.x[pair[1] as usize * batch..][..batch],
                false => self.zeros,
            };
            for ((sum, &g), &other) in self.sums.iter_mut().zip(&self.g[row * batch..]).zip(other) {
                *sum += g * (own + both * other);
            }
        }
    }
}
