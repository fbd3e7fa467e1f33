//! The ops on the CPU.

use pulp::{Arch, Simd, WithSimd};

use super::extent::LayerExtent;
use crate::row_grid::cpu::{LANES, each_part, row};

/// `[outputs, 4], [2, outputs], [inputs, batch] -> [outputs, batch]`
pub fn forward(extent: &LayerExtent, coefficients: &[f32], wires: &[u32], x: &[f32], y: &mut [f32]) {
    let arch = Arch::new();
    each_part(y, extent.batch, extent.batch, |first, y| {
        arch.dispatch(GateOutputs { extent, coefficients, wires, x, first, y });
    });
}

/// The outputs of some gates. A struct, because closures are not compiled for the machine's vector
/// instructions.
struct GateOutputs<'a> {
    extent: &'a LayerExtent,
    coefficients: &'a [f32],
    wires: &'a [u32],
    x: &'a [f32],
    first: usize,
    y: &'a mut [f32],
}

impl WithSimd for GateOutputs<'_> {
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

/// Gradients of the coefficients. `[2, outputs], [inputs, batch], [outputs, batch] -> [outputs, 4]`
pub fn weights(extent: &LayerExtent, wires: &[u32], x: &[f32], g: &[f32], sums: &mut [f32]) {
    let arch = Arch::new();
    each_part(sums, 4, extent.batch, |first, sums| {
        arch.dispatch(GateWeights { extent, wires, x, g, first, sums });
    });
}

/// The gradients of some gates' coefficients.
struct GateWeights<'a> {
    extent: &'a LayerExtent,
    wires: &'a [u32],
    x: &'a [f32],
    g: &'a [f32],
    first: usize,
    sums: &'a mut [f32],
}

impl WithSimd for GateWeights<'_> {
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

/// Gradients of the inputs. `[outputs, 4], readers, [inputs, batch], [outputs, batch] -> [inputs, batch]`
pub fn inputs(
    extent: &LayerExtent,
    coefficients: &[f32],
    readers: &[u32],
    x: &[f32],
    g: &[f32],
    result: &mut [f32],
) {
    let arch = Arch::new();
    each_part(result, extent.batch, extent.batch, |first, result| {
        arch.dispatch(GateInputs { extent, coefficients, readers, x, g, first, result });
    });
}

/// The gradients of some inputs.
struct GateInputs<'a> {
    extent: &'a LayerExtent,
    coefficients: &'a [f32],
    readers: &'a [u32],
    x: &'a [f32],
    g: &'a [f32],
    first: usize,
    result: &'a mut [f32],
}

impl WithSimd for GateInputs<'_> {
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
