//! The decoder transformer: what sizes it has, its parts, and the whole.
//!
//! Invariant: parts are named as GPT-2 names them, so paths of parameters are the names in weight files. Start at
//! [`ModelOptions`] and [`Transformer`].

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
