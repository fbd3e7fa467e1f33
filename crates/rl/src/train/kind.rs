//! The kind of training: names, settings, runs.

use std::sync::Arc;

use farad::group::Group;
use farad::run::{Checkpoint, Run, Table, Value, json};
use farad::train::settings::{Setting, SettingsTable as _, no_choice};
use farad::train::{Asked, Measure, Outcome, Prepared, Subject, TrainError, Trainee, TrainingKind, Unit};
use farad::{Device, Error, Result};

use super::algorithm::NamedAlgorithm;
use super::report;
use super::settings::Settings;
use super::table::{NamedWorld, WORLDS};
use super::trainee::AgentsInTraining;
use crate::environment::Environment;
use crate::episodes::Agents;
use crate::error::{RlError, stored};
use crate::ranks::fingerprint;

/// The kind of run folder of agents, in `config.toml` and checkpoints.
pub const KIND: &str = "rl";

/// The subject whose world comes from a file.
const WORLD_OF_FILE: &str = "world";
/// The name of a run's copy of that file.
const BODIES: &str = "world.json";

/// Agents in worlds, as a kind of training.
pub struct Worlds;

impl TrainingKind for Worlds {
    fn name(&self) -> &'static str {
        KIND
    }

    fn title(&self) -> &'static str {
        "worlds"
    }

    fn subjects(&self) -> Vec<Subject> {
        WORLDS.iter().map(|world| Subject::new(world.name, world.about)).collect()
    }

    fn is_parallel(&self) -> bool {
        true
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
        if settings.world == WORLD_OF_FILE && settings.data.is_empty() {
            return Err(TrainError::NeedsData { subject: WORLD_OF_FILE.into() }.into());
        }
        // The run may be opened later from another folder.
        if !settings.data.is_empty()
            && let Ok(path) = std::path::absolute(&settings.data)
        {
            settings.data = path.display().to_string();
        }
        let device = asked.device_or_best()?;
        let environment = environment_of(&settings, &device)?;
        Ok(Box::new(Ready::new(settings, environment, device, &asked.group())?))
    }

    fn resume(&self, run: &Run, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let mut settings = Settings::of(run)?;
        asked.fill(&mut settings)?;
        let device = asked.device_of(run)?;
        let environment = environment_of(&at_home(settings.clone(), run), &device)?;
        Ok(Box::new(Ready::new(settings, environment, device, &asked.group())?))
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
        let tensors = checkpoint.as_ref().map_or_else(Vec::new, |checkpoint| checkpoint.listed("best"));
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
    let environment = (world_named(&settings.world)?.make)(settings, device)?;
    if settings.images && environment.image().is_none() {
        return Err(RlError::NoImages { world: settings.world.clone() }.into());
    }
    Ok(environment)
}

/// The same, with the run's own copy of the world, if it has one.
fn at_home(mut settings: Settings, run: &Run) -> Settings {
    let copy = run.path().join(BODIES);
    if copy.is_file() {
        settings.data = copy.display().to_string();
    }
    settings
}

/// The settings of a run, the best agent of every seed, and the number of updates.
pub fn learned(run: &Run, device: &Device) -> Result<(Settings, Agents, u64)> {
    let settings = at_home(Settings::of(run)?, run);
    let checkpoint =
        run.checkpoint()?.ok_or_else(|| TrainError::NothingLearned { path: run.path().into() })?;
    let algorithm = NamedAlgorithm::of(&settings.algorithm).expect("checked by its row");
    let agents = (algorithm.make)(environment_of(&settings, device)?, &settings, device)?.agents();
    let found = stored(&agents.names(), &agents.tensors(), &checkpoint.tensors("best", device)?)?;
    Ok((settings, agents.with(found), checkpoint.step()))
}

/// Everything that a training consists of.
struct Ready {
    settings: Settings,
    agents: AgentsInTraining,
    /// What the file of bodies is, in a line.
    bodies: String,
}

impl Ready {
    fn new(
        mut settings: Settings,
        environment: Arc<dyn Environment>,
        device: Device,
        group: &Group,
    ) -> Result<Ready> {
        settings.device = device.name().to_string();
        let agents = AgentsInTraining::new(settings.clone(), environment, &device, group)?;
        // Whoever needs the file has read it by now, and knows what is wrong with it.
        let bodies = std::fs::read(&settings.data).map_or(String::new(), |bytes| fingerprint(&bytes));
        Ok(Ready { settings, agents, bodies })
    }
}

impl Prepared for Ready {
    fn config(&self) -> Table {
        self.settings.table()
    }

    fn seed(&self) -> u64 {
        self.settings.seed
    }

    fn data(&self) -> String {
        self.bodies.clone()
    }

    fn begin(self: Box<Self>, run: &Run) -> Result<Box<dyn Trainee>> {
        if !self.settings.data.is_empty() && !run.path().join(BODIES).exists() {
            let fail = |source| Error::File { op: "world", path: self.settings.data.clone().into(), source };
            run.write_file(BODIES, &std::fs::read(&self.settings.data).map_err(fail)?)?;
        }
        Ok(Box::new(self.agents))
    }
}
