//! Cellular automata of soft gates: forward and backward through time, as two ops.
//!
//! [`Topology`] defines the structure of a cell and the layout of every array that CPU and GPU share. `op`
//! defines the two ops, a roll-out and its backward pass; start there. `reference` defines them in `f64`; `cpu`
//! and `gpu` implement them.
//!
//! What the forward pass keeps for the backward pass is a policy: all states, everything, or every n-th state.
//! All policies give the same bits. The default keeps states and recomputes the activations of a step, in
//! registers or scratch memory. That was the fastest policy on a large GPU and on the CPU
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
