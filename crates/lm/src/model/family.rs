//! What models of other families have and GPT-2 has not, one row each: a part of the options of a model.

use farad::nn::Rotary;
use farad::train::settings::{NumberRange, SettingValue, Takes, TomlValue};

/// How a token's features are normed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// By mean and variance.
    Layer,
    /// By the root of the mean square.
    Rms,
}

/// How rotary positions reach beyond the context that a model was first trained with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeScaling {
    /// Not at all.
    None,
    /// All frequencies are divided by the factor.
    Linear,
    /// Low frequencies are divided by the factor, high ones stay, with a straight line between: as Llama 3.
    Llama3,
    /// The same by another line, and results are scaled: YaRN.
    Yarn,
}

/// Which products of attention add a bias although others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionBias {
    /// None.
    None,
    /// Those of queries, keys and values.
    Inputs,
    /// All.
    All,
}

/// A setting that is one of a few names.
macro_rules! names {
    ($type:ident: $($value:ident = $name:literal),+) => {
        impl $type {
            /// All of them.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$value),+];

            /// What settings call it.
            pub fn name(self) -> &'static str {
                match self { $($type::$value => $name),+ }
            }
        }

        impl SettingValue for $type {
            fn to_toml(&self) -> TomlValue {
                self.name().into()
            }

            fn from_toml(value: &TomlValue) -> Option<$type> {
                let name = value.as_str()?;
                $type::ALL.into_iter().find(|value| value.name() == name)
            }
        }
    };
}

names!(NormKind: Layer = "layer", Rms = "rms");
names!(RopeScaling: None = "none", Linear = "linear", Llama3 = "llama3", Yarn = "yarn");
names!(AttentionBias: None = "none", Inputs = "inputs", All = "all");

const OPEN: Takes = Takes::Whole(0, 1 << 24);
const ABOVE_ZERO: Takes = Takes::Number(NumberRange::from(f64::MIN_POSITIVE));

farad::train::settings! {
    /// What models of the Llama family have. By default nothing of it, as GPT-2.
    pub struct FamilyOptions {
        #[later] norm: NormKind = NormKind::Layer, Takes::one_of(NormKind::ALL.map(NormKind::name)), "How features are normed.";
        #[later] epsilon: f64 = 1e-5, ABOVE_ZERO, "What keeps norms from dividing by zero.";
        #[later] key_heads: usize = 0, OPEN, "Heads of keys and values, which heads of queries share; 0: as many as heads.";
        #[later] head_width: usize = 0, OPEN, "Columns per head; 0: the width divided by the heads.";
        #[later] window: usize = 0, OPEN, "How many tokens a token sees, itself included (sliding window); 0: all before it.";
        #[later] window_from: usize = 0, OPEN, "The first layer that has a window.";
        #[later] attention_bias: AttentionBias = AttentionBias::None, Takes::one_of(AttentionBias::ALL.map(AttentionBias::name)), "Which products of attention add a bias if bias is false.";
        #[later] feed_forward_bias: bool = false, Takes::Truth, "Whether products of feed-forward add a bias if bias is false.";
        #[later] rope_base: f64 = 10_000.0, ABOVE_ZERO, "The base of the frequencies of rotary positions.";
        #[later] rope_scaling: RopeScaling = RopeScaling::None, Takes::one_of(RopeScaling::ALL.map(RopeScaling::name)), "How rotary positions are scaled for long contexts.";
        #[later] rope_factor: f64 = 1.0, ABOVE_ZERO, "By how much they are scaled.";
        #[later] rope_low: f64 = 1.0, ABOVE_ZERO, "Pairs that turn fewer times than this within the original context are scaled.";
        #[later] rope_high: f64 = 4.0, ABOVE_ZERO, "Pairs that turn more times than this are not.";
        #[later] rope_original: usize = 0, OPEN, "The original context; needed by llama3 and yarn.";
        #[later] rope_magnitude: f64 = 1.0, ABOVE_ZERO, "What turned queries and keys are multiplied with.";
    }
}

impl FamilyOptions {
    /// As GPT-2.
    pub const PLAIN: FamilyOptions = FamilyOptions {
        norm: NormKind::Layer,
        epsilon: 1e-5,
        key_heads: 0,
        head_width: 0,
        window: 0,
        window_from: 0,
        attention_bias: AttentionBias::None,
        feed_forward_bias: false,
        rope_base: 10_000.0,
        rope_scaling: RopeScaling::None,
        rope_factor: 1.0,
        rope_low: 1.0,
        rope_high: 4.0,
        rope_original: 0,
        rope_magnitude: 1.0,
    };

    pub(crate) fn is_rms(&self) -> bool {
        self.norm == NormKind::Rms
    }

    /// What turns queries and keys of heads with so many columns.
    pub(crate) fn rotary(&self, columns: usize) -> Rotary {
        let plain = Rotary::new(columns).base(self.rope_base);
        match (self.rope_scaling, self.rope_magnitude) {
            (RopeScaling::None, 1.0) => plain,
            _ => plain.frequencies(&self.frequencies(columns), self.rope_magnitude),
        }
    }

    /// Radians per place for every pair of columns.
    pub(crate) fn frequencies(&self, columns: usize) -> Vec<f64> {
        let half = columns / 2;
        let plain = |n: usize| self.rope_base.powf(-2.0 * n as f64 / columns as f64);
        let scaled = |n: usize| {
            let kept = self.kept_share(n, columns);
            kept * plain(n) + (1.0 - kept) * plain(n) / self.rope_factor
        };
        (0..half).map(scaled).collect()
    }

    /// How much of a frequency stays as it is, from 0 to 1.
    fn kept_share(&self, n: usize, columns: usize) -> f64 {
        let (low, high, original) = (self.rope_low, self.rope_high, self.rope_original as f64);
        match self.rope_scaling {
            RopeScaling::None => 1.0,
            RopeScaling::Linear => 0.0,
            RopeScaling::Llama3 => {
                let turns =
                    original * self.rope_base.powf(-2.0 * n as f64 / columns as f64) / std::f64::consts::TAU;
                ((turns - low) / (high - low)).clamp(0.0, 1.0)
            }
            RopeScaling::Yarn => {
                // The pair that turns so many times within the original context.
                let pair = |turns: f64| {
                    columns as f64 * (original / (turns * std::f64::consts::TAU)).ln()
                        / (2.0 * self.rope_base.ln())
                };
                let first = pair(high).floor().max(0.0);
                let mut last = pair(low).ceil().min((columns - 1) as f64);
                if first == last {
                    last += 0.001;
                }
                1.0 - ((n as f64 - first) / (last - first)).clamp(0.0, 1.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_plain() {
        assert_eq!(FamilyOptions::default(), FamilyOptions::PLAIN);
    }

    #[test]
    fn slow_pairs_are_scaled_and_fast_ones_stay() {
        for rope_scaling in [RopeScaling::Llama3, RopeScaling::Yarn] {
            let options =
                FamilyOptions { rope_scaling, rope_factor: 8.0, rope_original: 2048, ..FamilyOptions::PLAIN };
            let (plain, scaled) = (FamilyOptions::PLAIN.frequencies(64), options.frequencies(64));
            assert_eq!(scaled[0], plain[0]);
            assert!((scaled[31] - plain[31] / 8.0).abs() < 1e-12);
            assert!(scaled.windows(2).all(|pair| pair[0] > pair[1]), "{scaled:?}");
        }
        let linear =
            FamilyOptions { rope_scaling: RopeScaling::Linear, rope_factor: 2.0, ..FamilyOptions::PLAIN };
        assert_eq!(linear.frequencies(4), [0.5, 0.005]);
    }
}
