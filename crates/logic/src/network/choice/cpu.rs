//! The ops on the CPU.

use pulp::{Arch, Simd, WithSimd};

use super::op::ChoiceExtent;
use crate::row_grid::cpu::{LANES, each_part, row};

#[inline(always)]
fn add(weight: f32, from: &[f32], to: &mut [f32]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to += weight * from;
    }
}

/// `[rows, count], [rows, count], [inputs, batch] -> [rows, batch]`
pub fn forward(extent: &ChoiceExtent, weights: &[f32], wires: &[u32], x: &[f32], y: &mut [f32]) {
    let arch = Arch::new();
    each_part(y, extent.batch, extent.count * extent.batch, |first, y| {
        arch.dispatch(ChosenRows { extent, weights, wires, x, first, y });
    });
}

/// Some rows of the result. A struct, because closures are not compiled for the machine's vector instructions.
struct ChosenRows<'a> {
    extent: &'a ChoiceExtent,
    weights: &'a [f32],
    wires: &'a [u32],
    x: &'a [f32],
    first: usize,
    y: &'a mut [f32],
}

impl WithSimd for ChosenRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (count, batch) = (self.extent.count, self.extent.batch);
        for (n, y) in self.y.chunks_exact_mut(batch).enumerate() {
            y.fill(0.0);
            for place in (self.first + n) * count..(self.first + n + 1) * count {
                // Hard choices are one and zeros.
                if self.weights[place] != 0.0 {
                    add(self.weights[place], row(self.x, self.wires[place] as usize, batch), y);
                }
            }
        }
    }
}

/// Gradients of the weights. `[rows, count], [inputs, batch], [rows, batch] -> [rows, count]`
pub fn weights(extent: &ChoiceExtent, wires: &[u32], x: &[f32], g: &[f32], sums: &mut [f32]) {
    let arch = Arch::new();
    each_part(sums, extent.count, extent.count * extent.batch, |first, sums| {
        arch.dispatch(ChoiceWeights { extent, wires, x, g, first, sums });
    });
}

/// Some rows of the weights' gradients.
struct ChoiceWeights<'a> {
    extent: &'a ChoiceExtent,
    wires: &'a [u32],
    x: &'a [f32],
    g: &'a [f32],
    first: usize,
    sums: &'a mut [f32],
}

impl WithSimd for ChoiceWeights<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (count, batch, x) = (self.extent.count, self.extent.batch, self.x);
        for (n, sums) in self.sums.chunks_exact_mut(count).enumerate() {
            let own = self.first + n;
            let (g, wires) = (row(self.g, own, batch), &self.wires[own * count..][..count]);
            for (sums, wires) in sums.chunks_exact_mut(2).zip(wires.chunks_exact(2)) {
                let (b, c) = (row(x, wires[0] as usize, batch), row(x, wires[1] as usize, batch));
                sums.copy_from_slice(&products(g, b, c));
            }
            if !count.is_multiple_of(2) {
                sums[count - 1] = product(g, row(x, wires[count - 1] as usize, batch));
            }
        }
    }
}

/// The partial sums of the lanes.
type ChoiceSums = [f32; LANES];

#[inline(always)]
fn multiply(a: &[f32], b: &[f32], sums: &mut ChoiceSums) {
    for lane in 0..LANES {
        sums[lane] += a[lane] * b[lane];
    }
}

/// Adds the elements that do not fill all lanes, then the lanes.
#[inline(always)]
fn finish(a: &[f32], b: &[f32], mut sums: ChoiceSums) -> f32 {
    let whole = a.len() / LANES * LANES;
    for (sum, (a, b)) in sums.iter_mut().zip(a[whole..].iter().zip(&b[whole..])) {
        *sum += a * b;
    }
    sums.iter().sum()
}

#[inline(always)]
fn product(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; LANES];
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        multiply(a, b, &mut sums);
    }
    finish(a, b, sums)
}

/// The dot products of one row with two others, read once. More of them do not fit in registers.
#[inline(always)]
fn products(a: &[f32], b: &[f32], c: &[f32]) -> [f32; 2] {
    let (mut first, mut second) = ([0f32; LANES], [0f32; LANES]);
    for ((a, b), c) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)).zip(c.chunks_exact(LANES)) {
        multiply(a, b, &mut first);
        multiply(a, c, &mut second);
    }
    [finish(a, b, first), finish(a, c, second)]
}

/// Gradients of the inputs. `[rows, count], readers, [rows, batch] -> [inputs, batch]`
pub fn inputs(extent: &ChoiceExtent, weights: &[f32], readers: &[u32], g: &[f32], result: &mut [f32]) {
    let arch = Arch::new();
    let work = extent.batch * weights.len() / extent.inputs.max(1);
    each_part(result, extent.batch, work, |first, result| {
        arch.dispatch(ChoiceInputs { extent, weights, readers, g, first, result });
    });
}

/// Some rows of the gradients of the inputs.
struct ChoiceInputs<'a> {
    extent: &'a ChoiceExtent,
    weights: &'a [f32],
    readers: &'a [u32],
    g: &'a [f32],
    first: usize,
    result: &'a mut [f32],
}

impl WithSimd for ChoiceInputs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (count, batch) = (self.extent.count, self.extent.batch);
        let (starts, entries) = self.readers.split_at(self.extent.inputs + 1);
        for (n, sums) in self.result.chunks_exact_mut(batch).enumerate() {
            let input = self.first + n;
            sums.fill(0.0);
            for &place in &entries[starts[input] as usize..starts[input + 1] as usize] {
                let weight = self.weights[place as usize];
                if weight != 0.0 {
                    add(weight, row(self.g, place as usize / count, batch), sums);
                }
            }
        }
    }
}
