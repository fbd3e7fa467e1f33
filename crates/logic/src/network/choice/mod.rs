//! Learned wires: every row chooses among a few candidates, softly while it learns.
//!
//! [`choose`] is the op: weighted sums of rows of features, `k` to a row. Its gradients are ops of their own, so that fixed
//! choices cost nothing. Everything is feature-major. [`Candidates`] says what is chosen among, both ways round, so that
//! input gradients gather and never scatter.

mod candidates;
mod cpu;
mod gpu;
mod op;
mod reference;

pub use candidates::Candidates;
pub use op::choose;
