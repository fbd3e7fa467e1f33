//! One way to train, whatever is trained.
//!
//! A [`TrainingKind`] makes a [`Trainee`], which one loop drives ([`Training`]). [`mod@settings`] is what
//! a user may set. A [`run`] is a training as a folder that can be looked at, stopped and continued. [`Need`]
//! is how much memory a training needs.
//!
//! - **Kinds.** A [`TrainingKind`] has a name, subjects and settings, and can prepare, resume, judge and inspect.
//!   Preparing finds whatever can be wrong before there is a folder. With a folder, a prepared training
//!   becomes a [`Trainee`]: step, validate, save, restore, conclude. The table of kinds is in the command
//!   (`cli/src/kinds.rs`). The command hands it to train, eval, inspect, runs and the dashboard.
//! - **The loop** logs, validates, keeps the best, saves and ends. It reads a loss when it is logged, or
//!   later where a kind does not wait (`Trainee::waits`). Only checkpoints depend on a clock. [`Standing`]
//!   (the best so far, validations since) is part of a checkpoint, so a resumed run ends when an unbroken one
//!   does.
//! - **Settings** are rows of [`settings!`]: one line is the field, its former names, default, range and
//!   sentence of help. The row checks type and range, with one set of messages. What must fit together is
//!   checked by the kind. [`LoopSettings`] are the rows that all kinds share.
//! - **Flags** are rows of the command (`cli/src/arguments/rows.rs`). A flag that is named like a setting
//!   sets it. Its row says which kinds take it; parsing, help, completions and refusals come from there.
//! - **Predictors** use what runs have learned ([`TrainingKind::predictor`]). A [`Signature`] says what goes in
//!   (pictures of a size, columns by name) and what comes out (classes, numbers). It travels with the run,
//!   and so does the scaling.
//! - **Outcomes** are values: JSON, a table, lines, and commands to go on with. Libraries tell a [`Watcher`];
//!   only the command prints.
//!
//! Start at [`TrainingKind`]; to add a setting, at [`settings!`].

mod asked;
mod error;
mod kind;
mod need;
mod optimizer;
mod outcome;
mod predict;
mod ranks;
pub mod run;
pub mod settings;
mod training;
mod watcher;

pub use asked::{Asked, run_device};
pub use error::{Error, Result, TrainError};
pub use farad_nn::optim::AnyOptimizer;
pub use kind::{Kinds, Measure, Prepared, Subject, Trainee, TrainingKind, Unit, Validation};
pub use need::Need;
pub use optimizer::{OptimizerOptions, moments, optimizer};
pub use outcome::{Outcome, TextTable, Tone, Toned};
pub use predict::{Inputs, Outputs, Prediction, Predictor, Signature};
pub use ranks::of_rank;
pub use training::{LoopSettings, Standing, Training, TrainingSummary};
pub use watcher::{Glimpse, Progress, Watcher};
