//! Settings: everything about a training that a user may choose, as rows of a table.
//!
//! A [`Setting`] is a row: key, former keys, what it takes, default, one sentence of help. [`settings!`](crate::settings!)
//! makes a structure of such rows, one line each; [`SettingsTable`] is what every such structure can do: read a run's
//! `config.toml`, a file of a user, and `key=value`.
//!
//! Invariant: settings that were read make sense key by key. What must fit together, a kind of training checks itself.

mod mark;
mod rows;
mod takes;
mod value;

use std::path::Path;

use toml::Table;
pub use toml::Value as TomlValue;

use crate::error::{Error, Result, TrainError};
pub use mark::Mark;
use takes::Refusal;
pub use takes::{NumberRange, Takes};
pub use value::SettingValue;

/// What the head of a run's `config.toml` has beside settings.
const HEAD: [&str; 3] = ["format", "version", "kind"];

/// One setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// What it is called in files and in `--set`.
    pub key: &'static str,
    /// What earlier versions called it.
    pub former: &'static [&'static str],
    /// What it takes.
    pub takes: Takes,
    /// What it is if nobody says anything; a kind of training may know better, by what is learned.
    pub default: TomlValue,
    /// What it does, in one sentence.
    pub help: &'static str,
    /// Whether runs of earlier versions do not have it; they have the default then.
    pub later: bool,
}

impl Setting {
    /// Whether this is its name, or was.
    pub fn is_called(&self, name: &str) -> bool {
        self.key == name || self.former.contains(&name)
    }

    /// Whether it is only there to be tried again.
    pub fn is_lab(&self) -> bool {
        self.key.starts_with(mark::LAB)
    }

    /// The value that a text means, as the command line has it; lists are separated by commas.
    pub fn read(&self, text: &str) -> Result<TomlValue> {
        let wrong = |wanted: &str| TrainError::Setting {
            key: self.key.into(),
            wanted: wanted.into(),
            found: text.into(),
        };
        let value = self.takes.parse(text).map_err(wrong)?;
        let found = shown(&value);
        self.take(value, found)
    }

    /// The value as the setting has it, if it takes it.
    fn take(&self, value: TomlValue, found: String) -> Result<TomlValue> {
        let key = self.key.to_string();
        self.takes.check(value).map_err(|refusal| match refusal {
            Refusal::Wanted(wanted) => TrainError::Setting { key, wanted, found }.into(),
            Refusal::NoChoice(names) => no_choice(self.key, &found, &names),
        })
    }
}

/// A name that is none of those that there are.
pub fn no_choice(key: &str, found: &str, names: &[&str]) -> Error {
    let (key, known) = (key.to_string(), names.join(", "));
    TrainError::Choice { key, found: found.into(), nearest: did_you_mean(found, names), known }.into()
}

/// `; did you mean …?`, if there is something near.
fn did_you_mean(name: &str, known: &[&str]) -> String {
    let nearest = farad_tensor::nearest(name, known.iter().copied());
    nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

/// A structure of settings; [`settings!`](crate::settings!) makes them.
pub trait SettingsTable: Clone + Default {
    /// The rows, in the order of the file.
    fn rows() -> Vec<Setting>;

    /// As a table of keys, as a run's folder stores it.
    fn table(&self) -> Table;

    /// Puts a value where its key belongs; whether there is such a key and the value is of its type.
    fn put(&mut self, key: &str, value: &TomlValue) -> bool;

    /// Sets one key from text, as `key=value`; lists are separated by commas.
    fn set(&mut self, assignment: &str) -> Result<()> {
        let (key, text) =
            assignment.split_once('=').ok_or_else(|| TrainError::Assignment { text: assignment.into() })?;
        self.assign(key.trim(), text.trim())
    }

    /// Sets one key from text.
    fn assign(&mut self, key: &str, text: &str) -> Result<()> {
        let row = row::<Self>(key)?;
        if row.is_lab() && row.key != key {
            // Files of earlier versions have the short name; whoever types it should know what it has become.
            return Err(unknown_key::<Self>(key, format!("; did you mean `{}`?", row.key)));
        }
        self.put_checked(&row, &row.read(text)?)
    }

    /// Takes over the keys of a table; one that there is not is an error.
    fn take(&mut self, table: &Table) -> Result<()> {
        for (key, value) in &flat(table) {
            let row = row::<Self>(key)?;
            let found = match value {
                TomlValue::Float(_) => shown(value),
                // A name is quoted by the message.
                TomlValue::String(name) if matches!(row.takes, Takes::Choice(_)) => name.clone(),
                value => value.to_string(),
            };
            let value = row.take(value.clone(), found)?;
            self.put_checked(&row, &value)?;
        }
        Ok(())
    }

    /// Takes over a run's `config.toml`, which has all keys but those that came later.
    fn take_config(&mut self, config: &Table) -> Result<()> {
        let damaged = |message: String| TrainError::SettingsFile { place: "config.toml".into(), message };
        self.take(config).map_err(|error| {
            let text = error.to_string();
            damaged(text.strip_prefix("settings: ").unwrap_or(&text).to_string())
        })?;
        let has = |row: &Setting| flat(config).keys().any(|key| row.is_called(key));
        match Self::rows().into_iter().find(|row| !row.later && !has(row)) {
            Some(row) => Err(damaged(format!("it has no `{}`", row.key)).into()),
            None => Ok(()),
        }
    }

    /// Takes over the keys of a TOML file: one of a user, or a run's own `config.toml`, whose head says nothing about
    /// the training.
    fn take_file(&mut self, path: &Path) -> Result<()> {
        self.take(&read_file(path)?)
    }

    /// Puts in what its row has checked.
    fn put_checked(&mut self, row: &Setting, value: &TomlValue) -> Result<()> {
        match self.put(row.key, value) {
            true => Ok(()),
            false => {
                let (key, wanted, found) = (row.key.into(), "what its type can hold".into(), shown(value));
                Err(TrainError::Setting { key, wanted, found }.into())
            }
        }
    }
}

/// The table in a TOML file, without the head that a run's own has.
pub fn read_file(path: &Path) -> Result<Table> {
    let fail = |source| Error::File { op: "settings", path: path.into(), source };
    let text = std::fs::read_to_string(path).map_err(fail)?;
    let parsed: std::result::Result<Table, toml::de::Error> = text.parse();
    let mut table = parsed.map_err(|error| TrainError::SettingsFile {
        place: path.display().to_string(),
        message: error.to_string(),
    })?;
    table.retain(|key, _| !HEAD.contains(&key));
    Ok(table)
}

/// The row of a key, or of one that was called so.
fn row<S: SettingsTable>(key: &str) -> Result<Setting> {
    let rows = S::rows();
    rows.iter().find(|row| row.is_called(key)).cloned().ok_or_else(|| {
        let names: Vec<&str> = rows.iter().map(|row| row.key).collect();
        unknown_key::<S>(key, did_you_mean(key, &names))
    })
}

/// There is no such key; those of the lab are listed apart.
fn unknown_key<S: SettingsTable>(key: &str, nearest: String) -> Error {
    let rows = S::rows();
    let known = rows.iter().filter(|row| !row.is_lab()).chain(rows.iter().filter(|row| row.is_lab()));
    let keys = known.map(|row| row.key).collect::<Vec<_>>().join(", ");
    TrainError::UnknownKey { key: key.into(), nearest, keys }.into()
}

/// A table whose part `lab`, if it has one, lies beside the other keys with its name before them.
fn flat(table: &Table) -> Table {
    let mut flat = Table::new();
    for (key, value) in table {
        match value {
            TomlValue::Table(part) if *key == mark::LAB[..mark::LAB.len() - 1] => {
                flat.extend(part.iter().map(|(key, value)| (format!("{}{key}", mark::LAB), value.clone())));
            }
            value => drop(flat.insert(key.clone(), value.clone())),
        }
    }
    flat
}

/// A value in a message.
fn shown(value: &TomlValue) -> String {
    match value {
        TomlValue::Float(number) => number.to_string(),
        TomlValue::Integer(number) => number.to_string(),
        TomlValue::String(text) => text.clone(),
        TomlValue::Array(all) => {
            let all: Vec<String> = all
                .iter()
                .map(|value| match value {
                    TomlValue::Float(number) => format!("{number:?}"),
                    value => value.to_string(),
                })
                .collect();
            format!("[{}]", all.join(", "))
        }
        value => value.to_string(),
    }
}
