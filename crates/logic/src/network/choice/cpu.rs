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
    let rows = (TASK / work.max(1)).max(1);
    if length > 0 {
        result.par_chunks_mut(rows * length).enumerate().for_each(|(task, part)| {
            for (n, row) in part.chunks_exact_mut(length).enumerate() {
                run(task * rows + n, row);
            }
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
    let arch = Arch::new();
    each_row(y, batch, count * batch, |n, y| {
        arch.dispatch(|| {
            y.fill(0.0);
            for place in n * count..(n + 1) * count {
                // Hard choices are one and zeros.
                if weights[place] != 0.0 {
                    add(weights[place], row(x, wires[place] as usize, batch), y);
                }
            }
        });
    });
}

/// Gradients at the weights. `[rows, count], [inputs, batch], [rows, batch] -> [rows, count]`
pub fn weights(extent: &Extent, wires: &[u32], x: &[f32], g: &[f32], sums: &mut [f32]) {
    let (count, batch) = (extent.count, extent.batch);
    let arch = Arch::new();
    each_row(sums, count, count * batch, |n, sums| {
        let (g, wires) = (row(g, n, batch), &wires[n * count..][..count]);
        let rest = count / 4 * 4;
        arch.dispatch(|| {
            for (sums, wires) in sums.chunks_exact_mut(4).zip(wires.chunks_exact(4)) {
                sums.copy_from_slice(&products(g, [0, 1, 2, 3].map(|n| row(x, wires[n] as usize, batch))));
            }
            for (sum, &wire) in sums[rest..].iter_mut().zip(&wires[rest..]) {
                *sum = products(g, [row(x, wire as usize, batch)])[0];
            }
        });
    });
}

/// The products of one row with several, read once.
#[inline(always)]
fn products<const N: usize>(a: &[f32], others: [&[f32]; N]) -> [f32; N] {
    let mut sums = [[0f32; LANES]; N];
    let whole = a.len() / LANES * LANES;
    let mut start = 0;
    while start < whole {
        let own = &a[start..start + LANES];
        for n in 0..N {
            let other = &others[n][start..start + LANES];
            for lane in 0..LANES {
                sums[n][lane] += own[lane] * other[lane];
            }
        }
        start += LANES;
    }
    for n in 0..N {
        for (lane, (a, b)) in a[whole..].iter().zip(&others[n][whole..]).enumerate() {
            sums[n][lane] += a * b;
        }
    }
    let mut totals = [0f32; N];
    for n in 0..N {
        totals[n] = sums[n].iter().sum();
    }
    totals
}

/// Gradients at the inputs. `[rows, count], readers, [rows, batch] -> [inputs, batch]`
pub fn inputs(extent: &Extent, weights: &[f32], readers: &[u32], g: &[f32], result: &mut [f32]) {
    let (count, batch) = (extent.count, extent.batch);
    let (starts, entries) = readers.split_at(extent.inputs + 1);
    let work = batch * weights.len() / extent.inputs.max(1);
    let arch = Arch::new();
    each_row(result, batch, work, |input, sums| {
        arch.dispatch(|| {
            sums.fill(0.0);
            for &place in &entries[starts[input] as usize..starts[input + 1] as usize] {
                if weights[place as usize] != 0.0 {
                    add(weights[place as usize], row(g, place as usize / count, batch), sums);
                }
            }
        });
    });
}
