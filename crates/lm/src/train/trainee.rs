//! A language model in training as the loop sees it: updates, validation, checkpoints, the end.
//!
//! Invariant: what is written depends only on the configuration and the device, never on when the process was stopped and
//! resumed. Speeds are the exception, and stand in `events.jsonl` and the report only. The loop waits for nothing between
//! validations: losses are read late.

use std::path::PathBuf;

use farad::group::Group;
use farad::run::{Checkpoint, LogCell, Run, Value, count, counted, json};
use farad::train::{
    Glimpse, LoopSettings, Outcome, Standing, Trainee, TrainingSummary, Validation, Watcher, of_rank,
};
use farad::{Device, RandomState, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::clock::{Probe, UpdateClock};
use super::learned::{Vocabulary, check_vocabulary, sample};
use super::{Breakdown, KIND, Learned, LmSettings, Speed, TextScore, TokenParts, Trainer, report};

/// The columns of the log.
const COLUMNS: [&str; 4] = ["tokens", "loss", "learning_rate", "validation_loss"];

/// Tokens that are drawn for those who watch.
const GLIMPSE: usize = 60;

/// What a checkpoint holds beside tensors.
#[derive(Serialize, Deserialize)]
struct StoredLanguage {
    #[serde(flatten)]
    vocabulary: Vocabulary,
    random: RandomState,
    /// The loss of the best validation, in checkpoints of earlier versions; the loop knows it now.
    #[serde(default, skip_serializing)]
    best: Option<f64>,
}

/// A language model in training, with its text.
pub struct LanguageModel {
    trainer: Trainer,
    parts: TokenParts,
    settings: LmSettings,
    /// Where its checkpoints are, for messages.
    checkpoint: PathBuf,
    /// The loss at the last validation.
    validation: Option<f64>,
    clock: UpdateClock,
    /// None before the first update of the process.
    probe: Option<Probe>,
}

impl LanguageModel {
    /// Before its first update, in a run that has its tokens.
    pub(super) fn new(
        group: &Group,
        run: &Run,
        settings: LmSettings,
        device: &Device,
    ) -> crate::Result<LanguageModel> {
        let parts = TokenParts::open(run, device)?;
        check_vocabulary(run.path(), &parts.tokenizer, &settings)?;
        let checkpoint = run.checkpoint_path();
        let made = if checkpoint.exists() { Trainer::to_restore_in } else { Trainer::new_in };
        let trainer = made(group, &settings, &parts, device)?;
        let clock = UpdateClock::new(settings.update_tokens());
        Ok(LanguageModel { trainer, parts, settings, checkpoint, validation: None, clock, probe: None })
    }

    /// The state of the training.
    pub fn trainer(&self) -> &Trainer {
        &self.trainer
    }

    /// How fast this process is.
    pub fn speed(&self) -> Speed {
        self.clock.now()
    }

    /// Where the time of an update goes, if there were enough of them to see.
    pub fn breakdown(&self) -> Option<Breakdown> {
        self.probe.as_ref().and_then(Probe::breakdown)
    }

    fn vocabulary(&self) -> Vocabulary {
        Vocabulary { tokenizer: self.parts.tokenizer.clone(), validation_loss: self.validation }
    }

    /// What it is and what it learns from.
    fn facts(&self) -> Value {
        json!({ "data": self.settings.data, "shape": self.settings.shape() })
    }
}

impl Trainee for LanguageModel {
    fn title(&self) -> String {
        let (parameters, tokens) = (self.trainer.model().parameter_count(), self.parts.train.len());
        let (parameters, tokens) = (counted(parameters, "parameter"), counted(tokens, "token"));
        format!("language model of {}: {parameters} learn from {tokens}", self.settings.shape())
    }

    fn device(&self) -> &Device {
        self.trainer.device()
    }

    fn pace(&self) -> &LoopSettings {
        &self.settings.course
    }

    fn unit(&self) -> &'static str {
        "update"
    }

    fn steps_in_all(&self) -> u64 {
        self.trainer.updates_in_all()
    }

    fn epoch(&self) -> u64 {
        self.settings.updates_of_epoch(self.parts.train.len())
    }

    fn step(&mut self) -> Result<Tensor> {
        let (made, in_all) = (self.trainer.updates(), self.trainer.updates_in_all());
        let probe = self.probe.get_or_insert_with(|| Probe::new(made, in_all));
        probe.before(&self.trainer);
        let loss = self.trainer.update()?;
        self.clock.counted();
        if probe.after(&self.trainer) {
            self.clock.restart(self.trainer.device())?;
        }
        Ok(loss)
    }

    fn synchronize(&mut self) -> Result<()> {
        Ok(self.trainer.synchronize()?)
    }

    fn columns(&self) -> Vec<String> {
        COLUMNS.map(str::to_string).to_vec()
    }

    fn row(&self, step: u64, losses: Option<&[f32]>, validation: Option<&Validation>) -> Vec<LogCell> {
        let loss = losses.and_then(|losses| losses.first().copied());
        let rate = loss.map(|_| self.trainer.rate_at(step.saturating_sub(1)));
        let mut row = vec![(step * self.settings.update_tokens()).into(), loss.into(), rate.into()];
        row.extend(validation.map_or(vec![LogCell::default()], |validation| validation.cells.clone()));
        row
    }

    fn validate(&mut self) -> Result<Option<Validation>> {
        let Some(tokens) = &self.parts.validation else { return Ok(None) };
        let (text, most) = ((tokens, "the validation text"), self.settings.validation_tokens);
        let (model, precision, group) =
            (self.trainer.model(), self.trainer.precision(), self.trainer.group());
        let loss = TextScore::of_in(group, model, precision, text, most, |_, _| {})?.loss;
        self.validation = Some(loss);
        Ok(Some(Validation { goodness: -loss, later_wins: false, cells: vec![loss.into()] }))
    }

    fn keep(&mut self) -> Result<Option<Checkpoint>> {
        let mut kept = Checkpoint::new(KIND, self.trainer.updates());
        kept.put_module("model", self.trainer.model());
        kept.set_value(self.vocabulary());
        Ok(Some(kept))
    }

    fn gather(&mut self) -> Result<()> {
        Ok(self.trainer.gather()?)
    }

    fn save(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        self.trainer.put(checkpoint)?;
        let (vocabulary, random) = (self.vocabulary(), self.trainer.device().random_state());
        checkpoint.set_value(StoredLanguage { vocabulary, random, best: None });
        Ok(())
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let stored: StoredLanguage = checkpoint.value()?;
        check_vocabulary(&self.checkpoint, &stored.vocabulary.tokenizer, &self.settings)?;
        self.trainer.restore(checkpoint)?;
        self.trainer.device().set_random_state(of_rank(stored.random, self.trainer.group()));
        self.validation = stored.vocabulary.validation_loss;
        Ok(())
    }

    fn former_standing(&self, checkpoint: &Checkpoint) -> Result<Standing> {
        let stored: StoredLanguage = checkpoint.value()?;
        Ok(Standing { best: stored.best.map(|loss| -loss), ..Standing::default() })
    }

    fn take_weights(&mut self, weights: &Checkpoint) -> Result<()> {
        let Vocabulary { tokenizer, .. } = weights.value()?;
        check_vocabulary(self.settings.course.from.as_ref(), &tokenizer, &self.settings)?;
        Ok(self.trainer.take_weights(weights)?)
    }

    fn may_overflow(&self) -> bool {
        self.settings.mixed
    }

    fn waits(&self) -> bool {
        false
    }

    fn pauses(&mut self) {
        self.clock.stop();
    }

    fn goes_on(&mut self) {
        self.clock.go_on();
    }

    fn logs_means(&self) -> bool {
        true
    }

    fn glimpse(&mut self) -> Result<Option<Glimpse>> {
        let tokens = self.settings.sample.min(GLIMPSE);
        let text = sample(self.trainer.model(), &self.parts.tokenizer, tokens)?;
        Ok((tokens > 0).then_some(Glimpse::Text(text)))
    }

    fn words(&self, losses: &[f32]) -> String {
        let validation = self.validation.map_or("–".to_string(), |loss| format!("{loss:.4}"));
        let speed = self.speed().tokens_per_second().map_or("–".to_string(), |rate| count(rate as u64));
        let loss = losses.first().copied().unwrap_or(f32::NAN);
        let perplexity = f64::from(loss).exp();
        format!("{speed} tokens/s  loss {loss:.4}  perplexity {perplexity:.2}  validation loss {validation}")
    }

    fn about(&self) -> Value {
        self.facts()
    }

    fn noted(&self, ends: bool) -> Value {
        let rate = self.speed().tokens_per_second();
        if !ends {
            return json!({ "tokens_per_second": rate });
        }
        let mut fields = self.facts();
        fields["validation_loss"] = json!(self.validation);
        fields["device"] = json!(self.trainer.device().name());
        fields["tokens_per_second"] = json!(rate);
        fields["epoch_seconds"] = json!(rate.map(|rate| self.parts.train.len() as f64 / rate));
        fields["profile"] = json!(self.breakdown());
        fields
    }

    fn concluding(&self) -> String {
        "now judging".into()
    }

    fn conclude(&mut self, run: &Run, summary: &TrainingSummary, watcher: &dyn Watcher) -> Result<Outcome> {
        let learned = Learned::of(run, self.trainer.device())?;
        let (tokens, on) = self.parts.judged();
        let score = learned.judge(tokens, on, watcher)?;
        let sample = learned.sample(self.settings.sample)?;
        let outcome = report::LmReportInputs {
            settings: &self.settings,
            parameters: self.trainer.model().parameter_count(),
            train_tokens: self.parts.train.len(),
            updates: summary.steps,
            speed: self.speed(),
            breakdown: self.breakdown(),
            score: (score, on),
            sample: &sample,
            device: self.trainer.device().name(),
        };
        report::write(run, &outcome)?;
        Ok(outcome
            .told(&learned)
            .next("generate RUN --prompt \"The\"", "let it write")
            .next("chat RUN", "line by line")
            .next("train --resume RUN --updates N", "train for longer"))
    }
}
