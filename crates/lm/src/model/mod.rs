//! The decoder transformer: its sizes, its parts, and the whole.
//!
//! [`ModelOptions`] are the sizes and kinds. Weights lie as GPT-2's files have them (`[inputs, outputs]`), so
//! they load without renaming. Queries, keys and values are one product. The loss takes logits as `[tokens,
//! vocabulary]`, so that cross-entropy moves nothing. Dropout is on the embeddings and at the end of each
//! residual path. It is not on the probabilities of attention, which are never held.
//!
//! [`FamilyOptions`] are what the Llama family has beside: another norm, shared heads of keys, sliding windows, scaled
//! rotary positions. Its weights lie here as GPT-2's would, and [`crate::hub`] renames and joins them.
//!
//! Invariant: parts are named as GPT-2 names them, so paths of parameters are the names in weight files.
//! Start at [`ModelOptions`] and [`Transformer`].

mod attention;
mod block;
mod family;
mod feed_forward;
mod format;
mod lora;
mod norm;
mod options;
mod projection;
mod transformer;
mod weights;

pub use attention::SelfAttention;
pub(crate) use attention::within;
pub use block::Block;
pub use family::{AttentionBias, FamilyOptions, NormKind, RopeScaling};
pub use feed_forward::FeedForward;
pub use format::WeightFormat;
pub use lora::{Lora, LoraPart};
pub use norm::FeatureNorm;
pub use options::{Activation, ModelOptions, Positions};
pub use projection::Projection;
pub use transformer::Transformer;

/// The standard deviation of new weights.
pub(crate) const DEVIATION: f64 = 0.02;
