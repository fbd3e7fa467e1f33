//! Boolean functions as a kind of training: `farad train table --data truth.csv`.

use std::path::Path;

use farad::Device;
use farad::run::{Run, Table, Value, count, json};
use farad::train::settings::{Setting, SettingsTable as _};
use farad::train::{
    Asked, Measure, Outcome, Predictor, Prepared, Subject, TrainError, Trainee, TrainingKind, Unit,
};
use farad_circuit::Statistics;

use super::predictor::FunctionInUse;
use super::report;
use super::settings::BooleanSettings;
use super::table::TruthTable;
use super::trainee::{KIND, LearnedFunction, Learner};
use crate::error::Result;

const NAME: &str = "table";

/// Boolean functions from tables.
pub struct BooleanTables;

impl TrainingKind for BooleanTables {
    fn name(&self) -> &'static str {
        KIND
    }

    fn title(&self) -> &'static str {
        "Boolean functions"
    }

    fn subjects(&self) -> Vec<Subject> {
        let about = "a Boolean function of up to 64 inputs, from its rows or from samples (--data FILE.csv)";
        vec![Subject::new(NAME, about)]
    }

    fn settings(&self) -> Vec<Setting> {
        BooleanSettings::rows()
    }

    fn defaults(&self, _: &str) -> farad::Result<Vec<(&'static str, Table)>> {
        Ok(vec![("default", BooleanSettings::new().table())])
    }

    fn prepare(&self, asked: &Asked) -> farad::Result<Box<dyn Prepared>> {
        let mut settings = BooleanSettings::new();
        asked.fill(&mut settings)?;
        if settings.data.is_empty() {
            return Err(TrainError::NeedsData { subject: NAME.into() }.into());
        }
        // The run may be opened later from another folder.
        if let Ok(path) = std::path::absolute(&settings.data) {
            settings.data = path.display().to_string();
        }
        Ok(Box::new(ReadyBoolean::new(settings, asked.device_or_best()?)?))
    }

    fn resume(&self, run: &Run, asked: &Asked) -> farad::Result<Box<dyn Prepared>> {
        let mut settings = BooleanSettings::of(run)?;
        asked.fill(&mut settings)?;
        Ok(Box::new(ReadyBoolean::new(settings, asked.device_of(run)?)?))
    }

    fn judge(&self, run: &Run, asked: &Asked, _: &Device) -> farad::Result<Outcome> {
        let verdict = report::judge(run, asked.watcher)?;
        Ok(Outcome::new(verdict.json(), verdict.sentence()))
    }

    fn predictor(&self, run: &Run, _: &Device) -> farad::Result<Box<dyn Predictor>> {
        Ok(Box::new(FunctionInUse::of(run)?))
    }

    fn judges_on(&self, _: &Run) -> farad::Result<Device> {
        Ok(Device::cpu())
    }

    fn inspect(&self, run: &Run) -> farad::Result<Value> {
        let settings = BooleanSettings::of(run)?;
        let mut value = json!({
            "run": run.path().display().to_string(),
            "kind": run.kind(),
            "data": settings.data,
            "device": settings.device,
            "seed": settings.seed,
        });
        let mut updates = 0;
        if run.checkpoint()?.is_some() {
            let learned = LearnedFunction::of(run)?;
            let statistics = Statistics::of(&learned.netlist);
            updates = learned.steps;
            value["circuit"] = json!({
                "inputs": learned.netlist.inputs, "outputs": statistics.outputs,
                "learned_gates": statistics.gates, "active_gates": statistics.active, "depth": statistics.depth,
            });
        }
        value["updates"] = json!(format!("{} of {}", count(updates), count(settings.updates)));
        Ok(value)
    }

    fn instead(&self) -> &'static str {
        "--updates and --set"
    }

    fn learns(&self, _: &Table) -> String {
        NAME.into()
    }

    fn measures(&self, _: &Table) -> Vec<Measure> {
        vec![
            Measure { column: "right", name: "bits that are right", unit: Unit::Share },
            Measure { column: "loss", name: "training loss", unit: Unit::Number },
        ]
    }
}

/// Everything that a training consists of.
struct ReadyBoolean {
    settings: BooleanSettings,
    learner: Learner,
}

impl ReadyBoolean {
    fn new(mut settings: BooleanSettings, device: Device) -> Result<ReadyBoolean> {
        settings.device = device.name().to_string();
        let table = TruthTable::read(Path::new(&settings.data), &settings.target)?;
        let learner = Learner::new(settings.clone(), &table, &device)?;
        Ok(ReadyBoolean { settings, learner })
    }
}

impl Prepared for ReadyBoolean {
    fn config(&self) -> Table {
        self.settings.table()
    }

    fn seed(&self) -> u64 {
        self.settings.seed
    }

    fn begin(self: Box<Self>, _: &Run) -> farad::Result<Box<dyn Trainee>> {
        Ok(Box::new(self.learner))
    }
}
