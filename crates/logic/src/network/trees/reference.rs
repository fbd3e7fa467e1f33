//! The reference of the ops in `f64`, written for clarity.

use super::geometry::{Geometry, Leaf, Packing};

/// The nodes of one tree: its leaves, then its gates.
fn nodes(c: &[f64], leaves: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut nodes: Vec<f64> = leaves.collect();
    for (n, c) in c.chunks_exact(4).enumerate() {
        let (a, b) = (nodes[2 * n], nodes[2 * n + 1]);
        nodes.push(c[0] + c[1] * a + c[2] * b + c[3] * a * b);
    }
    nodes
}

/// A stage with its operands.
pub struct ReferenceStage<'a> {
    pub geometry: &'a Geometry,
    pub batch: usize,
    /// `[kernels, gates, 4]`
    pub coefficients: &'a [f64],
    pub leaves: &'a [Leaf],
    pub x: &'a [f64],
}

impl ReferenceStage<'_> {
    /// The nodes of a kernel's tree at a square of a cell.
    fn nodes(&self, kernel: usize, cell: usize, square: usize, sample: usize) -> Vec<f64> {
        let (gates, leaves) = (4 * self.geometry.gates(), self.geometry.leaves());
        let at = self.geometry.position(cell, square);
        let own = self.leaves[kernel * leaves..][..leaves].iter();
        let read = |&leaf: &Leaf| {
            let place = self.geometry.place(leaf, at);
            place.map_or(0.0, |place| self.x[place * self.batch + sample])
        };
        nodes(&self.coefficients[kernel * gates..][..gates], own.map(read))
    }

    /// The outputs, and from which squares they came.
    pub fn forward(&self) -> [Vec<f64>; 2] {
        let (cells, batch) = (self.geometry.cells(), self.batch);
        let packing = Packing::of(batch);
        let words = packing.words(batch);
        let mut y = Vec::with_capacity(self.geometry.outputs() * batch);
        let mut largest = vec![0u32; self.geometry.outputs() * words];
        for row in 0..self.geometry.outputs() {
            for sample in 0..batch {
                let value = |square: usize| {
                    let nodes = self.nodes(row / cells, row % cells, square, sample);
                    nodes[nodes.len() - 1]
                };
                let mut best = (value(0), 0);
                for square in 1..self.geometry.pool * self.geometry.pool {
                    let own = value(square);
                    best = if own > best.0 { (own, square) } else { best };
                }
                y.push(best.0);
                packing.put(&mut largest[row * words..][..words], sample, best.1);
            }
        }
        [y, largest.into_iter().map(f64::from).collect()]
    }

    /// Gradients of the gates' coefficients (`slopes`), and of the leaves of the largest squares.
    pub fn backward(&self, slopes: &[f64], largest: &[u32], g: &[f64]) -> [Vec<f64>; 2] {
        let (cells, batch) = (self.geometry.cells(), self.batch);
        let (gates, leaves) = (self.geometry.gates(), self.geometry.leaves());
        let packing = Packing::of(batch);
        let words = packing.words(batch);
        let mut sums = vec![0.0; self.coefficients.len()];
        let mut at_leaves = vec![0.0; self.geometry.kernels * leaves * cells * batch];
        for (row, sample) in (0..self.geometry.outputs()).flat_map(|r| (0..batch).map(move |s| (r, s))) {
            let (kernel, cell) = (row / cells, row % cells);
            let square = packing.get(&largest[row * words..][..words], sample);
            let nodes = self.nodes(kernel, cell, square, sample);
            let mut slope = vec![0.0; nodes.len()];
            slope[nodes.len() - 1] = g[row * batch + sample];
            for gate in (0..gates).rev() {
                let (a, b, g) = (nodes[2 * gate], nodes[2 * gate + 1], slope[leaves + gate]);
                let place = 4 * (kernel * gates + gate);
                let c = &slopes[place..place + 4];
                let sums = sums[place..place + 4].iter_mut();
                sums.zip([1.0, a, b, a * b]).for_each(|(sum, factor)| *sum += g * factor);
                slope[2 * gate] = g * (c[1] + c[3] * b);
                slope[2 * gate + 1] = g * (c[2] + c[3] * a);
            }
            for (leaf, slope) in slope[..leaves].iter().enumerate() {
                at_leaves[((kernel * leaves + leaf) * cells + cell) * batch + sample] = *slope;
            }
        }
        [sums, at_leaves]
    }
}

/// Gradients of the inputs from those of the leaves.
pub fn inputs(
    geometry: &Geometry,
    batch: usize,
    readers: &[u32],
    largest: &[u32],
    at_leaves: &[f64],
) -> Vec<f64> {
    let packing = Packing::of(batch);
    let (words, cells) = (packing.words(batch), geometry.cells());
    let (starts, lists) = readers.split_at(geometry.channels + 1);
    let mut sums = vec![0.0; geometry.inputs() * batch];
    for (input, sums) in sums.chunks_mut(batch.max(1)).enumerate() {
        let (channel, y, x) = geometry.pixel(input);
        for entry in starts[channel] as usize..starts[channel + 1] as usize {
            let [leaf, down, right]: [usize; 3] = std::array::from_fn(|n| lists[3 * entry + n] as usize);
            let Some((cell, square)) = geometry.cell_of((y, x), (down, right)) else { continue };
            let row = leaf / geometry.leaves() * cells + cell;
            for (sample, sum) in sums.iter_mut().enumerate() {
                if packing.get(&largest[row * words..][..words], sample) == square {
                    *sum += at_leaves[(leaf * cells + cell) * batch + sample];
                }
            }
        }
    }
    sums
}
