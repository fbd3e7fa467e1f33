//! The ops as WGSL kernels: a workgroup takes 256 values, rows by up to 16 columns.
//!
//! The grid runs over all rows before it goes to the next columns, as that of layers of gates does, so that the columns in
//! use stay in the GPU's cache.

use farad::{CustomKernel, CustomLimits};

use super::op::Extent;

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
const PARTS: usize = 16;

/// How rows and columns are laid over a grid.
struct Grid {
    rows: usize,
    columns: usize,
    vector: bool,
    shift: u32,
}

impl Grid {
    fn new(rows: usize, batch: usize) -> Grid {
        let vector = batch.is_multiple_of(4);
        let columns = if vector { batch / 4 } else { batch };
        let shift = columns.max(1).next_power_of_two().trailing_zeros().min(COLUMNS);
        Grid { rows, columns, vector, shift }
    }

    /// Workgroups beside each other that take different columns.
    fn blocks(&self) -> usize {
        self.columns.div_ceil(1 << self.shift)
    }

    fn launch(
        &self,
        text: &str,
        blocks: usize,
        extent: &Extent,
        arguments: &[usize],
        limits: &CustomLimits,
    ) -> CustomKernel {
        let mut wgsl = text.to_string();
        if self.vector {
            REGIONS.iter().for_each(|(scalar, vector)| wgsl = wgsl.replace(scalar, vector));
        }
        let most = limits.workgroups as usize;
        let groups = self.rows.div_ceil(WORKGROUP >> self.shift);
        let x = groups.clamp(1, most);
        let workgroups = [x, blocks.clamp(1, most), groups.div_ceil(x)].map(|size| size as u32);
        CustomKernel::new(wgsl, "main", workgroups)
            .parameters(&[self.rows as u32, self.columns as u32, self.shift, extent.count as u32])
            .arguments(arguments)
    }
}

/// Operands: weights, wires, readers, x; result: y.
pub fn forward(extent: &Extent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let grid = Grid::new(extent.rows, extent.batch);
    vec![grid.launch(FORWARD, grid.blocks(), extent, &[0, 1, 3, 4], limits)]
}

/// Operands: wires, readers, x, g; result: weights; scratch: parts, if there are several.
pub fn weights(extent: &Extent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let places = extent.rows * extent.count;
    let grid = Grid::new(places, extent.batch);
    let parts = parts(extent);
    if parts == 1 {
        return vec![grid.launch(WEIGHTS, 1, extent, &[0, 2, 3, 4], limits)];
    }
    let groups = places.div_ceil(64);
    let x = groups.clamp(1, limits.workgroups as usize);
    let sum = CustomKernel::new(SUM, "main", [x as u32, groups.div_ceil(x) as u32, 1])
        .parameters(&[places as u32, parts as u32])
        .arguments(&[5, 4]);
    vec![grid.launch(WEIGHTS, parts, extent, &[0, 2, 3, 5], limits), sum]
}

/// Words of the parts of weights' gradients.
pub fn weights_scratch(extent: &Extent) -> Vec<usize> {
    match parts(extent) {
        1 => vec![],
        parts => vec![parts * extent.rows * extent.count],
    }
}

/// Operands: weights, wires, readers, g; result: gradients at x.
pub fn inputs(extent: &Extent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let grid = Grid::new(extent.inputs, extent.batch);
    vec![grid.launch(INPUTS, grid.blocks(), extent, &[0, 2, 3, 4], limits)]
}

fn parts(extent: &Extent) -> usize {
    Grid::new(extent.rows * extent.count, extent.batch).blocks().clamp(1, PARTS)
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
        for (inputs, rows, batch) in [(8, 4, 1), (2, 1, 3_000_000), (5_000_000, 4_000_000, 64)] {
            let extent = Extent { inputs, rows, count: 4, batch };
            for kernel in [forward, weights, super::inputs].iter().flat_map(|op| op(&extent, &limits)) {
                let [x, y, z] = kernel.workgroups;
                assert!(x.max(y).max(z) <= 65_535 && x.min(y).min(z) >= 1, "{:?}", kernel.workgroups);
            }
        }
    }
}
