//! The ops on the CPU: threads over trees, vectors over the batch.
//!
//! Samples are processed [`LANES`] at a time, so results depend neither on the number of threads nor on the
//! processor's vectors.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::geometry::{Geometry, Packing};

/// Samples per vector, and partial sums of a sum over the batch.
const LANES: usize = 16;
/// Most nodes of a tree.
const NODES: usize = 2 * 64 - 1;

type TreeLanes = [f32; LANES];

/// A stage with its operands.
pub struct Stage<'a> {
    pub geometry: &'a Geometry,
    pub batch: usize,
    /// `[kernels, gates, 4]`
    pub coefficients: &'a [f32],
    /// `[kernels · leaves, 3]`
    pub leaves: &'a [u32],
    pub x: &'a [f32],
}

impl Stage<'_> {
    fn coefficients(&self, kernel: usize) -> &[f32] {
        let numbers = 4 * self.geometry.gates();
        &self.coefficients[kernel * numbers..][..numbers]
    }

    /// The inputs of a kernel's leaves at a square of a cell.
    fn places(&self, kernel: usize, cell: usize, square: usize) -> [Option<usize>; 64] {
        let geometry = self.geometry;
        let (down, right) = geometry.position(cell, square);
        let count = geometry.leaves();
        let mut places = [None; 64];
        for (place, leaf) in
            places.iter_mut().zip(self.leaves[3 * kernel * count..].chunks_exact(3)).take(count)
        {
            let y = (down + leaf[1] as usize).wrapping_sub(geometry.offset);
            let x = (right + leaf[2] as usize).wrapping_sub(geometry.offset);
            let inside = y < geometry.height && x < geometry.width;
            *place =
                inside.then(|| leaf[0] as usize + (y.wrapping_mul(geometry.width) + x) * geometry.beside);
        }
        places
    }

    /// The outputs, and from which squares they came.
    pub fn forward(&self, y: &mut [f32], largest: &mut [u32]) {
        let (batch, cells) = (self.batch, self.geometry.cells());
        let words = Packing::of(batch).words(batch);
        if y.is_empty() {
            return;
        }
        let arch = Arch::new();
        let kernels = y.par_chunks_mut(cells * batch).zip(largest.par_chunks_mut(cells * words));
        kernels.enumerate().for_each(|(kernel, (y, largest))| {
            arch.dispatch(KernelCells { stage: self, kernel, y, largest });
        });
    }

    #[inline(always)]
    fn cell(&self, kernel: usize, cell: usize, y: &mut [f32], largest: &mut [u32]) {
        let (packing, squares) = (Packing::of(self.batch), self.geometry.pool * self.geometry.pool);
        let c = self.coefficients(kernel);
        let mut which = [0u8; LANES];
        let mut nodes = [[0f32; LANES]; NODES];
        for start in (0..self.batch).step_by(LANES) {
            let count = LANES.min(self.batch - start);
            let mut best: TreeLanes = [0.0; LANES];
            for square in 0..squares {
                let places = self.places(kernel, cell, square);
                for (node, place) in nodes.iter_mut().zip(&places[..self.geometry.leaves()]) {
                    match place {
                        Some(place) => {
                            node[..count].copy_from_slice(&self.x[place * self.batch + start..][..count])
                        }
                        None => *node = [0.0; LANES],
                    }
                }
                evaluate(c, &mut nodes);
                let own = &nodes[2 * self.geometry.gates()];
                for lane in 0..LANES {
                    let better = square == 0 || own[lane] > best[lane];
                    which[lane] = if better { square as u8 } else { which[lane] };
                    best[lane] = if better { own[lane] } else { best[lane] };
                }
            }
            y[start..start + count].copy_from_slice(&best[..count]);
            for (lane, &square) in which[..count].iter().enumerate() {
                packing.put(largest, start + lane, square as usize);
            }
        }
    }

    /// Gradients of the gates' coefficients (`slopes`), and of the leaves of the largest squares.
    pub fn backward(
        &self,
        slopes: &[f32],
        largest: &[u32],
        g: &[f32],
        sums: &mut [f32],
        at_leaves: &mut [f32],
    ) {
        let (batch, cells, gates) = (self.batch, self.geometry.cells(), self.geometry.gates());
        let leaves = self.geometry.leaves();
        if at_leaves.is_empty() {
            return;
        }
        let arch = Arch::new();
        let kernels = sums.par_chunks_mut(4 * gates).zip(at_leaves.par_chunks_mut(leaves * cells * batch));
        kernels.enumerate().for_each(|(kernel, (sums, at_leaves))| {
            let slopes = &slopes[4 * gates * kernel..][..4 * gates];
            arch.dispatch(KernelGradients { stage: self, kernel, slopes, largest, g, sums, at_leaves });
        });
    }

    #[inline(always)]
    fn kernel_backward(
        &self,
        kernel: usize,
        slopes: &[f32],
        largest: &[u32],
        g: &[f32],
        sums: &mut [f32],
        at_leaves: &mut [f32],
    ) {
        let (batch, cells, leaves) = (self.batch, self.geometry.cells(), self.geometry.leaves());
        let packing = Packing::of(batch);
        let words = packing.words(batch);
        let squares = self.geometry.pool * self.geometry.pool;
        let c = self.coefficients(kernel);
        let mut lanes = vec![[[0f32; LANES]; 4]; self.geometry.gates()];
        let mut places = vec![[None; 64]; squares];
        let (mut nodes, mut slope) = ([[0f32; LANES]; NODES], [[0f32; LANES]; NODES]);
        for cell in 0..cells {
            let row = kernel * cells + cell;
            let which = &largest[row * words..][..words];
            places.iter_mut().enumerate().for_each(|(n, places)| *places = self.places(kernel, cell, n));
            for start in (0..batch).step_by(LANES) {
                let count = LANES.min(batch - start);
                for lane in 0..count {
                    let places = &places[packing.get(which, start + lane)];
                    for (node, place) in nodes.iter_mut().zip(&places[..leaves]) {
                        node[lane] = place.map_or(0.0, |place| self.x[place * batch + start + lane]);
                    }
                }
                evaluate(c, &mut nodes);
                let top = &mut slope[2 * self.geometry.gates()];
                *top = [0.0; LANES];
                top[..count].copy_from_slice(&g[row * batch + start..][..count]);
                descend(slopes, &nodes, &mut slope, &mut lanes);
                for (leaf, slope) in slope[..leaves].iter().enumerate() {
                    at_leaves[(leaf * cells + cell) * batch + start..][..count]
                        .copy_from_slice(&slope[..count]);
                }
            }
        }
        for (sum, lanes) in sums.iter_mut().zip(lanes.iter().flatten()) {
            *sum = lanes.iter().sum();
        }
    }
}

/// All cells of a kernel. A struct, because closures are not compiled for the machine's vector instructions.
struct KernelCells<'a> {
    stage: &'a Stage<'a>,
    kernel: usize,
    y: &'a mut [f32],
    largest: &'a mut [u32],
}

impl WithSimd for KernelCells<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let batch = self.stage.batch;
        let words = Packing::of(batch).words(batch);
        let rows = self.y.chunks_exact_mut(batch).zip(self.largest.chunks_exact_mut(words));
        for (cell, (y, largest)) in rows.enumerate() {
            self.stage.cell(self.kernel, cell, y, largest);
        }
    }
}

/// All gradients of a kernel.
struct KernelGradients<'a> {
    stage: &'a Stage<'a>,
    kernel: usize,
    slopes: &'a [f32],
    largest: &'a [u32],
    g: &'a [f32],
    sums: &'a mut [f32],
    at_leaves: &'a mut [f32],
}

impl WithSimd for KernelGradients<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let KernelGradients { stage, kernel, slopes, largest, g, sums, at_leaves } = self;
        stage.kernel_backward(kernel, slopes, largest, g, sums, at_leaves);
    }
}

/// The gates of a tree from its leaves.
#[inline(always)]
fn evaluate(c: &[f32], nodes: &mut [TreeLanes; NODES]) {
    let leaves = c.len() / 4 + 1;
    for (n, c) in c.chunks_exact(4).enumerate() {
        let (a, b) = (nodes[2 * n], nodes[2 * n + 1]);
        let result = &mut nodes[leaves + n];
        for lane in 0..LANES {
            result[lane] = c[0] + c[2] * b[lane] + a[lane] * (c[1] + c[3] * b[lane]);
        }
    }
}

/// Gradients from the root of a tree down to its leaves; accumulates those of the coefficients.
#[inline(always)]
fn descend(
    c: &[f32],
    nodes: &[TreeLanes; NODES],
    slope: &mut [TreeLanes; NODES],
    sums: &mut [[TreeLanes; 4]],
) {
    let leaves = c.len() / 4 + 1;
    for (n, c) in c.chunks_exact(4).enumerate().rev() {
        let (a, b, g) = (nodes[2 * n], nodes[2 * n + 1], slope[leaves + n]);
        let sums = &mut sums[n];
        for lane in 0..LANES {
            let (a, b, g) = (a[lane], b[lane], g[lane]);
            sums[0][lane] += g;
            sums[1][lane] += g * a;
            sums[2][lane] += g * b;
            sums[3][lane] += g * a * b;
            slope[2 * n][lane] = g * (c[1] + c[3] * b);
            slope[2 * n + 1][lane] = g * (c[2] + c[3] * a);
        }
    }
}

/// Gradients of the inputs from those of the leaves.
pub fn inputs(
    geometry: &Geometry,
    batch: usize,
    readers: &[u32],
    largest: &[u32],
    at_leaves: &[f32],
    result: &mut [f32],
) {
    let packing = Packing::of(batch);
    let (words, cells) = (packing.words(batch), geometry.cells());
    let (starts, lists) = readers.split_at(geometry.channels + 1);
    if batch == 0 {
        return;
    }
    result.par_chunks_mut(batch).enumerate().for_each(|(input, sums)| {
        let (channel, y, x) = geometry.pixel(input);
        for entry in lists[3 * starts[channel] as usize..3 * starts[channel + 1] as usize].chunks_exact(3) {
            let [leaf, down, right] = [entry[0], entry[1], entry[2]].map(|word| word as usize);
            let Some((cell, square)) = geometry.cell_of((y, x), (down, right)) else { continue };
            let row = leaf / geometry.leaves() * cells + cell;
            let (which, slopes) =
                (&largest[row * words..][..words], &at_leaves[(leaf * cells + cell) * batch..]);
            for (sample, (sum, slope)) in sums.iter_mut().zip(slopes).enumerate() {
                *sum += if packing.get(which, sample) == square { *slope } else { 0.0 };
            }
        }
    });
}
