//! The decoder transformer: its sizes, its parts, and the whole.
//!
//! [`ModelOptions`] are the sizes and kinds. Weights lie as GPT-2's files have them (`[inputs, outputs]`), so
//! they load without renaming. Queries, keys and values are one product. The loss takes logits as `[tokens,
//! vocabulary]`, so that cross-entropy moves nothing. Dropout is on the embeddings and at the end of each
//! residual path. It is not on the probabilities of attention, which are never held.
//!
//! Invariant: parts are named as GPT-2 names them, so paths of parameters are the names in weight files.
//! Start at [`ModelOptions`] and [`Transformer`].

mod attention;
mod block;
mod feed_forward;
mod options;
mod projection;
mod transformer;
mod weights;

pub use attention::SelfAttention;
pub use block::Block;
pub use feed_forward::FeedForward;
pub use options::{Activation, ModelOptions, Positions};
pub use projection::Projection;
pub use transformer::Transformer;

use farad::nn::LayerNorm;

/// The standard deviation of new weights.
pub(crate) const DEVIATION: f64 = 0.02;

/// A norm of a token's features.
fn norm(options: &ModelOptions) -> LayerNorm {
    let norm = LayerNorm::new(options.width);
    if options.bias { norm } else { norm.without_bias() }
}
