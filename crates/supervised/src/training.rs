//! A training run in its folder: epochs, log, validation, checkpoints, and going on after any of them.
//!
//! Invariant: what is written depends only on the configuration and the device, never on when the process was
//! stopped and resumed. A checkpoint holds the loader's position, so that may be in mid-epoch.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toml::Table;

use super::{Fit, Score};
use crate::error::{FitError, Result};
use farad_data::{DataLoader, Position};
use farad_tensor::Precision;
use farad_tensor::RandomState;
use farad_tensor::Tensor;
use farad_train::run::{Cell, Checkpoint, Events, Log, Run, Stop};

/// What a run folder of supervised training is, in `config.toml` and checkpoints.
pub const KIND: &str = "fit";

/// The columns of the log.
const COLUMNS: [&str; 5] = ["epoch", "loss", "learning_rate", "validation_loss", "validation_goodness"];

/// How long training lasts, and how often what is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Epochs in all.
    pub epochs: u64,
    /// Steps between rows of the log; the last step of an epoch always has one.
    pub log_every: u64,
    /// Steps between checkpoints; the end of an epoch always has one.
    pub checkpoint_every: u64,
}

/// How training stands, for whoever watches.
#[derive(Clone, Debug)]
pub struct Progress {
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
    /// How good the model was at the last validation: accuracy, or explained variance.
    pub goodness: Option<f64>,
}

/// How training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Steps made.
    pub steps: u64,
    /// Epochs that are over.
    pub epochs: u64,
    /// Whether it was asked to stop before its end.
    pub interrupted: bool,
}

/// What a checkpoint holds beside tensors.
#[derive(Serialize, Deserialize)]
struct Stored {
    position: Position,
    random: RandomState,
    goodness: Option<f64>,
}

/// A run under way.
pub struct Training {
    fit: Fit,
    train: DataLoader,
    validation: Option<DataLoader>,
    book: Book,
}

/// What is written of a run.
struct Book {
    run: Run,
    log: Log,
    events: Events,
    pace: Pace,
    /// Batches of an epoch.
    batches: u64,
    /// At the last validation.
    goodness: Option<f64>,
    /// The loss was not finite in the last row of the log.
    bad: bool,
    /// When this process began to train.
    started: Instant,
}

impl Training {
    /// Starts a run in its folder, or goes on from its checkpoint if it has one. The model must begin with the same
    /// weights either way: seed the CPU before it is made.
    pub fn new(
        run: Run,
        mut fit: Fit,
        mut train: DataLoader,
        validation: Option<DataLoader>,
        pace: Pace,
    ) -> Result<Training> {
        let checkpoint = run.checkpoint()?;
        let batches = train.batches()? as u64;
        let mut goodness = None;
        if let Some(checkpoint) = &checkpoint {
            let (asked, made) = (pace.epochs * batches, checkpoint.step());
            if asked < made {
                return Err(FitError::StepsMade { asked, made }.into());
            }
            let stored: Stored = checkpoint.value()?;
            fit.restore(checkpoint)?;
            train.set_position(stored.position)?;
            fit.device().set_random_state(stored.random);
            goodness = stored.goodness;
        }
        let begun = run.log_path().exists();
        let log = match begun {
            true => run.resume_log(&COLUMNS, checkpoint.as_ref().map(Checkpoint::step))?,
            false => run.create_log(&COLUMNS)?,
        };
        let mut events = run.events()?;
        let device = fit.device().name().to_string();
        events.write(if begun { "resume" } else { "start" }, fit.steps(), json!({ "device": device }))?;
        let book = Book { run, log, events, pace, batches, goodness, bad: false, started: Instant::now() };
        Ok(Training { fit, train, validation, book })
    }

    /// The model in training.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }

    /// The run's folder.
    pub fn run(&self) -> &Run {
        &self.book.run
    }

    /// Gives the run other settings, once it goes on with them.
    pub fn set_config(&mut self, config: Table) -> Result<()> {
        self.book.run.set_config(config)
    }

    /// Steps at the end.
    pub fn steps_in_all(&self) -> u64 {
        self.book.pace.epochs * self.book.batches
    }

    /// The run, still locked, and the model, for what is written after training.
    pub fn into_parts(self) -> (Run, Fit) {
        (self.book.run, self.fit)
    }

    /// Trains to the end, or until asked to stop; `watch` is told how it stands.
    pub fn train(&mut self, stop: &Stop, mut watch: impl FnMut(&Progress)) -> Result<Summary> {
        self.book.started = Instant::now();
        let mut interrupted = false;
        while self.train.position().epoch < self.book.pace.epochs && !interrupted {
            interrupted = self.epoch(stop, &mut watch)?;
        }
        let (steps, epochs) = (self.fit.steps(), self.train.position().epoch);
        self.book.save(&self.fit, self.train.position())?;
        self.book.event(if interrupted { "interrupted" } else { "end" }, steps)?;
        Ok(Summary { steps, epochs, interrupted })
    }

    /// What is left of an epoch; whether it was broken off.
    fn epoch(&mut self, stop: &Stop, watch: &mut impl FnMut(&Progress)) -> Result<bool> {
        let mut batches = (&mut self.train).into_iter();
        loop {
            if stop.is_set() {
                return Ok(true);
            }
            let Some(batch) = batches.next() else { return Ok(false) };
            let (x, y) = batch?;
            let rate = self.fit.rate();
            let loss = self.fit.step(&x, &y)?;
            self.book.after(&self.fit, &loss, rate, batches.position(), &mut self.validation, watch)?;
        }
    }
}

impl Book {
    /// Whatever is due after a step.
    fn after(
        &mut self,
        fit: &Fit,
        loss: &Tensor,
        rate: Option<f32>,
        position: Position,
        validation: &mut Option<DataLoader>,
        watch: &mut impl FnMut(&Progress),
    ) -> Result<()> {
        let (step, ends) = (fit.steps(), position.batch == 0);
        if ends || step == 1 || step.is_multiple_of(self.pace.log_every) {
            let loss = loss.item()?;
            // Halves may overflow once, and the step is skipped then.
            let again = std::mem::replace(&mut self.bad, !loss.is_finite());
            if self.bad && (again || fit.precision == Precision::Single) {
                return Err(FitError::Diverged { step, loss }.into());
            }
            let score = match validation.as_mut().filter(|_| ends) {
                Some(loader) => Some(fit.score(loader)?),
                None => None,
            };
            self.goodness = score.as_ref().map(Score::goodness).or(self.goodness);
            let validated = score.map(|score| (score.loss, score.goodness()));
            let epoch = position.epoch + u64::from(!ends);
            let row: [Cell; 5] = [
                epoch.into(),
                loss.into(),
                rate.into(),
                validated.map(|v| v.0).into(),
                validated.map(|v| v.1).into(),
            ];
            self.log.row(step, &row)?;
            let (steps, epochs) = (self.pace.epochs * self.batches, self.pace.epochs);
            watch(&Progress { step, steps, epoch, epochs, loss, goodness: self.goodness });
        }
        if ends || step.is_multiple_of(self.pace.checkpoint_every) {
            self.save(fit, position)?;
            self.event("checkpoint", step)?;
        }
        Ok(())
    }

    fn save(&mut self, fit: &Fit, position: Position) -> Result<()> {
        let mut checkpoint = Checkpoint::new(KIND, fit.steps());
        fit.put(&mut checkpoint)?;
        let random = fit.device().random_state();
        checkpoint.set_value(Stored { position, random, goodness: self.goodness });
        self.run.save(&checkpoint, &mut self.log)
    }

    /// Writes down how long this process has trained by now; after a kill, the last of these counts.
    fn event(&mut self, event: &str, step: u64) -> Result<()> {
        let seconds = self.started.elapsed().as_secs_f64();
        self.events.write(event, step, json!({ "training_seconds": seconds, "goodness": self.goodness }))
    }
}
