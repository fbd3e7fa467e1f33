//! The ops as WGSL kernels.
//!
//! A workgroup takes 256 values: rows are gates or inputs, and up to 16 columns lie beside each
//! other. The grid runs over all rows before it goes to the next columns, so that the few columns of
//! all features that are in use stay in the GPU's cache, although rows are read in any order.

use farad::{CustomKernel, CustomLimits};

use super::extent::Extent;

const FORWARD: &str = include_str!("forward.wgsl");
const WEIGHTS: &str = include_str!("weights.wgsl");
const SUM: &str = include_str!("sum.wgsl");
const INPUTS: &str = include_str!("inputs.wgsl");

/// What the texts declare for one sample an invocation, and what replaces it for four.
const REGIONS: [(&str, &str); 2] = [
    ("alias Value = f32;", "alias Value = vec4<f32>;"),
    ("    return value;\n", "    return (value.x + value.y) + (value.z + value.w);\n"),
];

/// Values that a workgroup takes.
const WORKGROUP: usize = 256;
/// Columns side by side in a workgroup, as a power of two.
const COLUMNS: u32 = 4;
/// Parts into which sums over the batch are cut at most.
const PARTS: usize = 64;

/// How rows and columns are laid over a grid.
struct Grid {
    rows: usize,
    /// One of four samples, or of one if the batch is no multiple of four.
    columns: usize,
    vector: bool,
    shift: u32,
}

impl Grid {
    fn new(rows: usize, extent: &Extent) -> Grid {
        let vector = extent.batch.is_multiple_of(4);
        let columns = if vector { extent.batch / 4 } else { extent.batch };
        let shift = columns.max(1).next_power_of_two().trailing_zeros().min(COLUMNS);
        Grid { rows, columns, vector, shift }
    }

    /// Workgroups beside each other that take different columns.
    fn blocks(&self) -> usize {
        self.columns.div_ceil(1 << self.shift)
    }

    fn launch(&self, text: &str, blocks: usize, arguments: &[usize], limits: &CustomLimits) -> CustomKernel {
        let mut wgsl = text.to_string();
        if self.vector {
            REGIONS.iter().for_each(|(scalar, vector)| wgsl = wgsl.replace(scalar, vector));
        }
        let most = limits.workgroups as usize;
        let groups = self.rows.div_ceil(WORKGROUP >> self.shift);
        let x = groups.clamp(1, most);
        let workgroups = [x, blocks.clamp(1, most), groups.div_ceil(x)].map(|size| size as u32);
        CustomKernel::new(wgsl, "main", workgroups)
            .parameters(&[self.rows as u32, self.columns as u32, self.shift])
            .arguments(arguments)
    }
}

/// Operands: coefficients, wires, readers, x; result: y.
pub fn forward(extent: &Extent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let grid = Grid::new(extent.outputs, extent);
    vec![grid.launch(FORWARD, grid.blocks(), &[0, 1, 3, 4], limits)]
}

/// Operands: wires, x, g; result: weights; scratch: parts, if there are several.
pub fn weights(extent: &Extent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let grid = Grid::new(extent.outputs, extent);
    let parts = parts(extent);
    if parts == 1 {
        return vec![grid.launch(WEIGHTS, 1, &[0, 1, 2, 3], limits)];
    }
    let groups = extent.outputs.div_ceil(64);
    let x = groups.clamp(1, limits.workgroups as usize);
    let sum = CustomKernel::new(SUM, "main", [x as u32, groups.div_ceil(x) as u32, 1])
        .parameters(&[extent.outputs as u32, parts as u32])
        .arguments(&[4, 3]);
    vec![grid.launch(WEIGHTS, parts, &[0, 1, 2, 4], limits), sum]
}

/// Words of the parts of weights' gradients.
pub fn weights_scratch(extent: &Extent) -> Vec<usize> {
    let parts = parts(extent);
    if parts == 1 { vec![] } else { vec![parts * extent.outputs * 4] }
}

/// Operands: coefficients, readers, x, g; result: gradients at x.
pub fn inputs(extent: &Extent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let grid = Grid::new(extent.inputs, extent);
    vec![grid.launch(INPUTS, grid.blocks(), &[0, 1, 2, 3, 4], limits)]
}

fn parts(extent: &Extent) -> usize {
    Grid::new(extent.outputs, extent).blocks().clamp(1, PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_in_the_texts() {
        assert!(WEIGHTS.contains(REGIONS[1].0));
        assert!([FORWARD, WEIGHTS, INPUTS].iter().all(|text| text.contains(REGIONS[0].0)));
    }

    #[test]
    fn grids_stay_within_the_limits() {
        let limits = CustomLimits {
            invocations: 256,
            workgroup_memory: 16 << 10,
            workgroups: 65_535,
            subgroups: false,
        };
        for (inputs, outputs, batch) in [(8, 4, 1), (2, 1, 3_000_000), (5_000_000, 4_000_000, 64)] {
            let extent = Extent { inputs, outputs, batch };
            for kernel in [forward, weights, super::inputs].iter().flat_map(|op| op(&extent, &limits)) {
                let [x, y, z] = kernel.workgroups;
                assert!(x.max(y).max(z) <= 65_535 && x.min(y).min(z) >= 1, "{:?}", kernel.workgroups);
                assert!(kernel.arguments.expect("given").len() <= 8);
            }
        }
        let wide = forward(&Extent { inputs: 65_536, outputs: 65_536, batch: 256 }, &limits);
        assert_eq!(wide[0].workgroups, [4096, 4, 1]);
    }
}
