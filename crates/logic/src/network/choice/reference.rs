//! The reference of the ops in `f64`, written for clarity.

use super::op::ChoiceExtent;

/// `[rows, count], [rows, count], [inputs, batch] -> [rows, batch]`
pub fn forward(extent: &ChoiceExtent, weights: &[f64], wires: &[f64], x: &[f64]) -> Vec<f64> {
    let (count, batch) = (extent.count, extent.batch);
    let mut y = vec![0.0; extent.rows * batch];
    for (place, (&weight, &wire)) in weights.iter().zip(wires).enumerate() {
        for sample in 0..batch {
            y[place / count * batch + sample] += weight * x[wire as usize * batch + sample];
        }
    }
    y
}

/// Gradients of the weights. `[rows, count], [inputs, batch], [rows, batch] -> [rows, count]`
pub fn weights(extent: &ChoiceExtent, wires: &[f64], x: &[f64], g: &[f64]) -> Vec<f64> {
    let (count, batch) = (extent.count, extent.batch);
    let sum = |(place, &wire): (usize, &f64)| {
        let pairs = g[place / count * batch..][..batch].iter().zip(&x[wire as usize * batch..][..batch]);
        pairs.map(|(g, x)| g * x).sum()
    };
    wires.iter().enumerate().map(sum).collect()
}

/// Gradients of the inputs. `[rows, count], readers, [rows, batch] -> [inputs, batch]`
pub fn inputs(extent: &ChoiceExtent, weights: &[f64], readers: &[f64], g: &[f64]) -> Vec<f64> {
    let (count, batch) = (extent.count, extent.batch);
    let (starts, entries) = readers.split_at(extent.inputs + 1);
    let mut sums = vec![0.0; extent.inputs * batch];
    for input in 0..extent.inputs {
        for &entry in &entries[starts[input] as usize..starts[input + 1] as usize] {
            let place = entry as usize;
            for sample in 0..batch {
                sums[input * batch + sample] += weights[place] * g[place / count * batch + sample];
            }
        }
    }
    sums
}
