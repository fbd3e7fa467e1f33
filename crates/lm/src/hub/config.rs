//! `config.json`: the family of a model and its sizes.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::family::{BiasRule, FAMILIES, ModelFamily, WindowRule};
use crate::error::{Error, Result};
use crate::model::{
    Activation, AttentionBias, FamilyOptions, ModelOptions, NormKind, Positions, RopeScaling,
};

/// More columns than any head has.
const WIDEST_HEAD: usize = 1 << 16;

/// What a folder's `config.json` says.
pub(super) struct FolderConfig {
    pub family: &'static ModelFamily,
    pub options: ModelOptions,
    /// Tokens that end a text.
    pub ends: Vec<u32>,
}

impl FolderConfig {
    /// Reads a folder's file. `context` is as many tokens as the model is to see; 0: as many as it can, at most `usual`.
    pub fn read(folder: &Path, context: usize, usual: usize) -> Result<FolderConfig> {
        let config = ConfigFile::read(folder.join("config.json"))?;
        let name = config.text("model_type")?;
        let Some(family) = ModelFamily::named(&name) else {
            let known = FAMILIES.iter().map(|family| family.name).collect::<Vec<_>>().join(", ");
            return Err(config.wrong(format!("model_type `{name}` is not known (known: {known})")));
        };
        if config.get("quantization_config").is_some() {
            return Err(config.wrong("quantized weights are not read; use the model's own weights".into()));
        }
        let mut options = if family.is_gpt2() { gpt2(&config)? } else { llama(&config, family)? };
        if options.head_width() > WIDEST_HEAD {
            let found = options.head_width();
            return Err(config.wrong(format!("heads are too wide ({found} columns vs {WIDEST_HEAD})")));
        }
        let most = options.context;
        if context > most {
            return Err(Error::LongContext { asked: context, most });
        }
        options.context = if context == 0 { most.min(usual) } else { context };
        options.check()?;
        Ok(FolderConfig { family, options, ends: ends(folder, &config)? })
    }
}

/// Tokens that end a text: `generation_config.json` knows better than `config.json`.
fn ends(folder: &Path, config: &ConfigFile) -> Result<Vec<u32>> {
    let path = folder.join("generation_config.json");
    let other = if path.exists() { Some(ConfigFile::read(path)?) } else { None };
    let given =
        other.as_ref().and_then(|file| file.get("eos_token_id")).or_else(|| config.get("eos_token_id"));
    let token = |value: &Value| value.as_u64().and_then(|token| u32::try_from(token).ok());
    let tokens = match given {
        None => Some(vec![]),
        Some(Value::Array(all)) => all.iter().map(token).collect(),
        Some(one) => token(one).map(|token| vec![token]),
    };
    tokens.ok_or_else(|| config.wrong("eos_token_id is no token".into()))
}

fn gpt2(config: &ConfigFile) -> Result<ModelOptions> {
    for key in ["scale_attn_by_inverse_layer_idx", "add_cross_attention"] {
        if config.truth(key)? {
            return Err(config.wrong(format!("{key} is true, which is not supported")));
        }
    }
    if !config.truth_or("scale_attn_weights", true)? {
        return Err(config.wrong("scale_attn_weights is false, which is not supported".into()));
    }
    let activation = match config.text_or("activation_function", "gelu_new")?.as_str() {
        "gelu_new" | "gelu_pytorch_tanh" => Activation::GeluTanh,
        "gelu" => Activation::Gelu,
        other => return Err(config.wrong(format!("activation_function `{other}` is not supported"))),
    };
    let epsilon = config.number_or("layer_norm_epsilon", 1e-5)?;
    Ok(ModelOptions {
        layers: config.size("n_layer")?,
        heads: config.size("n_head")?,
        width: config.size("n_embd")?,
        context: config.size("n_positions")?,
        vocabulary: config.size("vocab_size")?,
        feed_forward: config.size_or("n_inner", 0)?,
        activation,
        positions: Positions::Learned,
        tied: config.truth_or("tie_word_embeddings", true)?,
        dropout: 0.0,
        bias: true,
        family: FamilyOptions { epsilon, ..FamilyOptions::PLAIN },
    })
}

fn llama(config: &ConfigFile, family: &ModelFamily) -> Result<ModelOptions> {
    let activation = config.text_or("hidden_act", "silu")?;
    if activation != "silu" {
        return Err(config.wrong(format!("hidden_act `{activation}` is not supported (silu is)")));
    }
    let layers = config.size("num_hidden_layers")?;
    let heads = config.size("num_attention_heads")?;
    let context = config.size("max_position_embeddings")?;
    let (window, window_from) = window(config, family, layers)?;
    let attention_bias = match family.bias {
        BiasRule::Always(bias) => bias,
        BiasRule::Asked if config.truth("attention_bias")? => AttentionBias::All,
        BiasRule::Asked => AttentionBias::None,
    };
    let options = FamilyOptions {
        norm: NormKind::Rms,
        epsilon: config.number_or("rms_norm_eps", 1e-6)?,
        key_heads: config.size_or("num_key_value_heads", heads)?,
        head_width: config.size_or("head_dim", 0)?,
        window,
        window_from,
        attention_bias,
        feed_forward_bias: config.truth("mlp_bias")?,
        ..rope(config, context)?
    };
    Ok(ModelOptions {
        layers,
        heads,
        width: config.size("hidden_size")?,
        context,
        vocabulary: config.size("vocab_size")?,
        feed_forward: config.size("intermediate_size")?,
        activation: Activation::Swiglu,
        positions: Positions::Rotary,
        tied: config.truth("tie_word_embeddings")?,
        dropout: 0.0,
        bias: false,
        family: options,
    })
}

/// How many tokens are seen, and the first layer that sees only these.
fn window(config: &ConfigFile, family: &ModelFamily, layers: usize) -> Result<(usize, usize)> {
    let asked = match family.window {
        WindowRule::Never => false,
        WindowRule::Given => true,
        WindowRule::Asked => config.truth("use_sliding_window")?,
    };
    // What the library takes if a file says nothing; null is no window.
    let unsaid = if config.json.get("sliding_window").is_none() { 4096 } else { 0 };
    let window = if asked { config.size_or("sliding_window", unsaid)? } else { 0 };
    if window == 0 {
        return Ok((0, 0));
    }
    let Some(Value::Array(types)) = config.get("layer_types") else {
        let first =
            if family.window == WindowRule::Asked { config.size_or("max_window_layers", 28)? } else { 0 };
        return Ok((window, first.min(layers)));
    };
    let sliding = |kind: &Value| kind == "sliding_attention";
    let first = types.iter().position(sliding).unwrap_or(layers);
    match types.iter().skip(first).all(sliding) {
        true => Ok((window, first)),
        false => Err(config.wrong("layer_types mixes windows and full attention in another order".into())),
    }
}

/// The rotary positions: a part of the file in newer versions, loose keys in older ones.
fn rope(config: &ConfigFile, context: usize) -> Result<FamilyOptions> {
    // As the transformers library has it: the older key counts if both are there, and the base may stand outside.
    let mut scaling = Value::Object(Default::default());
    for key in ["rope_parameters", "rope_scaling"] {
        match config.get(key) {
            None => {}
            Some(Value::Object(all)) if all.is_empty() => {}
            Some(Value::Object(all)) if all.values().any(Value::is_object) => {
                let what = format!("{key} is different for each kind of layer, which is not supported");
                return Err(config.wrong(what));
            }
            Some(part @ Value::Object(_)) => scaling = part.clone(),
            Some(_) => return Err(config.needed(key)),
        }
    }
    let scaling = ConfigFile { path: config.path.clone(), json: scaling };
    let base = scaling.number_or("rope_theta", config.number_or("rope_theta", 10_000.0)?)?;
    let plain = FamilyOptions { rope_base: base, ..FamilyOptions::PLAIN };
    for file in [&scaling, config] {
        if file.number_or("partial_rotary_factor", 1.0)? != 1.0 {
            return Err(config.wrong("partial_rotary_factor is not 1, which is not supported".into()));
        }
    }
    const ORIGINAL: &str = "original_max_position_embeddings";
    let original = config.size_or(ORIGINAL, scaling.size_or(ORIGINAL, context)?)?;
    let factor = scaling.number_or("factor", 1.0)?;
    let scaled = FamilyOptions { rope_factor: factor, rope_original: original, ..plain.clone() };
    let name = match scaling.get("rope_type").or_else(|| scaling.get("type")) {
        None => "default".into(),
        Some(_) => scaling.text_or("rope_type", "").and_then(|name| match name.as_str() {
            "" => scaling.text("type"),
            _ => Ok(name),
        })?,
    };
    Ok(match name.as_str() {
        // Frequencies change only beyond the context that the file names, which is not reached here.
        "default" | "dynamic" => plain,
        "linear" => FamilyOptions { rope_scaling: RopeScaling::Linear, ..scaled },
        "llama3" => FamilyOptions {
            rope_scaling: RopeScaling::Llama3,
            rope_low: scaling.number("low_freq_factor")?,
            rope_high: scaling.number("high_freq_factor")?,
            ..scaled
        },
        "yarn" if !scaling.truth_or("truncate", true)? => {
            return Err(config.wrong("truncate is false, which is not supported".into()));
        }
        "yarn" => {
            let factor = scaling.number_or("factor", context as f64 / original.max(1) as f64)?;
            FamilyOptions {
                rope_scaling: RopeScaling::Yarn,
                rope_factor: factor,
                rope_low: scaling.number_or("beta_slow", 1.0)?,
                rope_high: scaling.number_or("beta_fast", 32.0)?,
                rope_magnitude: yarn_magnitude(&scaling, factor)?,
                ..scaled
            }
        }
        other => {
            let what =
                format!("rope_type `{other}` is not supported (default, linear, dynamic, llama3, yarn are)");
            return Err(config.wrong(what));
        }
    })
}

/// What YaRN multiplies turned queries and keys with.
fn yarn_magnitude(scaling: &ConfigFile, factor: f64) -> Result<f64> {
    if let Some(Value::Number(_)) = scaling.get("attention_factor") {
        return scaling.number("attention_factor");
    }
    let grown = |by: f64| if factor <= 1.0 { 1.0 } else { 0.1 * by * factor.ln() + 1.0 };
    let (own, all) = (scaling.number_or("mscale", 0.0)?, scaling.number_or("mscale_all_dim", 0.0)?);
    Ok(if own != 0.0 && all != 0.0 { grown(own) / grown(all) } else { grown(1.0) })
}

/// A JSON object with its path, for messages.
pub(super) struct ConfigFile {
    path: PathBuf,
    json: Value,
}

impl ConfigFile {
    pub fn read(path: PathBuf) -> Result<ConfigFile> {
        let fail = |source| farad::Error::File { op: "weights", path: path.clone(), source };
        let text = std::fs::read_to_string(&path).map_err(fail)?;
        let wrong = |what: String| Error::Config { path: path.clone(), what };
        let json: Value = serde_json::from_str(&text).map_err(|error| wrong(format!("no JSON: {error}")))?;
        match json.is_object() {
            true => Ok(ConfigFile { path, json }),
            false => Err(wrong("no JSON object".into())),
        }
    }

    pub fn wrong(&self, what: String) -> Error {
        Error::Config { path: self.path.clone(), what }
    }

    /// A value that is there and is not null.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.json.get(key).filter(|value| !value.is_null())
    }

    fn needed(&self, key: &str) -> Error {
        match self.get(key) {
            Some(found) => self.wrong(format!("{key} is of another kind: {found}")),
            None => self.wrong(format!("there is no {key}")),
        }
    }

    pub fn text(&self, key: &str) -> Result<String> {
        self.get(key).and_then(Value::as_str).map(str::to_string).ok_or_else(|| self.needed(key))
    }

    pub fn text_or(&self, key: &str, default: &str) -> Result<String> {
        if self.get(key).is_none() { Ok(default.into()) } else { self.text(key) }
    }

    fn size(&self, key: &str) -> Result<usize> {
        // Larger sizes than any model's would overflow products of them.
        let fits = |size: &u64| (1..=1 << 24).contains(size);
        let size = self.get(key).and_then(Value::as_u64).filter(fits);
        size.map(|size| size as usize).ok_or_else(|| self.needed(key))
    }

    fn size_or(&self, key: &str, default: usize) -> Result<usize> {
        match self.get(key).and_then(Value::as_u64) {
            Some(0) => Ok(0),
            _ if self.get(key).is_none() => Ok(default),
            _ => self.size(key),
        }
    }

    fn number(&self, key: &str) -> Result<f64> {
        let positive = |number: &f64| *number > 0.0 && number.is_finite();
        self.get(key).and_then(Value::as_f64).filter(positive).ok_or_else(|| self.needed(key))
    }

    fn number_or(&self, key: &str, default: f64) -> Result<f64> {
        if self.get(key).is_none() { Ok(default) } else { self.number(key) }
    }

    fn truth(&self, key: &str) -> Result<bool> {
        self.truth_or(key, false)
    }

    fn truth_or(&self, key: &str, default: bool) -> Result<bool> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value.as_bool().ok_or_else(|| self.needed(key)),
        }
    }
}
