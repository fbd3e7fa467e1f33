//! Training a language model: settings, tokens, updates, validation, and the run's folder.
//!
//! [`Language`] is the kind of training that [`farad::train::Training`] drives; [`LanguageModel`] is what its loop sees.
//! [`Trainer`] is the state and one update; [`Score`] judges a model on a text; [`Learned`] is what a run has learned, for
//! whoever uses it; [`report`] writes down how it ended. Nothing here prints.
//!
//! Invariant: a run that was stopped anywhere ends with the bits of an unbroken one. An update uploads nothing but the
//! starts of many batches at a time, and reads nothing: losses that are logged are asked for as they are made and
//! fetched later.

mod breakdown;
mod clock;
mod kind;
mod learned;
pub mod report;
mod score;
mod settings;
mod tokenized;
mod trainee;
mod trainer;

pub use breakdown::{Breakdown, Share};
pub use clock::Speed;
pub use kind::{KIND, Language, Setup};
pub use learned::Learned;
pub use score::Score;
pub use settings::Settings;
pub use tokenized::{Parts, Tokenized};
pub use trainee::LanguageModel;
pub use trainer::Trainer;
