//! The kind of training: names, settings, runs.

use std::sync::Arc;

use farad::run::{Checkpoint, Run, Table, Value, json};
use farad::train::settings::{Setting, Settings as _, no_choice};
use farad::train::{Asked, Kind, Measure, Outcome, Prepared, Subject, TrainError, Trainee, Unit};
use farad::{Device, Result};

use super::algorithm::NamedAlgorithm;
use super::report;
use super::settings::Settings;
use super::table::{NamedWorld, WORLDS};
use super::trainee::AgentsInTraining;
use crate::environment::Environment;
use crate::episodes::Agents;
use crate::error::stored;

/// What a run folder of agents is, in `config.toml` and checkpoints.
pub const KIND: &str = "rl";

/// Agents in worlds.
pub struct Worlds;

impl Kind for Worlds {
    fn name(&self) -> &'static str {
        KIND
    }

    fn title(&self) -> &'static str {
        "worlds"
    }

    fn subjects(&self) -> Vec<Subject> {
        WORLDS.iter().map(|world| Subject::new(world.name, world.about)).collect()
    }

    fn settings(&self) -> Vec<Setting> {
        Settings::rows()
    }

    fn defaults(&self, subject: &str) -> Result<Vec<(&'static str, Table)>> {
        let world = world_named(subject)?;
        Ok(vec![("default", Settings::new(world, "ppo").table())])
    }

    fn prepare(&self, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let world = world_named(asked.subject)?;
        let algorithm = asked.text("algorithm").filter(|name| NamedAlgorithm::of(name).is_some());
        let mut settings = Settings::new(world, algorithm.as_deref().unwrap_or("ppo"));
        asked.fill(&mut settings)?;
        settings.world = world.name.into();
        Ok(Box::new(Ready::new(settings, asked.device_or_best()?)?))
    }

    fn resume(&self, run: &Run, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let mut settings = Settings::of(run)?;
        asked.fill(&mut settings)?;
        Ok(Box::new(Ready::new(settings, asked.device_of(run)?)?))
    }

    fn judge(&self, run: &Run, _: &Asked, device: &Device) -> Result<Outcome> {
        let (settings, agents, steps) = learned(run, device)?;
        let environment = environment_of(&settings, device)?;
        let judged = report::judge(&settings, &*environment, &agents, steps, device)?;
        Ok(report::outcome(&settings, &judged))
    }

    fn use_instead(&self, run: &Run) -> String {
        format!("`farad watch {}` shows what it does", farad::run::shell_word(run.path()))
    }

    fn inspect(&self, run: &Run) -> Result<Value> {
        let settings = Settings::of(run)?;
        let checkpoint = run.checkpoint()?;
        let tensors: Vec<Value> = checkpoint
            .iter()
            .flat_map(|checkpoint| checkpoint.tensors("best", &Device::cpu()))
            .flatten()
            .map(|(name, tensor)| json!({ "name": name, "shape": tensor.shape().to_string() }))
            .collect();
        Ok(json!({
            "run": run.path().display().to_string(),
            "kind": run.kind(),
            "world": settings.world,
            "algorithm": settings.algorithm,
            "device": settings.device,
            "updates": checkpoint.as_ref().map_or(0, Checkpoint::step),
            "seeds": settings.seeds,
            "settings": serde_json::to_value(settings.table()).unwrap_or_default(),
            "tensors": tensors,
        }))
    }

    fn instead(&self) -> &'static str {
        "--algorithm, --updates, --seeds and --set"
    }

    fn learns(&self, config: &Table) -> String {
        config.get("world").and_then(|world| world.as_str()).unwrap_or_default().into()
    }

    fn measures(&self, _: &Table) -> Vec<Measure> {
        vec![
            Measure { column: "validation_return", name: "mean return", unit: Unit::Number },
            Measure { column: "return", name: "return in training", unit: Unit::Number },
        ]
    }
}

fn world_named(name: &str) -> Result<&'static NamedWorld> {
    let names: Vec<&str> = WORLDS.iter().map(|world| world.name).collect();
    NamedWorld::of(name).ok_or_else(|| no_choice("world", name, &names))
}

/// The world of a training, on a device.
pub fn environment_of(settings: &Settings, device: &Device) -> Result<Arc<dyn Environment>> {
    (world_named(&settings.world)?.make)(settings, device)
}

/// What a run was trained with, the best agent of every seed, and the updates that were made.
pub fn learned(run: &Run, device: &Device) -> Result<(Settings, Agents, u64)> {
    let settings = Settings::of(run)?;
    let checkpoint =
        run.checkpoint()?.ok_or_else(|| TrainError::NothingLearned { path: run.path().into() })?;
    let algorithm = NamedAlgorithm::of(&settings.algorithm).expect("checked by its row");
    let agents = (algorithm.make)(environment_of(&settings, device)?, &settings, device)?.agents();
    let found = stored(&agents.names(), &agents.tensors(), &checkpoint.tensors("best", device)?)?;
    Ok((settings, agents.with(found), checkpoint.step()))
}

/// Everything that a training is made of.
struct Ready {
    settings: Settings,
    agents: AgentsInTraining,
}

impl Ready {
    fn new(mut settings: Settings, device: Device) -> Result<Ready> {
        settings.device = device.name().to_string();
        let agents = AgentsInTraining::new(settings.clone(), environment_of(&settings, &device)?, &device)?;
        Ok(Ready { settings, agents })
    }
}

impl Prepared for Ready {
    fn config(&self) -> Table {
        self.settings.table()
    }

    fn seed(&self) -> u64 {
        self.settings.seed
    }

    fn begin(self: Box<Self>, _: &Run) -> Result<Box<dyn Trainee>> {
        Ok(Box::new(self.agents))
    }
}
