//! Limits at which the passes over graphs act. Each constant has one sentence and the bench case that set it;
//! "not measured" means that no case did.
//!
//! Invariant: they are fixed numbers and not chosen by timing, so that runs are reproducible. The cost model of
//! tiles is separate ([`super::tiles`]).

// Sums that are cut into parts (split_sums).

/// A device that needs more positions than this to be busy is large: there the cost model of tiles decides
/// about large products. Not measured.
pub const LARGE_DEVICE: usize = 1 << 16;
/// Elements below which a column is shared by several threads, so that few parts keep the device busy. Not
/// measured.
pub const SHARED_COLUMNS: usize = 1 << 24;
/// Threads that share a row in a sum over the innermost axes: one workgroup. Not measured.
pub const ROW_LANES: usize = 256;
/// Fewest terms of a part of such a row. Not measured.
pub const ROW_TERMS: usize = 4096;
/// Threads that share a column, for tensors below [`SHARED_COLUMNS`]. Not measured.
pub const COLUMN_LANES: usize = 8;
/// Fewest terms of a part of a column. Not measured.
pub const COLUMN_TERMS: usize = 64;
/// A sum is split only if it has at least this many times the terms of one part. Not measured.
pub const WORTH_PARTS: usize = 4;
/// Terms up to which a product stays whole that has a result for every other position that keeps the device busy. Not
/// measured alone; products that fill the device were slower in parts.
pub const WHOLE_TERMS: usize = 512;
/// Fewest terms of a part of a small product. Not measured.
pub const PRODUCT_TERMS: usize = 256;
/// Results of a small product that keep one position busy. Not measured.
pub const PRODUCT_RESULTS: usize = 16;
/// Most parts of a small product. Not measured.
pub const PRODUCT_PARTS: usize = 64;
/// Fewest parts of an f16 product that is split: tensor cores finish each part quickly. Not measured by itself;
/// it came with the weight gradients of convolutions.
pub const HALF_PARTS: usize = 16;

// Copies with the channels last (channels_last).

/// f16 operands are copied with the channels last from this many times less work on: their products are fast, so
/// reading is the bottleneck. Not measured; the work itself is the target's, set with `conv_big_fwd_f32` (30.5 to 34.9 TFLOP/s).
pub const F16_SOONER: usize = 128;
