//! The ops as WGSL kernels over rows of gates or inputs and columns of samples.

use farad::{CustomKernel, CustomLimits, WgslText};

use super::extent::LayerExtent;
use crate::row_grid::{RowGrid, add_parts};

const FORWARD: &str = include_str!("forward.wgsl");
const WEIGHTS: &str = include_str!("weights.wgsl");
const INPUTS: &str = include_str!("inputs.wgsl");

/// Most parts into which sums over the batch are split.
const PARTS: usize = 64;

/// Operands: coefficients, wires, readers, x, and `operands` in total; result: y.
pub fn forward(extent: &LayerExtent, operands: usize, limits: &CustomLimits) -> Vec<CustomKernel> {
    let grid = RowGrid::new(extent.outputs, extent.batch);
    vec![grid.each(WgslText::new(FORWARD), &[], &[0, 1, 3, operands], limits)]
}

/// Operands: wires, x, g; result: weights; scratch: parts, if there are several.
pub fn weights(extent: &LayerExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let grid = RowGrid::new(extent.outputs, extent.batch);
    let parts = parts(extent);
    if parts == 1 {
        return vec![grid.sums(WgslText::new(WEIGHTS), 1, &[], &[0, 1, 2, 3], limits)];
    }
    let sum = add_parts(extent.outputs, parts, true, &[4, 3], limits);
    vec![grid.sums(WgslText::new(WEIGHTS), parts, &[], &[0, 1, 2, 4], limits), sum]
}

/// Words in the partial gradients of weights.
pub fn weights_scratch(extent: &LayerExtent) -> Vec<usize> {
    let parts = parts(extent);
    if parts == 1 { vec![] } else { vec![parts * extent.outputs * 4] }
}

/// Operands: coefficients, readers, x, g; result: gradients of x.
pub fn inputs(extent: &LayerExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let grid = RowGrid::new(extent.inputs, extent.batch);
    vec![grid.each(WgslText::new(INPUTS), &[], &[0, 1, 2, 3, 4], limits)]
}

fn parts(extent: &LayerExtent) -> usize {
    RowGrid::new(extent.outputs, extent.batch).blocks().clamp(1, PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_grid::tests::{LIMITS, SIZES, check_limits};

    #[test]
    fn grids_stay_within_the_limits() {
        for (inputs, outputs, batch) in SIZES {
            let extent = LayerExtent { inputs, outputs, batch };
            check_limits(&forward(&extent, 4, &LIMITS));
            [weights, super::inputs].iter().for_each(|op| check_limits(&op(&extent, &LIMITS)));
        }
        let wide = forward(&LayerExtent { inputs: 65_536, outputs: 65_536, batch: 256 }, 4, &LIMITS);
        assert_eq!(wide[0].workgroups, [4096, 4, 1]);
    }
}
