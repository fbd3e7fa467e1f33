//! Cellular automata of soft gates: forward and backward through time as two ops.
//!
//! [`Topology`] says what a cell is made of and where everything lies in the arrays that CPU and GPU
//! share; `op` defines the two ops on these arrays and is where to start; `reference` is their
//! meaning in double precision, `cpu` and `gpu` are how they run.

mod cpu;
mod extent;
mod gpu;
mod op;
mod reference;
mod topology;

pub use op::{Policy, RollOut, Wiring};
pub use topology::Topology;
