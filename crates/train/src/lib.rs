//! One way to train: what a kind of training is ([`Kind`], [`Trainee`]), the loop that drives it ([`Training`]), what a user
//! may set ([`mod@settings`]), a training as a folder that can be looked at, stopped and continued ([`run`]), and what it needs
//! of memory ([`Need`]).
//!
//! Start at [`Kind`]; to add a setting, at [`settings!`].

mod asked;
mod error;
mod kind;
mod need;
mod optimizer;
mod outcome;
mod predict;
pub mod run;
pub mod settings;
mod training;
mod watcher;

pub use asked::{Asked, run_device};
pub use error::{Error, Result, TrainError};
pub use farad_nn::optim::AnyOptimizer;
pub use kind::{Kind, Kinds, Measure, Prepared, Subject, Trainee, Unit, Validation};
pub use need::Need;
pub use optimizer::{OptimizerOptions, moments, optimizer};
pub use outcome::{Grid, Outcome, Tone, Toned};
pub use predict::{Inputs, Outputs, Prediction, Predictor, Signature};
pub use training::{LoopSettings, Standing, Summary, Training};
pub use watcher::{Progress, Watcher};
