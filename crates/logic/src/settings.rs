//! Everything about the training of automata that a user may set, one row each. A recipe gives the defaults; a run's
//! `config.toml` has these keys in its table `settings`.

use farad::train::LoopSettings;
use farad::train::settings::{NumberRange, SettingValue, SettingsTable as _, Takes, TomlValue};

use crate::automaton::Policy;
use crate::error::{Error, Result};
use crate::soft_gates::{GateKind, Rounding};

/// The loss between states and target. All are sums over batch, cells and visible channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The squared difference.
    Squared,
    /// The cross-entropy of the bit.
    CrossEntropy,
    /// The cross-entropy, weighted by the difference to the power of `focus`: nearly right bits matter less.
    Focal,
}

impl Loss {
    /// The label for the axis of a plot.
    pub fn label(self) -> &'static str {
        match self {
            Loss::Squared => "sum of squared differences",
            Loss::CrossEntropy => "sum of cross-entropies",
            Loss::Focal => "sum of focal cross-entropies",
        }
    }
}

/// What the forward pass of an update uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// The mixtures.
    Soft,
    /// The hard gates, with the mixtures' gradient.
    Hard,
    /// Hard gates sampled by their probabilities (Gumbel noise on logits, redrawn each update), with the
    /// gradient of the noisy mixtures.
    Gumbel,
    /// The mixtures of logits with Gumbel noise.
    Noisy,
}

/// Which gates become hard first in the forward pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FreezeOrder {
    /// In a random order that is fixed per seed.
    #[default]
    Chance,
    /// The surest first, judged at each update.
    Confidence,
    /// At random, redrawn at each update.
    Anew,
}

/// What cells pass from step to step in an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum States {
    /// The soft values.
    #[default]
    Soft,
    /// The nearest bits, with the gradient as if they had not been rounded.
    Rounded,
    /// Bits sampled with these probabilities, with the gradient as if they had not been.
    Sampled,
}

/// What is kept for the backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// States; activations are recomputed.
    Recompute,
    /// Everything.
    All,
    /// Every n-th state (`keep_every`).
    Every,
}

/// Gives the values of an enum their names in settings.
macro_rules! named {
    ($($type:ident { $($name:literal = $value:ident),+ })+) => { $(
        impl $type {
            /// The names of all values.
            pub const NAMES: &[&str] = &[$($name),+];
        }

        impl SettingValue for $type {
            fn to_toml(&self) -> TomlValue {
                match self { $($type::$value => $name.into()),+ }
            }

            fn from_toml(value: &TomlValue) -> Option<$type> {
                match value.as_str()? { $($name => Some($type::$value),)+ _ => None }
            }
        }
    )+ };
}

named! {
    Loss { "squared" = Squared, "cross_entropy" = CrossEntropy, "focal" = Focal }
    Forward { "soft" = Soft, "hard" = Hard, "gumbel" = Gumbel, "noisy" = Noisy }
    FreezeOrder { "chance" = Chance, "confidence" = Confidence, "anew" = Anew }
    States { "soft" = Soft, "rounded" = Rounded, "sampled" = Sampled }
    Keep { "recompute" = Recompute, "all" = All, "every" = Every }
    GateKind { "sixteen" = Sixteen, "four" = Four }
    Rounding { "likeliest" = Likeliest, "nearest" = Nearest }
}

/// One of the values of a type.
fn one_of(names: &[&'static str]) -> Takes {
    Takes::one_of(names.iter().copied())
}

const FROM_ONE: Takes = Takes::from(1);
const FROM_ZERO: Takes = Takes::Number(NumberRange::from(0.0));
const POSITIVE: Takes = Takes::Number(NumberRange::above(0.0));
const TO_ONE: Takes = Takes::Number(NumberRange::from(0.0).to(1.0));
const BELOW_ONE: Takes = Takes::Number(NumberRange::from(0.0).below(1.0));
const ABOVE_ZERO: Takes = Takes::Number(NumberRange::above(0.0).to(1.0));
const ABOVE_MINUS_ONE: Takes = Takes::Number(NumberRange::above(-1.0));

farad::train::settings! {
    /// The settings of automata. Defaults are what all published recipes share.
    pub struct AutomatonSettings {
        updates: u64 = 500, Takes::from(0), "Updates of the parameters.";
        batch: usize = 1, FROM_ONE, "Grids per update.";
        steps: usize = 1, FROM_ONE, "Steps of the automaton.";
        height: usize = 16, FROM_ONE, "Cells from top to bottom.";
        width: usize = 16, FROM_ONE, "Cells from left to right.";
        fire_rate: f32 = 1.0, ABOVE_ZERO, "The probability that a cell fires; 1 is the synchronous automaton.";
        learning_rate: f32 = 0.05, FROM_ZERO, "The largest learning rate.";
        #[later] optimizer ["optimiser"]: String = "adamw".into(), Takes::one_of(farad::optim::OptimizerRow::names()), "The optimizer of the logits.";
        warm_up: u64 = 0, Takes::from(0), "Updates over which the rate grows from zero.";
        beta1: f32 = 0.9, BELOW_ONE, "The optimizer's decay of the first moment, for adamw, adam and lion.";
        beta2: f32 = 0.99, BELOW_ONE, "The optimizer's decay of the second moment, for adamw, adam and lion.";
        weight_decay: f32 = 0.01, FROM_ZERO, "The optimizer's decay of weights.";
        clip: f32 = 100.0, FROM_ZERO, "Gradients are clipped to ± this, element by element.";
        #[lab] final_rate: f32 = 1.0, TO_ONE, "The fraction of the rate at the last update; it falls along a cosine; 1 means that it stays constant.";
        #[later] gates: GateKind = GateKind::Sixteen, one_of(GateKind::NAMES), "What a gate is learned as: a logit for each function, or one for each pair of inputs.";
        #[later] rounding: Rounding = Rounding::Likeliest, one_of(Rounding::NAMES), "What sixteen logits become when hard: the largest, or the mixture's truth table, rounded.";
        initial_logit: f32 = 10.0, FROM_ZERO, "The logit of \"pass operand a on\" at the start.";
        #[lab] sharpness: f32 = 1.0, FROM_ZERO, "Logits are multiplied by a number that grows from 1 to this over the run.";
        #[lab] adaptive: f32 = 0.0, ABOVE_MINUS_ONE, "A gate's logits are multiplied by 1 + this × its confidence; below 0, sure gates stay softer and continue to learn.";
        #[lab] forward: Forward = Forward::Soft, one_of(Forward::NAMES), "What the forward pass uses: soft gates, hard ones with the soft gradient, hard ones sampled at random, or soft ones of noisy logits.";
        #[lab] temperature: f32 = 1.0, POSITIVE, "With lab.forward = \"gumbel\" or \"noisy\": noisy logits are divided by this.";
        #[lab] gate_noise: f32 = 1.0, FROM_ZERO, "With lab.forward = \"gumbel\" or \"noisy\": the size of the noise; 1 draws gates by their chances.";
        freeze_from: f32 = 1.0, TO_ONE, "From this fraction of the updates on, more and more gates are hard in the forward pass; 1 means never.";
        freeze_until: f32 = 1.0, TO_ONE, "At this fraction of the updates the number of hard gates is reached; if equal to `freeze_from`, at once.";
        #[later] freeze_most: f32 = 1.0, TO_ONE, "The fraction of gates that are hard then.";
        #[later] freeze_order: FreezeOrder = FreezeOrder::Chance, one_of(FreezeOrder::NAMES), "Which gates are hard: in a fixed random order, the surest first, or redrawn at each update.";
        #[lab] states: States = States::Soft, one_of(States::NAMES), "What cells pass on; rounded or sampled bits have the gradient of the soft value.";
        #[lab] round_every: usize = 1, FROM_ONE, "With lab.states = \"rounded\" or \"sampled\": every how many steps.";
        #[lab] entropy: f32 = 0.0, FROM_ZERO, "The weight of the gates' entropy in what is minimized, summed over gates.";
        #[lab] margin: f32 = 0.0, FROM_ZERO, "The weight of the margin penalty: by how much the gates' decisions miss `lab.margin_width`, summed over gates.";
        #[lab] margin_width: f32 = 5.0, FROM_ZERO, "The difference of logits from which a decision counts as clear.";
        #[lab] ramp_from: f32 = 0.0, TO_ONE, "At this fraction of the updates `lab.adaptive`, `lab.entropy` and `lab.margin` begin to grow from zero.";
        #[lab] ramp_until: f32 = 0.0, TO_ONE, "At this fraction of the updates they reach their full size; 0 means from the start.";
        loss: Loss = Loss::Squared, one_of(Loss::NAMES), "The loss of the difference between states and target.";
        #[lab] focus: f32 = 2.0, FROM_ZERO, "The power of the focal loss.";
        #[lab] noise: f32 = 0.0, FROM_ZERO, "The standard deviation of noise on gradients, falling with the number of updates.";
        curriculum: u64 = 0, Takes::from(0), "Updates over which the number of steps grows to `steps`; 0 means all from the start.";
        keep: Keep = Keep::Recompute, one_of(Keep::NAMES), "What is kept for the backward pass.";
        keep_every: usize = 4, FROM_ONE, "With keep = \"every\": every how many steps.";
        stop_after_exact: u64 = 0, Takes::from(0), "Training ends once every seed's hard circuit was right in this many evaluations in a row; 0 means never.";
        #[later] repair: bool = false, Takes::Truth, "A circuit that is not exact at the end is repaired by a discrete search.";
        #[lab] train_again: bool = false, Takes::Truth, "With repair: if the search is stuck, soft training restarts from the repaired circuit, within the same budget.";
        ..course: LoopSettings, "When the loop logs, evaluates, saves and ends.";
    }
}

/// Most cells in a batch of grids.
const MOST_CELLS: usize = 1 << 22;

impl AutomatonSettings {
    /// From the table of a run. Keys that were added later may be missing, and then have the published values.
    pub fn from_table(table: &toml::Table) -> Result<AutomatonSettings> {
        let mut settings = crate::recipe::published();
        settings.take_config(table)?;
        settings.check()?;
        Ok(settings)
    }

    /// The policy for `keep`.
    pub fn policy(&self) -> Policy {
        match self.keep {
            Keep::Recompute => Policy::Recompute,
            Keep::All => Policy::KeepAll,
            Keep::Every => Policy::Every(self.keep_every),
        }
    }

    /// Checks that the settings are consistent.
    pub fn check(&self) -> Result<()> {
        // A number may leave its bounds when it is converted to single precision.
        AutomatonSettings::default().take(&self.table())?;
        if self.course.evaluate_every == 0 {
            let (wanted, found) = ("a whole number from 1 on".into(), "0".into());
            let key = "evaluate_every".into();
            return Err(farad::TrainError::Setting { key, wanted, found }.into());
        }
        let AutomatonSettings { height, width, batch, .. } = *self;
        let cells = height.saturating_mul(width).saturating_mul(batch);
        match cells > MOST_CELLS {
            true => Err(Error::TooLarge { height, width, batch, cells, most: MOST_CELLS }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recipe;

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let mut settings = Recipe::all()[0].settings.clone();
        let mut refused = |assignment: &str| settings.set(assignment).unwrap_err().to_string();
        assert!(refused("batch").starts_with("settings: `batch` is not key=value\nhelp: "));
        assert_eq!(refused("steps=0"), "settings: steps takes a whole number from 1 on, not `0`");
        assert_eq!(refused("clip=inf"), "settings: clip takes a number from 0 on, not `inf`");
        assert_eq!(refused("lab.noise=nan"), "settings: lab.noise takes a number from 0 on, not `NaN`");
        assert_eq!(refused("freeze_from=1.5"), "settings: freeze_from takes a number from 0 to 1, not `1.5`");
        assert_eq!(refused("lab.temperature=0"), "settings: lab.temperature takes a number above 0, not `0`");
        assert_eq!(refused("lab.adaptive=-1"), "settings: lab.adaptive takes a number above -1, not `-1`");
        assert_eq!(
            refused("freeze_order=size"),
            "settings: there is no freeze_order `size`\nhelp: there are chance, confidence, anew"
        );
        assert_eq!(refused("beta2=1"), "settings: beta2 takes a number from 0 to below 1, not `1`");
        assert_eq!(refused("fire_rate=0"), "settings: fire_rate takes a number above 0 and up to 1, not `0`");
        assert!(refused("loss=hinge").starts_with("settings: there is no loss `hinge`"));
    }

    #[test]
    fn a_table_that_was_cut_is_noticed_and_an_old_one_is_read() {
        let whole = Recipe::all()[0].settings.table();
        let without = |key: &str| {
            let mut table = whole.clone();
            assert!(table.remove(key).is_some(), "{key}");
            AutomatonSettings::from_table(&table)
        };
        let cut = without("curriculum").unwrap_err().to_string();
        assert!(cut.contains("config.toml") && cut.contains("it has no `curriculum`"), "{cut}");
        assert_eq!(without("optimizer").unwrap().optimizer, "adamw");
        // Before the prefix `lab.` existed, its keys had none; whoever types one gets a hint.
        let mut old = whole.clone();
        let value = old.remove("lab.sharpness").unwrap();
        assert_eq!(value.as_float(), Some(1.0));
        old.insert("sharpness".into(), 4.0.into());
        assert_eq!(AutomatonSettings::from_table(&old).unwrap().sharpness, 4.0);
        let told = AutomatonSettings::default().set("sharpness=4").unwrap_err().to_string();
        assert!(told.contains("no key `sharpness`; did you mean `lab.sharpness`?"), "{told}");
        let file: toml::Table = "[lab]\nsharpness = 3.0".parse().unwrap();
        let mut settings = AutomatonSettings::default();
        settings.take(&file).unwrap();
        assert_eq!(settings.sharpness, 3.0);
    }

    #[test]
    fn what_must_fit_together_is_checked() {
        let refused = |assignment: &str| {
            let mut settings = Recipe::all()[0].settings.clone();
            settings.set(assignment).unwrap();
            settings.check().unwrap_err().to_string()
        };
        let large = refused("height=10000000");
        assert!(large.starts_with("settings: the grids are too large to train on: 10000000 × 3"), "{large}");
        // A number above or below a bound as a double may be on it in single precision.
        assert_eq!(
            refused("beta2=0.99999999999"),
            "settings: beta2 takes a number from 0 to below 1, not `1`"
        );
        assert_eq!(refused("clip=1e300"), "settings: clip takes a number from 0 on, not `inf`");
        assert_eq!(
            refused("lab.temperature=1e-300"),
            "settings: lab.temperature takes a number above 0, not `0`"
        );
        assert!(refused("evaluate_every=0").contains("evaluate_every takes a whole number from 1 on"));
    }
}
