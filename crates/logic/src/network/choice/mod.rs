//! Learned wires: every row chooses among a few candidates, by a softmax while it learns.
//!
//! [`choose`] is the op: weighted sums of rows of features, `k` rows per sum. Its gradients are separate ops,
//! so that fixed choices cost nothing. Everything is feature-major. [`Candidates`] stores the candidates in
//! both directions, so input gradients are gathers, like those of gates, and never scatters.

mod candidates;
mod cpu;
mod gpu;
mod op;
mod reference;

pub use candidates::Candidates;
pub use op::choose;
