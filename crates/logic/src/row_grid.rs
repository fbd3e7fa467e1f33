//! GPU kernels over feature-major data: how rows and columns are mapped to a grid.
//!
//! A workgroup processes 256 values: rows are features, and up to 16 columns are adjacent. The grid covers all
//! rows before it goes to the next columns. So the few columns in use, of all features, stay in the GPU's
//! cache, although rows are read in any order. Layers of gates, learned wires, trees and neurons share this
//! frame and its WGSL: a kernel only defines the value at a row and a column ([`RowGrid::each`]), or what is
//! summed ([`RowGrid::sums`]). Invariant: no grid is larger than the adapter allows, and none is empty.

pub mod cpu;

use farad::{CustomKernel, CustomLimits, WgslText};

const EACH: &str = include_str!("row_grid/each.wgsl");
const TOTAL: &str = include_str!("row_grid/total.wgsl");
const SUM: &str = include_str!("row_grid/sum.wgsl");

/// What an invocation computes at once if samples come in groups of four, and its sum.
const FOUR_VALUES: &str = "alias Value = vec4<f32>;";
const FOUR_TOTAL: &str =
    "fn total(value: Value) -> f32 {\n    return (value.x + value.y) + (value.z + value.w);\n}\n";

/// Values per workgroup.
const WORKGROUP: usize = 256;
/// Adjacent columns in a workgroup, as a power of two.
const COLUMNS: u32 = 4;

/// How rows and columns are mapped to a grid.
pub struct RowGrid {
    rows: usize,
    /// A column is four samples, or one if the batch is not a multiple of four.
    columns: usize,
    vector: bool,
    shift: u32,
}

impl RowGrid {
    /// For this many rows and samples.
    pub fn new(rows: usize, batch: usize) -> RowGrid {
        let vector = batch.is_multiple_of(4);
        let columns = if vector { batch / 4 } else { batch };
        let shift = columns.max(1).next_power_of_two().trailing_zeros().min(COLUMNS);
        RowGrid { rows, columns, vector, shift }
    }

    /// Workgroups for different columns.
    pub fn blocks(&self) -> usize {
        self.columns.div_ceil(1 << self.shift)
    }

    /// A kernel that computes one value for every row and column: `text` has its bindings, including `result`,
    /// and the function `at`.
    pub fn each(
        &self,
        text: WgslText,
        more: &[u32],
        arguments: &[usize],
        limits: &CustomLimits,
    ) -> CustomKernel {
        self.launch(framed(EACH, text), self.blocks(), more, arguments, limits)
    }

    /// A kernel that sums over samples in this many parts: `text` has its bindings and the entry point, which
    /// calls `together`.
    pub fn sums(
        &self,
        text: WgslText,
        parts: usize,
        more: &[u32],
        arguments: &[usize],
        limits: &CustomLimits,
    ) -> CustomKernel {
        let frame = framed(TOTAL, text);
        let frame = if self.vector { frame.region("total", FOUR_TOTAL) } else { frame };
        self.launch(frame, parts, more, arguments, limits)
    }

    /// A kernel over this grid, `blocks` workgroups along the columns. Its parameters are rows, columns, columns that
    /// neighboring invocations take as a power of two, and then `more`.
    fn launch(
        &self,
        text: WgslText,
        blocks: usize,
        more: &[u32],
        arguments: &[usize],
        limits: &CustomLimits,
    ) -> CustomKernel {
        let wgsl = if self.vector { text.region("value", FOUR_VALUES) } else { text };
        let most = limits.workgroups as usize;
        let groups = self.rows.div_ceil(WORKGROUP >> self.shift);
        let x = groups.clamp(1, most);
        let workgroups = [x, blocks.clamp(1, most), groups.div_ceil(x)].map(|size| size as u32);
        CustomKernel::new(wgsl, "main", workgroups)
            .parameters(&[&[self.rows as u32, self.columns as u32, self.shift], more].concat())
            .arguments(arguments)
    }
}

/// A kernel in its frame: each has placeholders for the other.
fn framed(frame: &str, kernel: WgslText) -> WgslText {
    WgslText::new(frame).region("kernel", kernel.region("frame", ""))
}

/// Adds `parts` partial results of this many sums, each of four numbers if `vector`. Arguments: parts, result.
pub fn add_parts(
    sums: usize,
    parts: usize,
    vector: bool,
    arguments: &[usize],
    limits: &CustomLimits,
) -> CustomKernel {
    let text = WgslText::new(SUM);
    let text = if vector { text.region("value", FOUR_VALUES) } else { text };
    let groups = sums.div_ceil(64);
    let x = groups.clamp(1, limits.workgroups as usize);
    CustomKernel::new(text, "main", [x as u32, groups.div_ceil(x) as u32, 1])
        .parameters(&[sums as u32, parts as u32])
        .arguments(arguments)
}

/// Test sizes for kernels on such grids: they fill a row, a column, and more than one dimension of a grid.
#[cfg(test)]
pub mod tests {
    use super::*;

    /// Features, rows and samples.
    pub const SIZES: [(usize, usize, usize); 3] = [(8, 4, 1), (2, 1, 3_000_000), (5_000_000, 4_000_000, 64)];

    /// WebGPU's minimum limits.
    pub const LIMITS: CustomLimits = CustomLimits {
        invocations: 256,
        workgroup_memory: 16 << 10,
        workgroups: 65_535,
        subgroups: false,
        matrices: 0,
    };

    /// Fails unless all kernels have grids and bindings within the limits.
    #[track_caller]
    pub fn check_limits(kernels: &[CustomKernel]) {
        for kernel in kernels {
            let [x, y, z] = kernel.workgroups;
            assert!(x.max(y).max(z) <= 65_535 && x.min(y).min(z) >= 1, "{:?}", kernel.workgroups);
            assert!(kernel.arguments.as_ref().expect("given").len() <= 8);
        }
    }
}
