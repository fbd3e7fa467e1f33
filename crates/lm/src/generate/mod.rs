//! Text made with a model, token by token: keys and values of earlier tokens are kept in place, and the next token is
//! drawn where the logits are.
//!
//! Random numbers are Philox's, by the seed, the number of tokens drawn and the token. So a seed gives the same text wherever the logits are
//! the same. The host draws only if earlier tokens are penalized.
//!
//! Invariant: the number of plans does not grow with the length of the text beyond the logarithm of the context. Start at
//! [`Generator`].

mod cache;
mod flow;
mod forward;
mod generator;
mod kernels;
mod sampling;

pub use cache::Cache;
pub use generator::{Generator, TextBatch};
pub use sampling::{Sampler, Sampling};
