//! Language models: a decoder transformer, its weights under GPT-2's names, and text made with it.
//!
//! Tokens are integers `[batch, time]`; a model turns them into logits `[batch, time, vocabulary]`, and nothing at
//! a place depends on what comes after it.
//!
//! ```
//! use farad::prelude::*;
//! use farad_lm::{Generator, ModelOptions, Sampling, Transformer};
//! farad::seed(1);
//! let options = ModelOptions { layers: 1, heads: 2, width: 16, context: 8, vocabulary: 4, ..Default::default() };
//! let model = Transformer::new(&options)?;
//! let mut adam = model.optimizer(1e-2, 0.0);
//! // 0 1 2 3 0 1 2 3 …: every token is followed by the next.
//! let x = Tensor::from_vec(vec![0, 1, 2, 3, 0, 1, 2, 3], [1, 8], &Device::cpu());
//! let y = Tensor::from_vec(vec![1, 2, 3, 0, 1, 2, 3, 0], [1, 8], &Device::cpu());
//! for _ in 0..60 {
//!     adam.step(&model.loss(&x, &y))?;
//! }
//! model.eval();
//! let mut generator = Generator::new(&model, Sampling { temperature: 0.0, ..Default::default() })?;
//! generator.push(&[0, 1])?;
//! assert_eq!(generator.next_token()?, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! - [`ModelOptions`] for the sizes, [`Transformer`] and [`model`] for the model and GPT-2's weights.
//! - [`Tokenizer`] and [`tokenize`]: what tokens mean; [`data`]: text, windows of it, and all of it once.
//! - [`Generator`], [`Sampling`] and [`generate`]: text, token by token.
//! - [`hub`]: models of others, from folders as Hugging Face's.
//! - [`train`]: settings, updates, runs and reports. The command is `farad train lm`.
//!
//! The guide's chapter *Language models* (`docs/guide/src/language-models.md`) leads through them.

pub mod data;
mod error;
pub mod generate;
pub mod hub;
pub mod model;
pub mod tokenize;
pub mod train;

pub use error::{Error, Result};
pub use generate::{Cache, Generator, Sampler, Sampling, TextBatch};
pub use model::{Activation, FamilyOptions, ModelOptions, Positions, Transformer, WeightFormat};
pub use tokenize::{Tokenizer, TokenizerKind};
