//! Controllers as a kind of training: `farad train cartpole-circuit` and others.

use farad::run::{Checkpoint, Run, Table, Value, json};
use farad::train::settings::{Setting, SettingsTable as _};
use farad::train::{Asked, Measure, Outcome, Prepared, Subject, Trainee, TrainingKind, Unit};
use farad::{Device, Result};
use farad_circuit::Statistics;

use super::finish::{self, ControllerVerdict};
use super::settings::ControllerSettings;
use super::task::{ControlTask, TASKS};
use super::trainee::ControllerInTraining;

/// The kind of run folder, in `config.toml` and checkpoints.
pub const KIND: &str = "controller";

/// Controllers that are circuits.
pub struct Controllers;

impl TrainingKind for Controllers {
    fn name(&self) -> &'static str {
        KIND
    }

    fn title(&self) -> &'static str {
        "controllers"
    }

    fn subjects(&self) -> Vec<Subject> {
        TASKS.iter().map(|task| Subject::new(task.subject, task.about)).collect()
    }

    fn settings(&self) -> Vec<Setting> {
        ControllerSettings::rows()
    }

    fn defaults(&self, subject: &str) -> Result<Vec<(&'static str, Table)>> {
        Ok(vec![("default", ControllerSettings::new(ControlTask::of_subject(subject)?).table())])
    }

    fn prepare(&self, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let task = ControlTask::of_subject(asked.subject)?;
        let mut settings = ControllerSettings::new(task);
        asked.fill(&mut settings)?;
        settings.world = task.name.into();
        ready(settings, asked.device_or_best()?)
    }

    fn resume(&self, run: &Run, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let mut settings = ControllerSettings::of(run)?;
        asked.fill(&mut settings)?;
        ready(settings, asked.device_of(run)?)
    }

    fn judge(&self, run: &Run, asked: &Asked, _: &Device) -> Result<Outcome> {
        Ok(outcome(&finish::judge(run, asked.watcher)?))
    }

    fn judges_on(&self, _: &Run) -> Result<Device> {
        Ok(Device::cpu())
    }

    fn use_instead(&self, run: &Run) -> String {
        format!("`farad watch {}` shows what it does", farad::run::shell_word(run.path()))
    }

    fn inspect(&self, run: &Run) -> Result<Value> {
        let settings = ControllerSettings::of(run)?;
        let mut value = json!({
            "run": run.path().display().to_string(),
            "kind": run.kind(),
            "world": settings.world,
            "device": settings.device,
            "seed": settings.seed,
            "updates": run.checkpoint()?.as_ref().map_or(0, Checkpoint::step),
        });
        if run.checkpoint()?.is_some() {
            let statistics = Statistics::of(&finish::simplified(run, &())?);
            value["circuit"] = json!({
                "inputs": statistics.inputs, "outputs": statistics.outputs, "gates": statistics.active,
                "depth": statistics.depth,
            });
        }
        Ok(value)
    }

    fn instead(&self) -> &'static str {
        "--updates and --set"
    }

    fn learns(&self, config: &Table) -> String {
        let world = config.get("world").and_then(|world| world.as_str());
        let task = world.and_then(|world| ControlTask::of(world).ok()).unwrap_or(&TASKS[0]);
        task.subject.into()
    }

    fn measures(&self, _: &Table) -> Vec<Measure> {
        vec![
            Measure { column: "right", name: "samples that are right", unit: Unit::Share },
            Measure { column: "loss", name: "training loss", unit: Unit::Number },
        ]
    }
}

/// A verdict in the form of an [`Outcome`], for people and for programs.
pub(super) fn outcome(verdict: &ControllerVerdict) -> Outcome {
    Outcome::new(verdict.json(), verdict.sentence())
}

fn ready(mut settings: ControllerSettings, device: Device) -> Result<Box<dyn Prepared>> {
    settings.device = device.name().to_string();
    let trainee = ControllerInTraining::new(settings.clone(), &device)?;
    Ok(Box::new(ReadyController { settings, trainee }))
}

/// Everything that a training consists of.
struct ReadyController {
    settings: ControllerSettings,
    trainee: ControllerInTraining,
}

impl Prepared for ReadyController {
    fn config(&self) -> Table {
        self.settings.table()
    }

    fn seed(&self) -> u64 {
        self.settings.seed
    }

    fn begin(self: Box<Self>, _: &Run) -> Result<Box<dyn Trainee>> {
        Ok(Box::new(self.trainee))
    }
}
