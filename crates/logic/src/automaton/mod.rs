//! Cellular automata of soft gates: forward and backward through time as two ops.
//!
//! [`Topology`] says what a cell is made of and fixes the layout of every array that CPU and GPU share. `op`
//! defines the two ops, a roll-out and its backward pass, and is where to start. `reference` is their meaning
//! in `f64`; `cpu` and `gpu` are how they run.
//!
//! What the forward pass keeps for the backward pass is a policy: all states, everything, or every n-th
//! state. All policies give the same bits. The default keeps states and computes the activations of a step
//! again, in registers or scratch memory. That was the fastest policy on a large GPU and on the CPU
//! (`docs/lab/automata.md`).
//!
//! Seeds are an axis of every array. Each seed has its own wiring and its own gates, and all seeds share one
//! dispatch.

mod cpu;
mod extent;
mod gpu;
mod op;
mod reference;
mod topology;

pub use op::{Policy, RollOut, Wiring};
pub use topology::Topology;
