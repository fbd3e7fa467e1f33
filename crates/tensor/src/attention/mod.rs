//! Scaled dot-product attention as an op of its own, which never holds the scores of all queries and keys.
//!
//! Forward, keys are taken block by block: every query keeps the largest score, the sum and the result so
//! far. The backward pass computes the probabilities of a block again from the logarithm of the sum. Invariant:
//! every number is summed in an order that depends on the sizes alone. [`Attention`] is what users
//! choose; `op` has the two ops, `reference` their meaning in double precision, `cpu` and `gpu` how they
//! run; `composed` is the same by matrix products and softmax, for what the kernels cannot take;
//! `second` is the backward pass as such products, for gradients of gradients.

mod composed;
mod cpu;
mod extent;
mod gpu;
mod op;
mod options;
mod reference;
mod second;
mod text;

pub use options::Attention;

pub use composed::composed;
pub use op::{Forward, WIDEST};
