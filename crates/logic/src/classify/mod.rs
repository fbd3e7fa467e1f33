//! Training logic networks to classify: pictures and tables in, circuits out.
//!
//! - [`ClassifierSettings`] has what a user may set. [`PRESETS`] has one row per named network, which provides the
//!   default settings.
//! - `data` opens a set, and `samples` holds it on a device. `augment` makes changed copies of pictures, on all
//!   cores before the first step.
//! - `model` builds the network; [`ClassifierTrainer`] is the state and one step.
//! - [`Classifier`] is what the training loop drives; [`Classifiers`] is the kind of training for the command.
//! - [`LearnedClassifier`] is the contents of a run folder. The network with the best hard accuracy in validation is
//!   kept.
//! - `smaller` makes the circuit small and `cut` its head; `repair` searches for a better one.
//! - `report` judges the finished circuit on the test part, which nothing else uses.
//!
//! Invariant: every random number is determined by a seed and the number of a step, so an interrupted run ends
//! with the same bits as an uninterrupted one. Start at [`Classifiers`].

mod augment;
mod cut;
mod data;
mod kind;
mod learned;
mod model;
mod packed;
mod predictor;
mod presets;
mod reads;
pub mod repair;
pub mod report;
mod resample;
mod samples;
mod settings;
mod smaller;
mod speed;
mod trainee;
mod trainer;

pub use data::{ClassifierData, HostSamples, Levels, TaskKind};
pub use kind::Classifiers;
pub use learned::LearnedClassifier;
pub use model::{BRIGHTEST, build, need, open};
pub use packed::{Packer, Planes, pack};
pub use predictor::CircuitInUse;
pub use presets::{PRESETS, Preset};
pub use samples::{Augment, DeviceSamples, Margin};
pub use settings::ClassifierSettings;
pub use speed::{CircuitSpeed, measure};
pub use trainee::{Classifier, KIND};
pub use trainer::ClassifierTrainer;
