//! Scaled dot-product attention as a custom op, which never holds the scores of all queries and keys.
//!
//! Forward, a workgroup holds some queries in its memory and streams the keys in blocks. Every query keeps
//! the largest score, the sum and the result so far. The backward pass computes the probabilities of a block
//! again, from the logarithm of the sum. On a GPU it is two kernels. One streams keys for the gradient at the
//! queries. The other streams queries for the gradients at keys and values. So no two workgroups add to the
//! same result.
//!
//! There are two sets of kernels: those on tensor cores (`matrices`), and scalar ones within core WGSL (`gpu`). Short
//! sequences use products and softmax instead (`composed`), where that is faster (`docs/lab/attention.md`).
//!
//! Invariant: every number is summed in an order that depends on the sizes alone. [`Attention`] holds the
//! options of users. `op` has the two ops, `reference` their meaning in `f64`, `cpu` and `gpu` how they run.
//! `composed` does the same by matrix products and softmax, also for what the kernels cannot take. `second`
//! is the backward pass as a graph of such products, for gradients of gradients.

mod composed;
mod cpu;
mod dropout;
mod extent;
mod gpu;
mod matrices;
mod op;
mod options;
mod reference;
mod second;
#[cfg(test)]
mod tests;
mod text;

pub use options::Attention;

pub use composed::composed;
pub use dropout::AttentionDropout;
pub use matrices::suit;
pub use op::{AttentionOp, WIDEST};
