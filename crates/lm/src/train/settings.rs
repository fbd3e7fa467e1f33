//! Everything about a training that a user may choose, one row each. A run's `config.toml` has these keys and those of the
//! model.

use farad::nn::Module;
use farad::optim::schedule::{Cosine, Warmup};
use farad::run::{Run, count, counted};
use farad::train::settings::{NumberRange, SettingsTable as _, Takes};
use farad::train::{LoopSettings, moments};
use farad::{Device, Need, Precision};

use crate::error::Result;
use crate::hub::{FAMILIES, HubFolder, LoraOptions, ModelFamily, adapt, check_targets};
use crate::model::{ModelOptions, Transformer};
use crate::tokenize::TokenizerKind;

/// Numbers from 0 on.
const FROM_ZERO: Takes = Takes::Number(NumberRange::from(0.0));
/// Shares of one.
const SHARE: Takes = Takes::Number(NumberRange::from(0.0).below(1.0));
/// Parts of an update, and passes: as many as their product can be counted.
const MANY: Takes = Takes::Whole(1, 1_000_000);

farad::train::settings! {
    /// What a language model is trained with. [`LmSettings::new`] has what is good for a first one.
    ///
    /// ```
    /// use farad::train::settings::SettingsTable as _;
    /// use farad_lm::train::LmSettings;
    /// let mut settings = LmSettings::new();
    /// settings.set("batch=8")?;
    /// assert_eq!(settings.batch, 8);
    /// let text = settings.set("wdth=64").unwrap_err().to_string();
    /// assert!(text.starts_with("settings: there is no key `wdth`; did you mean `width`?"));
    /// # Ok::<(), farad_lm::Error>(())
    /// ```
    pub struct LmSettings {
        data: String = String::new(), Takes::Text, "The text: a file or a folder.";
        tokenizer ["tokeniser"]: String = "chars".into(), Takes::Text, "What tokens are: bytes, chars, words, bpe, or the path of a tokenizer.json.";
        device: String = String::new(), Takes::Text, "The device that the run was started on.";
        seed: u64 = 1, Takes::from(0), "The seed of weights, windows and dropout.";
        updates: u64 = 2000, Takes::from(0), "Total number of updates; 0: as many as the epochs have.";
        epochs: u64 = 1, MANY, "Passes over as many tokens as the training text has, if updates are 0.";
        batch: usize = 32, MANY, "Windows per batch.";
        accumulate: u64 = 1, MANY, "Batches per update.";
        learning_rate: f64 = 1e-3, FROM_ZERO, "The largest learning rate.";
        final_rate: f64 = 0.1, SHARE, "The share of the learning rate that is left at the end.";
        warm_up: u64 = 100, Takes::from(0), "Updates over which the rate grows to its largest.";
        #[later] optimizer ["optimiser"]: String = "adamw".into(), Takes::one_of(farad::optim::OptimizerRow::names()), "The optimizer of the weights.";
        weight_decay: f64 = 0.1, FROM_ZERO, "How strongly matrices and tables decay to zero.";
        clip: f64 = 1.0, FROM_ZERO, "Gradients are scaled down to this norm; 0: never.";
        mixed: bool = false, Takes::Truth, "Whether products are computed in f16 (mixed precision).";
        validation: f64 = 0.1, SHARE, "The share of the text for validation, if there is no validation file.";
        validation_tokens: usize = 1 << 17, Takes::from(1), "The most tokens that a validation during training looks at.";
        sample: usize = 400, Takes::from(0), "Tokens of the sample in the report.";
        #[later] weights: String = String::new(), Takes::Text, "The folder of published weights that training starts from; set by --from.";
        #[later] family: String = "gpt2".into(), Takes::one_of(FAMILIES.iter().map(|family| family.name)), "Whose names the weights have in files.";
        #[later] lora: usize = 0, Takes::Whole(0, 1 << 16), "The rank of low-rank adapters that are trained instead of the weights; 0: the weights are trained.";
        #[later] lora_alpha: f64 = 0.0, FROM_ZERO, "Adapters are scaled by this, divided by the rank; 0: twice the rank.";
        #[later] lora_targets: String = String::new(), Takes::Text, "Products that get adapters, with commas between (q_proj,v_proj); if empty, all of the blocks.";
        #[later] recompute: bool = false, Takes::Truth, "Whether blocks are computed again in the backward pass, to save memory (gradient checkpoints).";
        ..model: ModelOptions, "The model. Its vocabulary is at least that of the tokenizer.";
        ..course: LoopSettings, "When the loop logs, validates, saves and ends.";
    }
}

impl LmSettings {
    /// A small model that learns characters within minutes.
    pub fn new() -> LmSettings {
        let model = ModelOptions {
            layers: 4,
            heads: 4,
            width: 128,
            context: 128,
            vocabulary: 0,
            ..ModelOptions::default()
        };
        let course = LoopSettings { evaluate_every: 250, keep_best: true, ..LoopSettings::default() };
        LmSettings { model, course, ..LmSettings::default() }
    }

    /// Of a run.
    pub fn of(run: &Run) -> Result<LmSettings> {
        let mut settings = LmSettings::new();
        settings.take(run.config())?;
        settings.check()?;
        settings.model.check()?;
        Ok(settings)
    }

    /// Whether everything fits together. The vocabulary may still be open.
    pub fn check(&self) -> Result<()> {
        self.tokenizer_kind()?;
        if let Some(options) = self.lora_options() {
            check_targets(self.family(), self.model.layers, &options)?;
        }
        ModelOptions { vocabulary: self.model.vocabulary.max(1), ..self.model.clone() }.check()
    }

    /// The tokenizer that is asked for.
    pub fn tokenizer_kind(&self) -> Result<TokenizerKind> {
        TokenizerKind::named(&self.tokenizer)
    }

    /// In which precision products are computed.
    pub fn precision(&self) -> Precision {
        if self.mixed { Precision::Mixed } else { Precision::Single }
    }

    /// Tokens that an update learns from.
    pub fn update_tokens(&self) -> u64 {
        self.batch as u64 * self.model.context as u64 * self.accumulate
    }

    /// Updates per epoch, with this many tokens to train on.
    pub fn updates_of_epoch(&self, tokens: usize) -> u64 {
        (tokens as u64).div_ceil(self.update_tokens())
    }

    /// Total number of updates, with this many tokens to train on.
    pub fn updates_in_all(&self, tokens: usize) -> u64 {
        match self.updates {
            0 => self.epochs * self.updates_of_epoch(tokens),
            updates => updates,
        }
    }

    /// Refuses a model that a device cannot hold, before it is made.
    pub fn check_memory(&self, device: &Device) -> Result<()> {
        let need = match self.lora {
            0 => self.model.need(self.batch, self.mixed, moments(&self.optimizer)),
            // Frozen weights have neither gradients nor moments; what is small beside them is not counted.
            _ => Need::training(0, 0).activations(4 * self.model.parameter_count()),
        };
        Ok(need.check(
            device,
            "take fewer layers, a smaller width, vocabulary, context or batch, or another device",
        )?)
    }

    /// What adapters are trained, if any.
    pub fn lora_options(&self) -> Option<LoraOptions> {
        let alpha = if self.lora_alpha == 0.0 { 2.0 * self.lora as f64 } else { self.lora_alpha };
        let targets = self.lora_targets.split(',').map(str::trim).filter(|target| !target.is_empty());
        let targets = targets.map(str::to_string).collect();
        (self.lora > 0).then_some(LoraOptions { rank: self.lora, alpha, targets })
    }

    /// Whose names the weights have in files.
    pub fn family(&self) -> &'static ModelFamily {
        ModelFamily::named(&self.family).unwrap_or(&FAMILIES[0])
    }

    /// The model as it is trained, on a device: with new weights, or with published ones, and with new adapters.
    pub(super) fn new_model(&self, published: bool, device: &Device) -> Result<Transformer> {
        let mut model = match published && !self.weights.is_empty() {
            true => {
                let folder = HubFolder::open(&self.weights, self.model.context)?;
                folder.with_dropout(self.model.dropout).load(device)?
            }
            false => Transformer::new(&self.model)?.try_to_device(device)?,
        };
        if let Some(options) = self.lora_options() {
            adapt(&mut model, self.family(), &options)?;
        }
        model.set_checkpoints(self.recompute);
        model.train();
        Ok(model)
    }

    /// The learning rate of every update: warm-up, then a cosine.
    pub fn schedule(&self, updates: u64) -> Warmup<Cosine> {
        let warm = self.warm_up.min(updates / 2);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_give_the_settings_back() {
        let mut settings = LmSettings { batch: 7, ..LmSettings::new() };
        settings.model.dropout = 0.25;
        settings.course.patience = 3;
        let mut back = LmSettings::new();
        back.take(&settings.table()).expect("reads");
        assert_eq!(back, settings);
    }

    #[test]
    fn files_name_what_is_wrong_with_them() {
        let path = std::env::temp_dir().join(format!("farad-lm-settings-{}.toml", std::process::id()));
        let refused = |text: &str| {
            std::fs::write(&path, text).expect("writes");
            LmSettings::new().take_file(&path).unwrap_err().to_string()
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
        assert_eq!(
            refused("batch = 2\nlayers = -2"),
            "settings: layers takes a whole number from 1 on, not `-2`"
        );
        assert_eq!(refused("clip = true"), "settings: clip takes a number, not `true`");
        assert_eq!(refused("mixed = 1"), "settings: mixed takes true or false, not `1`");
        assert_eq!(refused("activation = 1"), "settings: activation takes a name, not `1`");
        assert!(
            refused("activation = \"swigl\"")
                .starts_with("settings: there is no activation `swigl`; did you mean `swiglu`?")
        );
        std::fs::write(&path, "layers = 3\nlearning_rate = 1\nactivation = \"swiglu\"\ntokeniser = \"bpe\"")
            .expect("writes");
        let mut settings = LmSettings::new();
        settings.take_file(&path).expect("reads");
        std::fs::remove_file(&path).expect("removes");
        assert_eq!((settings.model.layers, settings.learning_rate), (3, 1.0));
        assert_eq!(settings.tokenizer, "bpe");
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let refused = |assignment: &str| {
            let mut settings = LmSettings::new();
            match settings.set(assignment) {
                Ok(()) => settings.check().unwrap_err().to_string(),
                Err(error) => error.to_string(),
            }
        };
        assert_eq!(refused("batch"), "settings: `batch` is not key=value\nhelp: such as --set batch=64");
        assert_eq!(refused("batch=0"), "settings: batch takes a whole number from 1 on, not `0`");
        assert_eq!(refused("mixed=perhaps"), "settings: mixed takes true or false, not `perhaps`");
        assert!(refused("width=130").starts_with("model: heads do not divide the width: width 130, heads 4"));
        assert!(refused("tokenizer=letters").starts_with("tokenizer: there is no `letters`"));
    }

    #[test]
    fn epochs_count_where_updates_do_not() {
        let mut settings = LmSettings { batch: 4, updates: 0, epochs: 2, ..LmSettings::new() };
        settings.model.context = 10;
        assert_eq!(settings.updates_in_all(100), 6);
        settings.updates = 5;
        assert_eq!(settings.updates_in_all(100), 5);
    }
}
