//! Training logic networks to classify: pictures and tables in, circuits out.
//!
//! [`Settings`] is what a user may set, and [`PRESETS`] are what it starts from; `data` opens a set, `samples` holds it on a device; `model` builds the network;
//! [`Trainer`] is the state and one step; [`Classifier`] is what the loop of all trainings drives; [`Classifiers`] is the kind of
//! training that the command has; [`Learned`] is what a run folder holds; `smaller` makes its circuit small and `cut` its head; `repair` searches for a better one; `report` judges the circuit on samples that nothing
//! was tuned on.
//!
//! Invariant: every random number is a seed and the number of a step, so a run that was stopped anywhere ends with the bits
//! of an unbroken one. Start at [`Classifiers`].

mod augment;
mod cut;
mod data;
mod kind;
mod learned;
mod model;
mod packed;
mod predictor;
mod presets;
pub mod repair;
pub mod report;
mod resample;
mod samples;
mod settings;
mod smaller;
mod speed;
mod trainee;
mod trainer;

pub use data::{Data, Levels, Part, TaskKind};
pub use kind::Classifiers;
pub use learned::Learned;
pub use model::{BRIGHTEST, build, need, open};
pub use packed::{Packer, Planes, pack};
pub use predictor::CircuitInUse;
pub use presets::{PRESETS, Preset};
pub use samples::{Augment, Margin, Samples};
pub use settings::Settings;
pub use speed::{Speed, measure};
pub use trainee::{Classifier, KIND};
pub use trainer::Trainer;
