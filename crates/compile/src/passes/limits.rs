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

/// Work from which the cost model of tiles alone decides into how many parts a product is cut. Not measured.
pub const MODELED_WORK: usize = 1 << 27;

// Copies with aligned rows (align_rows).

/// f32 products that use each element of an operand fewer times than this read it as it is: a copy would cost more
/// than it saves. Not measured alone; one random product with 53 uses took 1.44 ms, with copies 1.77.
pub const ALIGNED_USES: usize = 64;
/// The same for f16 products, where reading one by one costs more. Not measured alone; one random product with 18 uses
/// took 4.7 ms, with copies 1.0.
pub const ALIGNED_USES_F16: usize = 8;
/// The terms of a part are a multiple of this where parts are made by adding zeros. Not measured.
pub const PART_STEP: usize = 32;

// Convolutions in transformed tiles (winograd).

/// Gradients of windows are sums over tiles; their number is filled up to a multiple of this, the terms of a product's
/// step. Not measured.
pub const TILE_TERMS: usize = 32;
/// Most terms of a sum over tiles of six; longer sums are cut into parts. At 512, errors are about twice those of products:
/// docs/lab/convolutions.md.
pub const TERMS_OF_SIX: usize = 512;
/// The same for tiles of eight, whose errors are larger: docs/lab/convolutions.md.
pub const TERMS_OF_EIGHT: usize = 256;
/// Bytes that a transformed array may have. Not measured.
pub const LARGEST_STACK: usize = 1 << 30;
/// How much longer a product takes whose operands are windows of an image, compared with matrices. Case:
/// `conv_big_fwd_f32`, 36 against 45 TFLOP/s.
pub const WINDOWED: f64 = 1.25;
/// Multiplications below which a large device does not use tiles: its kernels are then as short as what starts them. Case:
/// `cnn_train_f32`, 0.233 ms without tiles for its convolutions of 231 million, 0.275 with them.
pub const TILED_WORK: usize = 1 << 28;
/// The share of the time that is left at most where tiles are worth it. Not measured.
pub const WORTH_TILING: f64 = 0.9;

// Convolutions without a product (direct).

/// How many times longer a multiplication takes than with the first tile of a product. Not measured.
pub const DIRECT_SLOWER: f64 = 1.5;
/// What reading an element takes, in multiplications: those of neighboring threads are four apart. Not measured.
pub const DIRECT_LOAD: f64 = 11.0;
/// The share of the time that is left at most where it is worth it: depthwise convolutions are far below. Not measured.
pub const WORTH_DIRECT: f64 = 0.7;
/// A thread does so much that this many times fewer than keep the device busy otherwise are enough. Not measured.
pub const DIRECT_BUSY: usize = 4;
/// Fewest tiles that a thread adds up for the gradient of a window. Not measured.
pub const DIRECT_TILES: usize = 4;

// Copies with the channels last (channels_last).

/// f16 operands are copied with the channels last from this many times less work on: their products are fast, so
/// reading is the bottleneck. Not measured; the work itself is the target's, set with `conv_big_fwd_f32` (30.5 to 34.9 TFLOP/s).
pub const F16_SOONER: usize = 128;
