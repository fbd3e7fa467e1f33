//! The ops on the CPU: threads over rows, vectors over the batch.
//!
//! Sums over the batch are kept in as many lanes as [`LANES`] and added at the end, so results depend neither on the number
//! of threads nor on the vectors that the processor has.

use farad_circuit::Gate;
use pulp::Arch;
use rayon::prelude::*;

use super::op::Extent;
use super::{CANDIDATES, reads_first, reads_second};

/// Partial sums of a sum over the batch.
const LANES: usize = 16;

/// A candidate's operands for some samples: zeros where it has none.
struct Operands<'a> {
    a: &'a [f32],
    b: &'a [f32],
    c: [f32; 4],
}

/// The operands of a row's candidate; `zeros` stand for what lies beyond the inputs.
#[inline(always)]
fn operands<'a>(extent: &Extent, wires: &[u32], x: &'a [f32], zeros: &'a [f32], gate: Gate) -> Operands<'a> {
    let n = gate.number() as usize;
    let read = |wire: u32, is: bool| match is && (wire as usize) < extent.inputs {
        true => &x[wire as usize * extent.batch..][..extent.batch],
        false => zeros,
    };
    Operands {
        a: read(wires[2 * n], reads_first(gate)),
        b: read(wires[2 * n + 1], reads_second(gate)),
        c: gate.coefficients().map(f32::from),
    }
}

/// `[neurons, 16], [rows, 16, 2], [inputs, batch] -> [rows, batch]`
pub fn forward(extent: &Extent, weights: &[f32], wires: &[u32], x: &[f32], y: &mut [f32]) {
    if extent.batch == 0 {
        return;
    }
    let (arch, zeros) = (Arch::new(), vec![0f32; extent.batch]);
    y.par_chunks_mut(extent.batch).enumerate().for_each(|(row, y)| {
        let (own, wires) = (&weights[row / extent.places * CANDIDATES..], &wires[2 * CANDIDATES * row..]);
        arch.dispatch(|| {
            y.fill(0.0);
            for (gate, &weight) in Gate::ALL.into_iter().zip(own) {
                let Operands { a, b, c } = operands(extent, wires, x, &zeros, gate);
                let c = c.map(|c| weight * c);
                for ((y, &a), &b) in y.iter_mut().zip(a).zip(b) {
                    *y += c[0] + c[2] * b + a * (c[1] + c[3] * b);
                }
            }
        });
    });
}

/// Gradients at the weights. `[rows, 16, 2], [inputs, batch], [rows, batch] -> [neurons, 16]`
pub fn weights(extent: &Extent, wires: &[u32], x: &[f32], g: &[f32], sums: &mut [f32]) {
    let (arch, zeros) = (Arch::new(), vec![0f32; extent.batch]);
    sums.par_chunks_mut(CANDIDATES).enumerate().for_each(|(neuron, sums)| {
        arch.dispatch(|| {
            for row in neuron * extent.places..(neuron + 1) * extent.places {
                let (g, wires) = (&g[row * extent.batch..][..extent.batch], &wires[2 * CANDIDATES * row..]);
                for (gate, sum) in Gate::ALL.into_iter().zip(&mut *sums) {
                    *sum += product(g, &operands(extent, wires, x, &zeros, gate));
                }
            }
        });
    });
}

/// The sum over samples of a gradient times what a candidate gives.
#[inline(always)]
fn product(g: &[f32], Operands { a, b, c }: &Operands) -> f32 {
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

/// Gradients at the inputs. `[neurons, 16], readers, [inputs, batch], [rows, batch] -> [inputs, batch]`
pub fn inputs(extent: &Extent, weights: &[f32], readers: &[u32], x: &[f32], g: &[f32], result: &mut [f32]) {
    let batch = extent.batch;
    if batch == 0 {
        return;
    }
    let (starts, lists) = readers.split_at(extent.inputs + 1);
    let (arch, zeros) = (Arch::new(), vec![0f32; batch]);
    result.par_chunks_mut(batch).enumerate().for_each(|(input, sums)| {
        arch.dispatch(|| {
            sums.fill(0.0);
            for pair in lists[2 * starts[input] as usize..2 * starts[input + 1] as usize].chunks_exact(2) {
                let (side, slot, row) =
                    (pair[0] as usize & 1, pair[0] as usize >> 1 & 15, pair[0] as usize >> 5);
                let c = Gate::ALL[slot].coefficients().map(f32::from);
                let weight = weights[row / extent.places * CANDIDATES + slot];
                let (own, both) = (weight * c[1 + side], weight * c[3]);
                let other = match (pair[1] as usize) < extent.inputs {
                    true => &x[pair[1] as usize * batch..][..batch],
                    false => &zeros,
                };
                for ((sum, &g), &other) in sums.iter_mut().zip(&g[row * batch..]).zip(other) {
                    *sum += g * (own + both * other);
                }
            }
        });
    });
}
