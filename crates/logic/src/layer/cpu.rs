//! The ops on the CPU: threads over rows, vectors over the batch.
//!
//! Sums over the batch are kept in as many lanes as [`LANES`] and added at the end, so results depend
//! neither on the number of threads nor on the vectors that the processor has.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::extent::Extent;

/// Partial sums of a sum over the batch.
const LANES: usize = 16;
/// Values that a thread takes at once, about.
const TASK: usize = 1 << 15;

/// Rows that a thread takes at once.
fn rows(extent: &Extent) -> usize {
    (TASK / extent.batch.max(1)).max(1)
}

fn row(values: &[f32], index: usize, batch: usize) -> &[f32] {
    &values[index * batch..][..batch]
}

/// `[outputs, 4], [2, outputs], [inputs, batch] -> [outputs, batch]`
pub fn forward(extent: &Extent, coefficients: &[f32], wires: &[u32], x: &[f32], y: &mut [f32]) {
    let (batch, rows, arch) = (extent.batch, rows(extent), Arch::new());
    if batch > 0 {
        y.par_chunks_mut(rows * batch).enumerate().for_each(|(task, y)| {
            arch.dispatch(Forward { extent, coefficients, wires, x, first: task * rows, y });
        });
    }
}

/// The outputs of some gates. A structure, as closures are not compiled for the vectors that there are.
struct Forward<'a> {
    extent: &'a Extent,
    coefficients: &'a [f32],
    wires: &'a [u32],
    x: &'a [f32],
    first: usize,
    y: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let batch = self.extent.batch;
        let (first, second) = self.wires.split_at(self.extent.outputs);
        for (n, y) in self.y.chunks_exact_mut(batch).enumerate() {
            let gate = self.first + n;
            let a = row(self.x, first[gate] as usize, batch);
            let b = row(self.x, second[gate] as usize, batch);
            evaluate(&self.coefficients[4 * gate..][..4], a, b, y);
        }
    }
}

#[inline(always)]
fn evaluate(c: &[f32], a: &[f32], b: &[f32], y: &mut [f32]) {
    let (c0, ca, cb, cab) = (c[0], c[1], c[2], c[3]);
    for ((y, &a), &b) in y.iter_mut().zip(a).zip(b) {
        *y = c0 + cb * b + a * (ca + cab * b);
    }
}

/// Gradients at the coefficients. `[2, outputs], [inputs, batch], [outputs, batch] -> [outputs, 4]`
pub fn weights(extent: &Extent, wires: &[u32], x: &[f32], g: &[f32], sums: &mut [f32]) {
    let (rows, arch) = (rows(extent), Arch::new());
    sums.par_chunks_mut(rows * 4).enumerate().for_each(|(task, sums)| {
        arch.dispatch(Weights { extent, wires, x, g, first: task * rows, sums });
    });
}

/// The gradients of some gates' coefficients.
struct Weights<'a> {
    extent: &'a Extent,
    wires: &'a [u32],
    x: &'a [f32],
    g: &'a [f32],
    first: usize,
    sums: &'a mut [f32],
}

impl WithSimd for Weights<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let batch = self.extent.batch;
        let (first, second) = self.wires.split_at(self.extent.outputs);
        for (n, sums) in self.sums.chunks_exact_mut(4).enumerate() {
            let gate = self.first + n;
            let a = row(self.x, first[gate] as usize, batch);
            let b = row(self.x, second[gate] as usize, batch);
            sums.copy_from_slice(&products(row(self.g, gate, batch), a, b));
        }
    }
}

/// `[Σg, Σga, Σgb, Σgab]`
#[inline(always)]
fn products(g: &[f32], a: &[f32], b: &[f32]) -> [f32; 4] {
    let mut sums = [[0f32; LANES]; 4];
    let whole = g.len() / LANES * LANES;
    let blocks = g.chunks_exact(LANES).zip(a.chunks_exact(LANES)).zip(b.chunks_exact(LANES));
    for ((g, a), b) in blocks {
        for lane in 0..LANES {
            add(&mut sums, lane, g[lane], a[lane], b[lane]);
        }
    }
    for (lane, n) in (whole..g.len()).enumerate() {
        add(&mut sums, lane, g[n], a[n], b[n]);
    }
    sums.map(|lanes| lanes.iter().sum())
}

#[inline(always)]
fn add(sums: &mut [[f32; LANES]; 4], lane: usize, g: f32, a: f32, b: f32) {
    sums[0][lane] += g;
    sums[1][lane] += g * a;
    sums[2][lane] += g * b;
    sums[3][lane] += g * a * b;
}

/// Gradients at the inputs.
/// `[outputs, 4], readers, [inputs, batch], [outputs, batch] -> [inputs, batch]`
pub fn inputs(
    extent: &Extent,
    coefficients: &[f32],
    readers: &[u32],
    x: &[f32],
    g: &[f32],
    result: &mut [f32],
) {
    let (batch, rows, arch) = (extent.batch, rows(extent), Arch::new());
    if batch > 0 {
        result.par_chunks_mut(rows * batch).enumerate().for_each(|(task, result)| {
            arch.dispatch(Inputs { extent, coefficients, readers, x, g, first: task * rows, result });
        });
    }
}

/// The gradients of some inputs.
struct Inputs<'a> {
    extent: &'a Extent,
    coefficients: &'a [f32],
    readers: &'a [u32],
    x: &'a [f32],
    g: &'a [f32],
    first: usize,
    result: &'a mut [f32],
}

impl WithSimd for Inputs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let batch = self.extent.batch;
        let (starts, lists) = self.readers.split_at(self.extent.inputs + 1);
        for (n, sums) in self.result.chunks_exact_mut(batch).enumerate() {
            let input = self.first + n;
            for pair in lists[2 * starts[input] as usize..2 * starts[input + 1] as usize].chunks_exact(2) {
                let (gate, side) = (pair[0] as usize / 2, pair[0] as usize % 2);
                let c = &self.coefficients[4 * gate..][..4];
                let other = row(self.x, pair[1] as usize, batch);
                gather([c[1 + side], c[3]], row(self.g, gate, batch), other, sums);
            }
        }
    }
}

#[inline(always)]
fn gather([own, both]: [f32; 2], g: &[f32], other: &[f32], sums: &mut [f32]) {
    for ((sum, &g), &other) in sums.iter_mut().zip(g).zip(other) {
        *sum += g * (own + both * other);
    }
}
