//! Limits on how much one kernel holds, and on what is recomputed rather than stored. Each constant has one
//! sentence and the bench case that set it; "not measured" means that no case did.
//!
//! Invariant: they are fixed numbers and not chosen by timing, so that runs are reproducible.

use super::cut_long_chains::TapeLimits;

// What is materialized (fusion). Costs are in the unit of `fusion::cost`: operations on one element.

/// Recomputing less than this is cheaper than storing. Not measured.
pub const WORTH_KEEPING: usize = 24;
/// The same in long programs: a piece of the forward pass and the same piece of the backward pass should fit
/// into one kernel. Not measured by itself; compile times of pendulums were (docs/performance.md).
pub const WORTH_KEEPING_LONG: usize = 96;
/// Up to this many readers, an f16 product is stored as f16, and each reader repeats the cheap pointwise work
/// after it. Not measured by itself.
pub const MOST_READERS: usize = 2;

// What one tape holds (pull, draft, merge_kernels).

/// No axis is split if that gives more axes than this: index arithmetic would cost more than a load. Not
/// measured.
pub const MOST_AXES: usize = farad_ir::MAX_RANK;
/// Longer tapes are cut. Not measured.
pub const MOST_INSTRUCTIONS: usize = 256;
/// Joined kernels stay shorter than this. Not measured.
pub const MOST_JOINED: usize = 200;
/// If many kernels touch one node, each is tried only with this many neighbors on either side. This bounds the
/// time to compile a sum of 5,000 tensors (docs/performance.md); other numbers were not measured.
pub const NEIGHBORS: usize = 64;
/// Most parts of a node that a kernel may write. Not measured.
pub const MOST_PARTS: usize = 8;
/// How many instructions deep a value is followed to see that it is zero outside of a pad. Not measured.
pub const VANISHING_DEPTH: usize = 6;

// Programs that are too long for one tape (cut_long_chains). They bound the compile times of chains and
// pendulums (docs/performance.md); other numbers were not measured.

/// What one kernel's tape holds; a program within these limits is not long.
pub const LONG: TapeLimits =
    TapeLimits { nodes: 256, loads: 64, depth: 400, cost: usize::MAX, places: false };
/// Most nodes that a kernel of a long program computes.
pub const MOST_PULLED: usize = 160;
/// Longest chain of ops, including movement ops, in a kernel of a long program.
pub const DEEPEST_PULLED: usize = 200;
/// Most work per element in a kernel of a long program. It is limited because GPU drivers inline functions such
/// as sine at every use.
pub const MOST_COST: usize = 320;
/// Most materialized nodes that a kernel passes through on a path from its root.
pub const FURTHEST_STORED: u32 = 96;
/// Most ops on such a path.
pub const FURTHEST_OPS: u32 = 600;

// Products (product).

/// Fewest rows and columns for which a convolution runs as a product. Not measured.
pub const LEAST_SIDE: usize = 4;
/// Fewest multiplications for which a convolution runs as a product. Not measured.
pub const LEAST_WORK: usize = 1 << 13;
/// Most pointwise ops in a product's prologue. Not measured.
pub const MOST_PROLOGUE: usize = 3;
/// Most movement ops and casts in it. Not measured.
pub const MOST_MOVES: usize = 64;

// Loops in one kernel (weave). `cartpole_steps` stays within these limits; other numbers were not measured.

/// Most carries of a kernel. On an unrolled axis, each element counts as one carry.
pub const WOVEN_CARRIES: usize = 64;
/// Most values that a kernel writes per position.
pub const WOVEN_RESULTS: usize = 64;
/// Most instructions of a kernel.
pub const WOVEN_INSTRUCTIONS: usize = 1024;
/// Most elements of an unrolled sum or of a gather from registers.
pub const WOVEN_TERMS: usize = 64;
/// Longest chain of nodes, because drafting is recursive.
pub const WOVEN_DEPTH: usize = 256;
/// Most nodes of an operand that is computed where it is read.
pub const ABSORBED_NODES: usize = 48;
/// Most materialized nodes that such an operand is assembled from.
pub const ABSORBED_LEAVES: usize = 3;
