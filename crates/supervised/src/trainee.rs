//! A network in training as the loop sees it: epochs of batches, validation, checkpoints, the end.
//!
//! Invariant: a checkpoint holds the loader's position and the device's random numbers, so that a run goes on in mid-epoch with
//! the same bits.

use farad_data::{Batches, DataLoader, Position};
use farad_group::Group;
use farad_tensor::{Device, Precision, RandomState, Tensor};
use farad_train::run::{Checkpoint, LogCell, Run, Value, count, counted, json};
use farad_train::{LoopSettings, Outcome, Trainee, TrainingSummary, Validation, Watcher, of_rank};
use serde::{Deserialize, Serialize};

use crate::error::{FitError, Result};
use crate::kind::{KIND, outcome};
use crate::report;
use crate::setup::Setup;
use crate::{Fit, Task};

/// The columns of the log.
const COLUMNS: [&str; 5] = ["epoch", "loss", "learning_rate", "validation_loss", "validation_goodness"];

/// What a checkpoint holds beside tensors.
#[derive(Serialize, Deserialize)]
struct StoredNetwork {
    position: Position,
    random: RandomState,
    goodness: Option<f64>,
}

/// A network in training, with its data.
pub struct Network {
    fit: Fit,
    device: Device,
    feed: BatchFeed,
    validation: Option<DataLoader>,
    epochs: u64,
    /// Steps of an epoch.
    batches: u64,
    course: LoopSettings,
    /// At the last validation.
    goodness: Option<f64>,
    /// What it was made of, if it is one of those with a name.
    setup: Option<Box<Setup>>,
    /// The ranks that train together.
    group: Group,
}

/// Where batches come from: between epochs and before the first step a loader, else one that is at work.
enum BatchFeed {
    Loader(DataLoader),
    Batches(Box<Batches<DataLoader>>),
    /// While one becomes the other.
    Changing,
}

impl Network {
    /// A model with what it learns from, before its first step.
    pub fn new(
        fit: Fit,
        train: DataLoader,
        validation: Option<DataLoader>,
        epochs: u64,
        course: LoopSettings,
    ) -> Result<Network> {
        let (batches, device) = (train.batches()? as u64, fit.device());
        let (feed, goodness, setup) = (BatchFeed::Loader(train), None, None);
        let group = Group::alone();
        Ok(Network { fit, device, feed, validation, epochs, batches, course, goodness, setup, group })
    }

    /// With everything that it was made of, for its title and its end.
    pub(crate) fn with_setup(mut self, setup: Setup) -> Network {
        self.group = setup.group.clone();
        self.setup = Some(Box::new(setup));
        self
    }

    /// The model in training.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }

    /// The model alone.
    pub fn into_fit(self) -> Fit {
        self.fit
    }

    /// The epoch that a step is in, from 1 on.
    pub fn epoch_of(&self, step: u64) -> u64 {
        step.div_ceil(self.batches.max(1))
    }

    /// Epochs in all.
    pub fn epochs(&self) -> u64 {
        self.epochs
    }

    fn position(&self) -> Option<Position> {
        match &self.feed {
            BatchFeed::Loader(loader) => Some(loader.position()),
            BatchFeed::Batches(batches) => Some(Batches::position(batches)),
            BatchFeed::Changing => None,
        }
    }

    /// The next batch, of the next epoch if this one is over.
    fn batch(&mut self) -> Result<(Tensor, Tensor)> {
        loop {
            self.feed = match std::mem::replace(&mut self.feed, BatchFeed::Changing) {
                BatchFeed::Loader(loader) => BatchFeed::Batches(Box::new(loader.into_iter())),
                BatchFeed::Batches(mut batches) => match batches.next() {
                    Some(batch) => {
                        self.feed = BatchFeed::Batches(batches);
                        return batch;
                    }
                    None => BatchFeed::Loader(batches.into_loader()),
                },
                BatchFeed::Changing => return Err(farad_data::DataError::NoSamples { op: "loader" }.into()),
            };
        }
    }

    fn measure(&self) -> &'static str {
        if self.fit.task() == Task::Classify { "accuracy" } else { "explained variance" }
    }
}

impl Trainee for Network {
    fn title(&self) -> String {
        let (parameters, samples) = (self.fit.model().summary().parameters, self.samples());
        let (parameters, samples) = (counted(parameters, "parameter"), counted(samples, "sample"));
        let title = self.setup.as_ref().map_or("a network".into(), |setup| setup.settings.title());
        format!("{title}: {parameters} learn from {samples}")
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn pace(&self) -> &LoopSettings {
        &self.course
    }

    fn steps_in_all(&self) -> u64 {
        self.epochs * self.batches
    }

    fn epoch(&self) -> u64 {
        self.batches
    }

    fn saves_epochs(&self) -> bool {
        true
    }

    fn step(&mut self) -> Result<Tensor> {
        let (x, y) = self.batch()?;
        let weight = match &self.feed {
            BatchFeed::Batches(batches) => batches.weight(),
            _ => 1.0,
        };
        let weight = self.fit.weight_in(&self.group, &y, weight)?;
        self.fit.step_weighted(&x, &y, weight)
    }

    fn synchronize(&mut self) -> Result<()> {
        self.fit.synchronize()
    }

    fn columns(&self) -> Vec<String> {
        COLUMNS.map(str::to_string).to_vec()
    }

    fn row(&self, step: u64, losses: Option<&[f32]>, validation: Option<&Validation>) -> Vec<LogCell> {
        let loss = losses.and_then(|losses| losses.first().copied());
        let rate = self.fit.rate_at(step.saturating_sub(1));
        let mut row = vec![self.epoch_of(step).into(), loss.into(), rate.into()];
        row.extend(validation.map_or(vec![LogCell::default(); 2], |validation| validation.cells.clone()));
        row
    }

    fn validate(&mut self) -> Result<Option<Validation>> {
        let Some(loader) = &mut self.validation else { return Ok(None) };
        self.fit.share_buffers(&self.group)?;
        let score = self.fit.score_in(&self.group, loader)?;
        let goodness = score.goodness();
        self.goodness = Some(goodness);
        let cells = vec![score.loss.into(), goodness.into()];
        Ok(Some(Validation { goodness, later_wins: false, cells }))
    }

    fn keep(&mut self) -> Result<Option<Checkpoint>> {
        let mut kept = Checkpoint::new(KIND, self.fit.steps());
        kept.put_module("model", self.fit.model());
        kept.set_value(json!({ "goodness": self.goodness }));
        Ok(Some(kept))
    }

    fn gather(&mut self) -> Result<()> {
        self.fit.gather()
    }

    fn save(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        self.fit.put(checkpoint)?;
        let (random, goodness) = (self.device.random_state(), self.goodness);
        if let Some(position) = self.position() {
            checkpoint.set_value(StoredNetwork { position, random, goodness });
        }
        Ok(())
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let (asked, made) = (self.steps_in_all(), checkpoint.step());
        if asked < made {
            return Err(FitError::StepsMade { asked, made }.into());
        }
        let stored: StoredNetwork = checkpoint.value()?;
        self.fit.restore(checkpoint)?;
        if let BatchFeed::Loader(loader) = &mut self.feed {
            loader.set_position(stored.position)?;
        }
        self.device.set_random_state(of_rank(stored.random, &self.group));
        self.goodness = stored.goodness;
        Ok(())
    }

    fn take_weights(&mut self, weights: &Checkpoint) -> Result<()> {
        self.fit.restore_model(weights)
    }

    fn may_overflow(&self) -> bool {
        self.fit.computes_in() == Precision::Mixed
    }

    fn logs_means(&self) -> bool {
        true
    }

    fn words(&self, losses: &[f32]) -> String {
        let good = self.goodness.map_or("–".to_string(), |share| format!("{:.2} %", 100.0 * share));
        let (epoch, epochs, measure) = (self.epoch_of(self.fit.steps()), self.epochs, self.measure());
        let loss = losses.first().copied().unwrap_or(f32::NAN);
        format!("epoch {epoch}/{epochs}  loss {loss:.4}  validation {measure} {good}")
    }

    fn noted(&self, _: bool) -> Value {
        json!({ "goodness": self.goodness })
    }

    fn concluding(&self) -> String {
        "now judging on the test set".into()
    }

    fn conclude(&mut self, run: &Run, summary: &TrainingSummary, _: &dyn Watcher) -> Result<Outcome> {
        let Some(setup) = &self.setup else { return Ok(Outcome::default()) };
        if self.course.keep_best
            && let Some(best) = run.learned()?
        {
            self.fit.restore_model(&best)?;
        }
        let score = setup.judge(&self.fit)?;
        let (dataset, task, steps) = (&*setup.sets.test, setup.sets.task, summary.steps);
        let next = format!("farad eval {}", farad_train::run::shell_word(run.path()));
        let (title, facts) = (setup.settings.title(), self.facts(setup));
        let report = report::SupervisedReportInputs {
            title,
            facts,
            judged_on: "test",
            score: &score,
            dataset,
            task,
            steps,
            next,
            state: self.fit.model().state(),
            shape: &setup.settings.shape,
            target: setup.settings.target_words(),
        };
        report::write(run, &report)?;
        Ok(outcome(&setup.settings, &score, steps)
            .next("eval RUN", "judge it again")
            .next("train --resume RUN --epochs N", "train for longer")
            .next("inspect RUN", "what it is made of"))
    }
}

impl Network {
    fn samples(&self) -> usize {
        self.position().map_or(0, |position| position.samples)
    }

    /// What the report says of model, data and settings.
    fn facts(&self, setup: &Setup) -> Vec<(String, String)> {
        let (settings, sets) = (&setup.settings, &setup.sets);
        let fact = |name: &str, value: String| (name.to_string(), value);
        let (mean, deviation) = (settings.target_mean, settings.target_deviation);
        let less = if mean < 0.0 { "+" } else { "-" };
        let scaled = format!(
            "learned as (y {less} {:.6}) / {deviation:.6}; losses in the curves are of that, errors above are of y",
            mean.abs()
        );
        let parameters = self.fit.model().summary().parameters;
        let numbers = (sets.task == Task::Regress).then(|| fact("targets", scaled));
        let facts = vec![
            fact("data", format!("{} ({})", settings.set, settings.data)),
            fact(
                "samples",
                format!("{} to train, {} to test", count(sets.train.len()), count(sets.test.len())),
            ),
            fact("model", format!("{} with {}", settings.model, counted(parameters, "parameter"))),
            fact("optimizer", format!("{}, {} schedule", settings.optimizer, settings.schedule)),
            fact("epochs", format!("{} of batches of {}", count(settings.epochs), count(settings.batch))),
            fact("precision", if settings.mixed { "mixed".into() } else { "f32".into() }),
            fact("seed", settings.seed.to_string()),
            fact("device", self.device.name().to_string()),
        ];
        let rules = settings.column_rules().unwrap_or_default();
        let rules = rules.iter().filter_map(|rule| Some(fact("column", rule.words()?)));
        facts.into_iter().chain(numbers).chain(rules).collect()
    }
}
