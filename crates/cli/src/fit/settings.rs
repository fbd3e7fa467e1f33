//! Everything about such a training that a user may set. Set and model give the defaults; the keys are the field
//! names, so a run's `config.toml` is this structure.

use farad::Device;
use farad::optim::{self, schedule};
use farad::run::{Run, Table, current_name};
use serde::{Deserialize, Serialize};

use super::sets::SetKind;
use crate::arguments::{ModelName, TrainOptions};
use crate::error::{Error, Result, did_you_mean};

/// The keys of a training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The data set.
    pub set: String,
    /// The model: mlp, cnn or rnn.
    pub model: String,
    /// Where the data are; `synthetic` for drawn ones.
    pub data: String,
    /// The device that the run was started on.
    pub device: String,
    /// The seed of weights, order and splits.
    pub seed: i64,
    /// Passes over the training set.
    pub epochs: i64,
    /// Samples a step.
    pub batch: i64,
    /// The largest learning rate.
    pub learning_rate: f64,
    /// adamw, adam, sgd, rmsprop, adagrad, lion or muon.
    pub optimizer: String,
    /// constant, linear, cosine or one-cycle.
    pub schedule: String,
    /// Steps over which the rate grows to its largest.
    pub warm_up: i64,
    /// The optimizer's decay of weights.
    pub weight_decay: f64,
    /// Gradients are scaled down to this norm; 0: never.
    pub clip: f64,
    /// Whether products are computed with halves.
    pub mixed: bool,
    /// Widths of hidden layers (mlp), channels of stages (cnn), units (rnn).
    pub sizes: Vec<i64>,
    /// The probability that an activation before the last layer is dropped in training.
    pub dropout: f64,
    /// Whether pictures are shifted (and color ones mirrored) at random.
    pub augment: bool,
    /// The share of the training set that is held back to watch.
    pub validation: f64,
    /// The share that is held back to judge, where the set has no test part of its own.
    pub test: f64,
    /// Pictures are brought to this many pixels a side; 0: as the first is.
    pub size: i64,
    /// The column of a table that is learned, by name or number; the last if empty.
    pub target: String,
    /// Columns of a table to leave out, by name or number.
    pub ignore: Vec<String>,
    /// Whether a table's first line names the columns.
    pub header: bool,
    /// What a table's target is: guess, class or number.
    pub target_kind: String,
    /// Means of the inputs, by channel or column; found when the run is made.
    pub means: Vec<f64>,
    /// Their standard deviations.
    pub deviations: Vec<f64>,
    /// The mean of targets that are numbers; found when the run is made. They are learned less their mean, in deviations.
    #[serde(default)]
    pub target_mean: f64,
    /// Their standard deviation.
    #[serde(default = "one")]
    pub target_deviation: f64,
    /// Names of the classes, and samples in all; found when the run is made.
    #[serde(default)]
    pub classes: Vec<String>,
    #[serde(default)]
    pub samples: i64,
    /// Threads that load.
    pub workers: i64,
    /// Steps between rows of the log.
    pub log_every: i64,
    /// Steps between checkpoints.
    pub checkpoint_every: i64,
}

fn one() -> f64 {
    1.0
}

impl Settings {
    /// What is good for a set and a model.
    pub fn new(kind: SetKind, model: ModelName) -> Settings {
        let (epochs, sizes) = match (kind, model) {
            (SetKind::Csv, _) => (60, vec![64, 64]),
            (SetKind::Cifar10 | SetKind::Images, ModelName::Cnn) => (20, vec![64, 128, 256]),
            (_, ModelName::Mlp) => (12, vec![256, 128]),
            (_, ModelName::Cnn) => (6, vec![16, 32]),
            (_, ModelName::Rnn) => (6, vec![128]),
        };
        let color = matches!(kind, SetKind::Cifar10 | SetKind::Images);
        Settings {
            set: kind.name().into(),
            model: model.name().into(),
            data: String::new(),
            device: String::new(),
            seed: 1,
            epochs,
            batch: if kind == SetKind::Csv { 32 } else { 128 },
            learning_rate: 2e-3,
            optimizer: "adamw".into(),
            schedule: "cosine".into(),
            warm_up: 100,
            weight_decay: 0.02,
            clip: 1.0,
            mixed: false,
            sizes,
            dropout: if kind == SetKind::Csv { 0.0 } else { 0.2 },
            augment: color,
            validation: 0.05,
            test: 0.15,
            size: 0,
            target: String::new(),
            ignore: vec![],
            header: true,
            target_kind: "guess".into(),
            means: vec![],
            deviations: vec![],
            target_mean: 0.0,
            target_deviation: 1.0,
            classes: vec![],
            samples: 0,
            workers: 2,
            log_every: 20,
            checkpoint_every: 200,
        }
    }

    /// Takes over what the command line says.
    pub fn take(&mut self, options: &TrainOptions) -> Result<()> {
        let flags = &options.network;
        if let Some(data) = &flags.data {
            self.data = data.display().to_string();
        }
        self.epochs = flags.epochs.map_or(self.epochs, |epochs| epochs as i64);
        self.batch = flags.batch.map_or(self.batch, |batch| batch as i64);
        self.learning_rate = flags.learning_rate.unwrap_or(self.learning_rate);
        self.mixed |= flags.mixed;
        if let Some(optimizer) = &flags.optimizer {
            self.optimizer = optimizer.clone();
        }
        if let Some(schedule) = &flags.schedule {
            self.schedule = schedule.clone();
        }
        if let Some(seed) = options.seed {
            self.seed = i64::try_from(seed).map_err(|_| farad_logic::Error::Seed { seed })?;
        }
        for assignment in &options.set {
            self.set(assignment)?;
        }
        self.check()
    }

    /// Sets one key from text, as `key=value`; lists are separated by commas.
    fn set(&mut self, assignment: &str) -> Result<()> {
        let bad = || Error::Assignment { text: assignment.into() };
        let (key, text) = assignment.split_once('=').ok_or_else(bad)?;
        let (key, text) = (current_name(key.trim()), text.trim());
        let mut table = self.table();
        let Some(old) = table.get(key) else {
            let nearest = did_you_mean(key, table.keys().map(String::as_str));
            let keys = table.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(Error::UnknownKey { key: key.into(), nearest, keys });
        };
        let wrong = |wanted| Error::Setting { key: key.into(), wanted, found: text.into() };
        let whole = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong("a whole number"));
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong("a number"));
        let parts = || text.split(',').filter(|part| !part.trim().is_empty());
        let value: toml::Value = match (old, key) {
            (toml::Value::Integer(_), _) => whole(text)?.into(),
            (toml::Value::Float(_), _) => number(text)?.into(),
            (toml::Value::Boolean(_), _) => text.parse::<bool>().map_err(|_| wrong("true or false"))?.into(),
            (toml::Value::Array(_), "sizes") => parts().map(whole).collect::<Result<Vec<_>>>()?.into(),
            (toml::Value::Array(_), "ignore") => parts().map(str::trim).collect::<Vec<_>>().into(),
            (toml::Value::Array(_), _) => parts().map(number).collect::<Result<Vec<_>>>()?.into(),
            _ => text.into(),
        };
        table.insert(key.into(), value);
        *self = Settings::from_table(table)?;
        Ok(())
    }

    /// Of a run.
    pub fn of(run: &Run) -> Result<Settings> {
        Settings::from_table(run.config().clone())
    }

    fn from_table(table: Table) -> Result<Settings> {
        let settings: std::result::Result<Settings, toml::de::Error> = table.try_into();
        let settings = settings.map_err(|error| Error::Config { message: error.message().into() })?;
        settings.check()?;
        Ok(settings)
    }

    /// As the folder stores it.
    pub fn table(&self) -> Table {
        Table::try_from(self).expect("settings are a table")
    }

    /// Whether every key has a value that makes sense.
    pub fn check(&self) -> Result<()> {
        let refuse = |key: &str, wanted, found: String| Error::Setting { key: key.into(), wanted, found };
        for (key, value) in [
            ("epochs", self.epochs),
            ("batch", self.batch),
            ("log_every", self.log_every),
            ("checkpoint_every", self.checkpoint_every),
        ] {
            if value < 1 {
                return Err(refuse(key, "a whole number from 1 on", value.to_string()));
            }
        }
        for (key, value) in
            [("warm_up", self.warm_up), ("workers", self.workers), ("size", self.size), ("seed", self.seed)]
        {
            if value < 0 {
                return Err(refuse(key, "a whole number from 0 on", value.to_string()));
            }
        }
        // Beyond these a product of two of them may not fit, or no machine has so much.
        for (key, value, most, wanted) in [
            ("epochs", self.epochs, 1_000_000, "a whole number up to 1000000"),
            ("batch", self.batch, 1_000_000, "a whole number up to 1000000"),
            ("workers", self.workers, 1024, "a whole number up to 1024"),
            ("size", self.size, 8192, "a whole number up to 8192"),
        ] {
            if value > most {
                return Err(refuse(key, wanted, value.to_string()));
            }
        }
        for (key, value) in
            [("learning_rate", self.learning_rate), ("weight_decay", self.weight_decay), ("clip", self.clip)]
        {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(refuse(key, "a number from 0 on", value.to_string()));
            }
        }
        for (key, value) in [("dropout", self.dropout), ("validation", self.validation), ("test", self.test)]
        {
            if !(0.0..1.0).contains(&value) {
                return Err(refuse(key, "a number from 0 to below 1", value.to_string()));
            }
        }
        if self.sizes.is_empty() || self.sizes.iter().any(|&size| !(1..=65536).contains(&size)) {
            return Err(refuse("sizes", "whole numbers from 1 to 65536", format!("{:?}", self.sizes)));
        }
        for (key, found, known) in [
            ("optimizer", &self.optimizer, optim::Named::names().collect::<Vec<_>>()),
            ("schedule", &self.schedule, schedule::Named::names().collect()),
            ("target_kind", &self.target_kind, vec!["guess", "class", "number"]),
            ("model", &self.model, vec!["mlp", "cnn", "rnn"]),
        ] {
            if !known.contains(&found.as_str()) {
                let nearest = did_you_mean(found, known.iter().copied());
                return Err(Error::Choice { key, found: found.clone(), nearest, known: known.join(", ") });
            }
        }
        match SetKind::named(&self.set) {
            Some(_) => Ok(()),
            None => {
                let nearest = did_you_mean(&self.set, SetKind::ALL.map(SetKind::name));
                Err(Error::Choice { key: "set", found: self.set.clone(), nearest, known: SetKind::names() })
            }
        }
    }

    /// The set.
    pub fn set_kind(&self) -> SetKind {
        SetKind::named(&self.set).expect("checked")
    }

    /// The device that the run was started on.
    pub fn device(&self) -> Result<Device> {
        let device = self.device.split(' ').next().unwrap_or_default().to_string();
        Device::named(&device).map_err(|source| Error::RunDevice { device, source })
    }

    /// What is learned by what.
    pub fn title(&self) -> String {
        format!("{} by {}", self.set, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let mut settings = Settings::new(SetKind::Mnist, ModelName::Mlp);
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

    /// The other formats are in `tests/formats`; these settings are of the command alone.
    #[test]
    fn a_damaged_config_is_an_error_or_makes_sense() {
        let sample = Settings::new(SetKind::Csv, ModelName::Mlp).table().to_string().into_bytes();
        let mut sound = 0;
        for seed in 0..2000 {
            let damaged = farad_testkit::Mutator::new(seed).damaged(std::slice::from_ref(&sample));
            let Ok(table) = String::from_utf8_lossy(&damaged).parse::<Table>() else { continue };
            if let Ok(settings) = Settings::from_table(table) {
                settings.check().expect("what is read makes sense");
                sound += 1;
            }
        }
        assert!(sound > 10, "{sound}");
    }
}
