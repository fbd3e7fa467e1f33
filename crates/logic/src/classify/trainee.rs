//! A logic network in training, as the training loop sees it: steps, validation of the hard network,
//! checkpoints, the end.
//!
//! Invariant: the kept network is that of the best validation, or of the last one if the best should not be
//! kept. The checkpoint contains it beside the one in training.

use farad::run::{Checkpoint, LogCell, Run, Value, counted, json};
use farad::train::{
    LoopSettings, Outcome, Standing, TrainError, Trainee, TrainingSummary, Validation, Watcher,
};
use farad::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::data::ClassifierData;
use super::repair::{self, ClassifierSelection};
use super::report;
use super::settings::ClassifierSettings;
use super::trainer::ClassifierTrainer;
use crate::error::{Error, Result};
use crate::repair::Effort;

/// The kind of run folder, in `config.toml` and checkpoints.
pub const KIND: &str = "logic";

const COLUMNS: [&str; 4] = ["epoch", "soft_loss", "learning_rate", "hard_accuracy"];

/// What a checkpoint contains besides tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredClassifier {
    /// Channels, height, width.
    pub shape: [usize; 3],
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Samples in all parts; 0 in files of earlier builds.
    #[serde(default)]
    pub samples: usize,
    /// Names of a table's columns; empty for pictures, and in files of earlier builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// The class column; empty for pictures, and in files of earlier builds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The validation accuracy of the kept network, and when it was kept.
    pub best: Option<f64>,
    pub best_step: u64,
    /// At the last check.
    pub accuracy: Option<f64>,
}

impl StoredClassifier {
    fn of(data: &ClassifierData) -> StoredClassifier {
        let (shape, classes) = (data.train.shape, data.classes.clone());
        let samples = [&data.train, &data.validation, &data.test].map(|part| part.len()).iter().sum();
        let (columns, target) = (data.columns.clone(), data.target.clone());
        StoredClassifier {
            shape,
            classes,
            samples,
            columns,
            target,
            best: None,
            best_step: 0,
            accuracy: None,
        }
    }

    /// Whether it was made with the same data as another, as far as can be told.
    fn has_data_of(&self, other: &StoredClassifier) -> bool {
        let samples = self.samples == 0 || self.samples == other.samples;
        samples && (self.shape, &self.classes) == (other.shape, &other.classes)
    }

    /// The data in a few words.
    fn data(&self) -> String {
        let StoredClassifier { shape, classes, samples, .. } = self;
        format!("{} of {shape:?} in the classes {}", counted(*samples, "sample"), classes.join(", "))
    }
}

/// A logic network in training, and the one that is kept.
pub struct Classifier {
    settings: ClassifierSettings,
    trainer: ClassifierTrainer,
    stored: StoredClassifier,
    /// The parameters of the kept network.
    kept: Vec<(String, Tensor)>,
}

impl Classifier {
    /// The state before the first step.
    pub fn new(
        settings: ClassifierSettings,
        trainer: ClassifierTrainer,
        data: &ClassifierData,
    ) -> Result<Classifier> {
        let (stored, kept) = (StoredClassifier::of(data), trainer.state()?);
        Ok(Classifier { settings, trainer, stored, kept })
    }

    /// The network in training.
    pub fn trainer(&self) -> &ClassifierTrainer {
        &self.trainer
    }

    /// Keeps the current network.
    fn keep_now(&mut self) -> Result<()> {
        (self.stored.best, self.stored.best_step) = (self.stored.accuracy, self.trainer.steps());
        self.kept = self.trainer.state()?;
        Ok(())
    }
}

impl Trainee for Classifier {
    fn title(&self) -> String {
        let gates = self.trainer.network().gates();
        let learn = if gates == 1 { "learns" } else { "learn" };
        format!("{}: {} {learn} to classify", self.settings.title(), counted(gates, "gate"))
    }

    fn device(&self) -> &Device {
        self.trainer.device()
    }

    fn pace(&self) -> &LoopSettings {
        &self.settings.course
    }

    fn steps_in_all(&self) -> u64 {
        self.trainer.steps_in_all()
    }

    fn epoch(&self) -> u64 {
        self.trainer.steps_per_epoch()
    }

    fn step(&mut self) -> farad::Result<Tensor> {
        Ok(self.trainer.step()?)
    }

    fn synchronize(&mut self) -> farad::Result<()> {
        Ok(self.trainer.synchronize()?)
    }

    fn columns(&self) -> Vec<String> {
        COLUMNS.map(str::to_string).to_vec()
    }

    fn row(&self, step: u64, losses: Option<&[f32]>, validation: Option<&Validation>) -> Vec<LogCell> {
        let before = step.saturating_sub(1);
        let epoch = before / self.trainer.steps_per_epoch() + 1;
        let loss = losses.and_then(|losses| losses.first().copied());
        let mut row = vec![epoch.into(), loss.into(), self.trainer.rate_at(before).into()];
        row.extend(validation.map_or(vec![LogCell::default()], |validation| validation.cells.clone()));
        row
    }

    fn validate(&mut self) -> farad::Result<Option<Validation>> {
        let accuracy = self.trainer.validate()?;
        self.stored.accuracy = Some(accuracy);
        if !self.settings.course.keep_best {
            self.keep_now()?;
        }
        // Among equals the later one: it has learned more.
        Ok(Some(Validation { goodness: accuracy, later_wins: true, cells: vec![accuracy.into()] }))
    }

    fn keep(&mut self) -> farad::Result<Option<Checkpoint>> {
        self.keep_now()?;
        Ok(None)
    }

    fn gather(&mut self) -> farad::Result<()> {
        Ok(self.trainer.gather()?)
    }

    fn save(&self, checkpoint: &mut Checkpoint) -> farad::Result<()> {
        self.trainer.put(checkpoint)?;
        checkpoint.put_all("best", self.kept.clone());
        checkpoint.set_value(&self.stored);
        Ok(())
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> farad::Result<()> {
        let before: StoredClassifier = checkpoint.value()?;
        if !before.has_data_of(&self.stored) {
            let what = format!("the data have changed: {}, now {}", before.data(), self.stored.data());
            return Err(Error::Mismatch { what }.into());
        }
        let (asked, made) = (self.steps_in_all(), checkpoint.step());
        if asked < made {
            return Err(TrainError::StepsMade { unit: "update", asked, made }.into());
        }
        self.trainer.restore(checkpoint)?;
        self.kept = checkpoint.tensors("best", &Device::cpu())?;
        self.stored = before;
        Ok(())
    }

    fn former_standing(&self, _: &Checkpoint) -> farad::Result<Standing> {
        let (best, best_step) = (self.stored.best, self.stored.best_step);
        Ok(Standing { best, best_step, ..Standing::default() })
    }

    fn take_weights(&mut self, weights: &Checkpoint) -> farad::Result<()> {
        weights.restore_module("best", self.trainer.network())?;
        self.kept = self.trainer.state()?;
        Ok(())
    }

    fn logs_means(&self) -> bool {
        true
    }

    fn words(&self, losses: &[f32]) -> String {
        let shown =
            |share: Option<f64>| share.map_or("–".to_string(), |share| format!("{:.2} %", 100.0 * share));
        let (now, best) = (shown(self.stored.accuracy), shown(self.stored.best));
        let epoch = self.trainer.steps().saturating_sub(1) / self.trainer.steps_per_epoch() + 1;
        let loss = losses.first().copied().unwrap_or(f32::NAN);
        format!("epoch {epoch}  soft loss {loss:.4}  validation accuracy of hard gates {now}, best {best}")
    }

    fn about(&self) -> Value {
        json!({ "task": self.settings.task })
    }

    fn noted(&self, _: bool) -> Value {
        json!({ "best": self.stored.best })
    }

    fn concluding(&self) -> String {
        match self.settings.repair.as_str() {
            "never" => "now simplifying and judging the circuit".into(),
            _ => "now simplifying, repairing and judging the circuit".into(),
        }
    }

    fn conclude(&mut self, run: &Run, _: &TrainingSummary, watcher: &dyn Watcher) -> farad::Result<Outcome> {
        let which = match self.settings.repair.as_str() {
            "small" => Some(ClassifierSelection::Small),
            "always" => Some(ClassifierSelection::Any),
            _ => None,
        };
        if let Some(which) = which {
            repair::repair(run, &Effort::after(self.trainer.steps()), which, watcher)?;
        }
        let verdict = report::conclude(run, watcher)?;
        let mut outcome = Outcome::new(verdict.json(), verdict.sentence());
        if self.settings.task_kind().is_picture() {
            outcome = outcome.next("eval RUN --speed", "how fast the circuit classifies a sample");
        }
        Ok(outcome
            .next("export RUN --format html --out RUN/page", "play with it in a browser")
            .next("export RUN --format c --out RUN/c", "use the circuit elsewhere"))
    }
}
