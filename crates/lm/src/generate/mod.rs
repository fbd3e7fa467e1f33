//! Text made with a model, token by token: what was computed of earlier tokens is kept, and the next is drawn from the
//! logits on the host.
//!
//! Invariant: the number of plans does not depend on how long the text is. Start at [`Generator`].

mod cache;
mod generator;
mod sampling;

pub use cache::Cache;
pub use generator::Generator;
pub use sampling::{Sampler, Sampling};
