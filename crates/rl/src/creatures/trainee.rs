//! An evolution of creatures, as the training loop sees it: a step is a generation.

use farad::group::Group;
use farad::run::{Checkpoint, LogCell, Run, Value, count, counted, json};
use farad::train::{LoopSettings, Outcome, Trainee, TrainingSummary, Validation, Watcher};
use farad::{Device, Result, Tensor};
use farad_world::Genotype;
use serde::{Deserialize, Serialize};

use super::archive::Archive;
use super::generation::{COLUMNS, Evolution};
use super::novelty::Novelty;
use super::report;
use super::settings::CreatureSettings;

/// What a checkpoint contains.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredEvolution {
    /// As JSON, like the file of the run.
    pub archive: Archive,
    pub novelty: Novelty,
}

/// Creatures in evolution.
pub(super) struct CreaturesInTraining {
    settings: CreatureSettings,
    evolution: Evolution,
    device: Device,
}

impl CreaturesInTraining {
    pub fn new(
        settings: CreatureSettings,
        ancestor: Option<Genotype>,
        device: &Device,
        group: &Group,
    ) -> Result<CreaturesInTraining> {
        let evolution = Evolution::new(settings.clone(), ancestor, device)?.in_group(group)?;
        Ok(CreaturesInTraining { settings, evolution, device: device.clone() })
    }
}

impl Trainee for CreaturesInTraining {
    fn title(&self) -> String {
        let cells = count(self.evolution.archive.size());
        let each = counted(self.settings.population, "creature");
        format!("evolve: {cells} cells of {}, {each} per generation", self.settings.descriptors)
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn pace(&self) -> &LoopSettings {
        &self.settings.course
    }

    fn unit(&self) -> &'static str {
        "generation"
    }

    fn steps_in_all(&self) -> u64 {
        self.settings.updates
    }

    fn step(&mut self) -> Result<Tensor> {
        let course = self.evolution.generation()?;
        Ok(Tensor::from_vec(course.numbers().to_vec(), [COLUMNS.len()], &Device::cpu()))
    }

    fn is_same(&self) -> bool {
        true
    }

    fn columns(&self) -> Vec<String> {
        COLUMNS.map(str::to_string).to_vec()
    }

    fn row(&self, _: u64, losses: Option<&[f32]>, _: Option<&Validation>) -> Vec<LogCell> {
        (0..COLUMNS.len()).map(|n| losses.and_then(|all| all.get(n).copied()).into()).collect()
    }

    fn validate(&mut self) -> Result<Option<Validation>> {
        Ok(None)
    }

    fn save(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        let (archive, novelty) = (self.evolution.archive.clone(), self.evolution.novelty.clone());
        checkpoint.set_value(StoredEvolution { archive, novelty });
        Ok(())
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let StoredEvolution { archive, novelty } = checkpoint.value()?;
        (self.evolution.archive, self.evolution.novelty) = (archive, novelty);
        self.evolution.generations = checkpoint.step();
        Ok(())
    }

    fn take_weights(&mut self, weights: &Checkpoint) -> Result<()> {
        self.evolution.archive = weights.value::<StoredEvolution>()?.archive;
        Ok(())
    }

    fn words(&self, losses: &[f32]) -> String {
        let [best, cells, ..] = losses else { return String::new() };
        format!("best {best:.2} m  cells {cells}")
    }

    fn noted(&self, _: bool) -> Value {
        json!({ "best": self.evolution.archive.best(), "cells": self.evolution.archive.cells.len() })
    }

    fn concluding(&self) -> String {
        "now filming the best creatures".into()
    }

    fn conclude(&mut self, run: &Run, summary: &TrainingSummary, _: &dyn Watcher) -> Result<Outcome> {
        let outcome = report::write(run, &self.settings, &self.evolution.archive, summary.steps)?;
        Ok(outcome
            .next("watch RUN", "see the best creature move")
            .next("inspect RUN", "what is in the archive"))
    }
}
