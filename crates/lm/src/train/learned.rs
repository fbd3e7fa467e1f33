//! What a run has learned: the model and its tokenizer, from the best checkpoint.

use std::path::{Path, PathBuf};

use farad::nn::Module;
use farad::run::Run;
use farad::train::{TrainError, Watcher};
use farad::{Device, Error as Farad};
use serde::{Deserialize, Serialize};

use super::{KIND, LmSettings, TextScore};
use crate::data::Tokens;
use crate::error::{Error, Result};
use crate::generate::{Generator, Sampling};
use crate::model::Transformer;
use crate::tokenize::Tokenizer;

/// How text in reports is drawn: likely enough to be read.
const SAMPLE: Sampling =
    Sampling { temperature: 0.8, top_k: 0, top_p: 0.95, repetition_penalty: 1.0, seed: 0 };

/// What a checkpoint says of the model that it holds.
#[derive(Serialize, Deserialize)]
pub(super) struct Vocabulary {
    /// What tokens mean.
    #[serde(alias = "tokeniser")]
    pub tokenizer: Tokenizer,
    /// The loss at the validation that it was kept for.
    pub validation_loss: Option<f64>,
}

/// A model that was learned, on a device, ready for use.
pub struct Learned {
    /// The model.
    pub model: Transformer,
    /// What tokens mean.
    pub tokenizer: Tokenizer,
    /// What it was trained with.
    pub settings: LmSettings,
    /// After how many updates.
    pub updates: u64,
    /// The loss at the validation that it was kept for.
    pub validation_loss: Option<f64>,
}

impl Learned {
    /// The best model of a run, or the last if none was kept.
    pub fn of(run: &Run, device: &Device) -> Result<Learned> {
        let learned = Learned::found(run, device)?;
        learned.ok_or_else(|| Farad::from(TrainError::NothingLearned { path: run.path().into() }).into())
    }

    /// The same; none if nothing was learned yet.
    pub fn found(run: &Run, device: &Device) -> Result<Option<Learned>> {
        let settings = LmSettings::of(run)?;
        let Some(checkpoint) = run.learned()? else { return Ok(None) };
        let vocabulary: Vocabulary = checkpoint.value()?;
        check_vocabulary(&learned_path(run), &vocabulary.tokenizer, &settings)?;
        let model = settings.new_model(false, &Device::cpu())?;
        checkpoint.restore_module("model", &model)?;
        let model = model.try_to_device(device)?;
        model.eval();
        Ok(Some(Learned {
            model,
            tokenizer: vocabulary.tokenizer,
            updates: checkpoint.step(),
            validation_loss: vocabulary.validation_loss,
            settings,
        }))
    }

    /// Goes through a whole text; `watcher` gets the progress.
    pub fn judge(&self, tokens: &Tokens, name: &str, watcher: &dyn Watcher) -> Result<TextScore> {
        let what = format!("judging on {name}");
        let watch = |done: usize, all: usize| watcher.advanced(done as u64, all as u64, &what);
        TextScore::of(&self.model, self.settings.precision(), (tokens, name), usize::MAX, watch)
    }

    /// The tokens of a prompt; a prompt without any is the start of a line.
    pub fn prompted(&self, prompt: &str) -> Result<Vec<u32>> {
        prompted(&self.tokenizer, prompt)
    }

    /// A text of so many tokens, always the same one, for a report.
    pub fn sample(&self, tokens: usize) -> Result<String> {
        sample(&self.model, &self.tokenizer, tokens)
    }
}

fn prompted(tokenizer: &Tokenizer, prompt: &str) -> Result<Vec<u32>> {
    let tokens = tokenizer.encode_prompt(prompt)?;
    match tokens.is_empty() {
        true => Ok(tokenizer.encode_prompt("\n").unwrap_or_else(|_| vec![0])),
        false => Ok(tokens),
    }
}

/// A text of so many tokens by a model, always the same one.
pub(super) fn sample(model: &Transformer, tokenizer: &Tokenizer, tokens: usize) -> Result<String> {
    if tokens == 0 {
        return Ok(String::new());
    }
    let mut generator = Generator::new(model, SAMPLE)?;
    // A text that has no lines has no such character: any token will do to begin with.
    generator.push(&prompted(tokenizer, "\n").unwrap_or_else(|_| vec![0]))?;
    let drawn: Vec<u32> = generator.take(tokens).collect::<Result<_>>()?;
    Ok(tokenizer.decode(&drawn))
}

/// Where what was learned is.
fn learned_path(run: &Run) -> PathBuf {
    let best = run.best_path();
    if best.exists() { best } else { run.checkpoint_path() }
}

/// A checkpoint with another vocabulary belongs to another run.
pub(super) fn check_vocabulary(path: &Path, tokenizer: &Tokenizer, settings: &LmSettings) -> Result<()> {
    let (found, wanted) = (tokenizer.size(), settings.model.vocabulary);
    match found <= wanted && tokenizer.name() == kind_name(settings) {
        true => Ok(()),
        false => Err(Error::OtherVocabulary {
            path: path.into(),
            found: format!("{} with {}", tokenizer.name(), farad::run::counted(found, "entry")),
            wanted: format!("{} with at most {wanted}", kind_name(settings)),
        }),
    }
}

/// The run whose weights another starts from; one of another kind has none.
pub(super) fn run_to_start_from(from: &str) -> Result<Run> {
    let run = Run::open(from)?;
    match run.kind() == KIND {
        true => Ok(run),
        false => {
            let (path, found, wanted) = (run.path().into(), run.kind().into(), KIND.into());
            Err(Farad::from(TrainError::OtherKind { path, found, wanted }).into())
        }
    }
}

/// What the tokens mean that these weights were learned with.
pub(super) fn tokenizer_to_start_from(settings: &LmSettings) -> Result<Tokenizer> {
    let run = run_to_start_from(&settings.course.from)?;
    let nothing = || Farad::from(TrainError::NothingLearned { path: run.path().into() });
    let Vocabulary { tokenizer, .. } = run.learned()?.ok_or_else(nothing)?.value()?;
    let wanted = kind_name(settings);
    match tokenizer.name() == wanted {
        true => Ok(tokenizer),
        false => {
            let (path, found) = (run.path().into(), tokenizer.name().into());
            Err(Error::OtherTokenizer { path, found, wanted: wanted.into() })
        }
    }
}

fn kind_name(settings: &LmSettings) -> &str {
    match settings.tokenizer.as_str() {
        name if name.ends_with(".json") => "tokenizer.json",
        "characters" => "chars",
        name => name,
    }
}
