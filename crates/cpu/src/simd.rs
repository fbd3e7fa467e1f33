//! Vector loops: one tight loop per instruction, instantiated for every instruction set that matters.
//!
//! [`lanes`] detects the widest instructions that the machine has, once, and holds the loops compiled for them.
//! The loops are [`arithmetic`] on tiles, with elementary functions from [`math`], [`reduction`] of tiles,
//! products of a [`small_matrix`], and [`philox_bits`]. [`wide_arithmetic`] and [`wide_reduction`] are the
//! loops for 64-bit registers. Loops that keep sums in registers use a [`vector`].
//!
//! Invariant: a loop is written once, in plain Rust that the compiler vectorizes; only its instantiations differ. Start
//! at [`lanes::lanes`].

pub mod lanes;

pub mod arithmetic;
pub mod math;
pub mod philox_bits;
pub mod reduction;
pub mod small_matrix;
pub mod wide_arithmetic;
pub mod wide_reduction;

pub mod vector;
