//! A training in its folder: updates, log, validation, checkpoints, and going on after any of them.
//!
//! Invariant: what is written depends only on the configuration and the device, never on when the process was stopped and
//! resumed. Speeds are the exception, and stand in `events.jsonl` only.

use std::time::Instant;

use farad::run::{Cell, Checkpoint, Events, Log, Run, Stop};
use farad::{OpenProfile, Profile, RandomState};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::late::Late;
use super::learned::{Vocabulary, best_path, check_vocabulary};
use super::{Breakdown, Parts, Prepared, Score, Settings, Trainer};
use crate::error::{Error, Result};

/// What a run folder of a language model is, in `config.toml` and checkpoints.
pub const KIND: &str = "lm";

/// The columns of the log.
const COLUMNS: [&str; 4] = ["tokens", "loss", "learning_rate", "validation_loss"];

/// How training stands, for whoever watches.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Updates made.
    pub update: u64,
    /// Updates at the end.
    pub updates: u64,
    /// The loss at the last logged update.
    pub loss: f32,
    /// The loss at the last validation.
    pub validation: Option<f64>,
    /// How fast this process trains, once that is known.
    pub tokens_per_second: Option<f64>,
}

/// How fast a process trained, validation and checkpoints apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speed {
    /// Tokens that were learned from.
    pub tokens: u64,
    /// In so many seconds.
    pub seconds: f64,
}

impl Speed {
    /// Tokens a second, if any were counted.
    pub fn tokens_per_second(&self) -> Option<f64> {
        (self.tokens > 0 && self.seconds > 0.0).then(|| self.tokens as f64 / self.seconds)
    }
}

/// How training ended.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Updates made.
    pub updates: u64,
    /// Whether it was asked to stop before its end.
    pub interrupted: bool,
    /// How fast this process was.
    pub speed: Speed,
    /// Where the time of an update went, if there were enough of them to see.
    pub breakdown: Option<Breakdown>,
}

/// What a checkpoint holds beside tensors.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    vocabulary: Vocabulary,
    random: RandomState,
    best: Option<f64>,
}

/// A run under way.
pub struct Training {
    trainer: Trainer,
    parts: Parts,
    settings: Settings,
    run: Run,
    log: Log,
    events: Events,
    /// Losses on their way, oldest first.
    late: Vec<(u64, f32, Late)>,
    validation: Option<f64>,
    best: Option<f64>,
    loss: f32,
    /// The loss was not finite in the last row of the log.
    bad: bool,
    clock: Clock,
    probe: Probe,
}

impl Training {
    /// Starts a run in its folder, or goes on from its checkpoint if it has one. The device may be another than before.
    pub fn open(run: Run, device: &farad::Device) -> Result<Training> {
        let settings = Settings::of(&run)?;
        Training::open_with(run, settings, device)
    }

    /// The same with other settings than the run has; they become the run's if it can go on with them.
    pub fn open_with(mut run: Run, settings: Settings, device: &farad::Device) -> Result<Training> {
        if !Parts::exist(&run) {
            Prepared::new(&mut settings.clone())?.write(&run)?;
        }
        settings.check_memory(device)?;
        let parts = Parts::open(&run, device)?;
        check_vocabulary(run.path(), &parts.tokenizer, &settings)?;
        let mut trainer = Trainer::new(&settings, &parts, device)?;
        let checkpoint = run.checkpoint()?;
        let (mut validation, mut best) = (None, None);
        if let Some(checkpoint) = &checkpoint {
            let stored: Stored = checkpoint.value()?;
            check_vocabulary(&run.checkpoint_path(), &stored.vocabulary.tokenizer, &settings)?;
            trainer.restore(checkpoint)?;
            device.set_random_state(stored.random);
            (validation, best) = (stored.vocabulary.validation_loss, stored.best);
        }
        if trainer.updates() > trainer.updates_in_all() {
            return Err(Error::UpdatesMade { asked: trainer.updates_in_all(), made: trainer.updates() });
        }
        if Settings::of(&run)? != settings {
            run.set_config(settings.table())?;
        }
        let begun = run.log_path().exists();
        let log = match begun {
            true => run.resume_log(&COLUMNS, checkpoint.as_ref().map(Checkpoint::step))?,
            false => run.create_log(&COLUMNS)?,
        };
        let mut events = run.events()?;
        let fields = json!({ "device": device.name(), "data": settings.data, "shape": settings.shape() });
        events.write(if begun { "resume" } else { "start" }, trainer.updates(), fields)?;
        let probe = Probe::new(trainer.updates(), trainer.updates_in_all());
        let clock = Clock::new(settings.update_tokens());
        let loss = f32::NAN;
        Ok(Training {
            trainer,
            parts,
            settings,
            run,
            log,
            events,
            late: vec![],
            validation,
            best,
            loss,
            bad: false,
            clock,
            probe,
        })
    }

    /// The state of the training.
    pub fn trainer(&self) -> &Trainer {
        &self.trainer
    }

    /// The text.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// What was asked for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The run's folder.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The run, still locked, and the text, for what is written after training.
    pub fn into_parts(self) -> (Run, Parts) {
        (self.run, self.parts)
    }

    /// Trains to the end, or until asked to stop; `watch` is told how it stands.
    pub fn train(&mut self, stop: &Stop, mut watch: impl FnMut(&Progress)) -> Result<Summary> {
        self.clock.begin();
        let in_all = self.trainer.updates_in_all();
        while self.trainer.updates() < in_all && !stop.is_set() {
            self.update(&mut watch)?;
        }
        self.settle(&mut watch)?;
        let updates = self.trainer.updates();
        let interrupted = updates < in_all;
        self.save()?;
        let (speed, breakdown) = (self.clock.speed, self.probe.breakdown());
        let device = self.trainer.device().name().to_string();
        let rate = speed.tokens_per_second();
        let fields = json!({
            "training_seconds": self.clock.started.elapsed().as_secs_f64(),
            "loss": self.loss, "validation_loss": self.validation,
            "device": device, "data": self.settings.data, "shape": self.settings.shape(),
            "tokens_per_second": rate,
            "epoch_seconds": rate.map(|rate| self.parts.train.len() as f64 / rate),
            "profile": breakdown,
        });
        self.events.write(if interrupted { "interrupted" } else { "end" }, updates, fields)?;
        Ok(Summary { updates, interrupted, speed, breakdown })
    }

    fn update(&mut self, watch: &mut impl FnMut(&Progress)) -> Result<()> {
        self.probe.before(&self.trainer);
        let rate = self.trainer.rate();
        let loss = self.trainer.update()?;
        self.clock.counted();
        let (update, in_all) = (self.trainer.updates(), self.trainer.updates_in_all());
        let every = |n: i64| update.is_multiple_of(n as u64) || update == in_all;
        if self.probe.after(&self.trainer)? {
            self.clock.restart(self.trainer.device())?;
        }
        if update == 1 || every(self.settings.log_every) {
            // The one before has arrived by now, most likely.
            self.write_late(None, watch)?;
            self.late.push((update, rate, Late::new(&loss)));
        }
        let (validates, saves) = (every(self.settings.evaluate_every), every(self.settings.checkpoint_every));
        if !validates && !saves && !self.clock.is_first() {
            return Ok(());
        }
        self.pause(watch, validates)?;
        if saves && update < in_all {
            self.save()?;
            let seconds = self.clock.started.elapsed().as_secs_f64();
            self.events.write("checkpoint", update, json!({ "training_seconds": seconds }))?;
        }
        self.clock.go_on();
        Ok(())
    }

    /// Waits for the device, writes what is due, and validates if asked to.
    fn pause(&mut self, watch: &mut impl FnMut(&Progress), validates: bool) -> Result<()> {
        self.trainer.device().wait()?;
        self.clock.stop();
        let loss = match (validates, &self.parts.validation) {
            (true, Some(tokens)) => {
                let most = self.settings.validation_tokens as usize;
                let text = (tokens, "the validation text");
                Some(Score::of(self.trainer.model(), self.trainer.precision(), text, most, |_, _| {})?.loss)
            }
            _ => None,
        };
        self.validation = loss.or(self.validation);
        self.write_late(loss, watch)?;
        if let Some(loss) = loss.filter(|&loss| self.best.is_none_or(|best| loss < best)) {
            self.best = Some(loss);
            let mut checkpoint = Checkpoint::new(KIND, self.trainer.updates());
            checkpoint.put_module("model", self.trainer.model());
            checkpoint.set_value(self.vocabulary());
            checkpoint.write(best_path(&self.run))?;
        }
        Ok(())
    }

    /// Everything that is still on its way.
    fn settle(&mut self, watch: &mut impl FnMut(&Progress)) -> Result<()> {
        self.trainer.device().wait()?;
        self.clock.stop();
        self.write_late(None, watch)
    }

    /// Writes the losses that were asked for; a validation belongs to the last update.
    fn write_late(&mut self, validation: Option<f64>, watch: &mut impl FnMut(&Progress)) -> Result<()> {
        let update = self.trainer.updates();
        // A validation has a row even where no loss is due.
        let mut validation = validation;
        for (at, rate, late) in std::mem::take(&mut self.late) {
            self.loss = late.get()?;
            // Halves may overflow once, and the update is skipped then.
            let again = std::mem::replace(&mut self.bad, !self.loss.is_finite());
            if self.bad && (again || !self.settings.mixed) {
                return Err(Error::Diverged { update: at, loss: self.loss });
            }
            let seen = if at == update { validation.take() } else { None };
            self.row(at, Some((self.loss, rate)), seen)?;
        }
        if let Some(loss) = validation {
            self.row(update, None, Some(loss))?;
        }
        let (updates, tokens_per_second) =
            (self.trainer.updates_in_all(), self.clock.now().tokens_per_second());
        watch(&Progress { update, updates, loss: self.loss, validation: self.validation, tokens_per_second });
        Ok(())
    }

    fn row(&mut self, update: u64, logged: Option<(f32, f32)>, validation: Option<f64>) -> Result<()> {
        let tokens = update * self.settings.update_tokens();
        let row: [Cell; 4] =
            [tokens.into(), logged.map(|l| l.0).into(), logged.map(|l| l.1).into(), validation.into()];
        Ok(self.log.row(update, &row)?)
    }

    fn save(&mut self) -> Result<()> {
        let mut checkpoint = Checkpoint::new(KIND, self.trainer.updates());
        self.trainer.put(&mut checkpoint)?;
        let random = self.trainer.device().random_state();
        checkpoint.set_value(Stored { vocabulary: self.vocabulary(), random, best: self.best });
        Ok(self.run.save(&checkpoint, &mut self.log)?)
    }

    fn vocabulary(&self) -> Vocabulary {
        Vocabulary { tokenizer: self.parts.tokenizer.clone(), validation_loss: self.validation }
    }
}

/// Times the updates of a process without the first, which compiles, and without validations and checkpoints.
struct Clock {
    started: Instant,
    /// Since when the clock runs.
    since: Option<Instant>,
    first: bool,
    update_tokens: u64,
    speed: Speed,
}

impl Clock {
    fn new(update_tokens: u64) -> Clock {
        Clock { started: Instant::now(), since: None, first: true, update_tokens, speed: Speed::default() }
    }

    fn begin(&mut self) {
        self.started = Instant::now();
    }

    fn is_first(&self) -> bool {
        self.first
    }

    fn counted(&mut self) {
        if self.since.is_some() {
            self.speed.tokens += self.update_tokens;
        }
    }

    /// The device has nothing left to do.
    fn stop(&mut self) {
        self.speed = self.now();
        self.since = None;
        self.first = false;
    }

    fn go_on(&mut self) {
        self.since = Some(Instant::now());
    }

    /// Forgets the time since the last pause: something else was measured.
    fn restart(&mut self, device: &farad::Device) -> Result<()> {
        device.wait()?;
        if self.since.is_some() {
            (self.speed, self.since) = (Speed::default(), Some(Instant::now()));
        }
        Ok(())
    }

    fn now(&self) -> Speed {
        let more = self.since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        Speed { seconds: self.speed.seconds + more, ..self.speed }
    }
}

/// Profiles a few updates of a process.
struct Probe {
    /// The first update of the host's profile, counted from 0, and how many it has.
    host: (u64, u64),
    /// The same of the kernels' profile.
    kernels: (u64, u64),
    open: Option<OpenProfile>,
    found: Vec<Profile>,
}

impl Probe {
    fn new(done: u64, in_all: u64) -> Probe {
        let (first, of_host, of_kernels) = match in_all.saturating_sub(done) {
            60.. => (10, 20, 5),
            8.. => (3, 3, 2),
            _ => (0, 0, 0),
        };
        let first = done + first;
        Probe { host: (first, of_host), kernels: (first + of_host, of_kernels), open: None, found: vec![] }
    }

    /// Opens what begins with the next update.
    fn before(&mut self, trainer: &Trainer) {
        let next = trainer.updates();
        let options = match next {
            _ if self.host.1 > 0 && next == self.host.0 => Breakdown::host_options(),
            _ if self.kernels.1 > 0 && next == self.kernels.0 => Breakdown::kernel_options(),
            _ => return,
        };
        if let Err(error) = trainer.device().wait() {
            tracing::warn!("profile: {error}");
        }
        self.open = Some(trainer.device().open_profile(options));
    }

    /// Closes what ended with the last update; whether the last of them is done.
    fn after(&mut self, trainer: &Trainer) -> Result<bool> {
        let made = trainer.updates();
        let ends = [self.host, self.kernels].map(|(first, count)| first + count);
        if self.open.is_none() || !ends.contains(&made) {
            return Ok(false);
        }
        self.found.extend(self.open.take().map(OpenProfile::finish));
        Ok(made == ends[1])
    }

    fn breakdown(&self) -> Option<Breakdown> {
        match &self.found[..] {
            [host, kernels] => Some(Breakdown::of((kernels, self.kernels.1), (host, self.host.1))),
            _ => None,
        }
    }
}
