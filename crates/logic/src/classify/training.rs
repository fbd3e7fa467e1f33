//! A training run in its folder: steps, log, validation, checkpoints, and going on after any of them.
//!
//! Invariant: what is written depends only on the configuration and the device, never on when the process was stopped
//! and resumed.

use std::path::Path;
use std::time::Instant;

use farad::run::{Cell, Checkpoint, Events, Log, Run, Stop, counted, json};
use farad::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::data::Data;
use super::settings::Settings;
use super::trainer::Trainer;
use crate::error::{Error, Result};

/// What a run folder of this kind is, in `config.toml` and checkpoints.
pub const KIND: &str = "logic";

const COLUMNS: [&str; 4] = ["epoch", "soft_loss", "learning_rate", "hard_accuracy"];

/// How training stands, for whoever watches.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Steps made.
    pub step: u64,
    /// Steps at the end.
    pub steps: u64,
    /// The epoch under way, from 1 on.
    pub epoch: u64,
    /// The loss of the step.
    pub loss: f32,
    /// The share of the validation part that the hard network had right at the last look.
    pub accuracy: Option<f64>,
    /// The same of the kept network.
    pub best: Option<f64>,
}

/// How training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Steps made.
    pub steps: u64,
    /// Whether it was asked to stop before its end.
    pub interrupted: bool,
}

/// What a checkpoint holds beside tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Stored {
    /// Channels, height, width.
    pub shape: [usize; 3],
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Samples in all parts; 0 in files of earlier builds.
    #[serde(default)]
    pub samples: usize,
    /// The validation accuracy of the kept network, and when it was kept.
    pub best: Option<f64>,
    pub best_step: u64,
    /// At the last look.
    pub accuracy: Option<f64>,
}

impl Stored {
    fn of(data: &Data) -> Stored {
        let (shape, classes) = (data.train.shape, data.classes.clone());
        let samples = [&data.train, &data.validation, &data.test].map(|part| part.len()).iter().sum();
        Stored { shape, classes, samples, best: None, best_step: 0, accuracy: None }
    }

    /// Whether it was made with the same data as another, as far as one can tell.
    fn has_data_of(&self, other: &Stored) -> bool {
        let samples = self.samples == 0 || self.samples == other.samples;
        samples && (self.shape, &self.classes) == (other.shape, &other.classes)
    }

    /// The data in a few words.
    fn data(&self) -> String {
        let Stored { shape, classes, samples, .. } = self;
        format!("{} of {shape:?} in the classes {}", counted(*samples, "sample"), classes.join(", "))
    }
}

/// A run under way.
pub struct Training {
    run: Run,
    settings: Settings,
    trainer: Trainer,
    stored: Stored,
    /// The parameters of the kept network.
    kept: Vec<(String, Tensor)>,
    log: Log,
    events: Events,
    started: Instant,
}

impl Training {
    /// Starts a run in a new folder.
    pub fn start(folder: &Path, settings: &Settings, data: &Data, device: &Device) -> Result<Training> {
        // A network that cannot be leaves no folder behind.
        let trainer = Trainer::new(settings, data, device)?;
        let run = Run::create(folder, KIND, settings.table())?;
        let log = run.create_log(&COLUMNS)?;
        let mut events = run.events()?;
        events.write("start", 0, json!({ "task": settings.task, "device": device.name() }))?;
        let stored = Stored::of(data);
        let kept = trainer.state()?;
        let settings = settings.clone();
        Ok(Training { run, settings, trainer, stored, kept, log, events, started: Instant::now() })
    }

    /// Goes on with a run from its checkpoint. A run that was stopped ends with the bits of an unbroken one. Other
    /// settings than it had become the run's, if it can go on with them.
    pub fn resume(mut run: Run, settings: &Settings, data: &Data, device: &Device) -> Result<Training> {
        let mut trainer = Trainer::new(settings, data, device)?;
        let checkpoint = run.checkpoint()?;
        let mut stored = Stored::of(data);
        let mut kept = trainer.state()?;
        if let Some(checkpoint) = &checkpoint {
            let before: Stored = checkpoint.value()?;
            if !before.has_data_of(&stored) {
                let what = format!("the data have changed: {}, now {}", before.data(), stored.data());
                return Err(Error::Mismatch { what });
            }
            trainer.restore(checkpoint)?;
            let (asked, made) = (trainer.steps_in_all(), checkpoint.step());
            if asked < made {
                return Err(Error::UpdatesMade { asked, made });
            }
            kept = checkpoint.tensors("best", &Device::cpu())?;
            stored = before;
        }
        if Settings::of(&run)? != *settings {
            run.set_config(settings.table())?;
        }
        let log = run.resume_log(&COLUMNS, checkpoint.as_ref().map(Checkpoint::step))?;
        let mut events = run.events()?;
        events.write("resume", trainer.steps(), json!({ "device": device.name() }))?;
        let settings = settings.clone();
        Ok(Training { run, settings, trainer, stored, kept, log, events, started: Instant::now() })
    }

    /// The run's folder.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The run alone, still locked, for what is written after training.
    pub fn into_run(self) -> Run {
        self.run
    }

    /// The network in training.
    pub fn trainer(&self) -> &Trainer {
        &self.trainer
    }

    /// Trains to the end, or until asked to stop; `watch` is told how it stands.
    pub fn train(&mut self, stop: &Stop, mut watch: impl FnMut(&Progress)) -> Result<Summary> {
        self.started = Instant::now();
        let mut interrupted = false;
        while self.trainer.steps() < self.trainer.steps_in_all() {
            if stop.is_set() {
                interrupted = true;
                break;
            }
            self.advance(&mut watch)?;
        }
        self.checkpoint()?;
        self.event(if interrupted { "interrupted" } else { "end" })?;
        Ok(Summary { steps: self.trainer.steps(), interrupted })
    }

    /// One step and whatever is due after it.
    fn advance(&mut self, watch: &mut impl FnMut(&Progress)) -> Result<()> {
        let rate = self.trainer.rate();
        let loss = self.trainer.step()?;
        let (step, steps) = (self.trainer.steps(), self.trainer.steps_in_all());
        let every = match self.settings.evaluate_every {
            0 => self.trainer.steps_per_epoch(),
            every => every as u64,
        };
        let looks = step.is_multiple_of(every) || step == steps;
        if looks || step == 1 || step.is_multiple_of(self.settings.log_every as u64) {
            let loss = loss.item()?;
            let accuracy = if looks { Some(self.validate()?) } else { None };
            let epoch = (step - 1) / self.trainer.steps_per_epoch() + 1;
            self.log.row(step, &[epoch.into(), loss.into(), rate.into(), Cell::from(accuracy)])?;
            let (accuracy, best) = (self.stored.accuracy, self.stored.best);
            watch(&Progress { step, steps, epoch, loss, accuracy, best });
        }
        if step.is_multiple_of(self.settings.checkpoint_every as u64) {
            self.checkpoint()?;
            self.event("checkpoint")?;
        }
        Ok(())
    }

    /// Looks at the hard network, and keeps it if it is the best so far.
    fn validate(&mut self) -> Result<f64> {
        let accuracy = self.trainer.validate()?;
        self.stored.accuracy = Some(accuracy);
        // Of equals the later one: it has learned more.
        if self.stored.best.is_none_or(|best| accuracy >= best) {
            (self.stored.best, self.stored.best_step) = (Some(accuracy), self.trainer.steps());
            self.kept = self.trainer.state()?;
        }
        Ok(accuracy)
    }

    /// Writes down how long this process has trained by now; after a kill, the last of these counts.
    fn event(&mut self, event: &str) -> Result<()> {
        let seconds = self.started.elapsed().as_secs_f64();
        let fields = json!({ "training_seconds": seconds, "best": self.stored.best });
        Ok(self.events.write(event, self.trainer.steps(), fields)?)
    }

    fn checkpoint(&mut self) -> Result<()> {
        let mut checkpoint = Checkpoint::new(KIND, self.trainer.steps());
        self.trainer.put(&mut checkpoint)?;
        checkpoint.put_all("best", self.kept.clone());
        checkpoint.set_value(&self.stored);
        Ok(self.run.save(&checkpoint, &mut self.log)?)
    }
}
