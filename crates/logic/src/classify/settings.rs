//! Everything about the training of a logic network that a user may set. A task and a model give the defaults; the keys
//! are the field names, so a run's `config.toml` is this structure.

use farad::Device;
use farad::run::{Run, Table};
use serde::{Deserialize, Serialize};

use super::data::TaskKind;
use crate::error::{Error, Result};

/// The keys of a training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What is learned: logic-mnist, logic-cifar10 or logic-table.
    pub task: String,
    /// Which network the settings started from: small, medium, wired or conv.
    pub model: String,
    /// Where the data are; `synthetic` for drawn ones.
    pub data: String,
    /// The device that the run was started on.
    pub device: String,
    /// The seed of wires, order and splits.
    pub seed: i64,
    /// Passes over the training set.
    pub epochs: i64,
    /// Steps in all; 0: as many as the epochs have.
    pub updates: i64,
    /// Samples a step.
    pub batch: i64,
    /// Adam's largest rate.
    pub learning_rate: f64,
    /// constant or cosine.
    pub schedule: String,
    /// Adam's decay of weights.
    pub weight_decay: f64,
    /// What the counts of classes are divided by; 0: a third of the root of a class's outputs.
    pub tau: f64,
    /// Where thresholds lie: even, quantile or learned.
    pub encoding: String,
    /// Thresholds a number.
    pub thresholds: i64,
    /// Trees of gates over windows, one number of kernels a stage; none: no such stages.
    pub kernels: Vec<i64>,
    /// Levels of gates of a tree.
    pub tree_depth: i64,
    /// Pixels along a side of the trees' windows, one number a stage; the last one goes for all others.
    pub windows: Vec<i64>,
    /// Channels that a tree reads at most.
    pub tree_channels: i64,
    /// Gates of each layer.
    pub layers: Vec<i64>,
    /// How layers are wired: random, unique or learned.
    pub wiring: String,
    /// With learned wiring: how many inputs an operand of a gate chooses among.
    pub candidates: i64,
    /// With learned wiring: the deviation of the candidates' logits at the start.
    pub choice_spread: f64,
    /// The logit of "pass operand a on" at the start.
    pub initial_logit: f64,
    /// What the forward pass of a step uses: soft or hard (with the soft gradient).
    pub forward: String,
    /// Pictures are shifted by up to so many pixels at random.
    pub shift: i64,
    /// Whether pictures are mirrored at random.
    pub mirror: bool,
    /// The share of the training set that is held back to choose the best circuit by.
    pub validation: f64,
    /// The share that is held back to judge, where the set has no test part of its own.
    pub test: f64,
    /// The column of a table that is learned, by name or number; the last if empty.
    pub target: String,
    /// Columns of a table to leave out, by name or number.
    pub ignore: Vec<String>,
    /// Whether a table's first line names the columns.
    pub header: bool,
    /// Seconds that simplification may take.
    pub simplify_seconds: i64,
    /// Steps between rows of the log.
    pub log_every: i64,
    /// Steps between validations of the hard network; 0: at the end of every epoch.
    pub evaluate_every: i64,
    /// Steps between checkpoints.
    pub checkpoint_every: i64,
}

/// The networks by name.
pub const MODELS: [&str; 4] = ["small", "medium", "wired", "conv"];

/// Gates that vote for a class at least, where the settings are made to suit the data: with fewer, ties decide.
const LEAST_OF_A_CLASS: i64 = 4;

impl Settings {
    /// What is good for a task and a model.
    pub fn new(task: TaskKind, model: &str) -> Result<Settings> {
        let small = Settings {
            task: task.name().into(),
            model: model.into(),
            data: String::new(),
            device: String::new(),
            seed: 1,
            epochs: 12,
            updates: 0,
            batch: 128,
            learning_rate: 0.05,
            schedule: "cosine".into(),
            weight_decay: 0.0,
            tau: 0.0,
            encoding: "even".into(),
            thresholds: 1,
            kernels: vec![],
            tree_depth: 3,
            windows: vec![5, 3],
            tree_channels: 2,
            layers: vec![4000, 4000],
            wiring: "learned".into(),
            candidates: 8,
            choice_spread: 0.5,
            initial_logit: 2.0,
            forward: "hard".into(),
            shift: 0,
            mirror: false,
            validation: 0.05,
            test: 0.2,
            target: String::new(),
            ignore: vec![],
            header: true,
            simplify_seconds: 20,
            log_every: 20,
            evaluate_every: 0,
            checkpoint_every: 500,
        };
        let sized = match model {
            "small" => small,
            "medium" => Settings {
                layers: vec![8000; 6],
                wiring: "random".into(),
                forward: "soft".into(),
                tau: 10.0,
                learning_rate: 0.02,
                epochs: 85,
                shift: 1,
                ..small
            },
            "wired" => Settings {
                thresholds: 3,
                candidates: 16,
                learning_rate: 0.02,
                epochs: 200,
                shift: 1,
                ..small
            },
            "conv" => Settings {
                kernels: vec![32, 96, 288],
                layers: vec![8000, 4000, 2000],
                wiring: "random".into(),
                forward: "soft".into(),
                initial_logit: 5.0,
                learning_rate: 0.02,
                thresholds: 2,
                epochs: 60,
                shift: 1,
                ..small
            },
            _ => {
                let (known, found) = (MODELS.join(", "), model.into());
                return Err(Error::Choice { key: "model", found, known });
            }
        };
        Ok(match task {
            TaskKind::Mnist => sized,
            TaskKind::Cifar10 => Settings { thresholds: 3, mirror: true, ..sized },
            TaskKind::Table => Settings {
                encoding: "quantile".into(),
                thresholds: 8,
                // A table may have fewer bits than there are candidates.
                wiring: "random".into(),
                layers: if model == "small" { vec![480, 480] } else { sized.layers },
                kernels: vec![],
                epochs: 60,
                batch: 64,
                shift: 0,
                ..sized
            },
        })
    }

    /// Makes the last layer wide enough for so many classes: each has as many gates as every other, and at least
    /// four. For layers that nobody chose; those that somebody did are refused if they do not fit.
    pub fn suit(&mut self, classes: usize) {
        let classes = classes.max(1) as i64;
        if let Some(last) = self.layers.last_mut() {
            let enough = (*last).max(classes.saturating_mul(LEAST_OF_A_CLASS));
            *last = (enough + classes - 1) / classes * classes;
        }
    }

    /// Sets one key from text, as `key=value`; lists are separated by commas.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let bad = || Error::Assignment { text: assignment.into() };
        let (key, text) = assignment.split_once('=').ok_or_else(bad)?;
        let (key, text) = (key.trim(), text.trim());
        let mut table = self.table();
        let names: Vec<String> = table.keys().cloned().collect();
        let Some(old) = table.get(key) else {
            let nearest = farad::nearest(key, names.iter().map(String::as_str)).map(str::to_string);
            return Err(Error::UnknownKey { key: key.into(), nearest, keys: names });
        };
        let wrong = |wanted| Error::Value { key: key.into(), wanted, found: text.into() };
        let whole = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong("a whole number"));
        let parts = || text.split(',').filter(|part| !part.trim().is_empty());
        let value: toml::Value = match (old, key) {
            (toml::Value::Integer(_), _) => whole(text)?.into(),
            (toml::Value::Float(_), _) => text.parse::<f64>().map_err(|_| wrong("a number"))?.into(),
            (toml::Value::Boolean(_), _) => text.parse::<bool>().map_err(|_| wrong("true or false"))?.into(),
            (toml::Value::Array(_), "ignore") => parts().map(str::trim).collect::<Vec<_>>().into(),
            (toml::Value::Array(_), _) => parts().map(whole).collect::<Result<Vec<_>>>()?.into(),
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
        let settings = settings.map_err(|error| Error::Unreadable {
            place: "config.toml".into(),
            message: error.message().into(),
        })?;
        settings.check()?;
        Ok(settings)
    }

    /// As the folder stores it.
    pub fn table(&self) -> Table {
        Table::try_from(self).expect("settings are a table")
    }

    /// Whether every key has a value that makes sense.
    pub fn check(&self) -> Result<()> {
        let refuse = |key: &str, wanted, found: String| Error::Value { key: key.into(), wanted, found };
        let bounded = [
            ("epochs", self.epochs, 1, 1_000_000),
            ("updates", self.updates, 0, i64::MAX),
            ("batch", self.batch, 1, 1 << 20),
            ("thresholds", self.thresholds, 1, 255),
            ("tree_depth", self.tree_depth, 1, 6),
            ("tree_channels", self.tree_channels, 1, 1 << 16),
            ("candidates", self.candidates, 1, 64),
            ("shift", self.shift, 0, 16),
            ("seed", self.seed, 0, i64::MAX),
            ("simplify_seconds", self.simplify_seconds, 0, 1 << 20),
            ("log_every", self.log_every, 1, i64::MAX),
            ("evaluate_every", self.evaluate_every, 0, i64::MAX),
            ("checkpoint_every", self.checkpoint_every, 1, i64::MAX),
        ];
        for (key, value, least, most) in bounded {
            if !(least..=most).contains(&value) {
                let wanted = if least == 0 { FROM_ZERO } else { FROM_ONE };
                return Err(refuse(key, wanted, value.to_string()));
            }
        }
        for (key, value) in [
            ("learning_rate", self.learning_rate),
            ("weight_decay", self.weight_decay),
            ("tau", self.tau),
            ("choice_spread", self.choice_spread),
            ("initial_logit", self.initial_logit),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(refuse(key, "a number from 0 on", value.to_string()));
            }
        }
        for (key, value) in [("validation", self.validation), ("test", self.test)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(refuse(key, "a number above 0 and below 1", value.to_string()));
            }
        }
        for (key, sizes) in [("layers", &self.layers), ("kernels", &self.kernels), ("windows", &self.windows)]
        {
            if sizes.iter().any(|&size| !(1..=1 << 22).contains(&size)) {
                return Err(refuse(key, "whole numbers from 1 on", format!("{sizes:?}")));
            }
        }
        let known: [(&'static str, &String, &[&str]); 6] = [
            ("model", &self.model, &MODELS),
            ("schedule", &self.schedule, &["constant", "cosine"]),
            ("encoding", &self.encoding, &["even", "quantile", "learned"]),
            ("wiring", &self.wiring, &["random", "unique", "learned"]),
            ("forward", &self.forward, &["soft", "hard"]),
            ("task", &self.task, &TaskKind::ALL.map(TaskKind::name)),
        ];
        match known.iter().find(|(_, found, known)| !known.contains(&found.as_str())) {
            Some(&(key, found, known)) => {
                Err(Error::Choice { key, found: found.clone(), known: known.join(", ") })
            }
            None => Ok(()),
        }
    }

    /// What is learned.
    pub fn task_kind(&self) -> TaskKind {
        TaskKind::named(&self.task).expect("checked")
    }

    /// The device as `Device::named` takes it: its name without the adapter's.
    pub fn device_name(&self) -> &str {
        self.device.split(' ').next().unwrap_or_default()
    }

    /// The device that the run was started on.
    pub fn device(&self) -> Result<Device> {
        Ok(Device::named(self.device_name())?)
    }

    /// What is learned by what.
    pub fn title(&self) -> String {
        format!("{} by {}", self.task, self.model)
    }
}

const FROM_ONE: &str = "a whole number from 1 on, and no larger than makes sense";
const FROM_ZERO: &str = "a whole number from 0 on, and no larger than makes sense";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let mut settings = Settings::new(TaskKind::Mnist, "small").unwrap();
        let mut refused = |assignment: &str| settings.set(assignment).unwrap_err().to_string();
        assert_eq!(refused("batch"), "settings: `batch` is not key=value");
        assert!(refused("batch=0").starts_with("settings: batch takes a whole number from 1 on"));
        assert_eq!(refused("tau=nan"), "settings: tau takes a number from 0 on, not `NaN`");
        assert!(refused("layers=64,x").starts_with("settings: layers takes a whole number"));
        assert!(refused("layers=64,-1").starts_with("settings: layers takes whole numbers from 1 on"));
        assert_eq!(
            refused("wiring=spaghetti"),
            "settings: there is no wiring `spaghetti`\nhelp: there are random, unique, learned"
        );
        assert!(refused("candidate=4").contains("did you mean `candidates`?"));
        settings.set("layers=32,16").unwrap();
        assert_eq!(settings.layers, [32, 16]);
    }

    #[test]
    fn the_last_layer_suits_any_number_of_classes() {
        for (classes, last) in [(2, 480), (3, 480), (7, 483), (9, 486), (11, 484), (120, 480), (500, 2000)] {
            let mut settings = Settings::new(TaskKind::Table, "small").unwrap();
            settings.suit(classes);
            assert_eq!(settings.layers, [480, last], "{classes} classes");
            settings.suit(classes);
            assert_eq!(settings.layers, [480, last], "what fits stays");
        }
    }

    #[test]
    fn models_are_known_by_name() {
        let unknown = Settings::new(TaskKind::Mnist, "huge").unwrap_err().to_string();
        assert!(unknown.starts_with("settings: there is no model `huge`"), "{unknown}");
    }
}
