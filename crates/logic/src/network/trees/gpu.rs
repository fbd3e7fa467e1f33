//! The ops as WGSL kernels. A tree is unrolled gate by gate, so that its nodes are registers.

use farad::{CustomKernel, CustomLimits, WgslText};

use super::geometry::{Geometry, Packing};
use crate::row_grid::{RowGrid, add_parts};

const FORWARD: &str = include_str!("forward.wgsl");
const BACKWARD: &str = include_str!("backward.wgsl");
const INPUTS: &str = include_str!("inputs.wgsl");

/// The largest squares of four samples, packed in one word.
const FOUR_PACKED: &str = "\
alias Whole = vec4<u32>;
fn packed(which: Whole) -> u32 {
    return which.x | (which.y << 8u) | (which.z << 16u) | (which.w << 24u);
}
";
const FOUR_UNPACKED: &str = "\
alias Whole = vec4<u32>;
fn unpacked(word: u32) -> Whole {
    return (vec4(word) >> vec4(0u, 8u, 16u, 24u)) & vec4(255u);
}
";
/// The largest square of one of four samples.
const ONE_OF_FOUR: &str =
    "let square = (largest[row * (samples / 4u) + sample / 4u] >> (8u * (sample % 4u))) & 255u;\n";

/// Invocations of a workgroup of the backward pass.
const WORKGROUP: usize = 256;
/// Fewest items per invocation of it, if there are as many.
const ITEMS: usize = 8;
/// This many workgroups of it are enough for any GPU.
const GROUPS: usize = 4096;
/// Most parts into which sums are split.
const PARTS: usize = 64;

/// A file with the sizes of a stage.
fn sized(file: &str, geometry: &Geometry) -> WgslText {
    WgslText::new(file).sizes(&[
        ("CHANNELS", geometry.channels),
        ("BESIDE", geometry.beside),
        ("HEIGHT", geometry.height),
        ("WIDTH", geometry.width),
        ("OFFSET", geometry.offset),
        ("POOL", geometry.pool),
        ("ROWS", geometry.rows),
        ("COLUMNS", geometry.columns),
        ("CELLS", geometry.cells()),
        ("LEAVES", geometry.leaves()),
        ("GATES", geometry.gates()),
    ])
}

/// Code that computes all nodes: `n0` and so on, and `root`.
fn nodes(geometry: &Geometry) -> String {
    let leaves = (0..geometry.leaves())
        .map(|n| format!("let n{n} = value_at(first + {n}u, down, right, columns, column);\n"));
    let gates = (0..geometry.gates()).map(|n| {
        let (a, b, own) = (2 * n, 2 * n + 1, geometry.leaves() + n);
        format!("let n{own} = gate(coefficients[c + {n}u], n{a}, n{b});\n")
    });
    let root = format!("let root = n{};\n", 2 * geometry.gates());
    leaves.chain(gates).chain([root]).collect()
}

/// Code for the gradients from `upstream` down to the leaves: `g0` and so on, and the sums `s0` and so on.
fn slopes(geometry: &Geometry) -> String {
    let mut text = format!("let g{} = upstream;\n", 2 * geometry.gates());
    for n in (0..geometry.gates()).rev() {
        let (a, b, own) = (2 * n, 2 * n + 1, geometry.leaves() + n);
        text += &format!(
            "s{n} += g{own} * vec4(1.0, n{a}, n{b}, n{a} * n{b});\n\
             let c{n} = slopes[c + {n}u];\n\
             let g{a} = g{own} * (c{n}.y + c{n}.w * n{b});\n\
             let g{b} = g{own} * (c{n}.z + c{n}.w * n{a});\n"
        );
    }
    for n in 0..geometry.leaves() {
        text += &format!("at_leaves[((first + {n}u) * CELLS + cell) * samples + sample] = g{n};\n");
    }
    text
}

/// A text with a region for samples in groups of four, if there are such groups.
fn by_four(text: WgslText, batch: usize, region: &str, lines: &str) -> WgslText {
    match Packing::of(batch) {
        Packing::Words => text,
        Packing::Bytes => text.region(region, lines),
    }
}

/// Operands: coefficients, slopes, leaves, readers, x; results: y, the largest squares.
pub fn forward(geometry: &Geometry, batch: usize, limits: &CustomLimits) -> Vec<CustomKernel> {
    let text = sized(FORWARD, geometry).region("nodes", nodes(geometry));
    let grid = RowGrid::new(geometry.outputs(), batch);
    vec![grid.each(by_four(text, batch, "whole", FOUR_PACKED), &[], &[0, 2, 4, 5, 6], limits)]
}

/// Operands: coefficients, slopes, leaves, x, the largest squares, g; results: sums, gradients of leaves;
/// scratch: parts, if there are several.
pub fn backward(geometry: &Geometry, batch: usize, limits: &CustomLimits) -> Vec<CustomKernel> {
    let gates = geometry.gates();
    let each = |line: &dyn Fn(usize) -> String| (0..gates).map(line).collect::<String>();
    let total = |n| {
        let place = format!("(group.y * parameters[0].x + kernel) * GATES + {n}u");
        format!(
            "let t{n} = total(local, s{n});\n\
             if local == 0u {{ sums[{place}] = t{n}; }}\nworkgroupBarrier();\n"
        )
    };
    let text = sized(BACKWARD, geometry)
        .region("sums", each(&|n| format!("var s{n} = vec4<f32>();\n")))
        .region("nodes", nodes(geometry))
        .region("slopes", slopes(geometry))
        .region("totals", each(&total));
    let text = by_four(text, batch, "square", ONE_OF_FOUR);
    let parts = parts(geometry, batch);
    let result = if parts == 1 { 6 } else { 8 };
    let x = geometry.kernels.clamp(1, limits.workgroups as usize);
    let workgroups = [x, parts, geometry.kernels.div_ceil(x).max(1)].map(|size| size as u32);
    let kernel = CustomKernel::new(text, "main", workgroups)
        .parameters(&[geometry.kernels as u32, batch as u32, parts as u32])
        .arguments(&[0, 1, 2, 3, 4, 5, 7, result]);
    match parts {
        1 => vec![kernel],
        _ => vec![kernel, add_parts(geometry.kernels * gates, parts, true, &[8, 6], limits)],
    }
}

/// Words in the partial gradients of weights.
pub fn backward_scratch(geometry: &Geometry, batch: usize) -> Vec<usize> {
    match parts(geometry, batch) {
        1 => vec![],
        parts => vec![parts * geometry.kernels * geometry.gates() * 4],
    }
}

fn parts(geometry: &Geometry, batch: usize) -> usize {
    let wanted = (geometry.cells() * batch).div_ceil(WORKGROUP * ITEMS);
    wanted.min(GROUPS / geometry.kernels.max(1)).clamp(1, PARTS)
}

/// Operands: readers, the largest squares, gradients of leaves; result: gradients of x.
pub fn inputs(geometry: &Geometry, batch: usize, limits: &CustomLimits) -> Vec<CustomKernel> {
    let text = by_four(sized(INPUTS, geometry), batch, "whole", FOUR_UNPACKED);
    let grid = RowGrid::new(geometry.inputs(), batch);
    vec![grid.each(text, &[], &[0, 1, 2, 3], limits)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_grid::tests::{LIMITS, SIZES, check_limits};

    #[test]
    fn grids_stay_within_the_limits() {
        for (width, kernels, batch) in SIZES {
            let geometry = Geometry {
                channels: 1,
                beside: 1,
                height: 1,
                width,
                kernels,
                depth: 1,
                offset: 0,
                rows: 1,
                columns: 1,
                pool: 1,
            };
            check_limits(&forward(&geometry, batch, &LIMITS));
            check_limits(&backward(&geometry, batch, &LIMITS));
            check_limits(&inputs(&geometry, batch, &LIMITS));
        }
    }
}
