//! Agents in training, as the training loop sees them: updates, validations, checkpoints, the end.

use std::sync::Arc;

use farad::devices::RandomState;
use farad::group::Group;
use farad::run::{Checkpoint, LogCell, Run, Value, count, counted, json};
use farad::train::{LoopSettings, Outcome, Trainee, TrainingSummary, Validation, Watcher};
use farad::{Device, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::algorithm::{Algorithm, NamedAlgorithm};
use super::report;
use super::score::ReturnScore;
use super::settings::Settings;
use crate::environment::Environment;
use crate::episodes::Agents;
use crate::error::stored;

/// Seed offset for the starts of validations, distinct from those of training and judging.
const VALIDATED: u64 = 0x7661_6c69_6461_7465;

/// What a checkpoint contains besides tensors.
#[derive(Serialize, Deserialize)]
struct StoredAgents {
    random: RandomState,
    /// The best validation of every seed.
    best: Vec<Option<f64>>,
    /// The update after which it was reached.
    best_updates: Vec<u64>,
}

/// Agents in training, one per seed.
pub(super) struct AgentsInTraining {
    settings: Settings,
    environment: Arc<dyn Environment>,
    algorithm: Box<dyn Algorithm>,
    device: Device,
    /// The best agent of every seed so far.
    kept: Agents,
    best: Vec<Option<f64>>,
    best_updates: Vec<u64>,
    updates: u64,
}

impl AgentsInTraining {
    /// The state before the first update.
    pub fn new(
        settings: Settings,
        environment: Arc<dyn Environment>,
        device: &Device,
        group: &Group,
    ) -> Result<AgentsInTraining> {
        // Weights are drawn on the CPU, everything else on the device.
        farad::seed(settings.seed);
        let algorithm = NamedAlgorithm::of(&settings.algorithm).expect("checked by its row");
        device.seed(settings.seed);
        let algorithm = (algorithm.make)(environment.clone(), &settings, device)?.distributed(group)?;
        let (kept, device) = (algorithm.agents().detach()?, device.clone());
        let (best, best_updates) = (vec![None; settings.seeds], vec![0; settings.seeds]);
        Ok(AgentsInTraining {
            settings,
            environment,
            algorithm,
            device,
            kept,
            best,
            best_updates,
            updates: 0,
        })
    }

    /// Column names for a number per seed; just the column's name if there is only one seed.
    fn names(&self, column: &str) -> Vec<String> {
        match self.settings.seeds {
            1 => vec![column.to_string()],
            _ => self.settings.all_seeds().map(|seed| format!("{column}_{seed}")).collect(),
        }
    }

    /// The agents that a checkpoint contains.
    fn kept_of(&self, checkpoint: &Checkpoint) -> Result<Agents> {
        let found = checkpoint.tensors("best", &self.device)?;
        Ok(self.kept.with(stored(&self.kept.names(), &self.kept.tensors(), &found)?))
    }

    fn mean_best(&self) -> Option<f64> {
        let known = self.best.iter().copied().collect::<Option<Vec<f64>>>()?;
        Some(known.iter().sum::<f64>() / known.len() as f64)
    }
}

impl Trainee for AgentsInTraining {
    fn title(&self) -> String {
        let numbers = self.kept.network.numbers();
        let seeds =
            if self.settings.seeds > 1 { format!("{} agents of ", self.settings.seeds) } else { "".into() };
        let steps = counted(self.algorithm.steps_per_update(), "step");
        format!(
            "{}: {seeds}{}, {steps} per update at most",
            self.settings.title(),
            counted(numbers, "weight")
        )
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn pace(&self) -> &LoopSettings {
        &self.settings.course
    }

    fn unit(&self) -> &'static str {
        "update"
    }

    fn steps_in_all(&self) -> u64 {
        self.settings.updates
    }

    fn step(&mut self) -> Result<Tensor> {
        self.updates += 1;
        self.algorithm.update()
    }

    fn is_same(&self) -> bool {
        true
    }

    fn columns(&self) -> Vec<String> {
        let all = self.algorithm.columns().iter().chain(&["validation_return"]);
        all.flat_map(|column| self.names(column)).collect()
    }

    fn row(&self, _: u64, losses: Option<&[f32]>, validation: Option<&Validation>) -> Vec<LogCell> {
        let (seeds, columns) = (self.settings.seeds, self.algorithm.columns().len());
        let places = (0..columns).flat_map(|column| (0..seeds).map(move |seed| seed * columns + column));
        let mut row: Vec<LogCell> =
            places.map(|at| losses.and_then(|all| all.get(at).copied()).into()).collect();
        row.extend(validation.map_or(vec![LogCell::default(); seeds], |validation| validation.cells.clone()));
        row
    }

    fn validate(&mut self) -> Result<Option<Validation>> {
        let agents = self.algorithm.agents();
        let (seed, episodes) = (self.settings.seed ^ VALIDATED, self.settings.validation);
        let scores = ReturnScore::of(&*self.environment, &agents, episodes, seed, &self.device)?;
        let means: Vec<f64> = scores.iter().map(ReturnScore::mean).collect();
        let better: Vec<bool> =
            means.iter().zip(&self.best).map(|(mean, best)| best.is_none_or(|best| *mean >= best)).collect();
        for (seed, _) in better.iter().enumerate().filter(|(_, better)| **better) {
            (self.best[seed], self.best_updates[seed]) = (Some(means[seed]), self.updates);
        }
        let mask = Tensor::from_vec(better, [means.len()], &self.device);
        self.kept = self.kept.replaced(&agents, &mask).detach()?;
        let goodness = means.iter().sum::<f64>() / means.len() as f64;
        let cells = means.iter().map(|&mean| mean.into()).collect();
        Ok(Some(Validation { goodness, later_wins: true, cells }))
    }

    fn check(&self, losses: &[f32]) -> Result<()> {
        if losses.iter().all(|loss| loss.is_finite()) { Ok(()) } else { self.algorithm.check() }
    }

    fn gather(&mut self) -> Result<()> {
        // A row of the log may be due later than a checkpoint.
        self.algorithm.check()?;
        self.algorithm.gather()
    }

    fn save(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        checkpoint.put_all("training", self.algorithm.tensors());
        let kept = self.kept.names().into_iter().zip(self.kept.tensors().into_iter().cloned());
        checkpoint.put_all("best", kept.collect());
        let (best, best_updates) = (self.best.clone(), self.best_updates.clone());
        checkpoint.set_value(StoredAgents { random: self.device.random_state(), best, best_updates });
        Ok(())
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let before: StoredAgents = checkpoint.value()?;
        self.algorithm.restore(&checkpoint.tensors("training", &self.device)?, checkpoint.step())?;
        self.kept = self.kept_of(checkpoint)?;
        self.device.set_random_state(before.random);
        (self.best, self.best_updates, self.updates) = (before.best, before.best_updates, checkpoint.step());
        Ok(())
    }

    fn take_weights(&mut self, weights: &Checkpoint) -> Result<()> {
        self.kept = self.kept_of(weights)?;
        self.algorithm.take(&self.kept)
    }

    fn is_done(&self) -> Option<String> {
        let &[goal] = &self.settings.goal[..] else { return None };
        let reached = self.best.iter().all(|best| best.is_some_and(|best| best >= goal));
        reached.then(|| format!("as every agent returned {goal} or more"))
    }

    fn words(&self, losses: &[f32]) -> String {
        let columns = self.algorithm.columns().len();
        let returns: Vec<f32> = losses.chunks(columns).filter_map(|row| row.get(1).copied()).collect();
        let mean = returns.iter().sum::<f32>() / returns.len().max(1) as f32;
        let best = self.mean_best().map_or("–".into(), |best| format!("{best:.1}"));
        format!("return {mean:.1}  best validation {best}")
    }

    fn noted(&self, _: bool) -> Value {
        json!({ "best": self.mean_best() })
    }

    fn concluding(&self) -> String {
        format!("now judging on {} of each agent", counted(self.settings.episodes, "episode"))
    }

    fn conclude(&mut self, run: &Run, summary: &TrainingSummary, _: &dyn Watcher) -> Result<Outcome> {
        let steps = count(self.updates * self.algorithm.steps_per_update() as u64);
        let outcome =
            report::judge(&self.settings, &*self.environment, &self.kept, summary.steps, &self.device)?;
        report::write(run, &self.settings, &*self.environment, &outcome, &self.best_updates, steps)?;
        Ok(report::outcome(&self.settings, &outcome)
            .next("watch RUN", "watch it act")
            .next("eval RUN", "judge it again")
            .next("train --resume RUN --updates N", "train for longer"))
    }
}
