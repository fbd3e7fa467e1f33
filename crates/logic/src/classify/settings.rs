//! Everything about the training of a logic network that a user may set, one row each. A task and a model give the
//! defaults; a run's `config.toml` has these keys.

use farad::data::ColumnRule;
use farad::run::Run;
use farad::train::LoopSettings;
use farad::train::settings::{NumberRange, SettingsTable as _, Takes, no_choice};

use super::data::TaskKind;
use super::presets::Preset;
use crate::error::Result;

/// Nonnegative numbers.
const FROM_ZERO: Takes = Takes::Number(NumberRange::from(0.0));
/// Fractions strictly between 0 and 1.
const SHARE: Takes = Takes::Number(NumberRange::above(0.0).below(1.0));
/// Sizes of layers, kernels and windows.
const SIZES: Takes = Takes::Wholes(1, 1 << 22, 0);

farad::train::settings! {
    /// The settings of a logic network.
    pub struct ClassifierSettings {
        task: String = "logic-mnist".into(), Takes::one_of(TaskKind::ALL.map(TaskKind::name)), "What is learned.";
        model: String = "small".into(), Takes::one_of(Preset::names()), "Which network the settings started from.";
        data: String = String::new(), Takes::Text, "Where the data are; `synthetic` draws them.";
        device: String = String::new(), Takes::Text, "The device that the run was started on.";
        seed: i64 = 1, Takes::from(0), "The seed of wires, order and splits.";
        epochs: i64 = 12, Takes::Whole(1, 1_000_000), "Passes over the training set.";
        updates: i64 = 0, Takes::from(0), "Total number of steps; 0 means as many as the epochs have.";
        batch: i64 = 128, Takes::Whole(1, 1 << 20), "Samples per step.";
        learning_rate: f64 = 0.05, FROM_ZERO, "The largest learning rate.";
        #[later] optimizer ["optimiser"]: String = "adam".into(), Takes::one_of(farad::optim::OptimizerRow::names()), "The optimizer of the gates.";
        schedule: String = "cosine".into(), Takes::one_of(["constant", "cosine"]), "How the learning rate changes.";
        weight_decay: f64 = 0.0, FROM_ZERO, "The optimizer's decay of weights.";
        #[later] clip: f64 = 0.0, FROM_ZERO, "The largest norm of all gradients together; 0 means no limit.";
        tau: f64 = 0.0, FROM_ZERO, "What the counts of classes are divided by; 0 means a third of the square root of a class's outputs.";
        encoding: String = "even".into(), Takes::one_of(["even", "quantile", "learned"]), "How thresholds are chosen.";
        thresholds: i64 = 1, Takes::Whole(1, 255), "Thresholds per number.";
        #[later] levels: Vec<f64> = vec![], Takes::Numbers, "Thresholds of pictures as fractions of the brightest level; if empty, `thresholds` of them, equally spaced.";
        kernels: Vec<i64> = vec![], SIZES, "Trees of gates over windows: the number of kernels of each stage; if empty, there are no such stages.";
        tree_depth: i64 = 3, Takes::Whole(1, 6), "Levels of gates per tree.";
        windows: Vec<i64> = vec![5, 3], SIZES, "Pixels along a side of the trees' windows, one number for each stage; the last one applies to all further stages.";
        #[later] tree_padding: Vec<i64> = vec![1], Takes::Wholes(0, 1, 1), "Whether windows extend beyond the edge, so that pictures keep their size (1) or not (0), one number for each stage; the last one applies to all further stages.";
        #[later] strides: Vec<i64> = vec![1], SIZES, "With resampled wiring: the stride of windows in pixels, one number for each stage; the last one applies to all further stages.";
        tree_channels: i64 = 2, Takes::Whole(1, 1 << 16), "Most channels that a tree reads.";
        layers: Vec<i64> = vec![4000, 4000], SIZES, "Gates of each layer.";
        wiring: String = "learned".into(), Takes::one_of(["random", "unique", "learned", "resampled"]), "How layers are wired; resampled means neurons of sixteen candidates with their own wires, also over windows.";
        candidates: i64 = 8, Takes::Whole(1, 64), "With learned wiring: how many inputs an operand of a gate chooses among.";
        choice_spread: f64 = 0.5, FROM_ZERO, "With learned wiring: the standard deviation of the candidates' initial logits.";
        #[later] resample_until: f64 = 0.67, Takes::Number(NumberRange::from(0.0).to(1.0)), "With resampled wiring: until which fraction of all steps neurons redraw candidates.";
        #[later] resample_patience: i64 = 1000, Takes::from(1), "With resampled wiring: steps for which a neuron's entropy stays constant before it redraws.";
        #[later] freeze_layers: bool = false, Takes::Truth, "With resampled wiring: whether layers become hard, one after another from the input on, after redrawing has ended.";
        initial_logit: f64 = 2.0, FROM_ZERO, "The logit of \"pass operand a on\" at the start.";
        #[later] head: String = "exact".into(), Takes::one_of(["exact", "cut"]), "Which votes the circuit counts: all, or those that decide on the training data, checked on the validation part.";
        forward: String = "hard".into(), Takes::one_of(["soft", "hard"]), "What the forward pass of a step uses; hard gates have the soft gradient.";
        shift: i64 = 0, Takes::Whole(0, 16), "Pictures are shifted by up to this many pixels at random.";
        #[later] edge: bool = false, Takes::Truth, "Whether shifted pictures are filled with the pixels of their edge; otherwise with zeros.";
        mirror: bool = false, Takes::Truth, "Whether pictures are mirrored at random.";
        #[later] copies: i64 = 0, Takes::Whole(0, 1000), "Changed copies of every training picture, made before training; 0 means the pictures themselves.";
        #[later] rotate: f64 = 0.0, Takes::Number(NumberRange::from(0.0).to(180.0)), "Most degrees by which copies are rotated.";
        #[later] shear: f64 = 0.0, Takes::Number(NumberRange::from(0.0).to(60.0)), "Most degrees by which copies are sheared.";
        #[later] scale: f64 = 0.0, Takes::Number(NumberRange::from(0.0).below(1.0)), "The largest fraction by which copies are scaled up or down.";
        #[later] elastic_alpha: f64 = 0.0, FROM_ZERO, "The strength of elastic distortion of copies: random, smoothed displacements of pixels, times this.";
        #[later] elastic_sigma: f64 = 6.0, Takes::Number(NumberRange::above(0.0)), "Over how many pixels these displacements are smoothed.";
        validation: f64 = 0.05, SHARE, "The fraction of the training set that is held out to choose the best circuit.";
        test: f64 = 0.2, SHARE, "The fraction that is held out for the test, if the set has no test part.";
        target: String = String::new(), Takes::Text, "The column of a table that is learned, by name or number; the last if empty.";
        ignore: Vec<String> = vec![], Takes::Texts, "Columns of a table to leave out, by name or number.";
        header: bool = true, Takes::Truth, "Whether a table's first line names the columns.";
        #[later] rules: Vec<String> = vec![], Takes::Texts, "How a table's columns become numbers where they are words, dates or have empty fields; found when the run is made.";
        #[later] repair: String = "never".into(), Takes::one_of(["never", "small", "always"]), "Whether a discrete search for a better circuit follows training: never, if the circuit is small, or always. `farad repair` does it later.";
        simplify_seconds: i64 = 20, Takes::Whole(0, 1 << 20), "Seconds that simplification may take.";
        ..course: LoopSettings, "When the loop logs, validates, saves and ends.";
    }
}

/// Fewest gates that vote for a class, if the settings are chosen to suit the data: with fewer, ties decide.
const LEAST_OF_A_CLASS: i64 = 4;

/// Fewest steps for a table, if the settings are chosen to suit the data.
const LEAST_STEPS: i64 = 600;

impl ClassifierSettings {
    /// The default settings for a task and a model.
    pub fn new(task: TaskKind, model: &str) -> Result<ClassifierSettings> {
        let unknown = || no_choice("model", model, &Preset::names());
        let preset = Preset::named(model).ok_or_else(unknown)?;
        let course = LoopSettings { checkpoint_every: 500, keep_best: true, ..LoopSettings::default() };
        let base = ClassifierSettings {
            task: task.name().into(),
            model: model.into(),
            course,
            ..ClassifierSettings::default()
        };
        let sized = preset.apply(task, base);
        Ok(match task {
            TaskKind::Table => sized.for_tables(),
            _ => sized,
        })
    }

    /// Converts a network for pictures to one for tables.
    fn for_tables(self) -> ClassifierSettings {
        ClassifierSettings {
            encoding: "quantile".into(),
            thresholds: 8,
            levels: vec![],
            // A table may have fewer bits than there are candidates.
            wiring: "random".into(),
            layers: if self.model == "small" { vec![480, 480] } else { self.layers },
            kernels: vec![],
            epochs: 60,
            updates: 0,
            batch: 64,
            shift: 0,
            mirror: false,
            copies: 0,
            head: "cut".into(),
            repair: "small".into(),
            ..self
        }
    }

    /// Thresholds per number.
    pub fn bits(&self) -> usize {
        if self.levels.is_empty() { self.thresholds as usize } else { self.levels.len() }
    }

    /// Makes the last layer wide enough for this many classes: all have the same number of gates, at least
    /// four. For default layers only; layers that the user chose are rejected if they do not fit.
    pub fn suit(&mut self, classes: usize) {
        let classes = classes.max(1) as i64;
        if let Some(last) = self.layers.last_mut() {
            let enough = (*last).max(classes.saturating_mul(LEAST_OF_A_CLASS));
            *last = (enough + classes - 1) / classes * classes;
        }
    }

    /// Gives a small table enough epochs to learn from. For default epochs only.
    pub fn suit_samples(&mut self, samples: usize) {
        if self.task_kind() == TaskKind::Table {
            let steps = (samples as i64 / self.batch.max(1)).max(1);
            self.epochs = self.epochs.max(LEAST_STEPS / steps);
        }
    }

    /// The settings of a run.
    pub fn of(run: &Run) -> Result<ClassifierSettings> {
        // Keys that a run does not have take the values from before these keys existed, whatever its model is
        // now.
        let mut settings = ClassifierSettings::default();
        settings.take_config(run.config())?;
        Ok(settings)
    }

    /// How a table's columns become numbers; none if all are numbers.
    pub fn column_rules(&self) -> Result<Vec<ColumnRule>> {
        let rule = |text: &String| {
            serde_json::from_str(text).map_err(|_| {
                let (key, wanted) = ("rules".into(), "rules of columns as the run was made with".into());
                farad::TrainError::Setting { key, wanted, found: text.clone() }.into()
            })
        };
        self.rules.iter().map(rule).collect()
    }

    /// What is learned.
    pub fn task_kind(&self) -> TaskKind {
        TaskKind::named(&self.task).unwrap_or(TaskKind::Mnist)
    }

    /// What is trained and how.
    pub fn title(&self) -> String {
        format!("{} by {}", self.task, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let mut settings = ClassifierSettings::new(TaskKind::Mnist, "small").unwrap();
        let mut refused = |assignment: &str| settings.set(assignment).unwrap_err().to_string();
        assert!(refused("batch").starts_with("settings: `batch` is not key=value\nhelp: "));
        assert_eq!(refused("batch=0"), "settings: batch takes a whole number from 1 on, not `0`");
        assert_eq!(refused("tree_depth=7"), "settings: tree_depth takes a whole number up to 6, not `7`");
        assert_eq!(refused("tau=nan"), "settings: tau takes a number from 0 on, not `NaN`");
        assert!(refused("layers=64,x").starts_with("settings: layers takes a whole number"));
        assert!(refused("layers=64,-1").starts_with("settings: layers takes whole numbers from 1 to"));
        assert_eq!(
            refused("wiring=spaghetti"),
            "settings: there is no wiring `spaghetti`\nhelp: there are random, unique, learned, resampled"
        );
        assert!(refused("candidate=4").contains("did you mean `candidates`?"));
        settings.set("layers=32,16").unwrap();
        assert_eq!(settings.layers, [32, 16]);
    }

    #[test]
    fn the_last_layer_suits_any_number_of_classes() {
        for (classes, last) in [(2, 480), (3, 480), (7, 483), (9, 486), (11, 484), (120, 480), (500, 2000)] {
            let mut settings = ClassifierSettings::new(TaskKind::Table, "small").unwrap();
            settings.suit(classes);
            assert_eq!(settings.layers, [480, last], "{classes} classes");
            settings.suit(classes);
            assert_eq!(settings.layers, [480, last], "what fits stays");
        }
    }

    #[test]
    fn small_tables_have_more_epochs() {
        for (samples, epochs) in [(10, 600), (114, 600), (640, 60), (100_000, 60)] {
            let mut settings = ClassifierSettings::new(TaskKind::Table, "small").unwrap();
            settings.suit_samples(samples);
            assert_eq!(settings.epochs, epochs, "{samples} samples");
        }
    }

    #[test]
    fn models_are_known_by_name() {
        let unknown = ClassifierSettings::new(TaskKind::Mnist, "huge").unwrap_err().to_string();
        assert!(unknown.starts_with("settings: there is no model `huge`"), "{unknown}");
    }
}
