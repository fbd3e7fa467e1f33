//! The loop: steps, log, validation, checkpoints, going on after any of them, and ending.
//!
//! Invariant: what is logged, kept as best or stopped by depends on the settings, the data and the device, never on a clock or
//! on when the process was stopped and resumed. Only checkpoints are written by time, too. Start at [`Training::open`].
//!
//! Several ranks run the same loop ([`Training::open_in`]). Losses are their means. The first rank alone writes. What depends
//! on a clock or on a signal is agreed on whenever a row is logged, so all ranks do the same things after the same steps.

mod interval;
mod late;
mod settings;
mod standing;

use std::time::{Duration, Instant};

use farad_group::{Combine, Group};
use farad_tensor::Tensor;
use serde_json::{Value, json};

use crate::error::{Result, TrainError};
use crate::kind::{Trainee, Validation};
use crate::outcome::Outcome;
use crate::run::{Checkpoint, Events, Log, LogCell, MEMORY_OF_RANKS, Run, Stop};
use crate::watcher::{Progress, Watcher};
use interval::{LateLosses, MOST_FRESH, is_regular};
pub use settings::LoopSettings;
pub use standing::Standing;

/// Between validations, what the model makes is shown so often.
const SELDOM: Duration = Duration::from_secs(5);
/// How many times as long as it takes training goes on before it is shown again.
const SHARE: u32 = 20;

/// How training ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingSummary {
    /// Steps made.
    pub steps: u64,
    /// Whether it was asked to stop before its end.
    pub interrupted: bool,
    /// Why it ended before its last step, if it did so by itself.
    pub early: Option<String>,
}

/// A run under way.
pub struct Training<T: Trainee + ?Sized = dyn Trainee> {
    run: Run,
    /// The log and the history, of the rank that writes.
    written: Option<(Log, Events)>,
    group: Group,
    /// What ranks agreed on when they last logged.
    agreed: Agreed,
    trainee: Box<T>,
    standing: Standing,
    step: u64,
    /// Losses that were not asked for yet, of the last steps.
    fresh: Vec<Tensor>,
    /// Losses on their way, oldest first.
    late: Vec<LateLosses>,
    /// Those of the last row of the log.
    losses: Vec<f32>,
    /// No step was made yet by this process.
    first: bool,
    /// When this process began to train.
    started: Instant,
    /// When it last saved.
    saved: Instant,
    /// When it was last shown what the model makes, and how long that took.
    shown: (Instant, Duration),
    /// The most bytes that the device of every rank held, once training has ended.
    memory: Vec<u64>,
}

impl<T: Trainee + ?Sized> Training<T> {
    /// Starts a run in its folder, or goes on from its checkpoint if it has one. The trainee must be as before the first
    /// step either way.
    pub fn open(run: Run, trainee: Box<T>) -> Result<Training<T>> {
        Training::open_in(&Group::alone(), run, trainee)
    }

    /// The same by several ranks. Only the first needs a run that it may write to.
    pub fn open_in(group: &Group, run: Run, mut trainee: Box<T>) -> Result<Training<T>> {
        let checkpoint = run.checkpoint()?;
        let standing = match &checkpoint {
            Some(checkpoint) => restore(&mut *trainee, checkpoint)?,
            None => Standing::default(),
        };
        let from = trainee.pace().from.clone();
        let takes_weights = checkpoint.is_none() && !from.is_empty();
        if takes_weights {
            trainee.take_weights(&weights_of(&from, run.kind())?)?;
        }
        let step = checkpoint.as_ref().map(Checkpoint::step);
        let written = match group.is_first() {
            true => Some(begin(&run, &*trainee, step)?),
            false => None,
        };
        let (group, agreed) = (group.clone(), Agreed::default());
        let (fresh, late, losses, first, now) = (vec![], vec![], vec![], true, Instant::now());
        let (step, started, saved) = (step.unwrap_or(0), now, now);
        let mut training = Training {
            run,
            written,
            group,
            agreed,
            trainee,
            standing,
            step,
            fresh,
            late,
            losses,
            first,
            started,
            saved,
            shown: (now, Duration::ZERO),
            memory: vec![],
        };
        if takes_weights {
            // From here on nobody needs the other run.
            training.save()?;
        }
        Ok(training)
    }

    /// What is trained.
    pub fn trainee(&self) -> &T {
        &self.trainee
    }

    /// The run's folder.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Gives the run other settings, once it goes on with them.
    pub fn set_config(&mut self, config: toml::Table) -> Result<()> {
        self.run.set_config(config)
    }

    /// Steps made.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// The run, still locked, and what was trained, for what is written after training.
    pub fn into_parts(self) -> (Run, Box<T>) {
        (self.run, self.trainee)
    }

    /// Judges what was learned and writes it down. Ranks other than the first wait for it, and have no outcome.
    pub fn conclude(&mut self, summary: &TrainingSummary, watcher: &dyn Watcher) -> Result<Outcome> {
        self.group.barrier()?;
        self.trainee.finish(&self.run, watcher)?;
        let outcome = match self.group.is_first() {
            true => self.trainee.conclude(&self.run, summary, watcher)?,
            false => Outcome::default(),
        };
        self.group.barrier()?;
        Ok(outcome)
    }

    /// Trains to the end, or until asked to stop; `watcher` gets the progress.
    pub fn train(&mut self, stop: &Stop, watcher: &dyn Watcher) -> Result<TrainingSummary> {
        (self.started, self.saved) = (Instant::now(), Instant::now());
        self.shown.0 = Instant::now();
        self.trainee.synchronize()?;
        let (mut interrupted, mut early) = (false, None);
        while self.step < self.trainee.steps_in_all() {
            early = self.may_end();
            if early.is_some() {
                break;
            }
            if self.agreed.stops || (self.group.is_alone() && stop.is_set()) {
                interrupted = true;
                break;
            }
            self.advance(stop, watcher)?;
        }
        self.pause(false, watcher)?;
        self.save()?;
        self.memory = match self.group.is_alone() {
            true => vec![],
            false => self.group.all_gather(&[self.trainee.device().counters().bytes_peak as u64])?.concat(),
        };
        self.event(if interrupted { "interrupted" } else { "end" }, true)?;
        Ok(TrainingSummary { steps: self.step, interrupted, early })
    }

    /// Why training may end now, if it may.
    fn may_end(&self) -> Option<String> {
        let patience = self.trainee.pace().patience;
        let waited = patience > 0 && self.standing.since_best >= patience;
        let words = || format!("as {} did not get better", validations(patience));
        self.trainee.is_done().or_else(|| waited.then(words))
    }

    /// One step and whatever is due after it.
    fn advance(&mut self, stop: &Stop, watcher: &dyn Watcher) -> Result<()> {
        let loss = self.trainee.step()?;
        self.step += 1;
        let mut due = self.due();
        if due.logs && !self.group.is_alone() {
            self.agreed = self.agree(stop)?;
            due.saves |= self.agreed.saves;
        }
        let all = self.trainee.logs_means();
        if all || due.logs {
            self.fresh.push(loss);
        }
        if due.logs || self.fresh.len() == MOST_FRESH {
            // Those before have arrived by now, most likely.
            if !self.late.is_empty() {
                self.write(None, watcher)?;
            }
            self.ask(due.logs);
        }
        let first = std::mem::replace(&mut self.first, false);
        if due.evaluates || due.saves || first || (due.logs && self.trainee.waits()) {
            self.pause(due.evaluates, watcher)?;
            if due.saves {
                self.save()?;
                self.event("checkpoint", false)?;
            }
            self.trainee.goes_on();
        }
        if due.logs && !due.evaluates && self.is_time_to_show(watcher) {
            self.trainee.device().wait()?;
            self.trainee.pauses();
            self.show(watcher)?;
            self.trainee.goes_on();
        }
        Ok(())
    }

    /// Asks all ranks whether one of them should stop, or has not saved for long.
    fn agree(&self, stop: &Stop) -> Result<Agreed> {
        let mut asked = [u32::from(stop.is_set()), u32::from(self.is_late())];
        self.trainee.device().waiting_for_others(|| self.group.all_reduce(&mut asked, Combine::Max))?;
        Ok(Agreed { stops: asked[0] > 0, saves: asked[1] > 0 })
    }

    /// Whether the last checkpoint is long ago.
    fn is_late(&self) -> bool {
        let seconds = self.trainee.pace().checkpoint_seconds;
        seconds > 0 && self.saved.elapsed() >= Duration::from_secs(seconds)
    }

    /// What is due after the step that was just made.
    fn due(&self) -> Due {
        let pace = self.trainee.pace();
        let (step, last) = (self.step, self.step == self.trainee.steps_in_all());
        let every = match pace.evaluate_every {
            0 => self.trainee.epoch().max(1),
            every => every,
        };
        let evaluates = last || step.is_multiple_of(every);
        let logs = last || is_regular(step, pace.log_every);
        let late = self.group.is_alone() && self.is_late();
        let ends = self.trainee.saves_epochs() && step.is_multiple_of(self.trainee.epoch().max(1));
        let saves = late || ends || step.is_multiple_of(pace.checkpoint_every);
        Due { logs: logs || (evaluates && self.trainee.waits()), evaluates, saves }
    }

    /// Whether whoever looks has not seen for a while what the model makes. Making it may take a small part of the time only.
    fn is_time_to_show(&self, watcher: &dyn Watcher) -> bool {
        let (at, took) = self.shown;
        watcher.looks() && self.group.is_first() && at.elapsed() > SELDOM.max(took * SHARE)
    }

    /// Shows what the model makes. Random numbers go on afterwards as if nobody had asked.
    fn show(&mut self, watcher: &dyn Watcher) -> Result<()> {
        let began = Instant::now();
        let device = self.trainee.device().clone();
        let random = device.random_state();
        let glimpse = self.trainee.glimpse();
        device.set_random_state(random);
        if let Some(glimpse) = glimpse? {
            watcher.glimpsed(self.step, &glimpse);
        }
        self.shown = (Instant::now(), began.elapsed());
        Ok(())
    }

    /// Writes the losses that were asked for, and validates if asked to.
    fn pause(&mut self, validates: bool, watcher: &dyn Watcher) -> Result<()> {
        if !self.trainee.waits() {
            self.trainee.device().wait()?;
        }
        self.trainee.pauses();
        let validation = if validates { self.trainee.validate()? } else { None };
        self.write(validation.as_ref(), watcher)?;
        let Some(validation) = validation else { return Ok(()) };
        if watcher.looks() && self.group.is_first() {
            self.show(watcher)?;
        }
        if self.standing.note(self.step, &validation)
            && self.trainee.pace().keep_best
            && self.group.is_first()
            && let Some(best) = self.trainee.keep()?
        {
            best.write(self.run.best_path())?;
        }
        Ok(())
    }

    /// Writes the rows of losses that were asked for; a validation belongs to the last step.
    fn write(&mut self, mut validation: Option<&Validation>, watcher: &dyn Watcher) -> Result<()> {
        let mut wrote = validation.is_some();
        for late in std::mem::take(&mut self.late) {
            let (at, logs) = (late.step, late.logs);
            let last = self.arrived(late)?;
            if !logs {
                continue;
            }
            self.trainee.check(&last)?;
            self.check_losses(at, &last)?;
            self.losses = if self.trainee.logs_means() { self.standing.sums.means() } else { last };
            if is_regular(at, self.trainee.pace().log_every) {
                self.standing.sums = Default::default();
            }
            let seen = if at == self.step { validation.take() } else { None };
            let row = self.trainee.row(at, Some(&self.losses), seen);
            self.log(at, &row)?;
            wrote = true;
        }
        // A validation has a row even where no loss is due.
        if validation.is_some() {
            let row = self.trainee.row(self.step, None, validation);
            self.log(self.step, &row)?;
        }
        if wrote && !self.losses.is_empty() {
            let (step, steps, losses) = (self.step, self.trainee.steps_in_all(), self.losses.clone());
            let words = self.trainee.words(&losses);
            watcher.trained(&Progress { step, steps, losses, words });
        }
        Ok(())
    }

    /// Refuses to go on where no model has a finite loss. One of several may be lost without the others.
    fn check_losses(&mut self, step: u64, losses: &[f32]) -> Result<()> {
        let bad = losses.iter().all(|loss| !loss.is_finite()) && !losses.is_empty();
        let again = std::mem::replace(&mut self.standing.overflowed, bad);
        if bad && (again || !self.trainee.may_overflow()) {
            let (kind, unit) = (self.run.kind().to_string(), self.trainee.unit());
            return Err(TrainError::Diverged { kind, unit, step, loss: losses[0] }.into());
        }
        Ok(())
    }

    fn log(&mut self, step: u64, row: &[LogCell]) -> Result<()> {
        match &mut self.written {
            Some((log, _)) => log.row(step, row),
            None => Ok(()),
        }
    }

    fn save(&mut self) -> Result<()> {
        self.saved = Instant::now();
        if !self.fresh.is_empty() {
            // A checkpoint has the losses of all its steps.
            self.ask(false);
            self.write(None, &())?;
        }
        self.trainee.gather()?;
        let Some((log, _)) = &mut self.written else { return Ok(()) };
        let mut checkpoint = Checkpoint::new(self.run.kind(), self.step);
        self.trainee.save(&mut checkpoint)?;
        checkpoint.set_standing(&self.standing);
        self.run.save(&checkpoint, log)?;
        self.saved = Instant::now();
        Ok(())
    }

    /// Writes down how long this process has trained by now; after a kill, the last of these counts.
    fn event(&mut self, event: &str, ends: bool) -> Result<()> {
        let Some((_, events)) = &mut self.written else { return Ok(()) };
        let mut fields = json!({
            "training_seconds": self.started.elapsed().as_secs_f64(),
            "device_memory": self.trainee.device().counters().bytes_peak,
        });
        if let (Value::Object(fields), Value::Object(noted)) = (&mut fields, self.trainee.noted(ends)) {
            fields.extend(noted);
            if !self.memory.is_empty() {
                fields.insert(MEMORY_OF_RANKS.into(), json!(self.memory));
            }
        }
        events.write(event, self.step, fields)
    }
}

/// Goes on from a checkpoint; how training stood.
fn restore<T: Trainee + ?Sized>(trainee: &mut T, checkpoint: &Checkpoint) -> Result<Standing> {
    warn_of_other_tiles(checkpoint, trainee.device().tuning_name().as_deref());
    trainee.restore(checkpoint)?;
    let (asked, made) = (trainee.steps_in_all(), checkpoint.step());
    if asked < made {
        return Err(TrainError::StepsMade { unit: trainee.unit(), asked, made }.into());
    }
    match checkpoint.standing()? {
        Some(standing) => Ok(standing),
        None => trainee.former_standing(checkpoint),
    }
}

/// The log, without what was logged after the checkpoint, and the history, with one more beginning.
fn begin<T: Trainee + ?Sized>(run: &Run, trainee: &T, step: Option<u64>) -> Result<(Log, Events)> {
    let columns = trainee.columns();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let begun = run.log_path().exists();
    let log = match begun {
        true => run.resume_log(&columns, step)?,
        false => run.create_log(&columns)?,
    };
    let mut events = run.events()?;
    let mut fields = trainee.about();
    fields["device"] = json!(trainee.device().name());
    events.write(if begun { "resume" } else { "start" }, step.unwrap_or(0), fields)?;
    Ok((log, events))
}

/// What ranks agreed on.
#[derive(Clone, Copy, Default)]
struct Agreed {
    stops: bool,
    saves: bool,
}

/// What is due after a step.
struct Due {
    logs: bool,
    evaluates: bool,
    saves: bool,
}

fn validations(count: u64) -> String {
    match count {
        1 => "one validation".into(),
        _ => format!("{count} validations in a row"),
    }
}

/// A resumed run may end with other last bits if products are computed by other tiles.
fn warn_of_other_tiles(checkpoint: &Checkpoint, now: Option<&str>) {
    if checkpoint.tuning() != now {
        let name = |tuning: Option<&str>| tuning.unwrap_or("the fixed rule").to_string();
        let (then, now) = (name(checkpoint.tuning()), name(now));
        tracing::warn!("the run was made with other tiles ({then} vs {now}): its last bits may differ");
    }
}

/// What another run has learned: its best model, or the last.
fn weights_of(folder: &str, kind: &str) -> Result<Checkpoint> {
    let other = Run::open(folder)?;
    if other.kind() != kind {
        let (path, found, wanted) = (other.path().into(), other.kind().into(), kind.into());
        return Err(TrainError::OtherKind { path, found, wanted }.into());
    }
    other.learned()?.ok_or_else(|| TrainError::NothingLearned { path: other.path().into() }.into())
}
