//! Training a language model: settings, tokens, updates, validation, and the run's folder.
//!
//! [`Language`] is the kind of training that [`farad::train::Training`] drives; [`LanguageModel`] is what its
//! loop sees. `LmSettings` has the rows of this kind, of the model and of the loop. Whatever can be wrong with
//! text and tokenizer (`Tokenized`) is found before there is a folder. [`Trainer`] is the state and one
//! update; [`TextScore`] judges a model on a text; [`Learned`] is what a run has learned, for those who use it;
//! [`report`] writes down how it ended. Nothing here prints.
//!
//! `best.safetensors` is the model of the best validation, `checkpoint.safetensors` is where training stands;
//! both hold the tokenizer. A run that starts from another's weights (`from`) takes its sizes and its
//! tokenizer too. A few updates of every process are profiled, some for the host's time and some kernel by
//! kernel, so that every report says where the time went. Speeds stand in `events.jsonl` and the report,
//! never in the log, whose bytes are the same every time.
//!
//! Invariant: a run that was stopped anywhere ends with the bits of an unbroken one. An update is one
//! submission and reads nothing: a loss that is logged is requested when it is made and looked at when the
//! next one is due.

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
pub use kind::{KIND, Language, LanguageSetup};
pub use learned::Learned;
pub use score::TextScore;
pub use settings::LmSettings;
pub use tokenized::{PUBLISHED, TokenParts, Tokenized, text_of};
pub use trainee::LanguageModel;
pub use trainer::Trainer;
