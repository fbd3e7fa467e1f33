//! The reference of the ops in `f64`, written for clarity.

use farad_circuit::Gate;

use super::CANDIDATES;
use super::op::NeuronExtent;

/// The operands of a row's candidate for a sample.
fn operands(
    extent: &NeuronExtent,
    wires: &[f64],
    x: &[f64],
    row: usize,
    slot: usize,
    sample: usize,
) -> [f64; 2] {
    [0, 1].map(|side| {
        let wire = wires[2 * (CANDIDATES * row + slot) + side] as usize;
        if wire < extent.inputs { x[wire * extent.batch + sample] } else { 0.0 }
    })
}

fn coefficients(slot: usize) -> [f64; 4] {
    Gate::ALL[slot].coefficients().map(f64::from)
}

fn value(c: [f64; 4], [a, b]: [f64; 2]) -> f64 {
    c[0] + c[1] * a + c[2] * b + c[3] * a * b
}

/// Every candidate of every row for every sample: row, candidate, sample.
fn each(extent: &NeuronExtent) -> impl Iterator<Item = (usize, usize, usize)> {
    let NeuronExtent { batch, .. } = *extent;
    (0..extent.rows()).flat_map(move |row| {
        (0..CANDIDATES).flat_map(move |slot| (0..batch).map(move |sample| (row, slot, sample)))
    })
}

/// `[neurons, 16], [rows, 16, 2], [inputs, batch] -> [rows, batch]`
pub fn forward(extent: &NeuronExtent, weights: &[f64], wires: &[f64], x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; extent.rows() * extent.batch];
    for (row, slot, sample) in each(extent) {
        let value = value(coefficients(slot), operands(extent, wires, x, row, slot, sample));
        y[row * extent.batch + sample] += weights[row / extent.places * CANDIDATES + slot] * value;
    }
    y
}

/// Gradients of the weights. `[rows, 16, 2], [inputs, batch], [rows, batch] -> [neurons, 16]`
pub fn weights(extent: &NeuronExtent, wires: &[f64], x: &[f64], g: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; extent.neurons * CANDIDATES];
    for (row, slot, sample) in each(extent) {
        let value = value(coefficients(slot), operands(extent, wires, x, row, slot, sample));
        sums[row / extent.places * CANDIDATES + slot] += g[row * extent.batch + sample] * value;
    }
    sums
}

/// Gradients of the inputs. `[neurons, 16], readers, [inputs, batch], [rows, batch] -> [inputs, batch]`
pub fn inputs(extent: &NeuronExtent, weights: &[f64], readers: &[f64], x: &[f64], g: &[f64]) -> Vec<f64> {
    let batch = extent.batch;
    let (starts, lists) = readers.split_at(extent.inputs + 1);
    let mut sums = vec![0.0; extent.inputs * batch];
    for input in 0..extent.inputs {
        for entry in starts[input] as usize..starts[input + 1] as usize {
            let (reader, other) = (lists[2 * entry] as usize, lists[2 * entry + 1] as usize);
            let (side, slot, row) = (reader & 1, reader >> 1 & 15, reader >> 5);
            let (c, weight) = (coefficients(slot), weights[row / extent.places * CANDIDATES + slot]);
            for sample in 0..batch {
                let other = if other < extent.inputs { x[other * batch + sample] } else { 0.0 };
                sums[input * batch + sample] +=
                    g[row * batch + sample] * weight * (c[1 + side] + c[3] * other);
            }
        }
    }
    sums
}
