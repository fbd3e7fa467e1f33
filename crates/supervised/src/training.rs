//! Epochs into a run folder, for a model and data of one's own: the loop of all trainings, around a [`Network`].

use std::cell::RefCell;

use toml::Table;

use crate::Fit;
use crate::error::Result;
use crate::trainee::Network;
use farad_data::DataLoader;
use farad_train::run::{Run, Stop};
use farad_train::{LoopSettings, Trainee, Watcher};

/// How long training lasts, and how often what is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Epochs in all; each ends with a validation.
    pub epochs: u64,
    /// Steps between rows of the log; the last step of an epoch always has one.
    pub log_every: u64,
    /// Steps between checkpoints; the end of an epoch always has one, and so has half a minute without.
    pub checkpoint_every: u64,
}

/// The progress of a training.
#[derive(Clone, Debug)]
pub struct SupervisedProgress {
    /// Steps made.
    pub step: u64,
    /// Steps at the end.
    pub steps: u64,
    /// The epoch under way, from 1 on.
    pub epoch: u64,
    /// Epochs in all.
    pub epochs: u64,
    /// The loss of the step.
    pub loss: f32,
}

/// How training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupervisedSummary {
    /// Steps made.
    pub steps: u64,
    /// Epochs that are over.
    pub epochs: u64,
    /// Whether it was asked to stop before its end.
    pub interrupted: bool,
}

/// A run under way.
pub struct Training(farad_train::Training<Network>);

impl Training {
    /// Starts a run in its folder, or goes on from its checkpoint if it has one. The model must begin with the same
    /// weights either way: seed the CPU before it is made.
    pub fn new(
        run: Run,
        fit: Fit,
        train: DataLoader,
        validation: Option<DataLoader>,
        pace: Pace,
    ) -> Result<Training> {
        let Pace { epochs, log_every, checkpoint_every } = pace;
        let course = LoopSettings { log_every, checkpoint_every, ..LoopSettings::default() };
        let network = Network::new(fit, train, validation, epochs, course)?;
        Ok(Training(farad_train::Training::open(run, Box::new(network))?))
    }

    /// The model in training.
    pub fn fit(&self) -> &Fit {
        self.0.trainee().fit()
    }

    /// The run's folder.
    pub fn run(&self) -> &Run {
        self.0.run()
    }

    /// Gives the run other settings, once it goes on with them.
    pub fn set_config(&mut self, config: Table) -> Result<()> {
        self.0.set_config(config)
    }

    /// Steps at the end.
    pub fn steps_in_all(&self) -> u64 {
        self.0.trainee().steps_in_all()
    }

    /// The run, still locked, and the model, for what is written after training.
    pub fn into_parts(self) -> (Run, Fit) {
        let (run, network) = self.0.into_parts();
        (run, network.into_fit())
    }

    /// Trains to the end, or until asked to stop; `watch` gets the progress.
    pub fn train(
        &mut self,
        stop: &Stop,
        watch: impl FnMut(&SupervisedProgress),
    ) -> Result<SupervisedSummary> {
        let (epochs, batches) = (self.0.trainee().epochs(), self.0.trainee().epoch().max(1));
        let watcher = Watching { watch: RefCell::new(watch), epochs, batches };
        let summary = self.0.train(stop, &watcher)?;
        let (steps, interrupted) = (summary.steps, summary.interrupted);
        Ok(SupervisedSummary { steps, epochs: steps / batches, interrupted })
    }
}

/// Tells a function of one's own.
struct Watching<F> {
    watch: RefCell<F>,
    epochs: u64,
    batches: u64,
}

impl<F: FnMut(&SupervisedProgress)> Watcher for Watching<F> {
    fn trained(&self, progress: &farad_train::Progress) {
        let (step, steps) = (progress.step, progress.steps);
        let loss = progress.losses.first().copied().unwrap_or(f32::NAN);
        let (epoch, epochs) = (step.div_ceil(self.batches), self.epochs);
        (self.watch.borrow_mut())(&SupervisedProgress { step, steps, epoch, epochs, loss });
    }
}
