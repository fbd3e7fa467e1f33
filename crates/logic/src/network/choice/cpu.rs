//! The ops on the CPU: threads over rows, vectors over the batch.
//!
//! Sums over the batch are kept in as many lanes as [`LANES`] and added at the end, so results depend neither on the number
//! of threads nor on the vectors that the processor has.

use pulp::Arch;
use rayon::prelude::*;

use super::op::Extent;

/// Partial sums of a sum over the batch.
const LANES: usize = 16;
/// Values that a thread takes at once, about.
const TASK: usize = 1 << 15;

fn row(values: &[f32], index: usize, batch: usize) -> &[f32] {
    &values[index * batch..][..batch]
}

/// Calls a function with every row of the result and its number, some rows a thread.
fn each_row(result: &mut [f32], length: usize, work: usize, run: impl Fn(usize, &mut [f32]) + Sync) {
    let arch = Arch::new();
    let rows = (TASK / work.max(1)).max(1);
    if length > 0 {
        result.par_chunks_mut(rows * length).enumerate().for_each(|(task, part)| {
            arch.dispatch(|| {
                for (n, row) in part.chunks_exact_mut(length).enumerate() {
                    run(task * rows + n, row);
                }
            });
        });
    }
}

#[inline(always)]
fn add(weight: f32, from: &[f32], to: &mut [f32]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to += weight * from;
    }
}

/// `[rows, count], [rows, count], [inputs, batch] -> [rows, batch]`
pub fn forward(extent: &Extent, weights: &[f32], wires: &[u32], x: &[f32], y: &mut [f32]) {
    let (count, batch) = (extent.count, extent.batch);
    each_row(y, batch, count * batch, |n, y| {
        y.fill(0.0);
        for place in n * count..(n + 1) * count {
            add(weights[place], row(x, wires[place] as usize, batch), y);
        }
    });
}

/// Gradients at the weights. `[rows, count], [inputs, batch], [rows, batch] -> [rows, count]`
pub fn weights(extent: &Extent, wires: &[u32], x: &[f32], g: &[f32], sums: &mut [f32]) {
    let (count, batch) = (extent.count, extent.batch);
    each_row(sums, count, count * batch, |n, sums| {
        for (sum, &wire) in sums.iter_mut().zip(&wires[n * count..]) {
            *sum = product(row(g, n, batch), row(x, wire as usize, batch));
        }
    });
}

#[inline(always)]
fn product(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; LANES];
    let (blocks_a, blocks_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let (rest_a, rest_b) = (blocks_a.remainder(), blocks_b.remainder());
    for (a, b) in blocks_a.zip(blocks_b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for (lane, (a, b)) in rest_a.iter().zip(rest_b).enumerate() {
        sums[lane] += a * b;
    }
    sums.iter().sum()
}

/// Gradients at the inputs. `[rows, count], readers, [rows, batch] -> [inputs, batch]`
pub fn inputs(extent: &Extent, weights: &[f32], readers: &[u32], g: &[f32], result: &mut [f32]) {
    let (count, batch) = (extent.count, extent.batch);
    let (starts, entries) = readers.split_at(extent.inputs + 1);
    let work = batch * weights.len() / extent.inputs.max(1);
    each_row(result, batch, work, |input, sums| {
        sums.fill(0.0);
        for &place in &entries[starts[input] as usize..starts[input + 1] as usize] {
            add(weights[place as usize], row(g, place as usize / count, batch), sums);
        }
    });
}
