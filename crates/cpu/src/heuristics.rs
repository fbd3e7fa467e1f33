//! The constants that choose how kernels run on the CPU, one table per topic.
//!
//! Each line says what a constant decides, and which case of `farad bench` set it. *Not measured* means that no
//! measurement is recorded: the number follows from cache and vector sizes, or is older than the records. *Not
//! measured alone* means that only the form it belongs to was measured, with this value. Start at [`fused`].
//!
//! Invariant: choices depend only on sizes, never on threads or time. Constants that decide the order of a sum
//! also decide its bits: if you change one, run the value tests.

/// Fused kernels and recurrences (`interpreter`).
pub mod fused {
    /// Elements per tile, so that a handful of registers stay in the L1 cache. Not measured.
    pub const TILE: usize = 1024;
    /// Elements per tile of kernels that only reduce what lies in memory, and need no registers. Not measured by itself;
    /// its case: `farad bench --random 60`, rows.
    pub const REDUCED_TILE: usize = 8192;
    /// Rows from this length on have such tiles; shorter ones cost more than their tile. Not measured by itself; its case as
    /// above.
    pub const LEAST_REDUCED: usize = 64;
    /// Rows up to this length stay in the L2 cache as a whole. Not measured by itself; its case:
    /// `softmax_1024x1024_f32`.
    pub const RESIDENT_ROW: usize = 8192;
    /// Elements per tile of rows that do not, if they need registers: the more, the less each costs beside its
    /// arithmetic. Not measured by itself; its case as above.
    pub const LONG_ROW_TILE: usize = 2048;
    /// Innermost axes of at least this length become rows in pointwise kernels. Not measured.
    pub const LONG_AXIS: usize = 512;
    /// Innermost axes up to this length may be moved outward. Not measured.
    pub const SHORT_AXIS: usize = 4;
    /// Rows of a patch of a transposed read: a cache line of floats. Not measured.
    pub const PATCH_ROWS: usize = 16;
    /// Columns of a patch. Not measured.
    pub const PATCH_COLUMNS: usize = 64;
    /// Columns of a patch that are read at once. Not measured.
    pub const PATCH_BLOCK: usize = 16;
    /// Work (elements times instructions) below which threads cost more than they gain. Not measured.
    pub const PARALLEL_WORK: usize = 1 << 18;
    /// Number of tasks that a kernel is cut into, if each gets enough work. Not measured.
    pub const TASKS: usize = 16;
    /// Least work per task. Not measured.
    pub const LEAST_TASK: usize = 1 << 14;
    /// Most work per task. Not measured.
    pub const MOST_TASK: usize = 1 << 18;
    /// With at least this many tiles of outer positions, threads divide those. Not measured.
    pub const MANY_TILES: usize = 8;
    /// Most chunks of a pass that reduces. Not measured.
    pub const MOST_CHUNKS: usize = 256;
    /// Elements per tile of a recurrence: two dozen registers stay in the L2 cache. Not measured.
    pub const RECURRENCE_TILE: usize = 512;
    /// Number of tiles that a recurrence is cut into, if they are large enough. Not measured.
    pub const RECURRENCE_TILES: usize = 8;
    /// Recurrences with fewer elements than this run on one thread. Not measured.
    pub const LEAST_RECURRENCE: usize = 128;
}

/// Reductions of tiles (`simd/reduction.rs`). All of these decide the order of sums.
pub mod reductions {
    /// Partial sums of a long row. Not measured.
    pub const MANY_PARTIALS: usize = 64;
    /// Partial sums of a medium row. Not measured.
    pub const SOME_PARTIALS: usize = 16;
    /// Partial sums of a short row. Not measured.
    pub const FEW_PARTIALS: usize = 4;
    /// Partial values of the largest or smallest element of a row, without influence on the result. Not measured by
    /// itself; its case: `farad bench --random 60`, rows.
    pub const EXTREME_PARTIALS: usize = 32;
    /// Rows of at least this length are medium. Not measured.
    pub const MIDDLING_ROW: usize = 16;
    /// Rows of at least this length are long. Not measured.
    pub const LONG_ROW: usize = 512;
    /// Column tiles that are summed in `f32` before the sum goes to `f64`. Not measured.
    pub const FLOAT_TILES: usize = 64;
}

/// Products and convolutions (`contraction`).
pub mod products {
    /// Multiplications up to which a direct loop beats a blocked product. Not measured.
    pub const SMALL: usize = 1 << 9;
    /// Multiplications from which a product uses several threads. Not measured.
    pub const LARGE: usize = 1 << 18;
    /// Batched products below this size run on one thread each. Not measured.
    pub const SHARED_WHOLE: usize = 16 * LARGE;
    /// Multiplications per task of a thin product. Not measured.
    pub const THIN_TASK: usize = LARGE / 4;
    /// Most tasks of a thin product. Not measured.
    pub const THIN_TASKS: usize = 64;
    /// Floats per slice: about half of an L2 cache. Not measured by itself; its case: `conv_small_fwdbwd_f32`.
    pub const SLICE: usize = 1 << 18;
    /// Multiplications from which a fused sum of products runs as a product. Not measured.
    pub const WORTH_A_PRODUCT: usize = 1 << 13;
    /// Adjacent elements from which vectors pay off. Not measured.
    pub const WORTH_A_VECTOR: usize = 8;
    /// If at least this fraction of vector lanes is used, no copy is made. Not measured by itself; its case:
    /// `conv_small_fwdbwd_f32`.
    pub const USED_LANES: f64 = 0.55;
    /// Largest stride of a convolution whose windows are split; with larger strides, most of a window would be
    /// copied in vain. Not measured by itself; its case: `farad bench --random 60`, convolutions.
    pub const LARGEST_STRIDE: i64 = 8;

    /// Elements of a row up to which a copy with gaps is zeroed as a whole. Not measured by itself; its case as above.
    pub const ZEROED_TOGETHER: usize = 64;

    /// Along columns: enough slices for many threads. Not measured.
    pub const MANY_SLICES: usize = 32;
    /// Along columns: fewest floats of a slice; smaller tasks do not pay off. Not measured.
    pub const LEAST_COLUMN_SLICE: usize = 1 << 12;
    /// Along columns: fewest rows of an image per slice, if they fit; tiles take three vectors at a time. Not measured by
    /// itself; its case: `farad bench --random 60`, convolutions.
    pub const IMAGE_ROWS: usize = 6;
    /// Along columns: floats from which several threads pack the left operand. Not measured.
    pub const PARALLEL_PACKING: usize = 1 << 15;
    /// Along columns: vectors that stay in the L1 cache while all rows are computed, if tiles differ. Not
    /// measured.
    pub const VECTORS_TOGETHER: usize = 24;

    /// Along terms: most parts. Decides the order of sums. Not measured.
    pub const MOST_PARTS: usize = 16;
    /// Along terms: parts with fewer rows are not divided among threads. Not measured.
    pub const LEAST_PART_ROWS: usize = 16;
    /// Along terms: most floats of all parts together. Decides the order of sums. Not measured.
    pub const PARTIAL_FLOATS: usize = 1 << 23;
    /// Along terms: fewest vectors of terms per slice, if they fit. Not measured.
    pub const TERM_VECTORS: usize = 32;
    /// Along terms: fewest floats of a slice; below that, the fixed work per slice dominates. Not measured.
    pub const LEAST_TERM_SLICE: usize = 1 << 14;
    /// Along terms: elements per task when the parts are summed at the end. Not measured.
    pub const ADDED_AT_ONCE: usize = 1 << 14;
}

/// Products too small or too thin for a blocked algorithm (`simd/small_matrix.rs`).
pub mod small_products {
    /// Columns of a result row that are summed at once, so that they stay in the L1 cache. Not measured.
    pub const WIDTH: usize = 512;
    /// Partial sums of a dot product. Decides the order of sums. Not measured.
    pub const PARTIALS: usize = 32;
    /// Columns that a narrow product computes, with zero padding after its own. Not measured by itself; its case:
    /// `farad bench --random 60`, products.
    pub const COLUMNS: usize = 16;
    /// Rows that a narrow product computes together. Not measured by itself; its case as above.
    pub const ROWS: usize = 8;
    /// Fewest rows of a narrow product. Not measured by itself; its case as above.
    pub const NARROW_ROWS: usize = 16;
    /// Most columns for which a narrow product beats a blocked one. Not measured by itself; its case as above.
    pub const NARROW: usize = 12;
    /// Fewest terms for which it does if a row's results are apart in memory. Not measured by itself; its case as above.
    pub const NARROW_SCATTERED: usize = 64;
    /// Most terms for which it does if the terms of a row are not adjacent in memory. Not measured alone; the
    /// form as above.
    pub const NARROW_APART: usize = 64;
}

/// Sorts and selections (`sort.rs`).
pub mod sorts {
    /// Fewer elements are sorted by one thread. Not measured.
    pub const PARALLEL: usize = 1 << 13;
    /// Fewer elements are sorted by comparison, more by radix sort. Not measured.
    pub const COUNTED: usize = 1 << 14;
    /// Elements that a selection reads per block. Not measured by itself; its case: `topk_64_of_256x32768_f32`.
    pub const BLOCK: usize = 1 << 12;
    /// Keys that a selection compares at once. Not measured by itself; its case as above.
    pub const LANES: usize = 32;
    /// Fewest candidates that a selection collects before it drops those that are too large. Not measured
    /// by itself; its case as above.
    pub const HELD: usize = 1 << 8;
}

/// Scatter-add (`scatter.rs`).
pub mod scatters {
    /// Fewer elements are added by one thread. Not measured.
    pub const PARALLEL: usize = 1 << 15;
    /// Fewest inner elements (after the scattered axis) per task. Not measured.
    pub const WIDTH: usize = 64;
    /// Most tasks over the inner elements. Not measured.
    pub const TASKS: usize = 64;
}

/// Memory that is kept for reuse (`memory/block_pool.rs`).
pub mod pools {
    /// Most bytes that the pool keeps. Not measured.
    pub const POOL_BYTES: usize = 1 << 30;
}
