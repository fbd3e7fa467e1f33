//! Language models: a decoder transformer, its weights under GPT-2's names, and text made with it.
//!
//! Tokens are whole numbers `[batch, time]`; a model turns them into logits `[batch, time, vocabulary]`, and nothing at
//! a place depends on what comes after it. Start at [`ModelOptions`] for the sizes, at [`Transformer`]
//! for the model, at [`Generator`] for text and at [`train`] for training.

pub mod data;
mod error;
pub mod generate;
pub mod model;
pub mod tokenise;
pub mod train;

pub use error::{Error, Result};
pub use generate::{Cache, Generator, Sampler, Sampling};
pub use model::{Activation, ModelOptions, Positions, Transformer};
pub use tokenise::{Tokeniser, TokeniserKind};
