//! Automata in training, as the training loop sees them: updates, evaluations of the hard circuits,
//! checkpoints, the end.
//!
//! Invariant: every seed keeps its own best circuit, so that its result is the same alone and among others.

use farad::group::Group;
use farad::run::{Checkpoint, LogCell, Run, Value, count, json};
use farad::train::{Glimpse, LoopSettings, Outcome, Standing, Trainee, TrainingSummary, Validation, Watcher};
use farad::{Device, Tensor};

use super::learned::KeptSeeds;
use super::ranks::SeedsOfRanks;
use super::{AutomatonTrainer, Configuration};
use crate::error::Result;
use crate::evaluate::Examination;
use crate::harden::harden;
use crate::recipe::Trial;
use crate::repair::{self, AutomatonSelection, Effort};
use crate::report;

/// Further starts for circuits that were right on the first ones.
const MORE_STARTS: usize = 64;

/// Offset of the further starts in the stream, far from those of any update.
const MORE: u64 = 1 << 40;

/// Automata of several seeds in training, and the circuits that are kept.
///
/// An interrupted run ends with the same bits as an uninterrupted one. A finished run that gets more updates
/// learns the same logits as a run that had them from the start, unless a schedule depends on the length of the
/// run (`sharpness`, `freeze_from`, `ramp_from`, `final_rate`). There is one difference: its former last update
/// was evaluated, even if no evaluation was due. That evaluation stays in the log, and its circuit is kept if
/// it was the best.
pub struct Learners {
    configuration: Configuration,
    /// Of the seeds of this rank.
    trainer: AutomatonTrainer,
    ranks: SeedsOfRanks,
    kept: KeptSeeds,
    /// Whether only wrong bits are counted at the end.
    quick: bool,
    /// The number of seeds of the run that training starts from, and which of them are those of this one.
    from: (usize, Vec<usize>),
}

impl Learners {
    /// The state before the first update. `from` says how many seeds the run that training starts from has, and
    /// which are these.
    pub fn new(
        configuration: Configuration,
        trainer: AutomatonTrainer,
        quick: bool,
        from: (usize, Vec<usize>),
        group: &Group,
    ) -> Result<Learners> {
        let ranks = SeedsOfRanks::new(configuration.seeds.len(), group);
        let kept = KeptSeeds::new(ranks.begun(trainer.hard_gates()?));
        Ok(Learners { configuration, trainer, ranks, kept, quick, from })
    }

    /// Before the first evaluation: the gates that all ranks begin with.
    fn keep_first(&mut self) -> Result<()> {
        if !self.ranks.is_alone() && self.kept.best.iter().all(|best| best.wrong.is_none()) {
            self.kept = KeptSeeds::new(self.ranks.gates(self.trainer.hard_gates()?)?);
        }
        Ok(())
    }

    /// The trainer.
    pub fn trainer(&self) -> &AutomatonTrainer {
        &self.trainer
    }

    /// Losses and wrong bits of the hard circuits of all seeds.
    fn evaluate(&self) -> Result<(Vec<f32>, Vec<f32>)> {
        let Configuration { recipe, settings, .. } = &self.configuration;
        let update = self.trainer.updates();
        let (losses, mut wrong) = self.trainer.hard_losses(update, recipe.starts(settings))?;
        if recipe.is_random(settings) && wrong.contains(&0.0) {
            let (_, more) = self.trainer.hard_losses(update + MORE, MORE_STARTS)?;
            // Only for seeds that were right, so that a seed is judged the same alone and among others.
            wrong
                .iter_mut()
                .zip(more)
                .filter(|(wrong, _)| **wrong == 0.0)
                .for_each(|(wrong, more)| *wrong = more);
        }
        Ok((self.ranks.numbers(&losses)?, self.ranks.numbers(&wrong)?))
    }

    /// The negative number of wrong bits of the kept circuits of all seeds.
    fn goodness(&self) -> f64 {
        -self.kept.best.iter().map(|best| f64::from(best.wrong.unwrap_or(f32::INFINITY))).sum::<f64>()
    }

    /// Keeps the best circuits, seed by seed.
    fn keep_best(&mut self, losses: &[f32], wrong: &[f32]) -> Result<()> {
        let (settings, update) = (&self.configuration.settings, self.trainer.updates());
        let enough = settings.stop_after_exact;
        for (seed, gates) in self.ranks.gates(self.trainer.hard_gates()?)?.into_iter().enumerate() {
            let best = &mut self.kept.best[seed];
            if enough > 0 && best.right_in_a_row >= enough {
                continue;
            }
            let better = best.wrong.is_none_or(|old| wrong[seed] <= old);
            if better || !settings.course.keep_best {
                (best.wrong, best.update) = (Some(wrong[seed]), update);
                self.kept.gates[seed] = gates;
            }
            best.right_in_a_row = if wrong[seed] == 0.0 { best.right_in_a_row + 1 } else { 0 };
        }
        self.kept.hard_loss = Some(mean(losses));
        self.kept.wrong = wrong.iter().copied().reduce(f32::min);
        Ok(())
    }
}

impl Trainee for Learners {
    fn title(&self) -> String {
        let (recipe, seeds) = (&self.configuration.recipe, self.configuration.seeds.len());
        let many = if seeds > 1 { format!(", {seeds} seeds at once") } else { String::new() };
        format!("{}: {}{many}", recipe.name, recipe.about)
    }

    fn device(&self) -> &Device {
        self.trainer.device()
    }

    fn pace(&self) -> &LoopSettings {
        &self.configuration.settings.course
    }

    fn unit(&self) -> &'static str {
        "update"
    }

    fn steps_in_all(&self) -> u64 {
        self.configuration.settings.updates
    }

    fn step(&mut self) -> farad::Result<Tensor> {
        Ok(self.trainer.update()?)
    }

    /// Three columns per seed.
    fn columns(&self) -> Vec<String> {
        let names = ["soft_loss", "hard_loss", "wrong"];
        match &self.configuration.seeds[..] {
            [_] => names.map(str::to_string).to_vec(),
            seeds => seeds.iter().flat_map(|seed| names.map(|name| format!("{name}_{seed}"))).collect(),
        }
    }

    fn row(&self, _: u64, losses: Option<&[f32]>, validation: Option<&Validation>) -> Vec<LogCell> {
        let cell = |place: usize| validation.map_or(LogCell::default(), |seen| seen.cells[place].clone());
        let soft = |seed: usize| LogCell::from(losses.map(|losses| losses[seed]));
        let seeds = 0..self.configuration.seeds.len();
        seeds.flat_map(|seed| [soft(seed), cell(2 * seed), cell(2 * seed + 1)]).collect()
    }

    fn validate(&mut self) -> farad::Result<Option<Validation>> {
        let (losses, wrong) = self.evaluate()?;
        self.keep_best(&losses, &wrong)?;
        let cells = losses.iter().zip(&wrong).flat_map(|(&loss, &wrong)| [loss.into(), wrong.into()]);
        let cells = cells.collect();
        Ok(Some(Validation { goodness: self.goodness(), later_wins: false, cells }))
    }

    fn is_spread(&self) -> bool {
        true
    }

    fn synchronize(&mut self) -> farad::Result<()> {
        Ok(self.keep_first()?)
    }

    fn gather(&mut self) -> farad::Result<()> {
        self.keep_first()?;
        Ok(self.ranks.gather(&self.trainer)?)
    }

    fn save(&self, checkpoint: &mut Checkpoint) -> farad::Result<()> {
        let (logits, optimizer) = self.ranks.whole(&self.trainer)?;
        checkpoint.put("logits", &logits);
        checkpoint.put_all("optimizer", optimizer);
        self.kept.put(checkpoint);
        Ok(())
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> farad::Result<()> {
        let (seeds, device) = (self.configuration.seeds.len(), self.trainer.device().clone());
        let own = self.trainer.logits().shape();
        let logits = self.ranks.own(&checkpoint.tensor("logits", [seeds, own[1], own[2]], &device)?)?;
        let state = self.ranks.own_state(checkpoint.tensors("optimizer", &device)?)?;
        self.trainer.restore(logits, &state, checkpoint.step())?;
        self.kept = KeptSeeds::of(checkpoint, seeds, self.kept.gates[0].len())?;
        Ok(())
    }

    fn former_standing(&self, _: &Checkpoint) -> farad::Result<Standing> {
        let best = Some(self.goodness()).filter(|goodness| goodness.is_finite());
        let best_step = self.kept.best.iter().map(|best| best.update).max().unwrap_or(0);
        Ok(Standing { best, best_step, ..Standing::default() })
    }

    fn take_weights(&mut self, weights: &Checkpoint) -> farad::Result<()> {
        let ((others, places), device) = (&self.from, self.trainer.device().clone());
        let own = self.trainer.logits().shape();
        let all = weights.tensor("logits", [*others, own[1], own[2]], &device)?;
        let places: Vec<i32> = places.iter().map(|&place| place as i32).collect();
        let count = places.len();
        let logits = all.index_select(0, &Tensor::from_vec(places, [count], &device)).detach()?;
        self.trainer.parameter().set(logits);
        self.kept = KeptSeeds::new(self.ranks.begun(self.trainer.hard_gates()?));
        Ok(())
    }

    fn is_done(&self) -> Option<String> {
        let enough = self.configuration.settings.stop_after_exact;
        let done = enough > 0 && self.kept.best.iter().all(|best| best.right_in_a_row >= enough);
        done.then(|| "as every circuit was right".into())
    }

    fn logs_means(&self) -> bool {
        true
    }

    /// The end of a roll-out of the kept circuit: of the first seed that was right, else of the first.
    fn glimpse(&mut self) -> farad::Result<Option<Glimpse>> {
        let Configuration { recipe, settings, seeds, .. } = &self.configuration;
        let shown = self.kept.best.iter().position(|best| best.wrong == Some(0.0)).unwrap_or(0);
        let (seed, topology) = (seeds[shown], &recipe.topology);
        let (layers, gates) = (topology.wire(seed), &self.kept.gates[shown]);
        let automaton = harden("shown", topology, &layers, gates, recipe.visible, settings.fire_rate);
        let trained = Trial { height: settings.height, width: settings.width, steps: settings.steps };
        let examination = Examination { recipe, automaton: &automaton, trained, seed };
        Ok(Some(Glimpse::Picture(report::last_frame(&examination)?)))
    }

    fn words(&self, losses: &[f32]) -> String {
        let hard = self.kept.hard_loss.map_or("–".to_string(), |loss| format!("{loss:.1}"));
        let wrong = self.kept.wrong.map_or("–".to_string(), |wrong| count(wrong as u64));
        let (soft, exact, seeds) = (mean(losses), self.kept.exact(), self.kept.best.len());
        format!("soft loss {soft:.3}  hard loss {hard}  wrong bits {wrong}  exact {exact}/{seeds}")
    }

    fn about(&self) -> Value {
        json!({ "recipe": self.configuration.recipe.name, "seeds": self.configuration.seeds })
    }

    fn noted(&self, _: bool) -> Value {
        json!({ "exact": self.kept.exact() })
    }

    fn concluding(&self) -> String {
        match (self.quick, self.configuration.settings.repair) {
            (true, _) => "checking the circuits:",
            (_, true) => "now repairing circuits that are not exact, simplifying and proving",
            (_, false) => "now simplifying and proving",
        }
        .into()
    }

    fn finish(&mut self, run: &Run, watcher: &dyn Watcher) -> farad::Result<()> {
        if self.configuration.settings.repair && !self.quick {
            let again = self.configuration.settings.train_again;
            let effort = Effort { again, ..Effort::after(self.trainer.updates()) };
            let (group, device) = (self.ranks.group(), repair::device_after(self.trainer.device()));
            repair::repair_in(group, run, &effort, AutomatonSelection::Inexact, &device, watcher)?;
        }
        Ok(())
    }

    fn conclude(&mut self, run: &Run, _: &TrainingSummary, watcher: &dyn Watcher) -> farad::Result<Outcome> {
        if self.quick {
            let checks = report::check(run)?;
            report::note(run, &checks)?;
            return Ok(report::glance(&checks).next("eval RUN", "simplify and prove"));
        }
        let verdicts = report::conclude(run, watcher)?;
        Ok(report::learned(&self.configuration.recipe, &verdicts))
    }
}

fn mean(numbers: &[f32]) -> f32 {
    numbers.iter().sum::<f32>() / numbers.len() as f32
}
