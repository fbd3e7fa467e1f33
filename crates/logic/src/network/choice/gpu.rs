//! The ops as WGSL kernels over rows that choose, places or inputs, and columns of samples.

use farad::{CustomKernel, CustomLimits, WgslText};

use super::op::ChoiceExtent;
use crate::row_grid::{RowGrid, add_parts};

const FORWARD: &str = include_str!("forward.wgsl");
const WEIGHTS: &str = include_str!("weights.wgsl");
const INPUTS: &str = include_str!("inputs.wgsl");

/// Most parts into which sums over the batch are split.
const PARTS: usize = 16;
/// With this many rows any GPU is busy, whatever their number of columns.
const MANY: usize = 1 << 16;

/// Operands: weights, wires, readers, x; result: y.
pub fn forward(extent: &ChoiceExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let grid = RowGrid::new(extent.rows, extent.batch);
    vec![grid.each(WgslText::new(FORWARD), &[extent.count as u32], &[0, 1, 3, 4], limits)]
}

/// Operands: wires, readers, x, g; result: weights; scratch: parts, if there are several.
pub fn weights(extent: &ChoiceExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let places = extent.rows * extent.count;
    let grid = RowGrid::new(fours(extent), extent.batch);
    let parts = parts(extent);
    if parts == 1 {
        return vec![grid.sums(WgslText::new(WEIGHTS), 1, &[extent.count as u32], &[0, 2, 3, 4], limits)];
    }
    let sum = add_parts(places, parts, false, &[5, 4], limits);
    vec![grid.sums(WgslText::new(WEIGHTS), parts, &[extent.count as u32], &[0, 2, 3, 5], limits), sum]
}

/// Words in the partial gradients of weights.
pub fn weights_scratch(extent: &ChoiceExtent) -> Vec<usize> {
    match parts(extent) {
        1 => vec![],
        parts => vec![parts * extent.rows * extent.count],
    }
}

/// Operands: weights, wires, readers, g; result: gradients of x.
pub fn inputs(extent: &ChoiceExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let grid = RowGrid::new(extent.inputs, extent.batch);
    vec![grid.each(WgslText::new(INPUTS), &[extent.count as u32], &[0, 2, 3, 4], limits)]
}

/// Candidates of all rows, in groups of four.
fn fours(extent: &ChoiceExtent) -> usize {
    extent.rows * extent.count.div_ceil(4)
}

fn parts(extent: &ChoiceExtent) -> usize {
    let blocks = RowGrid::new(fours(extent), extent.batch).blocks();
    blocks.min(MANY / fours(extent).max(1)).clamp(1, PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_grid::tests::{LIMITS, SIZES, check_limits};

    #[test]
    fn grids_stay_within_the_limits() {
        for (inputs, rows, batch) in SIZES {
            let extent = ChoiceExtent { inputs, rows, count: 4, batch };
            [forward, weights, super::inputs].iter().for_each(|op| check_limits(&op(&extent, &LIMITS)));
        }
    }
}
