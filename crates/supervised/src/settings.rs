//! Everything about such a training that a user may set, one row each. Set and model give the defaults; a run's
//! `config.toml` has these keys.

use farad_data::{ColumnRule, DATA_SETS, NamedSet, SampleForm};
use farad_train::run::Run;
use farad_train::settings::{NumberRange, SettingsTable as _, Takes};
use farad_train::{LoopSettings, TrainError};

use crate::error::Result;
use crate::models::ModelKind;
use crate::published::{COLORS, SIDE};

/// Numbers from 0 on.
const FROM_ZERO: Takes = Takes::Number(NumberRange::from(0.0));
/// Shares of one.
const SHARE: Takes = Takes::Number(NumberRange::from(0.0).below(1.0));

farad_train::settings! {
    /// What a network on a data set is trained with.
    pub struct SupervisedSettings {
        set: String = "mnist".into(), Takes::one_of(NamedSet::names()), "The data set.";
        model: String = "cnn".into(), Takes::one_of(ModelKind::ALL.map(ModelKind::name)), "The network.";
        data: String = String::new(), Takes::Text, "Where the data are; `synthetic` draws them.";
        device: String = String::new(), Takes::Text, "The device that the run was started on.";
        seed: u64 = 1, Takes::from(0), "The seed of weights, order and splits.";
        epochs: u64 = 6, Takes::Whole(1, 1_000_000), "Passes over the training set.";
        batch: usize = 128, Takes::Whole(1, 1_000_000), "Samples per step.";
        learning_rate: f64 = 2e-3, FROM_ZERO, "The largest learning rate.";
        optimizer ["optimiser"]: String = "adamw".into(), Takes::one_of(farad_nn::optim::OptimizerRow::names()), "The optimizer of the weights.";
        schedule: String = "cosine".into(), Takes::one_of(farad_nn::optim::schedule::ScheduleRow::names()), "How the learning rate changes.";
        warm_up: u64 = 100, Takes::from(0), "Steps over which the rate grows to its largest.";
        weight_decay: f64 = 0.02, FROM_ZERO, "The optimizer's decay of weights.";
        clip: f64 = 1.0, FROM_ZERO, "Gradients are scaled down to this norm; 0: never.";
        mixed: bool = false, Takes::Truth, "Whether products are computed in f16 (mixed precision).";
        sizes: Vec<usize> = vec![16, 32], Takes::Wholes(1, 65536, 1), "Widths of hidden layers (mlp), channels of stages (cnn), units (rnn), channels and blocks of four stages (resnet18, resnet50).";
        dropout: f64 = 0.2, SHARE, "The probability that an activation before the last layer is dropped in training.";
        augment: bool = false, Takes::Truth, "Whether pictures are shifted (and color ones mirrored) at random.";
        validation: f64 = 0.05, SHARE, "The share of the training set that is held out for validation.";
        test: f64 = 0.15, SHARE, "The share that is held out for the test, if the set has no test part.";
        size: usize = 0, Takes::Whole(0, 8192), "Pictures are resized to this many pixels per side; 0: the size of the first.";
        target: String = String::new(), Takes::Text, "The column of a table that is learned, by name or number; the last if empty.";
        ignore: Vec<String> = vec![], Takes::Texts, "Columns of a table to leave out, by name or number.";
        header: bool = true, Takes::Truth, "Whether a table's first line names the columns.";
        target_kind: String = "guess".into(), Takes::one_of(["guess", "class", "number"]), "What a table's target is.";
        means: Vec<f64> = vec![], Takes::Numbers, "Means of the inputs, by channel or column; found when the run is made.";
        deviations: Vec<f64> = vec![], Takes::Numbers, "Standard deviations of the inputs; found when the run is made.";
        #[later] target_mean: f64 = 0.0, Takes::Number(NumberRange::ANY), "The mean of targets that are numbers; found when the run is made.";
        #[later] target_deviation: f64 = 1.0, Takes::Number(NumberRange::ANY), "Their standard deviation; targets are learned with mean 0 and deviation 1.";
        #[later] classes: Vec<String> = vec![], Takes::Texts, "Names of the classes; found when the run is made.";
        #[later] columns: Vec<String> = vec![], Takes::Texts, "Names of a table's inputs; found when the run is made.";
        #[later] empty: String = "fill".into(), Takes::one_of(["fill", "refuse"]), "Empty fields of a table: filled with the median of their column and marked, or an error.";
        #[later] rules: Vec<String> = vec![], Takes::Texts, "How a table's columns become numbers (words, dates, empty fields); found when the run is made.";
        #[later] target_name: String = String::new(), Takes::Text, "The name of a table's target; found when the run is made.";
        #[later] shape: Vec<usize> = vec![], Takes::Wholes(1, 1 << 24, 0), "The shape of an input; found when the run is made.";
        #[later] stratified: bool = false, Takes::Truth, "Whether parts that are held out have the same share of every class; new runs on tables and folders do.";
        #[later] class_weights: String = "none".into(), Takes::one_of(["none", "balanced"]), "How much a class counts in the loss: all samples alike, or rare classes more, so that all classes count alike.";
        #[later] unit: String = String::new(), Takes::Text, "The unit of a target that is a number, for reports, e.g. cm.";
        #[later] samples: usize = 0, Takes::from(0), "Number of samples; found when the run is made.";
        #[later] weights: String = String::new(), Takes::Text, "The file of published weights that training starts from; set by --from.";
        workers: usize = 2, Takes::Whole(0, 1024), "Threads that load data.";
        ..course: LoopSettings, "When the loop logs, validates, saves and ends.";
    }
}

impl SupervisedSettings {
    /// What is good for a set and a model.
    pub fn new(set: &NamedSet, model: ModelKind) -> SupervisedSettings {
        let (epochs, sizes) = match (set.form, model) {
            (_, ModelKind::ResNet18) => (10, vec![64, 2, 2, 2, 2]),
            (_, ModelKind::ResNet50) => (10, vec![64, 3, 4, 6, 3]),
            (SampleForm::Table, _) => (60, vec![64, 64]),
            (SampleForm::Color, ModelKind::Cnn) => (20, vec![64, 128, 256]),
            (_, ModelKind::Mlp) => (12, vec![256, 128]),
            (_, ModelKind::Cnn) => (6, vec![16, 32]),
            (_, ModelKind::Rnn) => (6, vec![128]),
        };
        let (table, residual) = (set.form == SampleForm::Table, model.is_residual());
        let colors = |n: usize| if residual { COLORS[n].to_vec() } else { vec![] };
        SupervisedSettings {
            set: set.name.into(),
            model: model.name().into(),
            epochs,
            batch: if table || residual { 32 } else { 128 },
            learning_rate: if residual { 3e-4 } else { SupervisedSettings::default().learning_rate },
            size: if residual { SIDE } else { 0 },
            means: colors(0),
            deviations: colors(1),
            sizes,
            dropout: if table { 0.0 } else { 0.2 },
            augment: set.form == SampleForm::Color,
            stratified: !set.published,
            course: LoopSettings { checkpoint_every: 200, ..LoopSettings::default() },
            ..SupervisedSettings::default()
        }
    }

    /// Of a run.
    pub fn of(run: &Run) -> Result<SupervisedSettings> {
        let text = |key: &str| run.config().get(key).and_then(|value| value.as_str());
        let set = text("set").and_then(NamedSet::of).unwrap_or(&DATA_SETS[0]);
        let model = text("model").and_then(ModelKind::named).unwrap_or(ModelKind::usual(set));
        // Runs of earlier versions were split without looking at classes.
        let mut settings = SupervisedSettings { stratified: false, ..SupervisedSettings::new(set, model) };
        settings.take_config(run.config())?;
        Ok(settings)
    }

    /// The set.
    pub fn named_set(&self) -> &'static NamedSet {
        NamedSet::of(&self.set).unwrap_or(&DATA_SETS[0])
    }

    /// How a table's columns become numbers; none in runs of earlier versions, whose columns are all numbers.
    pub fn column_rules(&self) -> Result<Vec<ColumnRule>> {
        let rule = |text: &String| {
            serde_json::from_str(text).map_err(|_| {
                let (key, wanted) = ("rules".into(), "rules of columns as the run was made with".into());
                TrainError::Setting { key, wanted, found: text.clone() }.into()
            })
        };
        self.rules.iter().map(rule).collect()
    }

    /// A table's target with its unit, e.g. `price (EUR)`.
    pub fn target_words(&self) -> String {
        match self.unit.is_empty() {
            true => self.target_name.clone(),
            false => format!("{} ({})", self.target_name, self.unit),
        }
    }

    /// What is learned by what.
    pub fn title(&self) -> String {
        format!("{} by {}", self.set, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad_train::run::Table;

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let mut settings = SupervisedSettings::new(&DATA_SETS[0], ModelKind::Mlp);
        let mut refused = |assignment: &str| settings.set(assignment).unwrap_err().to_string();
        assert_eq!(refused("batch"), "settings: `batch` is not key=value\nhelp: such as --set batch=64");
        assert_eq!(refused("batch=0"), "settings: batch takes a whole number from 1 on, not `0`");
        assert_eq!(refused("clip=nan"), "settings: clip takes a number from 0 on, not `NaN`");
        assert_eq!(refused("dropout=1"), "settings: dropout takes a number from 0 to below 1, not `1`");
        assert!(refused("sizes=64,x").starts_with("settings: sizes takes a whole number"));
        assert!(refused("sizes=").starts_with("settings: sizes takes whole numbers from 1 to 65536"));
        assert!(refused("optimizer=adamx").starts_with(
            "settings: there is no optimizer `adamx`; did you mean `adam`?\nhelp: there are adamw, adam"
        ));
        assert!(refused("learning_rte=1").contains("did you mean `learning_rate`?"));
        assert!(refused("epochs=9223372036854775807").contains("up to 1000000"));
        settings.set("sizes=32,16").unwrap();
        assert_eq!(settings.sizes, [32, 16]);
    }

    /// The other formats are in the command's `tests/formats`.
    #[test]
    fn a_damaged_config_is_an_error_or_makes_sense() {
        let sample = SupervisedSettings::new(NamedSet::of("csv").expect("a row"), ModelKind::Mlp)
            .table()
            .to_string()
            .into_bytes();
        let mut sound = 0;
        for seed in 0..2000 {
            let damaged = farad_testkit::Mutator::new(seed).damaged(std::slice::from_ref(&sample));
            let Ok(table) = String::from_utf8_lossy(&damaged).parse::<Table>() else { continue };
            let mut settings = SupervisedSettings::default();
            if settings.take(&table).is_ok() {
                SupervisedSettings::default().take(&settings.table()).expect("what is read makes sense");
                sound += 1;
            }
        }
        assert!(sound > 10, "{sound}");
    }
}
