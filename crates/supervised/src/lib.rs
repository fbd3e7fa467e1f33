//! Supervised training: a model, an optimizer, and batches of inputs and targets.
//!
//! [`Fit`] is a model, an optimizer, a schedule and one step. [`Score`] judges a model on a set. [`Training`]
//! runs epochs into a run folder with log and checkpoints. [`report`] writes down how it ended. None of these
//! knows which data set or which model it is. [`Supervised`] is the kind of training that the command has:
//! `settings` is what a user may set, `sets` opens data, `models` builds networks, `setup` puts them
//! together. `Network` is what the training loop sees. `Unseen` reads new samples for predictions. Nothing
//! here prints.
//!
//! The facade shows this crate as `farad::fit`, since programs that learn from a table or from pictures want
//! it at hand.
//!
//! Invariant: a run that was stopped anywhere, also in mid-epoch, ends with the bits of an unbroken one. For
//! that its checkpoints hold the loader's position and the device's random counters beside weights and
//! moments.
//!
//! ```
//! use farad::data::moons;
//! use farad::fit::{Fit, Task};
//! use farad::prelude::*;
//! farad::seed(1);
//! let model = Sequential::new((Linear::new(2, 16), Relu, Linear::new(16, 2)));
//! let optimizer = AdamW::new(model.parameters()).learning_rate(0.02);
//! let mut fit = Fit::new(model, optimizer, Task::Classify);
//! let mut loader = DataLoader::new(moons(400, 0.1, 1), 100).shuffle(1);
//! for _ in 0..20 {
//!     for batch in &mut loader {
//!         let (x, y) = batch?;
//!         fit.step(&x, &y)?;
//!     }
//! }
//! let score = fit.score(&mut DataLoader::new(moons(200, 0.1, 2), 100))?;
//! assert!(score.accuracy.unwrap() > 0.8);
//! # Ok::<(), farad::Error>(())
//! ```

// What `derive(Module)` writes names the crate that users import.
extern crate farad_nn as farad;

mod confusion;
mod error;
mod filters;
mod kind;
mod models;
mod predictor;
mod published;
pub mod report;
pub mod samples;
mod scaled;
mod score;
mod sets;
mod settings;
mod setup;
mod trainee;
mod training;
mod unseen;

pub use confusion::Confusion;
pub use error::{Error, FitError, Result};
pub use kind::{KIND, Supervised};
pub use models::ModelKind;
pub use predictor::{Trained, load_run};
pub use published::{PublishedNetwork, is_published};
pub use score::{Baseline, Score};
pub use settings::SupervisedSettings;
pub use trainee::Network;
pub use training::{Pace, SupervisedProgress, SupervisedSummary, Training};
pub use unseen::{HitCount, SampleOrigin, Unseen, picture_sample};

use farad_data::DataLoader;
use farad_group::{Combine, Group};
use farad_nn::layers::{Layer, Module};
use farad_nn::optim::Optimizer;
use farad_nn::optim::schedule::Schedule;
use farad_tensor::Precision;
use farad_tensor::Tensor;
use farad_tensor::loss::CrossEntropy;
use farad_train::run::Checkpoint;

/// What a model should say, and by what loss it learns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// One class of several: `[batch, classes]` against integers `[batch]`, by cross-entropy.
    Classify,
    /// Numbers: `[batch, ..]` against `[batch, ..]`, by mean squared error.
    Regress,
}

impl Task {
    /// The loss of what a model said.
    pub fn loss(self, said: &Tensor, target: &Tensor) -> Tensor {
        match self {
            Task::Classify => said.cross_entropy(target),
            Task::Regress => said.mean_squared_error(target),
        }
    }
}

/// A model in training.
pub struct Fit {
    model: Box<dyn Layer + Send + Sync>,
    optimizer: Box<dyn Optimizer + Send>,
    task: Task,
    precision: Precision,
    schedule: Option<Box<dyn Schedule + Send>>,
    /// How much every class counts in training.
    class_weights: Option<Tensor>,
    steps: u64,
}

impl Fit {
    /// A model whose parameters the optimizer has.
    pub fn new(
        model: impl Layer + Send + Sync + 'static,
        optimizer: impl Optimizer + Send + 'static,
        task: Task,
    ) -> Fit {
        Fit::from_parts(Box::new(model), Box::new(optimizer), task)
    }

    /// The same of parts whose types are not known.
    pub fn from_parts(
        model: Box<dyn Layer + Send + Sync>,
        optimizer: Box<dyn Optimizer + Send>,
        task: Task,
    ) -> Fit {
        let (precision, schedule, class_weights) = (Precision::Single, None, None);
        Fit { model, optimizer, task, precision, schedule, class_weights, steps: 0 }
    }

    /// How much every class counts in the loss of training, `[classes]`.
    pub fn class_weights(mut self, weights: Tensor) -> Fit {
        self.class_weights = Some(weights);
        self
    }

    /// In which precision products are computed.
    pub fn precision(mut self, precision: Precision) -> Fit {
        self.precision = precision;
        self
    }

    /// The learning rate of every step, counted from 0.
    pub fn schedule(mut self, schedule: impl Schedule + Send + 'static) -> Fit {
        self.schedule = Some(Box::new(schedule));
        self
    }

    /// The model.
    pub fn model(&self) -> &(dyn Layer + Send + Sync) {
        &*self.model
    }

    /// What it should say.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Steps made so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The learning rate of the next step, if a schedule says it.
    pub fn rate(&self) -> Option<f32> {
        self.rate_at(self.steps)
    }

    /// The learning rate after so many steps, if a schedule says it.
    pub fn rate_at(&self, steps: u64) -> Option<f32> {
        self.schedule.as_ref().map(|schedule| schedule.rate(steps))
    }

    /// In which precision products are computed.
    pub fn computes_in(&self) -> Precision {
        self.precision
    }

    /// One step on a batch. The loss before it is not waited for.
    #[track_caller]
    pub fn step(&mut self, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        self.step_weighted(x, y, 1.0)
    }

    /// How much this rank's share of a batch counts among those of all ranks. `share` is [`DataLoader::weight`]. Where classes
    /// count differently, that is the part of the weights which its samples have.
    pub fn weight_in(&self, group: &Group, y: &Tensor, share: f64) -> Result<f64> {
        let Some(weights) = self.class_weights.as_ref().filter(|_| !group.is_alone()) else {
            return Ok(share);
        };
        // Who has too few samples has one of another.
        let own = match share {
            0.0 => 0.0,
            _ => weights.index_select(0, y).sum().item()?,
        };
        let mut all = [own];
        y.device().waiting_for_others(|| group.all_reduce(&mut all, Combine::Sum))?;
        Ok(if all[0] > 0.0 { f64::from(own / all[0]) * group.size() as f64 } else { share })
    }

    /// One step on this rank's share of a batch, whose loss is multiplied by [`DataLoader::weight`].
    #[track_caller]
    pub fn step_weighted(&mut self, x: &Tensor, y: &Tensor, weight: f64) -> Result<Tensor> {
        if let Some(rate) = self.rate() {
            self.optimizer.set_learning_rate(rate);
        }
        let loss = self.precision.scope(|| {
            let said = self.model.forward(x);
            match &self.class_weights {
                Some(weights) => CrossEntropy::new().weights(weights).loss(&said, y),
                None => self.task.loss(&said, y),
            }
        });
        // A number of the run: it may be another one in every step.
        let loss = if weight == 1.0 { loss } else { &loss * Tensor::number(weight, loss.device()) };
        self.optimizer.step(&loss)?;
        self.steps += 1;
        Ok(loss)
    }

    /// What the model says in use, without learning from it.
    pub fn predict(&self, x: &Tensor) -> Tensor {
        let training = self.model.is_training();
        self.model.eval();
        let said = self.precision.scope(|| self.model.forward(x));
        if training {
            self.model.train();
        }
        said
    }

    /// How good the model is on the next epoch of a loader.
    pub fn score(&self, loader: &mut DataLoader) -> Result<Score> {
        Score::of(self, loader, &Group::alone())
    }

    /// The same by all ranks together, each on its share of the loader's batches ([`DataLoader::shard`]). What is known of
    /// single samples is known of this rank's.
    pub fn score_in(&self, group: &Group, loader: &mut DataLoader) -> Result<Score> {
        Score::of(self, loader, group)
    }

    /// Gives all ranks the weights of rank 0.
    pub fn synchronize(&mut self) -> Result<()> {
        self.optimizer.synchronize()
    }

    /// Gives all ranks the buffers of rank 0, such as the running statistics of batch norm.
    pub fn share_buffers(&self, group: &Group) -> Result<()> {
        if group.is_alone() {
            return Ok(());
        }
        for (_, buffer) in self.model.named_buffers() {
            let value = buffer.value();
            let mine = value.read()?.wait()?;
            let mut first = mine.to_vec();
            group.broadcast(&mut first, 0)?;
            if first[..] != mine[..] {
                buffer.set(Tensor::from_bytes(&first, value.shape(), value.dtype(), value.device())?);
            }
        }
        Ok(())
    }

    /// Brings what other ranks keep of the optimizer to all of them, for [`Fit::put`]. All ranks call it.
    pub fn gather(&mut self) -> Result<()> {
        self.optimizer.gather()
    }

    /// Puts model, optimizer (moments, loss scale) and steps into a checkpoint.
    pub fn put(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        checkpoint.put_module("model", &*self.model);
        checkpoint.put_all("optimizer", self.optimizer.state()?);
        Ok(())
    }

    /// Goes on from a checkpoint.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.restore_model(checkpoint)?;
        let device = self.device();
        self.optimizer.restore(&checkpoint.tensors("optimizer", &device)?)?;
        self.steps = checkpoint.step();
        Ok(())
    }

    /// Takes the weights of a checkpoint and nothing else, for a model in use.
    pub fn restore_model(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        checkpoint.restore_module("model", &*self.model)
    }

    /// The device of the first parameter.
    pub fn device(&self) -> farad_tensor::Device {
        let first = self.optimizer.parameters().first().map(|parameter| parameter.value().device().clone());
        first.unwrap_or_else(farad_tensor::Device::cpu)
    }
}
