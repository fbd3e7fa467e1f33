//! Logic networks as a kind of training: `farad train logic-mnist` and others.

use farad::Device;
use farad::group::Group;
use farad::run::{Run, Table, Value, json};
use farad::train::settings::{Setting, SettingsTable as _};
use farad::train::{
    Asked, Measure, Outcome, Predictor, Prepared, Subject, TrainError, Trainee, TrainingKind, Unit,
};
use farad_circuit::Statistics;

use super::data::{ClassifierData, TaskKind};
use super::learned::LearnedClassifier;
use super::predictor::CircuitInUse;
use super::presets::{PRESETS, Preset};
use super::report::{self, ClassifierVerdict};
use super::settings::ClassifierSettings;
use super::speed::{CircuitSpeed, measure};
use super::trainee::{Classifier, KIND};
use super::trainer::ClassifierTrainer;
use crate::error::{Error, Result};
use crate::network::NetworkBlock;

/// Logic networks that classify.
pub struct Classifiers;

impl TrainingKind for Classifiers {
    fn name(&self) -> &'static str {
        KIND
    }

    fn title(&self) -> &'static str {
        "logic networks"
    }

    fn subjects(&self) -> Vec<Subject> {
        TaskKind::ALL.map(|task| Subject::new(task.name(), task.about())).to_vec()
    }

    fn settings(&self) -> Vec<Setting> {
        ClassifierSettings::rows()
    }

    fn defaults(&self, subject: &str) -> farad::Result<Vec<(&'static str, Table)>> {
        let task = task_named(subject)?;
        let of = |preset: &Preset| Ok((preset.name, ClassifierSettings::new(task, preset.name)?.table()));
        PRESETS.iter().map(of).collect()
    }

    fn prepare(&self, asked: &Asked) -> farad::Result<Box<dyn Prepared>> {
        let task = task_named(asked.subject)?;
        // The model sets the defaults of everything else, so it is read first.
        let model = asked.text("model").unwrap_or_else(|| PRESETS[0].name.into());
        let mut settings = ClassifierSettings::new(task, &model)?;
        fill(asked, &mut settings)?;
        settings.task = task.name().into();
        agree_on_wires(asked, &mut settings)?;
        let device = asked.device_or_best()?;
        let data = ClassifierData::open(&mut settings)?;
        // Only layers that the user chose are taken literally.
        if !chosen(asked, "layers") {
            settings.suit(data.classes.len());
        }
        if !["epochs", "updates"].into_iter().any(|key| chosen(asked, key)) {
            settings.suit_samples(data.train.len());
        }
        Ok(Box::new(ReadyClassifier::new(settings, data, &device, &asked.group())?))
    }

    fn resume(&self, run: &Run, asked: &Asked) -> farad::Result<Box<dyn Prepared>> {
        let mut settings = ClassifierSettings::of(run)?;
        fill(asked, &mut settings)?;
        let device = asked.device_of(run)?;
        let data = ClassifierData::open(&mut settings)?;
        Ok(Box::new(ReadyClassifier::new(settings, data, &device, &asked.group())?))
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn judge(&self, run: &Run, asked: &Asked, _: &Device) -> farad::Result<Outcome> {
        let timed = asked.flag("speed").is_some();
        if timed && !ClassifierSettings::of(run)?.task_kind().is_picture() {
            return Err(Error::SpeedOfTable.into());
        }
        let verdict = report::judge(run, asked.watcher)?;
        let mut outcome = Outcome::new(verdict.json(), verdict.sentence());
        if timed {
            let speed = speed(&verdict)?;
            outcome.json.push(serde_json::to_value(&speed).unwrap_or_default());
            outcome.lines.extend(speed.lines());
        }
        Ok(outcome)
    }

    fn predictor(&self, run: &Run, _: &Device) -> farad::Result<Box<dyn Predictor>> {
        Ok(Box::new(CircuitInUse::of(run)?))
    }

    fn judges_on(&self, _: &Run) -> farad::Result<Device> {
        Ok(Device::cpu())
    }

    fn inspect(&self, run: &Run) -> farad::Result<Value> {
        let settings = ClassifierSettings::of(run)?;
        let mut value = json!({
            "run": run.path().display().to_string(),
            "kind": run.kind(),
            "task": settings.task,
            "model": settings.model,
            "data": settings.data,
            "device": settings.device,
            "settings": serde_json::to_value(settings.table()).unwrap_or_default(),
        });
        if run.checkpoint()?.is_none() {
            value["steps"] = json!(0);
            return Ok(value);
        }
        let learned = LearnedClassifier::of(run)?;
        let statistics = Statistics::of(&learned.netlist()?);
        value["steps"] = json!(learned.steps);
        value["kept_after"] = json!(learned.kept_after);
        value["validation_accuracy"] = json!(learned.validation);
        value["classes"] = json!(learned.classes);
        value["layers"] = learned.network.layers().iter().map(layer).collect();
        value["circuit"] = json!({
            "inputs": statistics.inputs, "outputs": statistics.outputs, "gates": statistics.gates,
            "active": statistics.active, "active_and_live": statistics.active_live, "depth": statistics.depth,
        });
        Ok(value)
    }

    fn called(&self, _: &str) -> String {
        "a logic network".into()
    }

    fn instead(&self) -> &'static str {
        "--set, e.g. --set layers=4000,4000"
    }

    fn learns(&self, config: &Table) -> String {
        text(config, "task").unwrap_or_default().into()
    }

    fn measures(&self, _: &Table) -> Vec<Measure> {
        vec![
            Measure { column: "hard_accuracy", name: "validation accuracy", unit: Unit::Share },
            Measure { column: "soft_loss", name: "training loss of soft gates", unit: Unit::Number },
        ]
    }
}

/// A string of a run's configuration.
fn text<'a>(config: &'a Table, key: &str) -> Option<&'a str> {
    config.get(key).and_then(|value| value.as_str())
}

fn task_named(name: &str) -> farad::Result<TaskKind> {
    let names = TaskKind::ALL.map(TaskKind::name);
    TaskKind::named(name).ok_or_else(|| farad::train::settings::no_choice("task", name, &names))
}

/// Applies the flags. Epochs on the command line override the updates of a file or of the run.
fn fill(asked: &Asked, settings: &mut ClassifierSettings) -> farad::Result<()> {
    asked.fill(settings)?;
    if asked.flag("epochs").is_some() && asked.flag("updates").is_none() && !asked.sets("updates") {
        settings.updates = 0;
    }
    Ok(())
}

/// Whether the user set a key.
fn chosen(asked: &Asked, key: &str) -> bool {
    asked.sets(key) || asked.flag(key).is_some() || asked.file.as_ref().is_some_and(|f| f.contains_key(key))
}

/// The gates of another run are meaningful only on its wires, which come from its seed. So that seed is used,
/// unless another was asked for.
fn agree_on_wires(asked: &Asked, settings: &mut ClassifierSettings) -> farad::Result<()> {
    let from = &settings.course.from;
    if from.is_empty() {
        return Ok(());
    }
    let other = Run::open(from)?;
    if other.kind() != KIND {
        let (path, found, wanted) = (other.path().into(), other.kind().into(), KIND.into());
        return Err(TrainError::OtherKind { path, found, wanted }.into());
    }
    let (found, wanted) = (ClassifierSettings::of(&other)?.seed, settings.seed);
    if found != wanted && chosen(asked, "seed") {
        let (path, found) = (other.path().into(), found.to_string());
        return Err(Error::OtherWires { path, found, wanted: wanted.to_string() }.into());
    }
    settings.seed = found;
    Ok(())
}

/// Everything that a training consists of.
struct ReadyClassifier {
    settings: ClassifierSettings,
    data: ClassifierData,
    trainer: ClassifierTrainer,
}

/// Validations of a training that has fewer epochs.
const LEAST_VALIDATIONS: u64 = 4;

impl ReadyClassifier {
    /// Fails here if the network cannot be built, or if the device cannot hold it.
    fn new(
        mut settings: ClassifierSettings,
        data: ClassifierData,
        device: &Device,
        group: &Group,
    ) -> Result<ReadyClassifier> {
        settings.device = device.name().to_string();
        // From here on, the validation interval is a number of steps, and the run records it.
        if settings.course.evaluate_every == 0 {
            // A short training gets several validations, so that it has a curve.
            let epoch = ClassifierTrainer::epoch_of(&settings, &data.train);
            let all = match settings.updates {
                0 => epoch * settings.epochs as u64,
                updates => updates as u64,
            };
            settings.course.evaluate_every = epoch.min(all.div_ceil(LEAST_VALIDATIONS)).max(1);
        }
        let trainer = ClassifierTrainer::new(&settings, &data, device)?.in_group(group)?;
        Ok(ReadyClassifier { settings, data, trainer })
    }
}

impl Prepared for ReadyClassifier {
    fn config(&self) -> Table {
        self.settings.table()
    }

    fn seed(&self) -> u64 {
        self.settings.seed as u64
    }

    fn data(&self) -> String {
        self.data.fingerprint()
    }

    fn begin(self: Box<Self>, _: &Run) -> farad::Result<Box<dyn Trainee>> {
        Ok(Box::new(Classifier::new(self.settings, self.trainer, &self.data)?))
    }
}

fn layer(block: &NetworkBlock) -> Value {
    json!({ "inputs": block.inputs(), "outputs": block.outputs(), "gates": block.gates() })
}

/// How fast the circuit classifies.
fn speed(verdict: &ClassifierVerdict) -> Result<CircuitSpeed> {
    let data = ClassifierData::open(&mut verdict.learned.settings.clone())?;
    let thresholds = verdict.learned.network.encoding().levels()?;
    let gpu = Device::gpu(0).ok();
    measure(&verdict.simplified, &thresholds, &data.test, gpu.as_ref())
}
