//! From which sizes on the passes over graphs do something. All limits of that kind stand here, one sentence each with the
//! bench case that set it; "not measured" says that no case did.
//!
//! Invariant: they are fixed numbers and not chosen by timing, so that runs repeat. What tiles take is a model of its own
//! ([`super::tiles`]).

// Sums that are cut into parts (split_sums).

/// Positions that only a large device needs to be busy: there the model of tiles decides about large products. Not measured.
pub const LARGE_DEVICE: usize = 1 << 16;
/// Elements below which threads that share columns keep the device busy without many parts. Not measured.
pub const SHARED_COLUMNS: usize = 1 << 24;
/// Threads that share a row of a sum over the innermost axes: a workgroup. Not measured.
pub const ROW_LANES: usize = 256;
/// Terms that a part of such a row has at least. Not measured.
pub const ROW_TERMS: usize = 4096;
/// Threads that share a column, of tensors below [`SHARED_COLUMNS`]. Not measured.
pub const COLUMN_LANES: usize = 8;
/// Terms that a part of a column has at least. Not measured.
pub const COLUMN_TERMS: usize = 64;
/// A sum is left whole unless it has so many times the terms of a part. Not measured.
pub const WORTH_PARTS: usize = 4;
/// Terms up to which a product stays whole that has a result for every other position that keeps the device busy. Not
/// measured alone; products that fill the device were slower in parts.
pub const WHOLE_TERMS: usize = 512;
/// Terms that a part of a small product has at least. Not measured.
pub const PRODUCT_TERMS: usize = 256;
/// Results of a small product that keep one position busy. Not measured.
pub const PRODUCT_RESULTS: usize = 16;
/// Parts that a small product is cut into at most. Not measured.
pub const PRODUCT_PARTS: usize = 64;
/// Parts that a product of halves is cut into at least, if at all: they are quick, so that each part is soon done.
/// Not measured by itself; it came with the weight gradients of convolutions.
pub const HALF_PARTS: usize = 16;

// Copies with the channels last (channels_last).

/// Halves are laid out anew from so many times less work on: their products are quick, if they can read. Not
/// measured; the work itself is the target's, set with `conv_big_fwd_f32` (30.5 to 34.9 TFLOP/s).
pub const F16_SOONER: usize = 128;
