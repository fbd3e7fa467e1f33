//! The interpreter of fused kernels: a tape is translated to bytecode once, and runs over tiles that stay in
//! cache.
//!
//! The order of the work, when a program is loaded: [`nest`] plans how the space is cut into tiles and what
//! runs on each, or [`recurrence_nest`] if the kernel is a recurrence. [`dependence`] finds the level and the
//! pass of each value. [`emit_nest`] and [`emit_values`] write the [`bytecode`], [`register_conversion`]
//! converts between register types, and [`register_slots`] assigns scratch memory to registers. In a run,
//! [`sweep`] divides the tiles among threads, and [`tile_machine`] interprets the bytecode on one tile after
//! another; its instructions on 64-bit registers are in [`wide_step`].
//!
//! Invariant: everything that does not change from run to run is decided when a program is loaded. Start at
//! [`nest::Nest`].

pub mod nest;
pub mod recurrence_nest;

pub mod dependence;
pub mod emit_nest;
pub mod emit_values;

pub mod bytecode;
pub mod register_conversion;
pub mod register_slots;

pub mod sweep;
pub mod tile_machine;
pub mod wide_step;
pub mod word_moves;
