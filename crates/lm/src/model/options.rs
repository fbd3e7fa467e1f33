//! Everything about a model that a user may choose. The keys are the field names, so that a table of a
//! `config.toml` is this structure.

use farad::Need;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What follows the first product of a feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `x · Φ(x)`, with the error function.
    Gelu,
    /// The same by `tanh`, as GPT-2 has it.
    GeluTanh,
    /// A gate: `silu(a) · b` of two halves.
    Swiglu,
}

/// How a model knows where a token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// A learned row for every place, added to the token's.
    Learned,
    /// Queries and keys are turned by angles that grow with the place.
    Rotary,
}

/// The sizes and kinds of a transformer.
///
/// ```
/// use farad_lm::ModelOptions;
/// let options = ModelOptions { layers: 2, heads: 4, width: 128, ..ModelOptions::default() };
/// options.check()?;
/// assert_eq!(options.hidden(), 512);
/// let wrong = ModelOptions { width: 130, ..options };
/// assert_eq!(
///     wrong.check().unwrap_err().to_string(),
///     "model: heads do not divide the width: width 130, heads 4 (2 left over)\nhelp: width 132 or heads 2 would fit"
/// );
/// # Ok::<(), farad_lm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOptions {
    /// Blocks of attention and feed-forward.
    pub layers: usize,
    /// Heads of attention in each.
    pub heads: usize,
    /// Features of a token.
    pub width: usize,
    /// Tokens that the model sees at most.
    pub context: usize,
    /// Different tokens.
    pub vocabulary: usize,
    /// Features between the products of a feed-forward part; 0: four times the width, or for swiglu 8/3 of it rounded
    /// up to a multiple of 8, which is as many weights.
    pub feed_forward: usize,
    /// What follows the first product: gelu, gelu-tanh or swiglu.
    pub activation: Activation,
    /// How places are told apart: learned or rotary.
    pub positions: Positions,
    /// Whether the table of tokens gives the logits too.
    pub tied: bool,
    /// The probability with which features are left out in training.
    pub dropout: f32,
    /// Whether products and norms add a bias.
    pub bias: bool,
}

impl Default for ModelOptions {
    /// The small model that learns characters: six layers of 384 features.
    fn default() -> ModelOptions {
        ModelOptions {
            layers: 6,
            heads: 6,
            width: 384,
            context: 256,
            vocabulary: 256,
            feed_forward: 0,
            activation: Activation::Gelu,
            positions: Positions::Learned,
            tied: true,
            dropout: 0.0,
            bias: true,
        }
    }
}

impl ModelOptions {
    /// As many layers as a model may have: beyond, building it alone takes minutes.
    pub const MOST_LAYERS: usize = 4096;

    /// As a table of keys.
    pub fn table(&self) -> toml::Table {
        toml::Table::try_from(self).expect("options are a table")
    }

    /// From a table of keys; those that are not there have their defaults.
    pub fn from_table(table: toml::Table) -> Result<ModelOptions> {
        let keys = keys();
        if let Some(key) = table.keys().find(|key| !keys.contains(key)) {
            return Err(unknown(key, keys));
        }
        let options: ModelOptions = table.try_into().map_err(|error: toml::de::Error| Error::Unreadable {
            place: "options".into(),
            message: error.message().into(),
        })?;
        options.check()?;
        Ok(options)
    }

    /// Sets one key from text, as `key=value`. What is set alone may not fit the rest yet: see
    /// [`ModelOptions::check`].
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let (key, text) =
            assignment.split_once('=').ok_or_else(|| Error::Assignment { text: assignment.into() })?;
        let (key, text) = (key.trim(), text.trim());
        let mut table = self.table();
        let Some(old) = table.get(key) else { return Err(unknown(key, keys())) };
        let bad = |wanted| Error::Value { key: key.into(), wanted, found: text.into() };
        let value = match old {
            toml::Value::Integer(_) => {
                toml::Value::Integer(text.parse::<u32>().map_err(|_| bad("a whole number"))?.into())
            }
            toml::Value::Float(_) => toml::Value::Float(text.parse().map_err(|_| bad("a number"))?),
            toml::Value::Boolean(_) => toml::Value::Boolean(text.parse().map_err(|_| bad("true or false"))?),
            _ => toml::Value::String(text.into()),
        };
        table.insert(key.into(), value);
        *self = table.try_into().map_err(|error: toml::de::Error| Error::Unreadable {
            place: format!("{key} = {text}"),
            message: error.message().into(),
        })?;
        Ok(())
    }

    /// Features between the products of a feed-forward part.
    pub fn hidden(&self) -> usize {
        match (self.feed_forward, self.activation) {
            (0, Activation::Swiglu) => (8 * self.width).div_ceil(3).next_multiple_of(8),
            (0, _) => 4 * self.width,
            (given, _) => given,
        }
    }

    /// Numbers that a model of these sizes learns, without making it.
    pub fn parameter_count(&self) -> u128 {
        let [layers, width, context, vocabulary, hidden] =
            [self.layers, self.width, self.context, self.vocabulary, self.hidden()].map(|size| size as u128);
        let bias = u128::from(self.bias);
        let first = if self.activation == Activation::Swiglu { 2 * hidden } else { hidden };
        let product = |inputs: u128, outputs: u128| inputs * outputs + bias * outputs;
        let norm = width + bias * width;
        let attention = product(width, 3 * width) + product(width, width);
        let block = 2 * norm + attention + product(width, first) + product(hidden, width);
        let places = if self.positions == Positions::Learned { context * width } else { 0 };
        let tables = vocabulary * width * if self.tied { 1 } else { 2 };
        tables + places + layers * block + norm
    }

    /// Numbers that the backward pass reads again for every token, at least: of each block what its products read and
    /// give, and the logits.
    fn kept_a_token(&self) -> u128 {
        let [layers, width, vocabulary, hidden] =
            [self.layers, self.width, self.vocabulary, self.hidden()].map(|size| size as u128);
        layers * (6 * width + hidden) + vocabulary
    }

    /// Numbers of the largest tensor that is learned.
    fn largest_tensor(&self) -> u128 {
        let [width, context, vocabulary, hidden] =
            [self.width, self.context, self.vocabulary, self.hidden()].map(|size| size as u128);
        let places = if self.positions == Positions::Learned { context } else { 0 };
        let first = if self.activation == Activation::Swiglu { 2 * hidden } else { hidden };
        width * vocabulary.max(places).max(3 * width).max(first)
    }

    /// What training with AdamW needs of memory, at least, with so many windows a batch.
    pub fn need(&self, batch: usize, mixed: bool) -> Need {
        let tokens = batch as u128 * self.context as u128;
        // Halves are kept as such.
        let bytes = if mixed { 2 } else { 4 };
        let need = Need::training(self.parameter_count(), 2).largest(self.largest_tensor());
        need.activations(tokens.saturating_mul(self.kept_a_token()).saturating_mul(bytes))
    }

    /// Says what does not fit.
    pub fn check(&self) -> Result<()> {
        let sizes = [
            ("layers", self.layers),
            ("heads", self.heads),
            ("width", self.width),
            ("context", self.context),
            ("vocabulary", self.vocabulary),
        ];
        let whole = "a whole number from 1 to 2^24";
        for (key, size) in sizes {
            if !(1..=LARGEST).contains(&size) {
                return Err(Error::Value { key: key.into(), wanted: whole, found: size.to_string() });
            }
        }
        if self.layers > ModelOptions::MOST_LAYERS {
            let (wanted, found) = ("a whole number from 1 to 4,096", self.layers.to_string());
            return Err(Error::Value { key: "layers".into(), wanted, found });
        }
        if self.feed_forward > LARGEST {
            let found = self.feed_forward.to_string();
            return Err(Error::Value { key: "feed_forward".into(), wanted: "at most 2^24", found });
        }
        if !(0.0..1.0).contains(&self.dropout) {
            let (key, found) = ("dropout".into(), self.dropout.to_string());
            return Err(Error::Value { key, wanted: "a number from 0 to below 1", found });
        }
        let ModelOptions { width, heads, .. } = *self;
        if !width.is_multiple_of(heads) {
            return Err(Error::Heads { width, heads });
        }
        match self.positions == Positions::Rotary && !(width / heads).is_multiple_of(2) {
            true => Err(Error::OddHeads { width, heads }),
            false => Ok(()),
        }
    }
}

/// As large as any size may be: products of two fit into a word of 64 bits with room to spare.
const LARGEST: usize = 1 << 24;

fn keys() -> Vec<String> {
    ModelOptions::default().table().keys().cloned().collect()
}

fn unknown(key: &str, keys: Vec<String>) -> Error {
    let nearest = farad::nearest(key, keys.iter().map(String::as_str)).map(str::to_string);
    Error::UnknownKey { key: key.into(), nearest, keys }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_give_the_options_back() {
        let options = ModelOptions {
            positions: Positions::Rotary,
            activation: Activation::GeluTanh,
            ..Default::default()
        };
        assert_eq!(ModelOptions::from_table(options.table()).expect("readable"), options);
        let partial: toml::Table = toml::from_str("layers = 2\nactivation = \"swiglu\"").expect("toml");
        let options = ModelOptions::from_table(partial).expect("readable");
        assert_eq!((options.layers, options.width, options.hidden()), (2, 384, 1024));
    }

    #[test]
    fn unknown_keys_and_bad_values_say_so() {
        let table: toml::Table = toml::from_str("widht = 2").expect("toml");
        let text = ModelOptions::from_table(table).unwrap_err().to_string();
        assert!(
            text.starts_with("model: there is no key `widht`; did you mean `width`?\nhelp: the keys are "),
            "{text}"
        );
        let mut options = ModelOptions::default();
        let mut refused = |assignment: &str| options.set(assignment).unwrap_err().to_string();
        assert_eq!(refused("layers"), "model: `layers` is not key=value");
        assert_eq!(refused("layers=-1"), "model: layers takes a whole number, not `-1`");
        assert_eq!(refused("tied=maybe"), "model: tied takes true or false, not `maybe`");
        assert!(refused("activation=relu").starts_with("model: activation = relu: unknown variant"));
        options.set("context = 32").expect("fits");
        assert_eq!(options.context, 32);
    }

    #[test]
    fn parameters_are_counted_without_making_them() {
        let small =
            ModelOptions { layers: 2, heads: 2, width: 8, context: 5, vocabulary: 11, ..Default::default() };
        for options in [
            small.clone(),
            ModelOptions { bias: false, tied: false, ..small.clone() },
            ModelOptions { positions: Positions::Rotary, activation: Activation::Swiglu, ..small.clone() },
            ModelOptions { feed_forward: 3, layers: 1, ..small },
        ] {
            let made = crate::Transformer::new(&options).expect("small").parameter_count();
            assert_eq!(options.parameter_count(), made as u128, "{options:?}");
        }
    }

    #[test]
    fn sizes_that_make_no_model_are_refused() {
        let refused = |options: ModelOptions| options.check().unwrap_err().to_string();
        let sound = ModelOptions::default();
        assert_eq!(
            refused(ModelOptions { vocabulary: 0, ..sound.clone() }),
            "model: vocabulary takes a whole number from 1 to 2^24, not `0`"
        );
        assert_eq!(
            refused(ModelOptions { dropout: 1.0, ..sound.clone() }),
            "model: dropout takes a number from 0 to below 1, not `1`"
        );
        let odd = ModelOptions { width: 9, heads: 3, positions: Positions::Rotary, ..sound };
        assert!(
            refused(odd)
                .starts_with("model: rotary positions turn columns in pairs: width 9, heads 3 (3 columns")
        );
    }
}
