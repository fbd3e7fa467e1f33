//! Limits on how much one kernel holds, and on what is recomputed rather than stored. Each constant has one
//! sentence and the bench case that set it; "not measured" means that no case did.
//!
//! Invariant: they are fixed numbers and not chosen by timing, so that runs are reproducible.

use super::cut_long_chains::TapeLimits;

// What is materialized (fusion). Costs are in the unit of `fusion::cost`: operations on one element.

/// Recomputing less than this is cheaper than storing. Not measured.
pub const WORTH_KEEPING: usize = 24;
/// The same in long programs: a piece of the forward pass and the same piece of the backward pass should fit into one
/// kernel. Not measured by itself; its case: pendulums of docs/lab/compile-time.md.
pub const WORTH_KEEPING_LONG: usize = 96;
/// Up to this many readers, an f16 product is stored as f16, and each reader repeats the cheap work after it. Not measured
/// by itself; its case: `gpt_small_train_mixed`, docs/lab/training-steps.md.
pub const MOST_READERS: usize = 2;

// What one tape holds (pull, draft, merge_kernels).

/// No axis is split if that gives more axes than this: index arithmetic would cost more than a load. Not
/// measured.
pub const MOST_AXES: usize = farad_ir::MAX_RANK;
/// Longer tapes are cut. Not measured.
pub const MOST_INSTRUCTIONS: usize = 256;
/// Joined kernels stay shorter than this. Not measured.
pub const MOST_JOINED: usize = 200;
/// If many kernels touch one node, each is tried only with this many neighbors on either side. This bounds the time to compile a
/// sum of 5,000 tensors (docs/lab/compile-time.md, 73 s to 0.28 s); other numbers were not measured.
pub const NEIGHBORS: usize = 64;
/// Most parts of a node that a kernel may write. Not measured.
pub const MOST_PARTS: usize = 8;
/// How many instructions deep a value is followed to see that it is zero outside of a pad. Not measured.
pub const VANISHING_DEPTH: usize = 6;

// Programs that are too long for one tape (cut_long_chains). These limits bound compile times: a pendulum's gradient over 100 steps
// took 40 s before and takes 0.06 s now.

/// What one kernel's tape holds; a program that stays within these is not long. Not measured by itself; its case: docs/lab/compile-time.md.
pub const LONG: TapeLimits =
    TapeLimits { nodes: 256, loads: 64, depth: 400, cost: usize::MAX, places: false };
/// Nodes that a kernel of a long program computes at most. Not measured by itself; its case: docs/lab/compile-time.md.
pub const MOST_PULLED: usize = 160;
/// Ops, moves among them, that a kernel of a long program follows one after the other. Not measured by itself; its case: docs/lab/compile-time.md.
pub const DEEPEST_PULLED: usize = 200;
/// Work of one element that a kernel of a long program does: drivers write functions like sine out wherever they stand. Not measured by itself; its case: docs/lab/compile-time.md.
pub const MOST_COST: usize = 320;
/// Nodes in memory that a kernel passes through at most on its way from its root. Not measured by itself; its case: docs/lab/compile-time.md.
pub const FURTHEST_STORED: u32 = 96;
/// Ops that it passes through at most. Not measured by itself; its case: docs/lab/compile-time.md.
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

// Loops in one kernel (weave). The case has such a loop, within all of these numbers.

/// Carries that a kernel holds, each element of an axis that is written out counted by itself. Not measured by itself; its case: `cartpole_steps_2048`.
pub const WOVEN_CARRIES: usize = 64;
/// Values that a kernel writes at a position. Not measured by itself; its case: `cartpole_steps_2048`.
pub const WOVEN_RESULTS: usize = 64;
/// Instructions of a kernel. Not measured by itself; its case: `cartpole_steps_2048`.
pub const WOVEN_INSTRUCTIONS: usize = 1024;
/// Elements that are summed or chosen among. Not measured by itself; its case: `cartpole_steps_2048`.
pub const WOVEN_TERMS: usize = 64;
/// Nodes that stand behind each other: drafting is recursive. Not measured by itself; its case: `cartpole_steps_2048`.
pub const WOVEN_DEPTH: usize = 256;
/// Nodes that an operand may be made of to be computed where it is read. Not measured by itself; its case: `cartpole_steps_2048`.
pub const ABSORBED_NODES: usize = 48;
/// Nodes in memory that it may be put together from. Not measured by itself; its case: `cartpole_steps_2048`.
pub const ABSORBED_LEAVES: usize = 3;
