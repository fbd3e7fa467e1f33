//! What a run has learned: the model and its tokenizer, from the best checkpoint.

use std::path::PathBuf;

use farad::Device;
use farad::nn::Module;
use farad::run::{Checkpoint, Run};
use serde::{Deserialize, Serialize};

use super::{KIND, Settings};
use crate::error::{Error, Result};
use crate::model::Transformer;
use crate::tokenize::Tokenizer;

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
    pub settings: Settings,
    /// After how many updates.
    pub updates: u64,
    /// The loss at the validation that it was kept for.
    pub validation_loss: Option<f64>,
}

impl Learned {
    /// The best model of a run, or the last if there was no validation.
    pub fn of(run: &Run, device: &Device) -> Result<Learned> {
        let settings = Settings::of(run)?;
        let best = best_path(run);
        let path = if best.exists() { best } else { run.checkpoint_path() };
        if !path.exists() {
            return Err(Error::NothingLearned { path: run.path().into() });
        }
        let checkpoint = Checkpoint::read(&path, KIND)?;
        let vocabulary: Vocabulary = checkpoint.value()?;
        check_vocabulary(&path, &vocabulary.tokenizer, &settings)?;
        let model = Transformer::new(&settings.model)?;
        checkpoint.restore_module("model", &model)?;
        let model = model.try_to_device(device)?;
        model.eval();
        Ok(Learned {
            model,
            tokenizer: vocabulary.tokenizer,
            updates: checkpoint.step(),
            validation_loss: vocabulary.validation_loss,
            settings,
        })
    }
}

/// A checkpoint with another vocabulary belongs to another run.
pub(super) fn check_vocabulary(
    path: &std::path::Path,
    tokenizer: &Tokenizer,
    settings: &Settings,
) -> Result<()> {
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

fn kind_name(settings: &Settings) -> &str {
    match settings.tokenizer.as_str() {
        name if name.ends_with(".json") => "tokenizer.json",
        "characters" => "chars",
        name => name,
    }
}

/// Where the best model of a run is kept.
pub(super) fn best_path(run: &Run) -> PathBuf {
    run.path().join("best.safetensors")
}
