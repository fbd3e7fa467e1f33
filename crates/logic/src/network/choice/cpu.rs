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
        // Hard choices are one and zeros.
        let chosen = (n * count..(n + 1) * count).filter(|&place| weights[place] != 0.0);
        for place in chosen {
            add(weights[place], row(x, wires[place] as usize, batch), y);
        }
    });
}

/// Gradients at the weights. `[rows, count], [inputs, batch], [rows, batch] -> [rows, count]`
pub fn weights(extent: &Extent, wires: &[u32], x: &[f32], g: &[f32], sums: &mut [f32]) {
    let (count, batch) = (extent.count, extent.batch);
    each_row(sums, count, count * batch, |n, sums| {
        let (g, wires) = (row(g, n, batch), &wires[n * count..][..count]);
        let (fours, rest) = (sums.chunks_exact_mut(4), count / 4 * 4);
        for (sums, wires) in fours.zip(wires.chunks_exact(4)) {
            sums.copy_from_slice(&products(g, [0, 1, 2, 3].map(|n| row(x, wires[n] as usize, batch))));
        }
        for (sum, &wire) in sums[rest..].iter_mut().zip(&wires[rest..]) {
            *sum = products(g, [row(x, wire as usize, batch)])[0];
        }
    });
}

/// The products of one row with several, read once.
#[inline(always)]
fn products<const N: usize>(a: &[f32], others: [&[f32]; N]) -> [f32; N] {
    let mut sums = [[0f32; LANES]; N];
    let whole = a.len() / LANES * LANES;
    for start in (0..whole).step_by(LANES) {
        let a: &[f32; LANES] = a[start..start + LANES].try_into().expect("so many");
        for (sums, b) in sums.iter_mut().zip(others) {
            let b: &[f32; LANES] = b[start..start + LANES].try_into().expect("so many");
            for lane in 0..LANES {
                sums[lane] += a[lane] * b[lane];
            }
        }
    }
    for (sums, b) in sums.iter_mut().zip(others) {
        for (lane, (a, b)) in a[whole..].iter().zip(&b[whole..]).enumerate() {
            sums[lane] += a * b;
        }
    }
    sums.map(|lanes| lanes.iter().sum())
}

/// Gradients at the inputs. `[rows, count], readers, [rows, batch] -> [inputs, batch]`
pub fn inputs(extent: &Extent, weights: &[f32], readers: &[u32], g: &[f32], result: &mut [f32]) {
    let (count, batch) = (extent.count, extent.batch);
    let (starts, entries) = readers.split_at(extent.inputs + 1);
    let work = batch * weights.len() / extent.inputs.max(1);
    each_row(result, batch, work, |input, sums| {
        sums.fill(0.0);
        let places = &entries[starts[input] as usize..starts[input + 1] as usize];
        for &place in places.iter().filter(|&&place| weights[place as usize] != 0.0) {
            add(weights[place as usize], row(g, place as usize / count, batch), sums);
        }
    });
}
