//! The op that multiplies tiles of an array by a matrix from both sides, and writes them to another array. All
//! transforms of Winograd's convolutions are this op; they differ in how tiles lie in the two arrays.
//!
//! Invariant: threads write different elements. Start at [`TileTransform`].

use std::sync::Arc;

use farad_ir::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, WgslText, Words};

use super::matrices::{Matrix, Stage, TileForm};
use super::views::{INDICES, NUMBER, TileView};

const WGSL: &str = include_str!("transform.wgsl");
/// Threads of a workgroup.
const THREADS: usize = 64;

/// What is done with which tiles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileTransform {
    /// The tiles' sizes.
    pub form: TileForm,
    /// The matrix.
    pub stage: Stage,
    /// Sizes of the outer indices.
    pub outer: [usize; 4],
    /// Sizes of the inner indices, which number the tiles.
    pub inner: [usize; 3],
    /// Tiles, including those beyond the last, which are zeros.
    pub tiles: usize,
    /// How tiles lie in the operand.
    pub source: TileView,
    /// How they lie in the result.
    pub target: TileView,
    /// The result's shape.
    pub result: Shape,
}

impl TileTransform {
    fn threads(&self) -> usize {
        self.outer.iter().product::<usize>() * self.tiles
    }

    /// Whether tiles beyond the last are written: only where the tile's number has a place in the result.
    fn fills(&self) -> bool {
        self.target.strides[NUMBER] != 0
    }

    fn index(&self, thread: usize) -> [i64; INDICES] {
        let (number, mut rest) = (thread % self.tiles, thread / self.tiles);
        let mut index = [0; INDICES];
        for axis in (0..4).rev() {
            (index[axis], rest) = ((rest % self.outer[axis]) as i64, rest / self.outer[axis]);
        }
        let line = number / self.inner[2];
        let inner = [line / self.inner[1], line % self.inner[1], number % self.inner[2]];
        index[NUMBER] = number as i64;
        index[5..].iter_mut().zip(inner).for_each(|(to, from)| *to = from as i64);
        index
    }

    fn value(&self, x: &[f64]) -> Vec<f64> {
        let matrix = self.form.matrix(self.stage);
        let mut y = vec![0.0; self.result.numel()];
        for thread in 0..self.threads() {
            let index = self.index(thread);
            let alive = index[5] < self.inner[0] as i64;
            let tile =
                if alive { self.read(x, &index, matrix.columns) } else { vec![0.0; matrix.columns.pow(2)] };
            if alive || self.fills() {
                self.write(&mut y, &index, &both_sides(&matrix, &tile), matrix.rows);
            }
        }
        y
    }

    fn read(&self, x: &[f64], index: &[i64; INDICES], side: usize) -> Vec<f64> {
        let element =
            |at: usize| self.source.place(index, at / side, at % side).map_or(0.0, |place| x[place]);
        (0..side * side).map(element).collect()
    }

    fn write(&self, y: &mut [f64], index: &[i64; INDICES], tile: &[f64], side: usize) {
        for (at, value) in tile.iter().enumerate() {
            if let Some(place) = self.target.place(index, at / side, at % side) {
                y[place] = *value;
            }
        }
    }

    fn words(&self) -> Vec<u32> {
        let sizes = [self.threads(), self.tiles].into_iter().chain(self.outer[1..].iter().copied());
        let sizes = sizes.chain(self.inner).map(|size| size as i64);
        let all = sizes.chain(self.source.words()).chain(self.target.words());
        all.map(|word| word as i32 as u32).collect()
    }

    fn text(&self) -> WgslText {
        let matrix = self.form.matrix(self.stage);
        let (rows, columns) = (matrix.rows, matrix.columns);
        let wide = [columns == 4 && self.source.in_fours(), rows == 4 && self.target.in_fours()];
        let values: Vec<String> = matrix.values.iter().map(|value| format!("{:?}f", *value as f32)).collect();
        let [source, result] = wide.map(|wide| if wide { "vec4<f32>" } else { "f32" });
        let mut text = WgslText::new(WGSL)
            .sizes(&[("THREADS", THREADS), ("IN", columns), ("OUT", rows), ("BOTH", rows * columns)])
            .constant("FILLS", self.fills())
            .region("matrix", format!("const MATRIX = array<f32, {}>({});", values.len(), values.join(", ")))
            .region(
                "arrays",
                format!(
                    "@group(0) @binding(1) var<storage, read> source: array<{source}>;\n\
                     @group(0) @binding(2) var<storage, read_write> result: array<{result}>;"
                ),
            );
        if wide[0] {
            text = text.region("read", READ_FOUR);
        }
        if wide[1] {
            text = text.region("write", WRITE_FOUR);
        }
        text.unrolled()
    }
}

/// Reads a row of four at once.
const READ_FOUR: &str = "
        let ok = here && u32(columns.x) < u32(columns.z);
        let four = select(vec4<f32>(), source[select(0, start + columns.x, ok) >> 2u], ok);
        x = array<f32, 4>(four.x, four.y, four.z, four.w);
";

/// Writes a row of four at once.
const WRITE_FOUR: &str = "
        if here && u32(places.x) < u32(places.z) {
            result[(start + places.x) >> 2u] = vec4<f32>(y[0], y[1], y[2], y[3]);
        }
";

/// `matrix · tile · matrixᵀ`
fn both_sides(matrix: &Matrix, tile: &[f64]) -> Vec<f64> {
    let Matrix { rows, columns, values } = matrix;
    let left = |i: usize, b: usize| {
        (0..*columns).map(|a| values[i * columns + a] * tile[a * columns + b]).sum::<f64>()
    };
    let half: Vec<f64> = (0..rows * columns).map(|at| left(at / columns, at % columns)).collect();
    let right =
        |i: usize, j: usize| (0..*columns).map(|b| values[j * columns + b] * half[i * columns + b]).sum();
    (0..rows * rows).map(|at| right(at / rows, at % rows)).collect()
}

impl CustomOp for TileTransform {
    fn name(&self) -> &str {
        match self.stage {
            Stage::Image => "winograd_image",
            Stage::Window => "winograd_window",
            Stage::Result => "winograd_result",
            Stage::Upstream => "winograd_upstream",
            Stage::WindowGradient => "winograd_window_gradient",
        }
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        match operands {
            [(_, DType::F32)] => Ok(vec![(self.result, DType::F32)]),
            _ => Err(OpError::Arity { op: "winograd", got: operands.len(), least: 1 }),
        }
    }

    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        vec![self.value(&operands[0])]
    }

    fn cpu(&self, operands: &[&[u32]], _: &[Shape], results: &mut [Words]) {
        let x: Vec<f64> = operands[0].iter().map(|&bits| f64::from(f32::from_bits(bits))).collect();
        results[0].iter_mut().zip(self.value(&x)).for_each(|(to, value)| *to = (value as f32).to_bits());
    }

    fn wgsl(&self, _: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        let groups = self.threads().div_ceil(THREADS);
        let across = groups.min(limits.workgroups as usize).max(1);
        let workgroups = [across as u32, groups.div_ceil(across) as u32, 1];
        let wgsl: Arc<str> = self.text().into();
        vec![CustomKernel::new(wgsl, "main", workgroups).parameters(&self.words())]
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let Matrix { rows, columns, .. } = self.form.matrix(self.stage);
        let bytes = 4 * (shapes[0].numel() + self.result.numel()) as u64;
        Some((bytes, 2 * (self.threads() * rows * columns * (rows + columns)) as u64))
    }
}
