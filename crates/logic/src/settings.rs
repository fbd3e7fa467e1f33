//! Everything about a training run that a user may set. A recipe gives the defaults; the keys are the
//! field names, so a run's `config.toml` is this structure.

use serde::{Deserialize, Serialize};

use crate::automaton::Policy;
use crate::error::{Error, Result};
use crate::soft_gates::{GateKind, Rounding};

/// What makes the difference between states and target a loss. All are sums over batch, cells and
/// visible channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The squared difference.
    Squared,
    /// The cross-entropy of the bit.
    CrossEntropy,
    /// The cross-entropy, weighted by the difference to the power of `focus`: the nearly right
    /// matters less.
    Focal,
}

impl Loss {
    /// What is summed, for the axis of a plot.
    pub fn label(self) -> &'static str {
        match self {
            Loss::Squared => "sum of squared differences",
            Loss::CrossEntropy => "sum of cross-entropies",
            Loss::Focal => "sum of focal cross-entropies",
        }
    }
}

/// What the forward pass of an update uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forward {
    /// The mixtures.
    Soft,
    /// The hard gates, with the mixtures' gradient.
    Hard,
    /// Hard gates drawn by their chances (Gumbel noise on logits, anew each update), with the gradient of
    /// the noisy mixtures.
    Gumbel,
    /// The mixtures of logits with Gumbel noise.
    Noisy,
}

/// Which gates become hard first in the forward pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FreezeOrder {
    /// In an order of chance that is a seed's for good.
    #[default]
    Chance,
    /// The surest first, by what they are at each update.
    Confidence,
    /// Each gate by chance, drawn anew at each update.
    Anew,
}

/// What cells hand from step to step in an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum States {
    /// What the gates gave.
    #[default]
    Soft,
    /// The nearest bits, with the gradient as if they had not been rounded.
    Rounded,
    /// Bits drawn with these chances, with the gradient as if they had not been.
    Sampled,
}

/// What is kept for the backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// States; activations are computed again.
    Recompute,
    /// Everything.
    All,
    /// Every so-manieth state (`keep_every`).
    Every,
}

/// The keys of a training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Updates of the parameters.
    pub updates: u64,
    /// Grids an update.
    pub batch: usize,
    /// Steps of the automaton.
    pub steps: usize,
    /// Cells from top to bottom.
    pub height: usize,
    /// Cells from left to right.
    pub width: usize,
    /// The probability that a cell fires; 1 is the synchronous automaton.
    pub fire_rate: f32,
    /// AdamW's rate.
    pub learning_rate: f32,
    /// Updates over which the rate grows from zero.
    pub warm_up: u64,
    /// AdamW's decay of the first moment.
    pub beta1: f32,
    /// AdamW's decay of the second moment.
    pub beta2: f32,
    /// AdamW's decay of weights.
    pub weight_decay: f32,
    /// Gradients are cut to ± this, element by element.
    pub clip: f32,
    /// What is left of the rate at the last update; it falls along a cosine. 1: all.
    #[serde(default = "one")]
    pub final_rate: f32,
    /// What a gate is learned as: sixteen (a logit a function) or four (a logit for each pair of inputs).
    #[serde(default)]
    pub gates: GateKind,
    /// What sixteen logits become when hard: likeliest (the largest) or nearest (the mixture's truth table, rounded).
    #[serde(default)]
    pub rounding: Rounding,
    /// The logit of "pass operand a on" at the start.
    pub initial_logit: f32,
    /// Logits are multiplied by a number that grows from 1 to this over the run.
    pub sharpness: f32,
    /// A gate's logits are multiplied by 1 + this × its confidence, so that sure gates become sharp and the others
    /// stay free; below 0 sure gates stay softer and go on learning.
    #[serde(default)]
    pub adaptive: f32,
    /// What the forward pass uses: soft, hard (with the soft gradient), gumbel (hard gates drawn by chance) or noisy
    /// (soft gates of noisy logits).
    pub forward: Forward,
    /// With forward = "gumbel" or "noisy": noisy logits are divided by this.
    #[serde(default = "one")]
    pub temperature: f32,
    /// With forward = "gumbel" or "noisy": the size of the noise; 1 draws gates by their chances.
    #[serde(default = "one")]
    pub gate_noise: f32,
    /// From this share of the updates on, more and more gates are hard in the forward pass; 1: never.
    pub freeze_from: f32,
    /// At this share of the updates as many are as ever will be; equal to `freeze_from`: at once.
    pub freeze_until: f32,
    /// The share of gates that are hard then.
    #[serde(default = "one")]
    pub freeze_most: f32,
    /// Which gates are: chance (an order for good), confidence (the surest) or anew (drawn each update).
    #[serde(default)]
    pub freeze_order: FreezeOrder,
    /// What cells hand on: soft, rounded or sampled (bits, with the gradient of what they were).
    #[serde(default)]
    pub states: States,
    /// With states = "rounded" or "sampled": how many steps apart.
    #[serde(default = "one_step")]
    pub round_every: usize,
    /// The weight of the gates' entropy in what is minimized, summed over gates.
    #[serde(default)]
    pub entropy: f32,
    /// The weight of how much the gates' decisions are less clear than `margin_width`, summed over gates.
    #[serde(default)]
    pub margin: f32,
    /// The difference of logits from which on a decision is clear.
    #[serde(default = "five")]
    pub margin_width: f32,
    /// At this share of the updates `adaptive`, `entropy` and `margin` begin to grow from zero.
    #[serde(default)]
    pub ramp_from: f32,
    /// At this share of the updates they are what they are; 0: from the start.
    #[serde(default)]
    pub ramp_until: f32,
    /// The loss: squared, cross_entropy or focal.
    pub loss: Loss,
    /// The power of the focal loss.
    pub focus: f32,
    /// The standard deviation of noise on gradients, falling with the number of updates.
    pub noise: f32,
    /// Updates over which the number of steps grows to `steps`; 0: all from the start.
    pub curriculum: u64,
    /// What is kept for the backward pass: recompute, all or every.
    pub keep: Keep,
    /// With keep = "every": how many steps apart.
    pub keep_every: usize,
    /// Updates between evaluations of the hard circuit.
    pub evaluate_every: u64,
    /// Whether the best hard circuit of all evaluations is kept, not the last.
    pub keep_best: bool,
    /// Whether a run ends once every seed's hard circuit was right in this many evaluations in a
    /// row; 0: never.
    pub stop_after_exact: u64,
    /// Updates between rows of the log.
    pub log_every: u64,
    /// Updates between checkpoints.
    pub checkpoint_every: u64,
}

// What keys are in runs from before there were such keys.
fn one() -> f32 {
    1.0
}
fn five() -> f32 {
    5.0
}
fn one_step() -> usize {
    1
}

impl Settings {
    /// As a table of keys, with numbers as they are written: 0.05, not what is nearest to it.
    pub fn table(&self) -> toml::Table {
        let mut table = toml::Table::try_from(self).expect("settings are a table");
        for (_, value) in table.iter_mut() {
            if let toml::Value::Float(number) = value {
                *number = (*number as f32).to_string().parse().unwrap_or(*number);
            }
        }
        table
    }

    /// From a table of keys, all of which must be there.
    pub fn from_table(table: toml::Table) -> Result<Settings> {
        let settings: Settings = table.try_into().map_err(|error: toml::de::Error| Error::Unreadable {
            place: "config.toml".into(),
            message: error.message().into(),
        })?;
        settings.check()?;
        Ok(settings)
    }

    /// Sets one key from text, as `key=value`.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let (key, text) =
            assignment.split_once('=').ok_or_else(|| Error::Assignment { text: assignment.into() })?;
        let (key, text) = (key.trim(), text.trim());
        let mut table = self.table();
        let names: Vec<String> = table.keys().cloned().collect();
        let Some(old) = table.get(key) else {
            let nearest = farad::nearest(key, names.iter().map(String::as_str)).map(str::to_string);
            return Err(Error::UnknownKey { key: key.into(), nearest, keys: names });
        };
        let bad = |wanted| Error::Value { key: key.into(), wanted, found: text.into() };
        let value = match old {
            toml::Value::Integer(_) => toml::Value::Integer(text.parse().map_err(|_| bad("a whole number"))?),
            toml::Value::Float(_) => toml::Value::Float(text.parse().map_err(|_| bad("a number"))?),
            toml::Value::Boolean(_) => toml::Value::Boolean(text.parse().map_err(|_| bad("true or false"))?),
            _ => toml::Value::String(text.into()),
        };
        table.insert(key.into(), value);
        *self = Settings::from_table(table).map_err(|error| match error {
            Error::Unreadable { message, .. } => {
                Error::Unreadable { place: format!("{key} = {text}"), message }
            }
            other => other,
        })?;
        Ok(())
    }

    /// The policy that `keep` asks for.
    pub fn policy(&self) -> Policy {
        match self.keep {
            Keep::Recompute => Policy::Recompute,
            Keep::All => Policy::KeepAll,
            Keep::Every => Policy::Every(self.keep_every),
        }
    }

    fn check(&self) -> Result<()> {
        for (key, value, (wanted, fits)) in self.ranges() {
            if !fits(value) {
                return Err(Error::Value { key: key.into(), wanted, found: value.to_string() });
            }
        }
        let Settings { height, width, batch, .. } = *self;
        let cells = height.saturating_mul(width).saturating_mul(batch);
        match cells > MOST_CELLS {
            true => Err(Error::TooLarge { height, width, batch, cells, most: MOST_CELLS }),
            false => Ok(()),
        }
    }

    /// The keys that do not take every number, with their values and what they take.
    fn ranges(&self) -> [(&'static str, f32, Range); 31] {
        [
            ("batch", self.batch as f32, FROM_ONE),
            ("steps", self.steps as f32, FROM_ONE),
            ("height", self.height as f32, FROM_ONE),
            ("width", self.width as f32, FROM_ONE),
            ("keep_every", self.keep_every as f32, FROM_ONE),
            ("evaluate_every", self.evaluate_every as f32, FROM_ONE),
            ("log_every", self.log_every as f32, FROM_ONE),
            ("checkpoint_every", self.checkpoint_every as f32, FROM_ONE),
            ("learning_rate", self.learning_rate, FROM_ZERO),
            ("weight_decay", self.weight_decay, FROM_ZERO),
            ("clip", self.clip, FROM_ZERO),
            ("initial_logit", self.initial_logit, FROM_ZERO),
            ("sharpness", self.sharpness, FROM_ZERO),
            ("focus", self.focus, FROM_ZERO),
            ("noise", self.noise, FROM_ZERO),
            ("freeze_from", self.freeze_from, TO_ONE),
            ("freeze_until", self.freeze_until, TO_ONE),
            ("freeze_most", self.freeze_most, TO_ONE),
            ("final_rate", self.final_rate, TO_ONE),
            ("ramp_from", self.ramp_from, TO_ONE),
            ("ramp_until", self.ramp_until, TO_ONE),
            ("entropy", self.entropy, FROM_ZERO),
            ("margin", self.margin, FROM_ZERO),
            ("margin_width", self.margin_width, FROM_ZERO),
            ("gate_noise", self.gate_noise, FROM_ZERO),
            ("round_every", self.round_every as f32, FROM_ONE),
            ("temperature", self.temperature, POSITIVE),
            ("adaptive", self.adaptive, ABOVE_MINUS_ONE),
            ("beta1", self.beta1, BELOW_ONE),
            ("beta2", self.beta2, BELOW_ONE),
            ("fire_rate", self.fire_rate, ABOVE_ZERO),
        ]
    }
}

/// Cells of a batch of grids that are trained on at most.
const MOST_CELLS: usize = 1 << 22;

/// What a key takes: in words, and whether a number is that.
type Range = (&'static str, fn(f32) -> bool);

const FROM_ONE: Range = ("a whole number from 1 on", |x| x >= 1.0);
const FROM_ZERO: Range = ("a number from 0 on", |x| x >= 0.0 && x.is_finite());
const TO_ONE: Range = ("a number from 0 to 1", |x| (0.0..=1.0).contains(&x));
const BELOW_ONE: Range = ("a number from 0 to below 1", |x| (0.0..1.0).contains(&x));
const POSITIVE: Range = ("a number above 0", |x| x > 0.0 && x.is_finite());
const ABOVE_MINUS_ONE: Range = ("a number above -1", |x| x > -1.0 && x.is_finite());
const ABOVE_ZERO: Range = ("a number above 0 and up to 1", |x| x > 0.0 && x <= 1.0);

#[cfg(test)]
mod tests {
    use crate::Recipe;

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let mut settings = (Recipe::all()[0].settings)();
        let mut refused = |assignment: &str| settings.set(assignment).unwrap_err().to_string();
        assert_eq!(refused("batch"), "settings: `batch` is not key=value");
        assert_eq!(refused("steps=0"), "settings: steps takes a whole number from 1 on, not `0`");
        assert_eq!(refused("clip=inf"), "settings: clip takes a number from 0 on, not `inf`");
        assert_eq!(refused("noise=nan"), "settings: noise takes a number from 0 on, not `NaN`");
        assert_eq!(refused("freeze_from=1.5"), "settings: freeze_from takes a number from 0 to 1, not `1.5`");
        assert_eq!(refused("temperature=0"), "settings: temperature takes a number above 0, not `0`");
        assert_eq!(refused("adaptive=-1"), "settings: adaptive takes a number above -1, not `-1`");
        assert!(refused("freeze_order=size").starts_with("settings: freeze_order = size: unknown variant"));
        assert_eq!(refused("beta2=1"), "settings: beta2 takes a number from 0 to below 1, not `1`");
        assert_eq!(refused("fire_rate=0"), "settings: fire_rate takes a number above 0 and up to 1, not `0`");
        assert!(refused("loss=hinge").starts_with("settings: loss = hinge: unknown variant"));
        let large = refused("height=10000000");
        assert!(large.starts_with("settings: the grids are too large to train on: 10000000 × 3"), "{large}");
    }
}
