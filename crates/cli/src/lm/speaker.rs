//! A language model that is ready to make text: that of a run, or one that others have published.

use std::path::Path;

use farad::Device;
use farad::run::{bytes, count};
use farad::train::run_device;
use farad_lm::hub::{ChatTemplate, HubFolder, read_adapter};
use farad_lm::train::{KIND, Learned, PUBLISHED};
use farad_lm::{Tokenizer, Transformer};

use crate::arguments::{DeviceFlag, WeightsFlags};
use crate::error::{Error, Result};
use crate::look::Talk;
use crate::source::open_run;

/// A model with all that it takes to speak.
pub struct Speaker {
    pub model: Transformer,
    pub tokenizer: Tokenizer,
    /// How conversations are written, if the model has a way.
    pub template: Option<ChatTemplate>,
    /// Tokens that end a text.
    ends: Vec<u32>,
    /// Whether texts begin as the tokenizer says.
    whole: bool,
}

impl Speaker {
    /// The model that the command line names, for so many texts at once.
    pub fn open(
        run: Option<&Path>,
        weights: &WeightsFlags,
        device: &DeviceFlag,
        (texts, talk): (usize, Talk),
    ) -> Result<Speaker> {
        match (run, &weights.weights) {
            (_, Some(folder)) => {
                let folder = weights.open(folder)?;
                Speaker::published(&folder, weights.adapter.as_deref(), device, (texts, talk))
            }
            (Some(run), None) => Speaker::learned(run, device),
            (None, None) => unreachable!("the command line asks for one of them"),
        }
    }

    fn learned(folder: &Path, device: &DeviceFlag) -> Result<Speaker> {
        let run = open_run(folder)?;
        if run.kind() != KIND {
            return Err(Error::NoLanguageModel {
                path: folder.display().to_string(),
                kind: run.kind().into(),
            });
        }
        let device = match device.asked()? {
            Some(device) => device,
            None => run_device(&run)?,
        };
        let Learned { mut model, tokenizer, .. } = Learned::of(&run, &device)?;
        // One product instead of three for every token.
        model.merge()?;
        let published = run.path().join(PUBLISHED);
        let (template, ends) = match HubFolder::is_one(&published) {
            true => (ChatTemplate::of_folder(&published)?, HubFolder::ends_in(&published)?),
            false => (None, vec![]),
        };
        Ok(Speaker { model, tokenizer, template, ends, whole: HubFolder::is_one(&published) })
    }

    fn published(
        folder: &HubFolder,
        adapter: Option<&Path>,
        device: &DeviceFlag,
        (texts, talk): (usize, Talk),
    ) -> Result<Speaker> {
        let tokenizer = folder.tokenizer()?;
        let device = match device.asked()? {
            Some(device) => device,
            None => Device::best(),
        };
        told(folder, texts, &device, talk);
        folder.needs(texts).check(&device)?;
        let mut model = folder.load(&device)?;
        if let Some(adapter) = adapter {
            read_adapter(&mut model, folder.family(), adapter)?;
            // Weights that are not f32 would lose what is added.
            if weights_are_single(&model) {
                model.merge()?;
            }
        }
        let (template, ends) = (folder.template()?, folder.ends().to_vec());
        Ok(Speaker { model, tokenizer, template, ends, whole: true })
    }

    /// Whether a token ends a text.
    pub fn ends(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }

    /// The tokens of a prompt; a prompt without any is the start of a line.
    pub fn prompted(&self, prompt: &str) -> Result<Vec<u32>> {
        let tokens = match self.whole {
            true => self.tokenizer.encode_whole(prompt.as_bytes())?,
            false => self.tokenizer.encode_prompt(prompt)?,
        };
        match tokens.is_empty() {
            true => Ok(self.tokenizer.encode_prompt("\n").unwrap_or_else(|_| vec![0])),
            false => Ok(tokens),
        }
    }

    /// Whether what comes after a prompt is a word of its own.
    pub fn needs_space(&self, prompt: &str) -> bool {
        self.tokenizer.name() == "words" && prompt.ends_with(|last: char| !last.is_whitespace())
    }
}

/// Whether weights are held as f32.
fn weights_are_single(model: &Transformer) -> bool {
    model.wte.weight.value().dtype() == farad::DType::F32
}

/// Says what a model needs before it is loaded.
pub fn told(folder: &HubFolder, texts: usize, device: &Device, talk: Talk) {
    let (needs, options) = (folder.needs(texts), folder.options());
    let has = device.memory().map_or("an unknown amount".into(), |has| bytes(has.into()));
    let [weights, stored, cache] = [needs.weights, needs.stored, needs.cache].map(bytes);
    talk.say(format!(
        "{} with {} parameters: weights {weights} ({stored} in files), cache {cache} for {} tokens; {} has {has}",
        folder.family().name,
        count(options.parameter_count()),
        count(texts * options.context),
        device.name(),
    ));
}
