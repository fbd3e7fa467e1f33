//! Everything about a training that a user may choose. The keys are the field names and those of the model, so that a
//! `config.toml` is this structure.

use std::path::Path;

use farad::optim::schedule::{Cosine, Warmup};
use farad::run::{Run, Table, count, counted, current_name};
use farad::{Device, Precision};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::ModelOptions;
use crate::tokenize::TokenizerKind;

/// What a training is made of.
///
/// ```
/// use farad_lm::train::Settings;
/// let mut settings = Settings::default();
/// settings.set("batch=8")?;
/// assert_eq!(settings.batch, 8);
/// let text = settings.set("wdth=64").unwrap_err().to_string();
/// assert!(text.starts_with("settings: there is no key `wdth`; did you mean `width`?"));
/// # Ok::<(), farad_lm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The text: a file or a folder.
    pub data: String,
    /// bytes, chars, words, bpe, or the path of a tokenizer.json.
    pub tokenizer: String,
    /// The device that the run was started on.
    pub device: String,
    /// The seed of weights, windows and dropout.
    pub seed: i64,
    /// Updates in all; 0: as many as the epochs have.
    pub updates: i64,
    /// Passes over as many tokens as the training text has, if updates are 0.
    pub epochs: i64,
    /// Windows a batch.
    pub batch: i64,
    /// Batches an update.
    pub accumulate: i64,
    /// The largest learning rate.
    pub learning_rate: f64,
    /// The share of it that is left at the end.
    pub final_rate: f64,
    /// Updates until it is reached.
    pub warm_up: i64,
    /// How much matrices are drawn to zero.
    pub weight_decay: f64,
    /// The largest norm of the gradients; 0: any.
    pub clip: f64,
    /// Compute products with halves.
    pub mixed: bool,
    /// The share of the text that is for validation, where no file is.
    pub validation: f64,
    /// Tokens that a validation during training looks at, at most.
    pub validation_tokens: i64,
    /// Updates between rows of the log.
    pub log_every: i64,
    /// Updates between validations.
    pub evaluate_every: i64,
    /// Updates between checkpoints.
    pub checkpoint_every: i64,
    /// Tokens of the sample in the report.
    pub sample: i64,
    /// The model. Its vocabulary is at least that of the tokenizer; 0 in settings for a new run: exactly that.
    #[serde(flatten)]
    pub model: ModelOptions,
}

impl Default for Settings {
    /// A small model that learns characters within minutes.
    fn default() -> Settings {
        let model = ModelOptions {
            layers: 4,
            heads: 4,
            width: 128,
            context: 128,
            vocabulary: 0,
            ..Default::default()
        };
        Settings {
            data: String::new(),
            tokenizer: "chars".into(),
            device: String::new(),
            seed: 1,
            updates: 2000,
            epochs: 1,
            batch: 32,
            accumulate: 1,
            learning_rate: 1e-3,
            final_rate: 0.1,
            warm_up: 100,
            weight_decay: 0.1,
            clip: 1.0,
            mixed: false,
            validation: 0.1,
            validation_tokens: 1 << 17,
            log_every: 20,
            evaluate_every: 250,
            checkpoint_every: 1000,
            sample: 400,
            model,
        }
    }
}

impl Settings {
    /// Of a run.
    pub fn of(run: &Run) -> Result<Settings> {
        let mut settings = Settings::default();
        settings.take(run.config().clone(), "config.toml")?;
        settings.check()?;
        settings.model.check()?;
        Ok(settings)
    }

    /// Takes over the keys of a TOML file.
    pub fn take_file(&mut self, path: &Path) -> Result<()> {
        let fail = |source| farad::Error::File { op: "settings", path: path.into(), source };
        let text = std::fs::read_to_string(path).map_err(fail)?;
        let place = path.display().to_string();
        let parsed: std::result::Result<Table, toml::de::Error> = text.parse();
        let mut table =
            parsed.map_err(|error| Error::Settings { place: place.clone(), message: error.to_string() })?;
        // The head of a run's own config.toml says nothing about the training.
        ["format", "version", "kind"].iter().for_each(|key| drop(table.remove(*key)));
        self.take(table, &place)
    }

    /// Takes over keys; one that there is not is an error.
    fn take(&mut self, table: Table, place: &str) -> Result<()> {
        for (key, value) in table {
            let key = current_name(&key).to_string();
            let mut all = self.table();
            let Some(old) = all.get_mut(&key) else { return Err(self.unknown(&key)) };
            let (wanted, found) = (kind(old), value.to_string());
            // Whole numbers are numbers too.
            *old = match (&*old, value) {
                (toml::Value::Float(_), toml::Value::Integer(whole)) => (whole as f64).into(),
                (_, value) => value,
            };
            let named = old.is_str();
            let taken: std::result::Result<Settings, toml::de::Error> = all.try_into();
            *self = taken.map_err(|error| match wanted {
                // The names that there are stand in the message.
                "a name" if named => {
                    Error::Settings { place: format!("{place}: {key}"), message: error.message().into() }
                }
                wanted => Error::Setting { key, wanted, found },
            })?;
        }
        Ok(())
    }

    /// Sets one key from text, as `key=value`.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let (key, text) =
            assignment.split_once('=').ok_or_else(|| Error::SettingAssignment { text: assignment.into() })?;
        let (key, text) = (current_name(key.trim()), text.trim());
        let Some(old) = self.table().remove(key) else { return Err(self.unknown(key)) };
        let wrong = || Error::Setting { key: key.into(), wanted: kind(&old), found: text.into() };
        let value: toml::Value = match old {
            toml::Value::Integer(_) => text.parse::<i64>().map_err(|_| wrong())?.into(),
            toml::Value::Float(_) => text.parse::<f64>().map_err(|_| wrong())?.into(),
            toml::Value::Boolean(_) => text.parse::<bool>().map_err(|_| wrong())?.into(),
            _ => text.into(),
        };
        self.take(Table::from_iter([(key.to_string(), value)]), "--set")
    }

    fn unknown(&self, key: &str) -> Error {
        let keys: Vec<String> = self.table().keys().cloned().collect();
        let nearest = farad::nearest(key, keys.iter().map(String::as_str)).map(str::to_string);
        Error::UnknownSetting { key: key.into(), nearest, keys }
    }

    /// As the folder of a run stores it.
    pub fn table(&self) -> Table {
        Table::try_from(self).expect("settings are a table")
    }

    /// Whether every key has a value that makes sense. The vocabulary may still be open.
    pub fn check(&self) -> Result<()> {
        let refuse =
            |key: &str, wanted, found: String| Err(Error::Setting { key: key.into(), wanted, found });
        for (key, value) in [
            ("batch", self.batch),
            ("accumulate", self.accumulate),
            ("epochs", self.epochs),
            ("validation_tokens", self.validation_tokens),
            ("log_every", self.log_every),
            ("evaluate_every", self.evaluate_every),
            ("checkpoint_every", self.checkpoint_every),
        ] {
            if value < 1 {
                return refuse(key, "a whole number from 1 on", value.to_string());
            }
        }
        for (key, value) in [
            ("seed", self.seed),
            ("updates", self.updates),
            ("warm_up", self.warm_up),
            ("sample", self.sample),
        ] {
            if value < 0 {
                return refuse(key, "a whole number from 0 on", value.to_string());
            }
        }
        for (key, value) in
            [("learning_rate", self.learning_rate), ("weight_decay", self.weight_decay), ("clip", self.clip)]
        {
            if !(value >= 0.0 && value.is_finite()) {
                return refuse(key, "a number from 0 on", value.to_string());
            }
        }
        for (key, value) in [("validation", self.validation), ("final_rate", self.final_rate)] {
            if !(0.0..1.0).contains(&value) {
                return refuse(key, "a number from 0 to below 1", value.to_string());
            }
        }
        self.tokenizer_kind()?;
        ModelOptions { vocabulary: self.model.vocabulary.max(1), ..self.model.clone() }.check()
    }

    /// The tokenizer that is asked for.
    pub fn tokenizer_kind(&self) -> Result<TokenizerKind> {
        TokenizerKind::named(&self.tokenizer)
    }

    /// The device that the run was started on.
    pub fn device(&self) -> farad::Result<Device> {
        Device::named(self.device.split(' ').next().unwrap_or_default())
    }

    /// In which precision products are computed.
    pub fn precision(&self) -> Precision {
        if self.mixed { Precision::Mixed } else { Precision::Single }
    }

    /// Tokens that an update learns from.
    pub fn update_tokens(&self) -> u64 {
        self.batch as u64 * self.model.context as u64 * self.accumulate as u64
    }

    /// Updates in all, with so many tokens to train on.
    pub fn updates_in_all(&self, tokens: usize) -> u64 {
        match self.updates {
            0 => self.epochs as u64 * (tokens as u64).div_ceil(self.update_tokens()),
            updates => updates as u64,
        }
    }

    /// Refuses a model that a device cannot hold, before it is made.
    pub fn check_memory(&self, device: &Device) -> Result<()> {
        let need = self.model.need(self.batch as usize, self.mixed);
        Ok(need.check(
            device,
            "take fewer layers, a smaller width, vocabulary, context or batch, or another device",
        )?)
    }

    /// The learning rate of every update: warm-up, then a cosine.
    pub fn schedule(&self, updates: u64) -> Warmup<Cosine> {
        let warm = (self.warm_up as u64).min(updates / 2);
        let cosine = Cosine::new(self.learning_rate, (updates - warm).max(1));
        Warmup::new(warm, cosine.minimum(self.learning_rate * self.final_rate))
    }

    /// The model's sizes in a few words.
    pub fn shape(&self) -> String {
        let ModelOptions { layers, heads, width, context, vocabulary, .. } = self.model;
        let [layers, heads] = [(layers, "layer"), (heads, "head")].map(|(n, what)| counted(n, what));
        let [width, context, vocabulary] = [width, context, vocabulary].map(count);
        format!("{layers}, {heads}, width {width}, context {context}, vocabulary {vocabulary}")
    }
}

/// What a key takes whose value is such.
fn kind(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::Integer(_) => "a whole number",
        toml::Value::Float(_) => "a number",
        toml::Value::Boolean(_) => "true or false",
        _ => "a name",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_give_the_settings_back() {
        let mut settings = Settings { batch: 7, ..Settings::default() };
        settings.model.dropout = 0.25;
        let mut back = Settings::default();
        back.take(settings.table(), "table").expect("reads");
        assert_eq!(back, settings);
    }

    #[test]
    fn files_name_what_is_wrong_with_them() {
        let path = std::env::temp_dir().join(format!("farad-lm-settings-{}.toml", std::process::id()));
        let refused = |text: &str| {
            std::fs::write(&path, text).expect("writes");
            Settings::default().take_file(&path).unwrap_err().to_string()
        };
        let text = refused("layer = 3");
        assert!(
            text.starts_with(
                "settings: there is no key `layer`; did you mean `layers`?\nhelp: the keys are "
            ),
            "{text}"
        );
        assert!(refused("layers = ").contains("farad-lm-settings"));
        assert_eq!(refused("layers = \"two\""), "settings: layers takes a whole number, not `\"two\"`");
        assert_eq!(refused("batch = 2\nlayers = -2"), "settings: layers takes a whole number, not `-2`");
        assert_eq!(refused("clip = true"), "settings: clip takes a number, not `true`");
        assert_eq!(refused("mixed = 1"), "settings: mixed takes true or false, not `1`");
        assert_eq!(refused("activation = 1"), "settings: activation takes a name, not `1`");
        assert!(refused("activation = \"swish\"").contains(".toml: activation: unknown variant"));
        std::fs::write(&path, "layers = 3\nlearning_rate = 1\nactivation = \"swiglu\"").expect("writes");
        let mut settings = Settings::default();
        settings.take_file(&path).expect("reads");
        std::fs::remove_file(&path).expect("removes");
        assert_eq!((settings.model.layers, settings.learning_rate), (3, 1.0));
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let refused = |assignment: &str| {
            let mut settings = Settings::default();
            settings.set(assignment).and_then(|()| settings.check()).unwrap_err().to_string()
        };
        assert_eq!(refused("batch"), "settings: `batch` is not key=value");
        assert_eq!(refused("batch=0"), "settings: batch takes a whole number from 1 on, not `0`");
        assert_eq!(refused("mixed=perhaps"), "settings: mixed takes true or false, not `perhaps`");
        assert!(refused("width=130").starts_with("model: heads do not divide the width: width 130, heads 4"));
        assert!(refused("tokenizer=letters").starts_with("tokenizer: there is no `letters`"));
    }

    #[test]
    fn epochs_count_where_updates_do_not() {
        let mut settings = Settings { batch: 4, updates: 0, epochs: 2, ..Settings::default() };
        settings.model.context = 10;
        assert_eq!(settings.updates_in_all(100), 6);
        settings.updates = 5;
        assert_eq!(settings.updates_in_all(100), 5);
    }
}
