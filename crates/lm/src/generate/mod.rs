//! Text made with a model, token by token: keys and values of earlier tokens are kept, and the next token is
//! drawn from the logits on the host.
//!
//! The host draws from one row of logits, by Philox. So a seed gives the same text wherever the logits are
//! the same.
//!
//! Invariant: the number of plans does not grow with the length of the text beyond the logarithm of the context. Start at
//! [`Generator`].

mod cache;
mod generator;
mod sampling;

pub use cache::Cache;
pub use generator::{Generator, TextBatch};
pub use sampling::{Sampler, Sampling};
