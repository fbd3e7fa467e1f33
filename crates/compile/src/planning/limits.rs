//! Sizes at which planning changes kernels and memory. Each constant has one sentence and the bench case that
//! set it; "not measured" means that no case did.
//!
//! Invariant: they are fixed numbers and not chosen by timing, so that runs are reproducible.

/// Bytes that every buffer's offset is a multiple of: what WebGPU asks of bindings. Not measured.
pub const ALIGNMENT: usize = 256;
/// Elements that every part of an array starts at a multiple of, where a loop's kernel shares arrays: [`ALIGNMENT`] in words.
/// Not measured.
pub const PART_ALIGNMENT: usize = ALIGNMENT / 4;

/// Axes up to this size are unrolled, such as the windows of pooling. `cnn_train_f32` gains by it; larger axes
/// were not measured.
pub const UNROLLED_AXIS: usize = 3;
/// Most instructions of an unrolled kernel. Not measured.
pub const UNROLLED_INSTRUCTIONS: usize = 128;

/// Most elements of the source of a sum that is merged with others. Not measured by itself.
pub const BUNDLED_ELEMENTS: usize = 1 << 18;
/// Sums that one kernel adds up. `gpt_small_train_f32` gains by such kernels (71 waves became 54); the number itself was not
/// measured. See docs/lab/training-steps.md.
pub const BUNDLED_SUMS: usize = 48;

/// Up to this many sources, a scatter scans the whole index for every target row, however many rows there are.
/// Not measured by itself; `embedding_grad_32768x8192x384_f32` is above it.
pub const SCANNED_SOURCES: usize = 4096;
/// Up to this product of sources and target rows, it scans as well. Not measured by itself.
pub const SCANNED_PAIRS: usize = 1 << 24;
