//! From which sizes on planning changes kernels and memory. All limits of that kind stand here, one sentence each with the
//! bench case that set it; "not measured" says that no case did.
//!
//! Invariant: they are fixed numbers and not chosen by timing, so that runs repeat.

/// Bytes that every buffer's offset is a multiple of: what WebGPU asks of bindings. Not measured.
pub const ALIGNMENT: usize = 256;
/// Elements that every part of an array starts at a multiple of, where a loop's kernel shares arrays: [`ALIGNMENT`] in words.
/// Not measured.
pub const PART_ALIGNMENT: usize = ALIGNMENT / 4;

/// Axes up to this size are written out: the windows of pooling. `cnn_train_f32` gains by it; larger axes were not measured.
pub const UNROLLED_AXIS: usize = 3;
/// Instructions that a kernel may have afterwards. Not measured.
pub const UNROLLED_INSTRUCTIONS: usize = 128;

/// Elements of a source up to which a small sum may wait for others. Not measured by itself.
pub const BUNDLED_ELEMENTS: usize = 1 << 18;
/// Sums that one kernel adds up. `gpt_small_train_f32` gains by such kernels (71 waves became 54); the number itself was not
/// measured. See docs/lab/training-steps.md.
pub const BUNDLED_SUMS: usize = 48;

/// Sources up to which a scatter scans its index for every place, whatever their number. Not measured
/// by itself; `embedding_grad_32768x8192x384_f32` is above it.
pub const SCANNED_SOURCES: usize = 4096;
/// Sources times places up to which it scans. Not measured by itself.
pub const SCANNED_PAIRS: usize = 1 << 24;
