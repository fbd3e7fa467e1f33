//! The cost model of a product on a GPU, by the tile that a workgroup computes. It chooses both the tile of a
//! product and the number of parts that its terms are split into. The figures were measured on one large GPU;
//! every GPU uses the same rule, so that runs are reproducible.
//!
//! Invariant: all costs are in one unit, a multiplication with the first tile on a full device.

/// Processors of a large GPU: those of an H200, on which the tiles were measured. Not measured itself.
pub const PROCESSORS: usize = 132;

/// The size of a tile and its speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileCost {
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// Terms processed per step.
    pub k: usize,
    /// Its speed relative to the first tile, when the device is full.
    pub speed: f64,
    /// Overhead of starting and finishing, as a number of terms.
    pub extra: usize,
    /// Workgroups that share a processor and so finish together.
    pub together: usize,
    /// Rounds that a single workgroup on a processor takes, because nothing hides its memory latency.
    pub alone: f64,
    /// Whether it multiplies f16 only.
    pub is_f16: bool,
}

/// All tiles. The first one's speed is that of `matmul_8192_f32`, 46 TFLOP/s; that of the first f16 tile is the ratio to it
/// of `matmul_8192_f16`, 284 TFLOP/s. What starting and finishing a tile takes is in docs/lab/f16-products.md. How the figures of
/// the others were measured is not recorded, but for `alone` of the first two and the speeds of the smallest two: these
/// are from random f32 products (`farad bench --random`, seed 101).
pub const TILES: [TileCost; 8] = [
    TileCost { m: 128, n: 128, k: 16, speed: 1.0, extra: 46, together: 2, alone: 1.4, is_f16: false },
    TileCost { m: 128, n: 64, k: 16, speed: 0.87, extra: 21, together: 2, alone: 1.1, is_f16: false },
    TileCost { m: 64, n: 64, k: 32, speed: 0.7, extra: 8, together: 1, alone: 1.0, is_f16: false },
    TileCost { m: 32, n: 32, k: 32, speed: 0.45, extra: 38, together: 1, alone: 1.2, is_f16: false },
    TileCost { m: 16, n: 16, k: 64, speed: 0.25, extra: 84, together: 1, alone: 1.4, is_f16: false },
    TileCost { m: 128, n: 128, k: 32, speed: 6.2, extra: 64, together: 2, alone: 1.4, is_f16: true },
    TileCost { m: 64, n: 64, k: 64, speed: 3.0, extra: 64, together: 2, alone: 1.3, is_f16: true },
    TileCost { m: 32, n: 128, k: 64, speed: 2.4, extra: 64, together: 2, alone: 1.3, is_f16: true },
];

/// The sizes of a product that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductSizes {
    /// Products.
    pub batches: usize,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub columns: usize,
    /// Terms of a sum.
    pub terms: usize,
}

impl TileCost {
    /// The predicted cost: rounds of workgroups over this many processors.
    pub fn of(&self, sizes: ProductSizes, processors: usize) -> f64 {
        let tiles = sizes.batches * sizes.rows.div_ceil(self.m) * sizes.columns.div_ceil(self.n);
        let rounds = match tiles.div_ceil(processors) {
            rounds if rounds <= self.together => rounds,
            rounds => rounds.next_multiple_of(self.together),
        };
        let terms = sizes.terms.next_multiple_of(self.k) + self.extra;
        self.alone.max(rounds as f64) * (self.m * self.n * terms) as f64 / self.speed
    }
}

/// What a product should take with the best of its tiles.
fn best(sizes: ProductSizes, is_f16: bool, processors: usize) -> f64 {
    let usable = TILES.iter().filter(|tile| is_f16 || !tile.is_f16);
    usable.map(|tile| tile.of(sizes, processors)).fold(f64::INFINITY, f64::min)
}

/// What adding up a part takes, a result: memory is read and written once. Not measured by itself; its case: weight gradients
/// of `gpt_small_train_f32`, 24 to 36 TFLOP/s (docs/lab/training-steps.md).
const ADDING: f64 = 0.42;
/// What adding up takes in any case. Not measured by itself; its case as above.
const ADDING_AT_ALL: f64 = 7e5;
/// The share of the time that is left at most where cutting is worth it. Not measured.
const WORTH: f64 = 0.85;
/// Terms that a part has at least. Not measured.
const LEAST_TERMS: usize = 128;

/// Most parts that the terms of a product are split into. Not measured.
pub const MOST_PARTS: usize = 64;

/// What a product of f32 matrices should take, in one part or several.
pub fn product(sizes: ProductSizes) -> f64 {
    let results = (sizes.batches * sizes.rows * sizes.columns) as f64;
    let cut = |count: usize| {
        let cut =
            ProductSizes { batches: sizes.batches * count, terms: sizes.terms.div_ceil(count), ..sizes };
        best(cut, false, PROCESSORS) + ADDING_AT_ALL + ADDING * results * count as f64
    };
    let counts = (1..=6).map(|power| 1 << power).filter(|count| sizes.terms / count >= LEAST_TERMS);
    counts.map(cut).fold(best(sizes, false, PROCESSORS), f64::min)
}

/// What this many multiplications take on a full device.
pub fn multiplying(work: usize, is_f16: bool) -> f64 {
    let speeds = TILES.iter().filter(|tile| tile.is_f16 == is_f16).map(|tile| tile.speed);
    work as f64 / PROCESSORS as f64 / speeds.fold(0.0, f64::max)
}

/// What moving this many floats in this many kernels takes.
pub fn moving(floats: usize, kernels: usize) -> f64 {
    ADDING / 2.0 * floats as f64 + ADDING_AT_ALL * kernels as f64
}

/// How many parts to split the terms of a product into, among those offered; `None` to leave it whole.
pub fn parts(
    sizes: ProductSizes,
    is_f16: bool,
    processors: usize,
    offered: impl Iterator<Item = usize>,
) -> Option<usize> {
    let results = (sizes.batches * sizes.rows * sizes.columns) as f64;
    let cost = |count: usize| {
        let cut = ProductSizes { batches: sizes.batches * count, terms: sizes.terms / count, ..sizes };
        best(cut, is_f16, processors) + ADDING_AT_ALL + ADDING * results * count as f64
    };
    let offered = offered.filter(|count| *count > 1 && sizes.terms / count >= LEAST_TERMS);
    let (count, least) = offered.map(|count| (count, cost(count))).min_by(|a, b| a.1.total_cmp(&b.1))?;
    (least < WORTH * best(sizes, is_f16, processors)).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(rows: usize, columns: usize, terms: usize, is_f16: bool) -> Option<usize> {
        let sizes = ProductSizes { batches: 1, rows, columns, terms };
        parts(sizes, is_f16, PROCESSORS, (1..=6).map(|n| 1 << n))
    }

    #[test]
    fn few_tiles_with_many_terms_are_cut() {
        assert!(cut(384, 1536, 8192, false).is_some());
        assert!(cut(384, 384, 8192, true).is_some());
        assert!(cut(128, 128, 2048, true).is_some());
    }

    #[test]
    fn what_keeps_the_device_busy_stays_whole() {
        assert_eq!(cut(8192, 8192, 8192, false), None);
        assert_eq!(cut(8192, 384, 8192, true), None);
        assert_eq!(cut(8192, 384, 384, false), None);
    }
}
