//! The reference of the ops in `f64`, written for clarity.

use super::extent::LayerExtent;

/// The operands of a gate, as indices.
fn operands(wires: &[f64], gate: usize) -> (usize, usize) {
    (wires[gate] as usize, wires[wires.len() / 2 + gate] as usize)
}

/// `[outputs, 4], [2, outputs], [inputs, batch] -> [outputs, batch]`
pub fn forward(extent: &LayerExtent, coefficients: &[f64], wires: &[f64], x: &[f64]) -> Vec<f64> {
    let mut y = Vec::with_capacity(extent.outputs * extent.batch);
    for (gate, c) in coefficients.chunks_exact(4).enumerate() {
        let (a, b) = operands(wires, gate);
        for sample in 0..extent.batch {
            let (a, b) = (x[a * extent.batch + sample], x[b * extent.batch + sample]);
            y.push(c[0] + c[1] * a + c[2] * b + c[3] * a * b);
        }
    }
    y
}

/// Gradients of the coefficients. `[2, outputs], [inputs, batch], [outputs, batch] -> [outputs, 4]`
pub fn weights(extent: &LayerExtent, wires: &[f64], x: &[f64], g: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; extent.outputs * 4];
    for (gate, sums) in sums.chunks_exact_mut(4).enumerate() {
        let (a, b) = operands(wires, gate);
        for sample in 0..extent.batch {
            let (a, b) = (x[a * extent.batch + sample], x[b * extent.batch + sample]);
            for (sum, factor) in sums.iter_mut().zip([1.0, a, b, a * b]) {
                *sum += g[gate * extent.batch + sample] * factor;
            }
        }
    }
    sums
}

/// Gradients of the inputs. `[outputs, 4], readers, [inputs, batch], [outputs, batch] -> [inputs, batch]`
pub fn inputs(extent: &LayerExtent, coefficients: &[f64], readers: &[f64], x: &[f64], g: &[f64]) -> Vec<f64> {
    let batch = extent.batch;
    let (starts, lists) = readers.split_at(extent.inputs + 1);
    let mut sums = vec![0.0; extent.inputs * batch];
    for input in 0..extent.inputs {
        for entry in starts[input] as usize..starts[input + 1] as usize {
            let (reader, other) = (lists[2 * entry] as usize, lists[2 * entry + 1] as usize);
            let (gate, side) = (reader / 2, reader % 2);
            let c = &coefficients[4 * gate..];
            for sample in 0..batch {
                let slope = c[1 + side] + c[3] * x[other * batch + sample];
                sums[input * batch + sample] += g[gate * batch + sample] * slope;
            }
        }
    }
    sums
}
