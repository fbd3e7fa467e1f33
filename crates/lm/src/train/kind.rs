//! Language models as a kind of training: `farad train lm`.

use std::path::Path;

use farad::group::Group;
use farad::nn::Module;
use farad::run::{Run, Table, Value, json};
use farad::train::settings::{Setting, SettingsTable as _};
use farad::train::{Asked, Measure, Outcome, Prepared, Subject, TrainError, Trainee, TrainingKind, Unit};
use farad::{Device, Result};

use super::learned::run_to_start_from;
use super::tokenized::published;
use super::{LanguageModel, Learned, LmSettings, PUBLISHED, TokenParts, Tokenized, report, text_of};
use crate::error::Error;
use crate::hub::{ChatTemplate, HubFolder, copy_files};
use crate::model::ModelOptions;

/// What a run folder of a language model is, in `config.toml` and checkpoints.
pub const KIND: &str = "lm";

/// Language models.
pub struct Language;

impl TrainingKind for Language {
    fn name(&self) -> &'static str {
        KIND
    }

    fn title(&self) -> &'static str {
        "language models"
    }

    fn subjects(&self) -> Vec<Subject> {
        vec![Subject::new("lm", "a language model (transformer) on text files; needs --data")]
    }

    fn settings(&self) -> Vec<Setting> {
        LmSettings::rows()
    }

    fn defaults(&self, _: &str) -> Result<Vec<(&'static str, Table)>> {
        Ok(vec![("default", LmSettings::new().table())])
    }

    fn prepare(&self, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let mut settings = LmSettings::new();
        if let Some(from) = asked.text("from").filter(|from| !from.is_empty()) {
            match HubFolder::is_one(from.as_ref()) {
                true => start_from_folder(&mut settings, &from, asked)?,
                false => start_from_run(&mut settings, &from)?,
            }
        }
        let sizes = settings.model.clone();
        fill(asked, &mut settings)?;
        if HubFolder::is_one(settings.course.from.as_ref()) {
            settings.weights = std::mem::take(&mut settings.course.from);
            let dropout = settings.model.dropout;
            if settings.model != (ModelOptions { dropout, ..sizes }) {
                return Err(Error::OtherSizes { path: settings.weights.into() }.into());
            }
        }
        if settings.lora > 0 && settings.weights.is_empty() && settings.course.from.is_empty() {
            return Err(Error::NothingToAdapt.into());
        }
        if settings.data.is_empty() {
            return Err(TrainError::NeedsData { subject: asked.subject.into() }.into());
        }
        asked.watcher.say(&format!("reading {} as {}", settings.data, settings.tokenizer));
        Ok(Box::new(LanguageSetup::new(settings, || asked.device_or_best())?.in_group(asked.group())))
    }

    fn resume(&self, run: &Run, asked: &Asked) -> Result<Box<dyn Prepared>> {
        let mut settings = LmSettings::of(run)?;
        fill(asked, &mut settings)?;
        settings.check()?;
        Ok(Box::new(LanguageSetup::again(settings, &asked.device_of(run)?)?.in_group(asked.group())))
    }

    fn judge(&self, run: &Run, asked: &Asked, device: &Device) -> Result<Outcome> {
        let learned = Learned::of(run, device)?;
        let (tokens, name) = match asked.flag("data") {
            Some(path) => {
                let published = run.path().join(PUBLISHED);
                let template = ChatTemplate::of_folder(&published)?;
                let tokens = text_of(path.as_ref(), &learned.tokenizer, template.as_ref(), device)?;
                (tokens, path.to_string())
            }
            None => {
                let parts = TokenParts::open(run, device)?;
                let (tokens, name) = parts.judged();
                (tokens.clone(), name.to_string())
            }
        };
        let score = learned.judge(&tokens, &name, asked.watcher)?;
        Ok(report::outcome(&learned, (score, &name), None))
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn inspect(&self, run: &Run) -> Result<Value> {
        let settings = LmSettings::of(run)?;
        let learned = Learned::found(run, &Device::cpu())?;
        let learned = learned.as_ref();
        let state = learned.map(|learned| learned.model.state()).unwrap_or_default();
        let shape = |(name, tensor): (String, farad::Tensor)| json!({ "name": name, "shape": tensor.shape().to_string() });
        let tensors: Vec<Value> = state.into_iter().map(shape).collect();
        Ok(json!({
            "run": run.path().display().to_string(),
            "kind": run.kind(),
            "data": settings.data,
            "device": settings.device,
            "tokenizer": learned.map(|learned| learned.tokenizer.name()),
            "entries": learned.map(|learned| learned.tokenizer.size()),
            "updates": learned.map_or(0, |learned| learned.updates),
            "parameters": learned.map(|learned| learned.model.parameter_count()),
            "settings": serde_json::to_value(settings.table()).unwrap_or_default(),
            "tensors": tensors,
        }))
    }

    fn use_instead(&self, run: &Run) -> String {
        let run = farad::run::shell_word(run.path());
        format!("a language model writes: `farad generate {run} --prompt \"The\"`, or `farad chat {run}`")
    }

    fn instead(&self) -> &'static str {
        "--set, --layers and the like"
    }

    fn learns(&self, config: &Table) -> String {
        config.get("tokenizer").and_then(|tokenizer| tokenizer.as_str()).unwrap_or_default().into()
    }

    fn measures(&self, _: &Table) -> Vec<Measure> {
        let measure = |column, name| Measure { column, name, unit: Unit::Number };
        vec![measure("validation_loss", "validation loss"), measure("loss", "training loss")]
    }
}

/// Tokens of a window if published weights are trained and nobody says how many.
const USUAL_WINDOW: usize = 512;

/// Published weights fit only a model of their sizes; they are trained gently.
fn start_from_folder(settings: &mut LmSettings, from: &str, asked: &Asked) -> Result<()> {
    let context = asked.text("context").and_then(|context| context.parse().ok());
    let most = HubFolder::open(from, 0)?.options().context.min(USUAL_WINDOW);
    let folder = HubFolder::open(from, context.unwrap_or(most))?;
    settings.model = folder.options().clone();
    settings.family = folder.family().name.into();
    settings.tokenizer = Path::new(from).join("tokenizer.json").display().to_string();
    let adapters = asked.text("lora").is_some_and(|rank| rank != "0");
    settings.learning_rate = if adapters { 2e-4 } else { 5e-5 };
    settings.weight_decay = if adapters { 0.0 } else { settings.weight_decay };
    settings.batch = 8;
    folder.tokenizer()?;
    Ok(())
}

/// Other weights fit only a model of the same sizes, and tokens of the same meaning.
fn start_from_run(settings: &mut LmSettings, from: &str) -> Result<()> {
    let other = LmSettings::of(&run_to_start_from(from)?)?;
    (settings.model, settings.tokenizer, settings.family) = (other.model, other.tokenizer, other.family);
    (settings.lora, settings.lora_alpha, settings.lora_targets) =
        (other.lora, other.lora_alpha, other.lora_targets);
    Ok(())
}

/// Applies the flags. Epochs count only if updates are 0.
fn fill(asked: &Asked, settings: &mut LmSettings) -> Result<()> {
    asked.fill(settings)?;
    let updates = asked.flag("updates").is_some() || asked.sets("updates");
    if asked.flag("epochs").is_some() && !updates {
        settings.updates = 0;
    }
    Ok(())
}

/// A training that was looked at: its settings, and its text as tokens unless the run has it.
pub struct LanguageSetup {
    settings: LmSettings,
    tokenized: Option<Tokenized>,
    device: Device,
    group: Group,
}

impl LanguageSetup {
    /// Of a new run: reads the text, and fills in what the settings leave open. The device is asked for after that, as it
    /// may take its time.
    pub fn new(
        mut settings: LmSettings,
        device: impl FnOnce() -> Result<Device>,
    ) -> crate::Result<LanguageSetup> {
        let tokenized = Tokenized::new(&mut settings)?;
        // When it is validated is a number of updates from here on, and the run says which.
        if settings.course.evaluate_every == 0 {
            settings.course.evaluate_every = settings.updates_of_epoch(tokenized.train_tokens());
        }
        Ok(LanguageSetup { tokenized: Some(tokenized), ..LanguageSetup::again(settings, &device()?)? })
    }

    /// Of a run that goes on.
    pub fn again(mut settings: LmSettings, device: &Device) -> crate::Result<LanguageSetup> {
        settings.device = device.name().to_string();
        settings.check_memory(device)?;
        Ok(LanguageSetup { settings, tokenized: None, device: device.clone(), group: Group::alone() })
    }

    /// By several ranks, each with its share of every batch.
    pub fn in_group(mut self, group: Group) -> LanguageSetup {
        self.group = group;
        self
    }

    /// The model before its first update. A run that has no tokens yet, as its process was stopped while it made them,
    /// gets them.
    pub fn model(self, run: &Run) -> crate::Result<LanguageModel> {
        if !TokenParts::exist(run) {
            let tokenized = match self.tokenized {
                Some(tokenized) => tokenized,
                None => Tokenized::new(&mut self.settings.clone())?,
            };
            // Templates and sizes for those who use or export what is learned.
            if let Some(folder) = published(&self.settings) {
                copy_files(&folder, &run.path().join(PUBLISHED))?;
            }
            tokenized.write(run)?;
        }
        LanguageModel::new(&self.group, run, self.settings, &self.device)
    }
}

impl Prepared for LanguageSetup {
    fn config(&self) -> Table {
        self.settings.table()
    }

    fn seed(&self) -> u64 {
        self.settings.seed
    }

    fn data(&self) -> String {
        self.tokenized.as_ref().map_or(String::new(), Tokenized::fingerprint)
    }

    fn begin(self: Box<Self>, run: &Run) -> Result<Box<dyn Trainee>> {
        Ok(Box::new(self.model(run)?))
    }
}
