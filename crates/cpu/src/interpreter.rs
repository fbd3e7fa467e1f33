//! The interpreter of fused kernels: a tape becomes bytecode once, and runs over tiles that stay in cache.
//!
//! The order of the work, when a program is loaded: [`nest`] plans how the space is cut into tiles and what runs on
//! each, or [`recurrence_nest`] if the kernel is a recurrence. [`dependence`] says at which level and in which pass a
//! value is computed. [`emit_nest`] and [`emit_values`] write the [`bytecode`], [`register_conversion`] says how types
//! become registers, and [`register_slots`] gives registers their places in scratch memory. In a run [`sweep`] shares the
//! tiles among threads, and [`tile_machine`] interprets the bytecode on one tile after another. What
//! instructions do alike on registers of 32 and of 64 bits is in [`word_moves`], the rest for 64 bits in [`wide_step`].
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
