//! A training run in its folder: updates, log, evaluations, checkpoints, and going on after any of
//! them.
//!
//! Invariant: what is written depends only on the configuration and the device, never on when the
//! process was stopped and resumed.

use std::time::Instant;

use farad::Device;
use farad::optim::Optimizer;
use farad::run::{Cell, Checkpoint, Events, Log, Run, Stop, json};

use super::learned::Kept;
use super::{Configuration, KIND, Trainer};
use crate::error::{Error, Result};
use crate::recipe::{Recipe, Start};
use crate::settings::Settings;

/// Starts of an evaluation during training, where starts are random.
const STARTS: usize = 16;

/// Further starts for circuits that were right on these.
const MORE_STARTS: usize = 64;

/// Where further starts are drawn, far from those of any update.
const MORE: u64 = 1 << 40;

/// How training stands, for whoever watches.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Updates made, of how many.
    pub update: u64,
    /// Updates at the end.
    pub updates: u64,
    /// The mean soft loss of the seeds.
    pub soft_loss: f32,
    /// The mean hard loss at the last evaluation.
    pub hard_loss: Option<f32>,
    /// Seeds whose kept circuit was right when evaluated, of how many.
    pub exact: usize,
    /// Seeds in all.
    pub seeds: usize,
    /// Wrong bits of the best seed at the last evaluation.
    pub wrong: Option<f32>,
}

/// How training ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Updates made.
    pub updates: u64,
    /// Whether it was asked to stop before its end.
    pub interrupted: bool,
    /// Whether every seed was right before the last update.
    pub early: bool,
}

/// A run under way.
pub struct Training {
    run: Run,
    recipe: Recipe,
    settings: Settings,
    trainer: Trainer,
    log: Log,
    events: Events,
    kept: Kept,
    /// When this process began to train.
    started: Instant,
}

impl Training {
    /// Starts a run in a new folder.
    pub fn start(
        folder: &std::path::Path,
        configuration: Configuration,
        device: &Device,
    ) -> Result<Training> {
        // What cannot be trained leaves no run behind.
        let help = "take a smaller grid, batch, number of steps or of seeds, or another device";
        configuration.need().check(device, help)?;
        let table = configuration.table();
        let Configuration { recipe, settings, seeds, .. } = configuration;
        let trainer = Trainer::new(recipe, settings.clone(), &seeds, device);
        let kept = Kept::new(trainer.hard_gates()?);
        let run = Run::create(folder, KIND, table)?;
        let log = run.create_log(&columns(&seeds).iter().map(String::as_str).collect::<Vec<_>>())?;
        let mut events = run.events()?;
        let fields = json!({ "recipe": recipe.name, "device": device.name(), "seeds": seeds });
        events.write("start", 0, fields)?;
        Ok(Training { run, recipe, settings, trainer, log, events, kept, started: Instant::now() })
    }

    /// Goes on with a run from its checkpoint, to another number of updates if one is given.
    ///
    /// A run that was stopped ends with the bits of an unbroken one. One that had come to its end, and is given
    /// more updates, learns the same logits as if it had been given them at once, unless a schedule
    /// stretches over the run (`sharpness`, `freeze_from`, `ramp_from`, `final_rate`); but its last update was evaluated, out of turn if need
    /// be. That look stays in the log, and its circuit is kept if it was the best.
    pub fn resume(mut run: Run, updates: Option<u64>, device: &Device) -> Result<Training> {
        let mut configuration = Configuration::of(&run)?;
        let checkpoint = run.checkpoint()?;
        if let Some(checkpoint) =
            checkpoint.as_ref().filter(|c| c.tuning() != device.tuning_name().as_deref())
        {
            let name = |tuning: Option<&str>| tuning.unwrap_or("the fixed rule").to_string();
            let (then, now) = (name(checkpoint.tuning()), name(device.tuning_name().as_deref()));
            tracing::warn!("the run was made with other tiles ({then} vs {now}): its last bits may differ");
        }
        let made = checkpoint.as_ref().map(Checkpoint::step);
        if let Some(asked) = updates {
            if let Some(made) = made.filter(|&made| asked < made) {
                return Err(Error::UpdatesMade { asked, made });
            }
            configuration.settings.updates = asked;
        }
        let moved = configuration.device != device.name();
        configuration.device = device.name().to_string();
        let table = configuration.table();
        let Configuration { recipe, settings, seeds, .. } = configuration;
        let mut trainer = Trainer::new(recipe, settings.clone(), &seeds, device);
        let kept = match &checkpoint {
            None => Kept::new(trainer.hard_gates()?),
            Some(checkpoint) => {
                let logits = checkpoint.tensor("logits", trainer.logits().shape(), device)?;
                trainer.restore(logits, &checkpoint.tensors("optimizer", device)?, checkpoint.step())?;
                Kept::of(checkpoint, seeds.len(), trainer.topology.gates())?
            }
        };
        if updates.is_some() || moved {
            run.set_config(table)?;
        }
        let names = columns(&seeds);
        let log = run.resume_log(&names.iter().map(String::as_str).collect::<Vec<_>>(), made)?;
        let mut events = run.events()?;
        events.write("resume", trainer.updates(), json!({ "device": device.name() }))?;
        Ok(Training { run, recipe, settings, trainer, log, events, kept, started: Instant::now() })
    }

    /// The run's folder.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The run alone, still locked, for what is written after training.
    pub fn into_run(self) -> Run {
        self.run
    }

    /// Updates at the end.
    pub fn updates_in_all(&self) -> u64 {
        self.settings.updates
    }

    /// The trainer.
    pub fn trainer(&self) -> &Trainer {
        &self.trainer
    }

    /// Trains to the end, or until asked to stop; `watch` is told how it stands.
    pub fn train(&mut self, stop: &Stop, mut watch: impl FnMut(&Progress)) -> Result<Summary> {
        self.started = Instant::now();
        let mut interrupted = false;
        while self.trainer.updates() < self.settings.updates && !self.is_done() {
            if stop.is_set() {
                interrupted = true;
                break;
            }
            self.advance(&mut watch)?;
        }
        let updates = self.trainer.updates();
        self.checkpoint()?;
        let early = !interrupted && updates < self.settings.updates;
        self.event(if interrupted { "interrupted" } else { "end" })?;
        Ok(Summary { updates, interrupted, early })
    }

    /// One update and whatever is due after it.
    fn advance(&mut self, watch: &mut impl FnMut(&Progress)) -> Result<()> {
        let losses = self.trainer.update()?;
        let update = self.trainer.updates();
        let last = update == self.settings.updates;
        let evaluates = update.is_multiple_of(self.settings.evaluate_every) || last;
        if evaluates || update.is_multiple_of(self.settings.log_every) || update == 1 {
            let soft = losses.to_vec::<f32>()?;
            let hard = if evaluates { Some(self.evaluate()?) } else { None };
            self.log_row(update, &soft, hard.as_ref())?;
            watch(&self.progress(&soft));
        }
        if update.is_multiple_of(self.settings.checkpoint_every) {
            self.checkpoint()?;
            self.event("checkpoint")?;
        }
        Ok(())
    }

    /// Writes down how long this process has trained by now; after a kill, the last of these counts.
    fn event(&mut self, event: &str) -> Result<()> {
        let seconds = self.started.elapsed().as_secs_f64();
        let fields = json!({ "training_seconds": seconds, "exact": self.kept.exact() });
        Ok(self.events.write(event, self.trainer.updates(), fields)?)
    }

    /// Evaluates the hard circuits of all seeds and keeps what is best.
    fn evaluate(&mut self) -> Result<(Vec<f32>, Vec<f32>)> {
        let update = self.trainer.updates();
        let random = self.recipe.start == Start::RandomBits || self.settings.fire_rate < 1.0;
        let batch = match self.recipe.start {
            Start::Boards => 512,
            _ if random => STARTS,
            _ => 1,
        };
        let (losses, mut wrong) = self.trainer.hard_losses(update, batch)?;
        if random && wrong.contains(&0.0) {
            let (_, more) = self.trainer.hard_losses(update + MORE, MORE_STARTS)?;
            // Only for those who were right, so that a seed is judged alike alone and among others.
            wrong
                .iter_mut()
                .zip(more)
                .filter(|(wrong, _)| **wrong == 0.0)
                .for_each(|(wrong, more)| *wrong = more);
        }
        let now = self.trainer.hard_gates()?;
        for (seed, gates) in now.into_iter().enumerate() {
            let best = &mut self.kept.best[seed];
            let done =
                self.settings.stop_after_exact > 0 && best.right_in_a_row >= self.settings.stop_after_exact;
            if done {
                continue;
            }
            let better = best.wrong.is_none_or(|old| wrong[seed] <= old);
            if better || !self.settings.keep_best {
                (best.wrong, best.update) = (Some(wrong[seed]), update);
                self.kept.gates[seed] = gates;
            }
            best.right_in_a_row = if wrong[seed] == 0.0 { best.right_in_a_row + 1 } else { 0 };
        }
        self.kept.hard_loss = Some(losses.iter().sum::<f32>() / losses.len() as f32);
        self.kept.wrong = wrong.iter().copied().reduce(f32::min);
        Ok((losses, wrong))
    }

    fn log_row(&mut self, update: u64, soft: &[f32], hard: Option<&(Vec<f32>, Vec<f32>)>) -> Result<()> {
        let cells = |seed: usize| {
            let hard = hard.map(|(losses, wrong)| (losses[seed], wrong[seed]));
            [Cell::from(soft[seed]), Cell::from(hard.map(|h| h.0)), Cell::from(hard.map(|h| h.1))]
        };
        let row: Vec<Cell> = (0..soft.len()).flat_map(cells).collect();
        Ok(self.log.row(update, &row)?)
    }

    fn progress(&self, soft: &[f32]) -> Progress {
        Progress {
            update: self.trainer.updates(),
            updates: self.settings.updates,
            soft_loss: soft.iter().sum::<f32>() / soft.len() as f32,
            hard_loss: self.kept.hard_loss,
            exact: self.kept.exact(),
            seeds: self.kept.best.len(),
            wrong: self.kept.wrong,
        }
    }

    fn is_done(&self) -> bool {
        let enough = self.settings.stop_after_exact;
        enough > 0 && self.kept.best.iter().all(|best| best.right_in_a_row >= enough)
    }

    fn checkpoint(&mut self) -> Result<()> {
        let mut checkpoint = Checkpoint::new(KIND, self.trainer.updates());
        checkpoint.put("logits", &self.trainer.logits());
        checkpoint.put_all("optimizer", self.trainer.optimizer().state()?);
        self.kept.put(&mut checkpoint);
        Ok(self.run.save(&checkpoint, &mut self.log)?)
    }
}

/// The columns of the log: three a seed.
fn columns(seeds: &[u64]) -> Vec<String> {
    let names = ["soft_loss", "hard_loss", "wrong"];
    match seeds {
        [_] => names.map(str::to_string).to_vec(),
        _ => seeds.iter().flat_map(|seed| names.map(|name| format!("{name}_{seed}"))).collect(),
    }
}
