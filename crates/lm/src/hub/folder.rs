//! A folder with a published model: looked at first, loaded when it fits.

use std::path::{Path, PathBuf};

use farad::Device;
use farad::nn::Module;
use farad::run::bytes;

use super::config::FolderConfig;
use super::family::ModelFamily;
use super::shards::Shards;
use super::template::ChatTemplate;
use super::weights;
use crate::error::{Error, Result};
use crate::model::{ModelOptions, Transformer, WeightFormat};
use crate::tokenize::{Tokenizer, TokenizerKind};

/// Tokens that a model sees at once if nobody says how many; a cache has room for all of them.
const USUAL_CONTEXT: usize = 4096;

/// A folder as Hugging Face's. Nothing of the weights is in memory yet.
pub struct HubFolder {
    path: PathBuf,
    family: &'static ModelFamily,
    options: ModelOptions,
    /// Rows of learned positions in the file.
    places: usize,
    ends: Vec<u32>,
    shards: Shards,
    format: WeightFormat,
}

impl HubFolder {
    /// Whether a path is such a folder.
    pub fn is_one(path: &Path) -> bool {
        path.join("config.json").is_file()
    }

    /// Looks at a folder. `context` is as many tokens as the model is to see at once; 0: as many as it can, up to 4,096.
    pub fn open(path: impl Into<PathBuf>, context: usize) -> Result<HubFolder> {
        let path = path.into();
        if !path.join("config.json").exists() {
            return Err(Error::NoHubFolder { path });
        }
        let FolderConfig { family, options, ends } = FolderConfig::read(&path, context, USUAL_CONTEXT)?;
        let places = FolderConfig::read(&path, 0, usize::MAX)?.options.context;
        let shards = Shards::open(&path)?;
        Ok(HubFolder { path, family, options, places, ends, shards, format: WeightFormat::F32 })
    }

    /// The same with dropout, for those who train it.
    pub fn with_dropout(mut self, dropout: f32) -> HubFolder {
        self.options.dropout = dropout;
        self
    }

    /// The same with weights that are held in another format: less memory, for models that only write.
    pub fn with_format(mut self, format: WeightFormat) -> HubFolder {
        self.format = format;
        self
    }

    /// Tokens that end a text, by the files of a folder that may lack weights.
    pub fn ends_in(path: &Path) -> Result<Vec<u32>> {
        Ok(FolderConfig::read(path, 0, usize::MAX)?.ends)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What kind of model it is.
    pub fn family(&self) -> &'static ModelFamily {
        self.family
    }

    /// The sizes of the model.
    pub fn options(&self) -> &ModelOptions {
        &self.options
    }

    /// Tokens that end a text.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// How its conversations are written, if it comes with a template.
    pub fn template(&self) -> Result<Option<ChatTemplate>> {
        ChatTemplate::of_folder(&self.path)
    }

    /// What its tokens mean. An error if the tokenizer has more tokens than the model.
    pub fn tokenizer(&self) -> Result<Tokenizer> {
        let path = self.path.join("tokenizer.json");
        if !path.exists() {
            return Err(Error::NoHubTokenizer { path: self.path.clone() });
        }
        let tokenizer = Tokenizer::learn(&TokenizerKind::File(path), b"", 0)?;
        let (tokens, vocabulary) = (tokenizer.size(), self.options.vocabulary);
        match tokens <= vocabulary {
            true => Ok(tokenizer),
            false => Err(Error::OtherHubTokenizer { path: self.path.clone(), tokens, vocabulary }),
        }
    }

    /// The memory that generation needs, with so many texts at once.
    pub fn needs(&self, texts: usize) -> Needs {
        let options = &self.options;
        let columns = (options.key_heads() * options.head_width()) as u128;
        let cache = 2 * 4 * columns * (texts * options.context * options.layers) as u128;
        Needs { weights: options.weight_bytes(self.format), cache, stored: self.shards.bytes().into() }
    }

    /// The model on a device, in use. An error, before anything is loaded, if it does not fit.
    pub fn load(&self, device: &Device) -> Result<Transformer> {
        self.needs(1).check(device)?;
        let model =
            weights::load(&self.shards, self.family, &self.options, self.places, (self.format, device))?;
        model.eval();
        Ok(model)
    }
}

/// Bytes that a model needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Of the weights on the device.
    pub weights: u128,
    /// Of the keys and values of earlier tokens.
    pub cache: u128,
    /// Of the weights in the files.
    pub stored: u128,
}

impl Needs {
    /// All of it on the device.
    pub fn total(&self) -> u128 {
        self.weights + self.cache
    }

    /// Refuses what a device cannot hold.
    pub fn check(&self, device: &Device) -> Result<()> {
        let Some(has) = device.memory().map(u128::from).filter(|&has| self.total() > has) else {
            return Ok(());
        };
        let [weights, cache, needed, has] = [self.weights, self.cache, self.total(), has].map(bytes);
        Err(Error::TooLargeToLoad { device: device.name().into(), weights, cache, needed, has })
    }
}
