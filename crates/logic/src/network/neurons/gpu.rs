//! The ops as WGSL kernels over neurons, positions or inputs, and columns of samples. The sixteen candidates
//! are unrolled, so that none reads an operand that its function does not use.

use farad::{CustomKernel, CustomLimits, WgslText};
use farad_circuit::Gate;

use super::op::NeuronExtent;
use super::{reads_first, reads_second};
use crate::row_grid::{RowGrid, add_parts};

const FORWARD: &str = include_str!("forward.wgsl");
const WEIGHTS: &str = include_str!("weights.wgsl");
const INPUTS: &str = include_str!("inputs.wgsl");

/// Most parts into which sums are split.
const PARTS: usize = 64;

/// Code for one candidate: loads its operands `a{n}` and `b{n}`, then what `line` makes of its function.
fn slot(gate: Gate, line: &dyn Fn(usize, &str) -> String) -> String {
    let n = gate.number() as usize;
    let [constant, first, second, both] = gate.coefficients();
    let read = |name: &str, side: usize| {
        format!("let {name}{n} = value_at(first + {}u, columns, column);\n", 2 * n + side)
    };
    let mut text = String::new();
    if reads_first(gate) {
        text += &read("a", 0);
    }
    if reads_second(gate) {
        text += &read("b", 1);
    }
    let terms = [
        (constant, String::new()),
        (first, format!(" * a{n}")),
        (second, format!(" * b{n}")),
        (both, format!(" * a{n} * b{n}")),
    ];
    let terms = terms.iter().filter(|(c, _)| *c != 0).map(|(c, factor)| format!("f32({c}){factor}"));
    let value = terms.collect::<Vec<_>>().join(" + ");
    if value.is_empty() { text } else { text + &line(n, &value) }
}

/// Code for all candidates.
fn slots(line: &dyn Fn(usize, &str) -> String) -> String {
    Gate::ALL.iter().map(|&gate| slot(gate, line)).collect()
}

fn with_inputs(extent: &NeuronExtent, file: &str) -> WgslText {
    WgslText::new(file).constant("INPUTS", extent.inputs)
}

/// Operands: weights, table, wires, readers, x; result: y.
pub fn forward(extent: &NeuronExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let sum = slots(&|n, value| format!("sum += weights[weight + {n}u] * ({value});\n"));
    let text = with_inputs(extent, FORWARD).region("slots", sum);
    let grid = RowGrid::new(extent.rows(), extent.batch);
    vec![grid.each(text, &[extent.places as u32], &[0, 2, 4, 5], limits)]
}

/// Operands: wires, x, g; result: weights; scratch: parts, if there are several.
pub fn weights(extent: &NeuronExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let sums: String = (0..16).map(|n| format!("var s{n} = Value();\n")).collect();
    let add = slots(&|n, value| format!("s{n} += upstream * ({value});\n"));
    let totals: String = (0..4)
        .map(|four| {
            let own = (0..4).map(|n| format!("total(s{})", 4 * four + n)).collect::<Vec<_>>().join(", ");
            format!(
                "let t{four} = together(local, vec4({own}));\n\
                 if neuron < neurons && lane == 0u {{ parts[(group.y * neurons + neuron) * 4u + {four}u] = t{four}; }}\n\
                 workgroupBarrier();\n"
            )
        })
        .collect();
    let text = with_inputs(extent, WEIGHTS);
    let text = text.region("sums", sums).region("slots", add).region("totals", totals);
    let grid = RowGrid::new(extent.neurons, extent.batch);
    let parts = parts(extent);
    let launch = |result| grid.sums(text, parts, &[extent.places as u32], &[0, 1, 2, result], limits);
    match parts {
        1 => vec![launch(3)],
        _ => vec![launch(4), add_parts(4 * extent.neurons, parts, true, &[4, 3], limits)],
    }
}

/// Words in the partial gradients of weights.
pub fn weights_scratch(extent: &NeuronExtent) -> Vec<usize> {
    match parts(extent) {
        1 => vec![],
        parts => vec![parts * extent.neurons * 16],
    }
}

/// Few neurons with many positions are split into many parts, many neurons into one: block after block of
/// columns.
fn parts(extent: &NeuronExtent) -> usize {
    let grid = RowGrid::new(extent.neurons, extent.batch);
    let items = extent.places * grid.blocks();
    let few = (1usize << 15).div_ceil(extent.neurons.max(1));
    items.min(few).clamp(1, PARTS)
}

/// Operands: weights, table, readers, x, g; result: gradients of x.
pub fn inputs(extent: &NeuronExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let grid = RowGrid::new(extent.inputs, extent.batch);
    let text = with_inputs(extent, INPUTS);
    vec![grid.each(text, &[extent.places as u32], &[0, 1, 2, 3, 4, 5], limits)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_grid::tests::{LIMITS, SIZES, check_limits};

    #[test]
    fn grids_stay_within_the_limits() {
        for (inputs, neurons, batch) in SIZES {
            let extent = NeuronExtent { inputs, neurons, places: 1, batch };
            [forward, weights, super::inputs].iter().for_each(|op| check_limits(&op(&extent, &LIMITS)));
        }
    }
}
