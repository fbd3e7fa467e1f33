//! The cost model of a product on a GPU, by the tile that a workgroup computes. It chooses both the tile of a
//! product and the number of parts that its terms are split into. The figures were measured on one large GPU;
//! every GPU uses the same rule, so that runs are reproducible.
//!
//! Invariant: all costs are in one unit, a multiplication with the first tile on a full device.

/// Processors of a large GPU.
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
    pub halves: bool,
}

/// All tiles.
pub const TILES: [TileCost; 7] = [
    TileCost { m: 128, n: 128, k: 16, speed: 1.0, extra: 46, together: 2, alone: 1.0, halves: false },
    TileCost { m: 128, n: 64, k: 16, speed: 0.87, extra: 21, together: 2, alone: 1.0, halves: false },
    TileCost { m: 64, n: 64, k: 32, speed: 0.7, extra: 8, together: 1, alone: 1.0, halves: false },
    TileCost { m: 32, n: 32, k: 32, speed: 0.6, extra: 38, together: 1, alone: 1.2, halves: false },
    TileCost { m: 16, n: 16, k: 64, speed: 0.3, extra: 84, together: 1, alone: 1.4, halves: false },
    TileCost { m: 128, n: 128, k: 32, speed: 6.2, extra: 64, together: 2, alone: 1.4, halves: true },
    TileCost { m: 64, n: 64, k: 64, speed: 3.0, extra: 64, together: 2, alone: 1.3, halves: true },
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

/// The predicted cost with the best tile.
fn best(sizes: ProductSizes, halves: bool, processors: usize) -> f64 {
    let usable = TILES.iter().filter(|tile| halves || !tile.halves);
    usable.map(|tile| tile.of(sizes, processors)).fold(f64::INFINITY, f64::min)
}

/// Cost of adding up, per part and result, and a fixed cost per launch, which reads and writes memory once.
const ADDING: f64 = 0.42;
const ADDING_AT_ALL: f64 = 7e5;
/// A split must reduce the cost to at most this share.
const WORTH: f64 = 0.85;
/// Fewest terms of a part.
const LEAST_TERMS: usize = 128;

/// How many parts to split the terms of a product into, among those offered; `None` to leave it whole.
pub fn parts(
    sizes: ProductSizes,
    halves: bool,
    processors: usize,
    offered: impl Iterator<Item = usize>,
) -> Option<usize> {
    let results = (sizes.batches * sizes.rows * sizes.columns) as f64;
    let cost = |count: usize| {
        let cut = ProductSizes { batches: sizes.batches * count, terms: sizes.terms / count, ..sizes };
        best(cut, halves, processors) + ADDING_AT_ALL + ADDING * results * count as f64
    };
    let offered = offered.filter(|count| *count > 1 && sizes.terms / count >= LEAST_TERMS);
    let (count, least) = offered.map(|count| (count, cost(count))).min_by(|a, b| a.1.total_cmp(&b.1))?;
    (least < WORTH * best(sizes, halves, processors)).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(rows: usize, columns: usize, terms: usize, halves: bool) -> Option<usize> {
        let sizes = ProductSizes { batches: 1, rows, columns, terms };
        parts(sizes, halves, PROCESSORS, (1..=6).map(|n| 1 << n))
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
