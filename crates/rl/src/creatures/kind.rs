//! Creatures as a kind of training: `farad train evolve`.

use farad::group::Group;
use farad::run::{Checkpoint, Run, Table, Value, json};
use farad::train::settings::{Setting, SettingsTable as _};
use farad::train::{Asked, Measure, Outcome, Prepared, Subject, TrainError, Trainee, TrainingKind, Unit};
use farad::{Device, Error, Result};
use farad_world::Genotype;

use super::archive::Archive;
use super::report;
use super::settings::CreatureSettings;
use super::trainee::{CreaturesInTraining, StoredEvolution};
use crate::ranks::fingerprint;

/// The kind of run folder, in `config.toml` and checkpoints.
pub const KIND: &str = "evolve";
/// The name of a run's copy of the ancestor.
const ANCESTOR: &str = "ancestor.json";

/// Evolutions of creatures.
pub struct Creatures;

impl TrainingKind for Creatures {
    fn name(&self) -> &'static str {
        KIND
    }

    fn title(&self) -> &'static str {
        "creatures"
    }

    fn subjects(&self) -> Vec<Subject> {
        vec![Subject::new(KIND, "bodies with their controllers: an archive of all kinds that get ahead")]
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn settings(&self) -> Vec<Setting> {
        CreatureSettings::rows()
    }

    fn defaults(&self, _: &str) -> Result<Vec<(&'static str, Table)>> {
        Ok(vec![("default", CreatureSettings::new().table())])
    }

    fn prepare(&self, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let mut settings = CreatureSettings::new();
        asked.fill(&mut settings)?;
        // The run may be opened later from another folder.
        if !settings.data.is_empty()
            && let Ok(path) = std::path::absolute(&settings.data)
        {
            settings.data = path.display().to_string();
        }
        let ancestor = ancestor_of(&settings.data)?;
        Ok(Box::new(ReadyCreatures::new(settings, ancestor, asked.device_or_best()?, &asked.group())?))
    }

    fn resume(&self, run: &Run, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let mut settings = CreatureSettings::of(run)?;
        asked.fill(&mut settings)?;
        let copy = run.path().join(ANCESTOR);
        let own = if copy.is_file() { copy.display().to_string() } else { settings.data.clone() };
        let ancestor = ancestor_of(&own)?;
        Ok(Box::new(ReadyCreatures::new(settings, ancestor, asked.device_of(run)?, &asked.group())?))
    }

    fn judge(&self, run: &Run, _: &Asked, device: &Device) -> Result<Outcome> {
        let (settings, archive, steps) = evolved(run)?;
        report::judge(&settings, &archive, steps, device)
    }

    fn use_instead(&self, run: &Run) -> String {
        format!("`farad watch {}` shows the best creature", farad::run::shell_word(run.path()))
    }

    fn inspect(&self, run: &Run) -> Result<Value> {
        let settings = CreatureSettings::of(run)?;
        let mut value = json!({
            "run": run.path().display().to_string(),
            "kind": run.kind(),
            "device": settings.device,
            "seed": settings.seed,
            "updates": run.checkpoint()?.as_ref().map_or(0, Checkpoint::step),
            "settings": serde_json::to_value(settings.table()).unwrap_or_default(),
        });
        if run.checkpoint()?.is_some() {
            let (_, archive, _) = evolved(run)?;
            value["archive"] = json!({
                "cells": archive.size(), "filled": archive.cells.len(), "tried": archive.tried,
                "refused": archive.refused, "broken": archive.broken, "best": archive.best(),
                "score": archive.score(),
            });
        }
        Ok(value)
    }

    fn instead(&self) -> &'static str {
        "--data, --updates and --set"
    }

    fn learns(&self, _: &Table) -> String {
        KIND.into()
    }

    fn measures(&self, _: &Table) -> Vec<Measure> {
        vec![
            Measure { column: "best", name: "best distance", unit: Unit::Number },
            Measure { column: "cells", name: "filled cells", unit: Unit::Number },
        ]
    }
}

/// The genotype of a file; none without a file.
fn ancestor_of(path: &str) -> Result<Option<Genotype>> {
    if path.is_empty() {
        return Ok(None);
    }
    let fail = |source| Error::File { op: "evolve", path: path.into(), source };
    let genotype = Genotype::from_json(&std::fs::read_to_string(path).map_err(fail)?)?;
    genotype.grown()?;
    Ok(Some(genotype))
}

/// The settings of a run, its archive, and how many generations it had.
pub fn evolved(run: &Run) -> Result<(CreatureSettings, Archive, u64)> {
    let settings = CreatureSettings::of(run)?;
    let checkpoint =
        run.checkpoint()?.ok_or_else(|| TrainError::NothingLearned { path: run.path().into() })?;
    let stored: StoredEvolution = checkpoint.value()?;
    Ok((settings, stored.archive, checkpoint.step()))
}

/// Everything that a training consists of.
struct ReadyCreatures {
    settings: CreatureSettings,
    ancestor: Option<Genotype>,
    creatures: CreaturesInTraining,
}

impl ReadyCreatures {
    fn new(
        mut settings: CreatureSettings,
        ancestor: Option<Genotype>,
        device: Device,
        group: &Group,
    ) -> Result<ReadyCreatures> {
        settings.device = device.name().to_string();
        let creatures = CreaturesInTraining::new(settings.clone(), ancestor.clone(), &device, group)?;
        Ok(ReadyCreatures { settings, ancestor, creatures })
    }
}

impl Prepared for ReadyCreatures {
    fn config(&self) -> Table {
        self.settings.table()
    }

    fn seed(&self) -> u64 {
        self.settings.seed
    }

    fn data(&self) -> String {
        self.ancestor.as_ref().map_or(String::new(), |ancestor| fingerprint(ancestor.to_json().as_bytes()))
    }

    fn begin(self: Box<Self>, run: &Run) -> Result<Box<dyn Trainee>> {
        if let Some(ancestor) = &self.ancestor
            && !run.path().join(ANCESTOR).exists()
        {
            run.write_file(ANCESTOR, ancestor.to_json().as_bytes())?;
        }
        Ok(Box::new(self.creatures))
    }
}
