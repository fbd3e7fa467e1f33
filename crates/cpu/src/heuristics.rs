//! The numbers that choose how kernels run on the CPU: one table per topic.
//!
//! A line says what a number decides, and which case of `farad bench` set it. *Not measured* means that nothing is
//! recorded: the number was reasoned from caches and vectors, or is older than the records. *Not measured alone* means
//! that the form it belongs to was measured, at this value. Start at [`fused`].
//!
//! Invariant: choices depend on sizes alone, never on threads or time. Numbers that decide an order of sums
//! decide bits too: change them only with the tests of values.

/// Fused kernels and recurrences (`interpreter`).
pub mod fused {
    /// Elements of a tile: a handful of registers stay in the first cache. Not measured.
    pub const TILE: usize = 1024;
    /// Rows up to this length are kept whole, in the second cache. Not measured alone; the form:
    /// `softmax_1024x1024_f32`.
    pub const RESIDENT_ROW: usize = 8192;
    /// Innermost axes from this length on are rows of their own in pointwise kernels. Not measured.
    pub const LONG_AXIS: usize = 512;
    /// Innermost axes up to this length may be better off further out. Not measured.
    pub const SHORT_AXIS: usize = 4;
    /// Rows of a patch of a transposed read: a cache line of floats. Not measured.
    pub const PATCH_ROWS: usize = 16;
    /// Columns of a patch. Not measured.
    pub const PATCH_COLUMNS: usize = 64;
    /// Columns of a patch that are read at once. Not measured.
    pub const PATCH_BLOCK: usize = 16;
    /// Work (elements times instructions) below which threads cost more than they bring. Not measured.
    pub const PARALLEL_WORK: usize = 1 << 18;
    /// Tasks that a kernel is cut into, as far as their work allows. Not measured.
    pub const TASKS: usize = 16;
    /// Work of a task at least. Not measured.
    pub const LEAST_TASK: usize = 1 << 14;
    /// Work of a task at most. Not measured.
    pub const MOST_TASK: usize = 1 << 18;
    /// Tiles of outer positions that are enough to share out. Not measured.
    pub const MANY_TILES: usize = 8;
    /// Chunks that a pass is cut into at most where it reduces. Not measured.
    pub const MOST_CHUNKS: usize = 256;
    /// Elements of a recurrence's tile: two dozen registers stay in the second cache. Not measured.
    pub const RECURRENCE_TILE: usize = 512;
    /// Tiles that a recurrence is cut into, as far as their size allows. Not measured.
    pub const RECURRENCE_TILES: usize = 8;
    /// Elements of a recurrence that are not worth sharing out. Not measured.
    pub const LEAST_RECURRENCE: usize = 128;
}

/// Reductions of tiles (`simd/reduction.rs`). All of these decide the order of sums.
pub mod reductions {
    /// Partial sums of a long row. Not measured.
    pub const MANY_PARTIALS: usize = 64;
    /// Partial sums of a middling row. Not measured.
    pub const SOME_PARTIALS: usize = 16;
    /// Partial sums of a short row. Not measured.
    pub const FEW_PARTIALS: usize = 4;
    /// Elements from which a row is middling. Not measured.
    pub const MIDDLING_ROW: usize = 16;
    /// Elements from which a row is long. Not measured.
    pub const LONG_ROW: usize = 512;
    /// Column tiles that are added up in `f32` before they go to `f64`. Not measured.
    pub const FLOAT_TILES: usize = 64;
}

/// Products and convolutions (`contraction`).
pub mod products {
    /// Multiplications up to which a direct loop beats a blocked product. Not measured.
    pub const SMALL: usize = 1 << 9;
    /// Multiplications from which a product is worth several threads. Not measured.
    pub const LARGE: usize = 1 << 18;
    /// Products of a batch below this are shared out whole, one thread each. Not measured.
    pub const SHARED_WHOLE: usize = 16 * LARGE;
    /// Multiplications of a task of a thin product. Not measured.
    pub const THIN_TASK: usize = LARGE / 4;
    /// Tasks of a thin product at most. Not measured.
    pub const THIN_TASKS: usize = 64;
    /// Floats of a slice: about half of a second cache. Not measured alone; the form: `conv_small_fwdbwd_f32`.
    pub const SLICE: usize = 1 << 18;
    /// Multiplications from which a fused sum of products is done as a product. Not measured.
    pub const WORTH_A_PRODUCT: usize = 1 << 13;
    /// Neighbors that make a vector worth it. Not measured.
    pub const WORTH_A_VECTOR: usize = 8;
    /// How much of vectors has to be used so that no copy is worth making. Not measured alone; the form:
    /// `conv_small_fwdbwd_f32`.
    pub const USED_LANES: f64 = 0.55;
    /// Strides of convolutions that are split; beyond, most of a window is copied for nothing. Not measured alone; the
    /// form: `farad bench --random 60`, convolutions.
    pub const LARGEST_STRIDE: i64 = 8;

    /// Along columns: slices that are enough for many threads. Not measured.
    pub const MANY_SLICES: usize = 32;
    /// Along columns: floats of a slice below which tasks are too small. Not measured.
    pub const LEAST_COLUMN_SLICE: usize = 1 << 12;
    /// Along columns: rows of an image that a slice has at least, if they fit. Not measured.
    pub const IMAGE_ROWS: usize = 4;
    /// Along columns: floats from which threads pack the left operand together. Not measured.
    pub const PARALLEL_PACKING: usize = 1 << 15;
    /// Along columns: vectors that stay in the first cache while all rows go by, where tiles differ. Not measured.
    pub const VECTORS_TOGETHER: usize = 24;

    /// Along terms: parts at most. Decides the order of sums. Not measured.
    pub const MOST_PARTS: usize = 16;
    /// Along terms: rows below which a part is not cut for threads. Not measured.
    pub const LEAST_PART_ROWS: usize = 16;
    /// Along terms: floats of all parts at most. Decides the order of sums. Not measured.
    pub const PARTIAL_FLOATS: usize = 1 << 23;
    /// Along terms: vectors of terms that a slice has at least, if they fit. Not measured.
    pub const TERM_VECTORS: usize = 32;
    /// Along terms: floats of a slice below which what is done once per slice takes too long. Not measured.
    pub const LEAST_TERM_SLICE: usize = 1 << 14;
    /// Along terms: elements of parts that are added up at once at the end. Not measured.
    pub const ADDED_AT_ONCE: usize = 1 << 14;
}

/// Products too small or too thin for a blocked algorithm (`simd/small_matrix.rs`).
pub mod small_products {
    /// Columns of a result row that are added up at once; they stay in the first cache. Not measured.
    pub const WIDTH: usize = 512;
    /// Partial sums of a dot product. Decides the order of sums. Not measured.
    pub const PARTIALS: usize = 32;
    /// Columns that a narrow product computes, with zeros behind its own. Not measured alone; the form: `farad bench
    /// --random 60`, products.
    pub const COLUMNS: usize = 16;
    /// Rows that a narrow product computes together. Not measured alone; the form as above.
    pub const ROWS: usize = 8;
    /// Rows from which a narrow product is worth it. Not measured alone; the form as above.
    pub const NARROW_ROWS: usize = 16;
    /// Columns up to which a narrow product beats a blocked one. Not measured alone; the form as above.
    pub const NARROW: usize = 12;
    /// Terms up to which the same holds where those of a row are not neighbors. Not measured alone; the form as above.
    pub const NARROW_APART: usize = 64;
}

/// Sorts and selections (`sort.rs`).
pub mod sorts {
    /// Elements below which one thread does it. Not measured.
    pub const PARALLEL: usize = 1 << 13;
    /// Elements below which comparing is quicker than counting digits. Not measured.
    pub const COUNTED: usize = 1 << 14;
    /// Elements that a selection reads at once. Not measured alone; the form: `topk_64_of_256x32768_f32`.
    pub const BLOCK: usize = 1 << 12;
    /// Keys that a selection compares at once. Not measured alone; the form as above.
    pub const LANES: usize = 32;
    /// Numbers that a selection holds at least before it drops those that are too large. Not measured alone; the form
    /// as above.
    pub const HELD: usize = 1 << 8;
}

/// Scatter-add (`scatter.rs`).
pub mod scatters {
    /// Elements below which one thread does it. Not measured.
    pub const PARALLEL: usize = 1 << 15;
    /// Elements behind the axis that a task takes at least. Not measured.
    pub const WIDTH: usize = 64;
    /// Tasks behind the axis at most. Not measured.
    pub const TASKS: usize = 64;
}

/// What memory is kept (`memory/block_pool.rs`).
pub mod pools {
    /// Bytes that the pool keeps at most. Not measured.
    pub const POOL_BYTES: usize = 1 << 30;
}
