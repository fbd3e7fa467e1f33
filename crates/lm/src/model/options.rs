//! Everything about a model that a user may choose, one row each: a part of the settings of a training.

use farad::Need;
use farad::train::settings::{NumberRange, SettingValue, Takes, TomlValue};

use super::{AttentionBias, FamilyOptions, WeightFormat};
use crate::error::{Error, Result};

/// The activation of a feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x · Φ(x)`, with the error function.
    Gelu,
    /// The same by `tanh`, as GPT-2 has it.
    GeluTanh,
    /// Gated: `silu(a) · b`, where `a` and `b` are the two halves of the columns.
    Swiglu,
}

impl Activation {
    /// All of them.
    pub const ALL: [Activation; 3] = [Activation::Gelu, Activation::GeluTanh, Activation::Swiglu];

    /// What settings call it.
    pub fn name(self) -> &'static str {
        match self {
            Activation::Gelu => "gelu",
            Activation::GeluTanh => "gelu-tanh",
            Activation::Swiglu => "swiglu",
        }
    }
}

/// How a model knows where a token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// A learned row for every place, added to the token's.
    Learned,
    /// Queries and keys are turned by angles that grow with the place.
    Rotary,
}

impl Positions {
    /// All of them.
    pub const ALL: [Positions; 2] = [Positions::Learned, Positions::Rotary];

    /// What settings call it.
    pub fn name(self) -> &'static str {
        match self {
            Positions::Learned => "learned",
            Positions::Rotary => "rotary",
        }
    }
}

impl SettingValue for Activation {
    fn to_toml(&self) -> TomlValue {
        self.name().into()
    }

    fn from_toml(value: &TomlValue) -> Option<Activation> {
        let name = value.as_str()?;
        Activation::ALL.into_iter().find(|activation| activation.name() == name)
    }
}

impl SettingValue for Positions {
    fn to_toml(&self) -> TomlValue {
        self.name().into()
    }

    fn from_toml(value: &TomlValue) -> Option<Positions> {
        let name = value.as_str()?;
        Positions::ALL.into_iter().find(|positions| positions.name() == name)
    }
}

/// Sizes that a model must have.
const SIZE: Takes = Takes::Whole(1, LARGEST as i64);
/// Sizes that may be left open.
const OPEN: Takes = Takes::Whole(0, LARGEST as i64);

farad::train::settings! {
    /// The sizes and kinds of a transformer. By default the small model that learns characters: six layers of 384 features.
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
    pub struct ModelOptions {
        layers: usize = 6, Takes::Whole(1, ModelOptions::MOST_LAYERS as i64), "Transformer blocks.";
        heads: usize = 6, SIZE, "Attention heads per block.";
        width: usize = 384, SIZE, "Features per token.";
        context: usize = 256, SIZE, "Tokens that the model sees at once.";
        vocabulary: usize = 256, OPEN, "The number of different tokens; 0 in a new run: that of the tokenizer.";
        feed_forward: usize = 0, OPEN, "Hidden features of a feed-forward part; 0: four times the width, or 8/3 of it for swiglu.";
        activation: Activation = Activation::Gelu, Takes::one_of(Activation::ALL.map(Activation::name)), "The activation of a feed-forward part.";
        positions: Positions = Positions::Learned, Takes::one_of(Positions::ALL.map(Positions::name)), "How positions are encoded.";
        tied: bool = true, Takes::Truth, "Whether the token embedding also gives the logits (tied weights).";
        dropout: f32 = 0.0, Takes::Number(NumberRange::from(0.0).below(1.0)), "The probability that a feature is zeroed in training.";
        bias: bool = true, Takes::Truth, "Whether products and norms add a bias.";
        ..family: FamilyOptions, "What models of other families have.";
    }
}

impl ModelOptions {
    /// As many layers as a model may have: beyond, building it alone takes minutes.
    pub const MOST_LAYERS: usize = 4096;

    /// Features between the products of a feed-forward part.
    /// For swiglu they are rounded up to a multiple of 8: as many weights as without a gate.
    pub fn hidden(&self) -> usize {
        match (self.feed_forward, self.activation) {
            (0, Activation::Swiglu) => (8 * self.width).div_ceil(3).next_multiple_of(8),
            (0, _) => 4 * self.width,
            (given, _) => given,
        }
    }

    /// Columns per head.
    pub fn head_width(&self) -> usize {
        match self.family.head_width {
            0 => self.width / self.heads,
            given => given,
        }
    }

    /// Heads of keys and values.
    pub fn key_heads(&self) -> usize {
        match self.family.key_heads {
            0 => self.heads,
            given => given,
        }
    }

    /// Columns of queries, keys and values beside each other.
    pub fn attention_parts(&self) -> [usize; 3] {
        let keys = self.key_heads() * self.head_width();
        [self.heads * self.head_width(), keys, keys]
    }

    /// Whether the products of attention and of feed-forward have a bias: those into attention, that out of it, and
    /// both of feed-forward.
    pub(crate) fn biases(&self) -> [bool; 3] {
        let FamilyOptions { attention_bias, feed_forward_bias, .. } = self.family;
        [
            self.bias || attention_bias != AttentionBias::None,
            self.bias || attention_bias == AttentionBias::All,
            self.bias || feed_forward_bias,
        ]
    }

    /// How far a token of a layer looks back, itself included; none: to the first.
    pub(crate) fn window_of(&self, layer: usize) -> Option<usize> {
        let FamilyOptions { window, window_from, .. } = self.family;
        (window > 0 && layer >= window_from).then_some(window)
    }

    /// Numbers that a model of these sizes learns, without making it.
    pub fn parameter_count(&self) -> u128 {
        let [layers, width, context, vocabulary, hidden] =
            [self.layers, self.width, self.context, self.vocabulary, self.hidden()].map(|size| size as u128);
        let first = if self.activation == Activation::Swiglu { 2 * hidden } else { hidden };
        let product = |inputs: u128, outputs: u128, bias| inputs * outputs + u128::from(bias) * outputs;
        let norm = width + u128::from(self.bias && !self.family.is_rms()) * width;
        let [into, out, between] = self.biases();
        let parts = self.attention_parts().map(|columns| columns as u128);
        let attention = product(width, parts.iter().sum(), into) + product(parts[0], width, out);
        let feed_forward = product(width, first, between) + product(hidden, width, between);
        let block = 2 * norm + attention + feed_forward;
        let places = if self.positions == Positions::Learned { context * width } else { 0 };
        let tables = vocabulary * width * if self.tied { 1 } else { 2 };
        tables + places + layers * block + norm
    }

    /// Bytes of the weights, held in a format.
    pub fn weight_bytes(&self, format: WeightFormat) -> u128 {
        let [layers, width, vocabulary, hidden] =
            [self.layers, self.width, self.vocabulary, self.hidden()].map(|size| size as u128);
        let first = if self.activation == Activation::Swiglu { 2 * hidden } else { hidden };
        let parts = self.attention_parts().map(|columns| columns as u128);
        let outputs = parts.iter().sum::<u128>() + first + 2 * width;
        let products = layers * width * (parts.iter().sum::<u128>() + parts[0] + first + hidden);
        let tables = vocabulary * width * if self.tied { 1 } else { 2 };
        let scales = if format == WeightFormat::I8 { layers * outputs } else { 0 };
        let [a_product, a_table] = format.bytes();
        let others = self.parameter_count() - products - tables;
        products * a_product + tables * a_table + 4 * (others + scales)
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
        let parts = self.attention_parts().map(|columns| columns as u128);
        width * vocabulary.max(places).max(parts.iter().sum()).max(first)
    }

    /// What training needs of memory, at least, with this many windows per batch and so many moments of the optimizer for
    /// each number that is learned.
    pub fn need(&self, batch: usize, mixed: bool, moments: u32) -> Need {
        let tokens = batch as u128 * self.context as u128;
        // Activations in f16 are kept as such.
        let bytes = if mixed { 2 } else { 4 };
        let need = Need::training(self.parameter_count(), moments).largest(self.largest_tensor());
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
        if self.family.head_width == 0 && !width.is_multiple_of(heads) {
            return Err(Error::Heads { width, heads });
        }
        if !heads.is_multiple_of(self.key_heads()) {
            return Err(Error::KeyHeads { heads, key_heads: self.key_heads() });
        }
        let (rotary, columns) = (self.positions == Positions::Rotary, self.head_width());
        match rotary && !columns.is_multiple_of(2) {
            true => Err(Error::OddHeads { width: columns * heads, heads }),
            false => Ok(()),
        }
    }
}

/// As large as any size may be: products of two fit into a word of 64 bits with room to spare.
const LARGEST: usize = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;
    use farad::train::settings::SettingsTable as _;

    #[test]
    fn tables_give_the_options_back() {
        let options = ModelOptions {
            positions: Positions::Rotary,
            activation: Activation::GeluTanh,
            dropout: 0.1,
            ..Default::default()
        };
        let mut back = ModelOptions::default();
        back.take(&options.table()).expect("readable");
        assert_eq!(back, options);
        back.set("activation=swiglu").expect("there is one");
        assert_eq!((back.layers, back.width, back.hidden()), (6, 384, 1024));
        // Files of earlier versions have the digits of double precision.
        back.set("dropout=0.10000000149011612").expect("a share");
        assert_eq!(back.dropout, 0.1);
    }

    #[test]
    fn bad_values_say_so() {
        let mut options = ModelOptions::default();
        let mut refused = |assignment: &str| options.set(assignment).unwrap_err().to_string();
        assert_eq!(refused("layers=-1"), "settings: layers takes a whole number from 1 on, not `-1`");
        assert_eq!(refused("layers=4097"), "settings: layers takes a whole number up to 4096, not `4097`");
        assert_eq!(refused("tied=maybe"), "settings: tied takes true or false, not `maybe`");
        assert_eq!(
            refused("activation=swigl"),
            "settings: there is no activation `swigl`; did you mean `swiglu`?\nhelp: there are gelu, gelu-tanh, swiglu"
        );
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
