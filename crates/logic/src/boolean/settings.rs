//! Everything about the learning of a Boolean function that a user may set, one row each.

use farad::run::Run;
use farad::train::LoopSettings;
use farad::train::settings::{NumberRange, SettingsTable as _, Takes};

use crate::error::Result;

farad::train::settings! {
    /// The settings for learning a Boolean function.
    pub struct BooleanSettings {
        data: String = String::new(), Takes::Text, "The file with the rows.";
        device: String = String::new(), Takes::Text, "The device that the run was started on.";
        seed: u64 = 1, Takes::from(0), "The seed of wires, batches and held-out rows.";
        updates: u64 = 2000, Takes::from(1), "Updates of the gates.";
        batch: usize = 512, Takes::Whole(1, 1 << 20), "Rows per update.";
        learning_rate: f64 = 0.05, Takes::Number(NumberRange::from(0.0)), "The learning rate.";
        optimizer: String = "adam".into(), Takes::one_of(farad::optim::OptimizerRow::names()), "The optimizer of the gates.";
        layers: Vec<i64> = vec![], Takes::Wholes(1, 1 << 16, 0), "Gates of each layer except the last, which has one for each output; if empty, chosen to suit the table.";
        initial_logit: f64 = 3.0, Takes::Number(NumberRange::from(0.0)), "The logit of \"pass operand a on\" at the start.";
        target: Vec<String> = vec![], Takes::Texts, "The columns that are learned, by name; the last if none.";
        test: f64 = 0.2, Takes::Number(NumberRange::from(0.0).below(1.0)), "The share of the rows that is held out for the test, if the table is not complete.";
        patch: bool = true, Takes::Truth, "Whether rows that the circuit gets wrong are corrected by added terms.";
        simplify_seconds: u64 = 20, Takes::Whole(0, 1 << 20), "Seconds that simplification may take.";
        ..course: LoopSettings, "When the loop logs, validates, saves and ends.";
    }
}

/// Fewest and most gates of a layer, if not set by the user.
const WIDTHS: (usize, usize) = (48, 1024);
/// Layers of that width.
const WIDE: usize = 5;

impl BooleanSettings {
    /// The default settings.
    pub fn new() -> BooleanSettings {
        let course = LoopSettings {
            evaluate_every: 100,
            checkpoint_every: 500,
            keep_best: true,
            ..LoopSettings::default()
        };
        BooleanSettings { course, ..BooleanSettings::default() }
    }

    /// The settings of a run.
    pub fn of(run: &Run) -> Result<BooleanSettings> {
        let mut settings = BooleanSettings::new();
        settings.take_config(run.config())?;
        Ok(settings)
    }

    /// Widths of the network, inputs first: wide layers, then half as many gates again and again, down to the
    /// outputs.
    pub fn widths(&self, inputs: usize, outputs: usize) -> Vec<usize> {
        let mut widths = vec![inputs];
        widths.extend(self.layers.iter().map(|&gates| gates as usize));
        if self.layers.is_empty() {
            let wide = (16 * inputs).max(4 * outputs).clamp(WIDTHS.0, WIDTHS.1);
            widths.extend([wide; WIDE]);
            let halves = std::iter::successors(Some(wide / 2), |gates| Some(gates / 2));
            widths.extend(halves.take_while(|&gates| gates > 2 * outputs));
        }
        widths.push(outputs);
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_suit_their_tables() {
        assert_eq!(BooleanSettings::new().widths(3, 1), [3, 48, 48, 48, 48, 48, 24, 12, 6, 3, 1]);
        assert_eq!(
            BooleanSettings::new().widths(64, 40),
            [64, 1024, 1024, 1024, 1024, 1024, 512, 256, 128, 40]
        );
        let own = BooleanSettings { layers: vec![5], ..BooleanSettings::new() };
        assert_eq!(own.widths(3, 2), [3, 5, 2]);
    }
}
