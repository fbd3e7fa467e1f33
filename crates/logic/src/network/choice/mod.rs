//! Learned wires: every row chooses among a few candidates, softly while it learns.
//!
//! [`choose`] is the op: weighted sums of rows of features, `k` rows per sum. Its gradients are ops of their
//! own, so that fixed choices cost nothing. Everything is feature-major. [`Candidates`] lists what is chosen
//! among in both directions, so input gradients gather, like those of gates, and never scatter.

mod candidates;
mod cpu;
mod gpu;
mod op;
mod reference;

pub use candidates::Candidates;
pub use op::choose;
