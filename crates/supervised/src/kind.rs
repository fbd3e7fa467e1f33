//! Networks on data sets as a kind of training: `farad train mnist`, and the like.

use farad_data::{DATA_SETS, NamedSet};
use farad_tensor::Device;
use farad_train::run::{Run, Table, Value, json};
use farad_train::settings::{Setting, SettingsTable as _};
use farad_train::{
    Asked, Measure, Outcome, Predictor, Prepared, Subject, TrainError, Trainee, TrainingKind, Unit,
};

use crate::error::Result;
use crate::models::ModelKind;
use crate::predictor::Trained;
use crate::published::{PublishedWeights, is_published};
use crate::report;
use crate::settings::SupervisedSettings;
use crate::setup::Setup;
use crate::{Baseline, Confusion, Score};

/// What a run folder of supervised training is, in `config.toml` and checkpoints.
pub const KIND: &str = "fit";

/// Networks on data sets.
pub struct Supervised;

impl TrainingKind for Supervised {
    fn name(&self) -> &'static str {
        KIND
    }

    fn title(&self) -> &'static str {
        "data sets"
    }

    fn subjects(&self) -> Vec<Subject> {
        DATA_SETS.iter().map(|set| Subject::new(set.name, set.about)).collect()
    }

    fn settings(&self) -> Vec<Setting> {
        SupervisedSettings::rows()
    }

    fn defaults(&self, subject: &str) -> Result<Vec<(&'static str, Table)>> {
        let set = set_named(subject)?;
        Ok(vec![("default", SupervisedSettings::new(set, ModelKind::usual(set)).table())])
    }

    fn prepare(&self, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let set = set_named(asked.subject)?;
        let from = asked.text("from").filter(|from| is_published(from.as_ref()));
        let weights = from.as_ref().map(|from| PublishedWeights::read(from.as_ref())).transpose()?;
        let model = asked.text("model").and_then(|name| ModelKind::named(&name));
        let model = weights.as_ref().map(PublishedWeights::model).or(model);
        let mut settings = SupervisedSettings::new(set, model.unwrap_or(ModelKind::usual(set)));
        if let Some(weights) = &weights {
            settings.sizes = weights.sizes();
        }
        asked.fill(&mut settings)?;
        if weights.is_some() {
            settings.weights = std::mem::take(&mut settings.course.from);
        }
        settings.set = set.name.into();
        let setup = Setup::new(settings, &asked.device_or_best()?)?;
        let setup = setup.in_group(asked.group()).with_weights(weights);
        // What cannot be built leaves no run behind.
        setup.check_memory()?;
        setup.fit()?;
        Ok(Box::new(setup))
    }

    fn resume(&self, run: &Run, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let mut settings = SupervisedSettings::of(run)?;
        asked.fill(&mut settings)?;
        let setup = Setup::new(settings, &asked.device_of(run)?)?.in_group(asked.group());
        setup.check_memory()?;
        Ok(Box::new(setup))
    }

    fn judge(&self, run: &Run, _: &Asked, device: &Device) -> Result<Outcome> {
        let setup = Setup::new(SupervisedSettings::of(run)?, device)?;
        let mut fit = setup.fit()?;
        let learned = run.learned()?.ok_or_else(|| TrainError::NothingLearned { path: run.path().into() })?;
        fit.restore_model(&learned)?;
        let score = setup.judge(&fit)?;
        let steps = run.checkpoint()?.map_or(learned.step(), |checkpoint| checkpoint.step());
        Ok(outcome(&setup.settings, &score, steps))
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn predictor(&self, run: &Run, device: &Device) -> Result<Box<dyn Predictor>> {
        Ok(Box::new(Trained::of(run, device)?))
    }

    fn inspect(&self, run: &Run) -> Result<Value> {
        let settings = SupervisedSettings::of(run)?;
        let checkpoint = run.checkpoint()?;
        let tensors = checkpoint.as_ref().map_or_else(Vec::new, |checkpoint| checkpoint.listed("model"));
        Ok(json!({
            "run": run.path().display().to_string(),
            "kind": run.kind(),
            "set": settings.set,
            "model": settings.model,
            "data": settings.data,
            "device": settings.device,
            "steps": checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.step()),
            "epochs": settings.epochs,
            "settings": serde_json::to_value(settings.table()).unwrap_or_default(),
            "tensors": tensors,
        }))
    }

    fn instead(&self) -> &'static str {
        "--epochs, --seed and --set"
    }

    fn learns(&self, config: &Table) -> String {
        config.get("set").and_then(|set| set.as_str()).unwrap_or_default().into()
    }

    fn measures(&self, config: &Table) -> Vec<Measure> {
        let numbers = config.get("target_kind").and_then(|kind| kind.as_str()) == Some("number");
        let name = if numbers { "validation explained variance" } else { "validation accuracy" };
        vec![
            Measure { column: "validation_goodness", name, unit: Unit::Share },
            Measure { column: "loss", name: "training loss", unit: Unit::Number },
        ]
    }

    fn planned(&self, _: &Table) -> Option<u64> {
        None
    }
}

fn set_named(name: &str) -> Result<&'static NamedSet> {
    let names: Vec<&str> = NamedSet::names().collect();
    NamedSet::of(name).ok_or_else(|| farad_train::settings::no_choice("set", name, &names))
}

impl Prepared for Setup {
    fn config(&self) -> Table {
        self.settings.table()
    }

    fn seed(&self) -> u64 {
        self.settings.seed
    }

    fn data(&self) -> String {
        self.sets.fingerprint()
    }

    fn begin(self: Box<Self>, _: &Run) -> Result<Box<dyn Trainee>> {
        Ok(Box::new(self.network()?))
    }
}

/// What who knows nothing of the inputs would reach, by the names of what is reached.
fn baseline(score: &Score) -> Value {
    match &score.baseline {
        Some(Baseline::Class { name, accuracy }) => json!({ "says": name, "accuracy": accuracy }),
        Some(Baseline::Number { value, root, mean }) => {
            json!({ "says": value, "root_mean_square_error": root, "mean_absolute_error": mean })
        }
        None => Value::Null,
    }
}

/// What a score says, for people and for programs.
pub(crate) fn outcome(settings: &SupervisedSettings, score: &Score, steps: u64) -> Outcome {
    let json = json!({
        "set": settings.set, "model": settings.model, "samples": score.samples, "loss": score.loss,
        "accuracy": score.accuracy, "explained_variance": score.explained, "steps": steps, "seed": settings.seed,
        "f1": score.confusion.as_ref().map(Confusion::macro_f1), "auc": score.auc(),
        "mean_absolute_error": score.mean_error(), "baseline": baseline(score),
        "target": settings.target_name, "unit": settings.unit,
    });
    let mut outcome = Outcome::new(json, report::sentence("test", score));
    let measured = report::measures(score, &settings.target_words()).into_iter();
    outcome.lines.extend(
        measured.filter(|(name, _)| name == "baseline").map(|(name, value)| format!("{name}: {value}")),
    );
    outcome
}
