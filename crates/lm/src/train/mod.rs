//! Training a language model: settings, tokens, updates, validation, and the run's folder.
//!
//! [`Trainer`] is the state and one update; [`Training`] runs it into a run folder with log, validation and checkpoints;
//! [`Score`] judges a model on a text; [`Learned`] is what a run has learned, for whoever uses it; [`report`] writes down how
//! it ended. Nothing here prints.
//!
//! Invariant: a run that was stopped anywhere ends with the bits of an unbroken one. An update uploads nothing but the
//! starts of many batches at a time, and reads nothing: losses that are logged are asked for as they are made and
//! fetched later.

mod breakdown;
mod late;
mod learned;
mod prepare;
pub mod report;
mod score;
mod settings;
mod trainer;
mod training;

pub use breakdown::{Breakdown, Share};
pub use learned::Learned;
pub use prepare::{Parts, Prepared};
pub use score::Score;
pub use settings::Settings;
pub use trainer::Trainer;
pub use training::{KIND, Progress, Speed, Summary, Training};
