//! The contents of a run's `config.toml`.

use farad::Need;
use farad::run::{Run, Table, Value};
use farad::train::moments;
use farad::train::settings::SettingsTable as _;
use farad_circuit::Meta;

use crate::automaton::Policy;
use crate::error::{Error, Result};
use crate::recipe::{Recipe, RolloutStart};
use crate::settings::AutomatonSettings;
use crate::soft_gates::GateKind;

/// The kind of run folder, in `config.toml` and checkpoints.
pub const KIND: &str = "automaton";

/// What a run folder says about itself.
pub struct Configuration {
    /// The recipe.
    pub recipe: Recipe,
    /// Its settings.
    pub settings: AutomatonSettings,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The name of the device that it was started on.
    pub device: String,
}

impl Configuration {
    /// The device name for `Device::named`, without the adapter's name.
    pub fn device_name(&self) -> &str {
        self.device.split(' ').next().unwrap_or_default()
    }

    /// Soft gates that the forward passes of this many updates evaluate, per seed: the unit of a training
    /// budget.
    pub fn gate_evaluations(&self, updates: u64) -> u64 {
        let (settings, topology) = (&self.settings, self.recipe.topology.clone());
        let cell =
            topology.kernels * topology.channels * topology.perception_gates() + topology.update_gates();
        let steps: u64 = (0..updates).map(|update| settings.steps_at(update) as u64).sum();
        steps * (settings.batch * settings.height * settings.width * cell) as u64
    }

    /// The least memory that training needs: logits with their gradients and moments, and the states kept for
    /// the backward pass.
    pub fn need(&self) -> Need {
        let (settings, topology) = (&self.settings, self.recipe.topology.clone());
        let logits = match settings.gates {
            GateKind::Sixteen => 16,
            GateKind::Four => 4,
        };
        let [seeds, gates, channels] =
            [self.seeds.len(), topology.gates(), topology.channels].map(|n| n as u128);
        let cells = (settings.batch as u128) * (settings.height as u128) * (settings.width as u128);
        let steps = settings.steps as u128;
        let kept = match settings.policy() {
            Policy::Recompute | Policy::KeepAll => steps.saturating_sub(1),
            Policy::Every(stride) => steps.saturating_sub(1) / stride.max(1) as u128,
        };
        let activations = match settings.policy() {
            Policy::KeepAll => steps.saturating_mul(topology.activations() as u128),
            _ => 0,
        };
        // The states before and after are in addition to the kept ones.
        let numbers = (kept + 2).saturating_mul(channels).saturating_add(activations);
        let bytes = numbers.saturating_mul(seeds * cells).saturating_mul(4);
        Need::training(seeds * gates * logits, moments(&settings.optimizer)).activations(bytes)
    }

    /// What the page of an automaton should know: its initial state, and the grid that it was trained on.
    pub fn known(&self) -> Meta {
        let start = match self.recipe.start {
            RolloutStart::RandomBits => "random",
            RolloutStart::CenterOnes => "center",
            RolloutStart::Zeros => "zeros",
            RolloutStart::Boards => "boards",
        };
        let known = [
            ("recipe", Value::from(self.recipe.name)),
            ("start", start.into()),
            ("size", vec![self.settings.width, self.settings.height].into()),
        ];
        let colors = self.recipe.colors();
        let palette = (!colors.is_empty()).then(|| ("palette", crate::recipe::color_names(colors).into()));
        known.into_iter().chain(palette).map(|(name, value)| (name.to_string(), value)).collect()
    }

    /// As stored in the folder.
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new();
        table.insert("recipe".into(), self.recipe.name.into());
        if let Some(task) = &self.recipe.task {
            table.insert("task".into(), task.clone().into());
        }
        table.insert("device".into(), self.device.clone().into());
        table.insert("seeds".into(), self.seeds.iter().map(|&seed| seed as i64).collect::<Vec<_>>().into());
        table.insert("settings".into(), self.settings.table().into());
        table
    }

    /// From a run folder.
    pub fn of(run: &Run) -> Result<Configuration> {
        let table = run.config();
        let missing = |key| Error::Configuration { key };
        let text = |key: &'static str| table.get(key).and_then(|v| v.as_str()).ok_or_else(|| missing(key));
        let seeds = table.get("seeds").and_then(|v| v.as_array()).ok_or_else(|| missing("seeds"))?;
        let seeds = seeds.iter().map(|v| v.as_integer().map(|n| n as u64)).collect::<Option<Vec<u64>>>();
        let settings = table.get("settings").and_then(|v| v.as_table()).ok_or_else(|| missing("settings"))?;
        Ok(Configuration {
            recipe: Recipe::of(text("recipe")?, table.get("task").and_then(|task| task.as_table()))?,
            settings: AutomatonSettings::from_table(settings)?,
            seeds: seeds.filter(|seeds| !seeds.is_empty()).ok_or_else(|| missing("seeds"))?,
            device: text("device")?.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_the_published_ones() {
        for (name, once) in [("life", 457_740), ("checkerboard", 47_185_920)] {
            let recipe = Recipe::named(name).unwrap();
            let mut settings = recipe.reference.clone();
            let of = |settings: &AutomatonSettings| {
                let (recipe, settings) = (recipe.clone(), settings.clone());
                Configuration { recipe, settings, seeds: vec![1], device: "cpu".into() }.gate_evaluations(10)
            };
            assert_eq!(of(&settings), 10 * once, "{name}");
            (settings.steps, settings.curriculum) = (9, 9);
            // 1, 1, 2, 3, … 8 steps, then all nine.
            assert_eq!(of(&settings), 46 * once / recipe.reference.steps as u64, "{name}");
        }
    }
}
