//! Everything about a training run that a user may set. A recipe gives the defaults; the keys are the
//! field names, so a run's `config.toml` is this structure.

use serde::{Deserialize, Serialize};

use crate::automaton::Policy;
use crate::error::{Error, Result};

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
    /// The likeliest gates, with the mixtures' gradient.
    Hard,
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
    /// The logit of "pass operand a on" at the start.
    pub initial_logit: f32,
    /// Logits are multiplied by a number that grows from 1 to this over the run.
    pub sharpness: f32,
    /// What the forward pass uses: soft or hard.
    pub forward: Forward,
    /// From this share of the updates on, more and more gates are hard in the forward pass, in an order
    /// of chance; 1: never.
    pub freeze_from: f32,
    /// At this share of the updates all gates are.
    pub freeze_until: f32,
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

impl Settings {
    /// As a table of keys.
    pub fn table(&self) -> toml::Table {
        toml::Table::try_from(self).expect("settings are a table")
    }

    /// From a table of keys, all of which must be there.
    pub fn from_table(table: toml::Table) -> Result<Settings> {
        let settings: Settings = table
            .try_into()
            .map_err(|error: toml::de::Error| Error::Settings(error.message().to_string()))?;
        settings.check()?;
        Ok(settings)
    }

    /// Sets one key from text, as `key=value`.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let (key, text) = assignment
            .split_once('=')
            .ok_or_else(|| Error::Settings(format!("`{assignment}` is not key=value")))?;
        let (key, text) = (key.trim(), text.trim());
        let mut table = self.table();
        let names: Vec<String> = table.keys().cloned().collect();
        let Some(old) = table.get(key) else {
            let nearest = farad::nearest(key, names.iter().map(String::as_str)).map(str::to_string);
            return Err(Error::UnknownKey { key: key.into(), nearest, keys: names });
        };
        let bad = |wanted: &str| Error::Settings(format!("{key} takes {wanted}, not `{text}`"));
        let value = match old {
            toml::Value::Integer(_) => toml::Value::Integer(text.parse().map_err(|_| bad("a whole number"))?),
            toml::Value::Float(_) => toml::Value::Float(text.parse().map_err(|_| bad("a number"))?),
            toml::Value::Boolean(_) => toml::Value::Boolean(text.parse().map_err(|_| bad("true or false"))?),
            _ => toml::Value::String(text.into()),
        };
        table.insert(key.into(), value);
        *self = Settings::from_table(table).map_err(|error| match error {
            Error::Settings(why) => Error::Settings(format!("{key} = {text}: {why}")),
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
        let positive = [
            ("batch", self.batch),
            ("steps", self.steps),
            ("height", self.height),
            ("width", self.width),
            ("keep_every", self.keep_every),
            ("evaluate_every", self.evaluate_every as usize),
            ("log_every", self.log_every as usize),
            ("checkpoint_every", self.checkpoint_every as usize),
        ];
        if let Some((key, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(Error::Settings(format!("{key} must be at least 1 (0 vs 1)")));
        }
        let finite = [
            ("learning_rate", self.learning_rate),
            ("weight_decay", self.weight_decay),
            ("clip", self.clip),
            ("initial_logit", self.initial_logit),
            ("sharpness", self.sharpness),
            ("focus", self.focus),
            ("noise", self.noise),
        ];
        if let Some((key, value)) =
            finite.into_iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0))
        {
            return Err(Error::Settings(format!("{key} must be a number from 0 on ({value} vs 0)")));
        }
        let shares = [("freeze_from", self.freeze_from), ("freeze_until", self.freeze_until)];
        if let Some((key, value)) = shares.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            return Err(Error::Settings(format!("{key} lies from 0 to 1 ({value})")));
        }
        let fractions = [("beta1", self.beta1), ("beta2", self.beta2)];
        if let Some((key, value)) = fractions.into_iter().find(|(_, value)| !(0.0..1.0).contains(value)) {
            return Err(Error::Settings(format!("{key} lies from 0 to below 1 ({value})")));
        }
        if !(self.fire_rate > 0.0 && self.fire_rate <= 1.0) {
            return Err(Error::Settings(format!("fire_rate lies above 0 and up to 1 ({})", self.fire_rate)));
        }
        let cells = self.height.saturating_mul(self.width).saturating_mul(self.batch);
        if cells > 1 << 22 {
            return Err(Error::Settings(format!(
                "the grids are too large to train on: {} × {} × batch {} ({cells} cells vs at most {})",
                self.height,
                self.width,
                self.batch,
                1 << 22
            )));
        }
        Ok(())
    }
}
