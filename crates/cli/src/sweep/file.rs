//! The file of a sweep as text: its tables, and the lines of its keys for messages.

use std::collections::BTreeMap;
use std::path::Path;

use farad::run::Table;
use farad::train::settings::TomlValue;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Result, did_you_mean};

/// A file and the lines of its keys.
pub struct SweepFile {
    /// As messages call it.
    name: String,
    /// What it says.
    pub table: Table,
    lines: BTreeMap<String, usize>,
}

impl SweepFile {
    /// Reads the text of a file.
    pub fn of(path: &Path, text: &str) -> Result<SweepFile> {
        let name = path.display().to_string();
        let line = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
        let broken = |error: toml::de::Error| {
            let at = error.span().map_or(String::new(), |span| format!(":{}", line(span.start)));
            Error::SweepFile {
                place: format!("{name}{at}"),
                what: format!("it is not TOML: {}", error.message().trim().replace('\n', "; ")),
                help: "`farad sweep --help` shows a whole file".into(),
            }
        };
        let table: Table = toml::from_str(text).map_err(broken)?;
        let mut lines = BTreeMap::new();
        let spans = DeTable::parse(text).map_err(broken)?;
        note(spans.get_ref(), "", &line, &mut lines);
        Ok(SweepFile { name, table, lines })
    }

    /// What is wrong with a key.
    pub fn wrong(&self, key: &str, what: impl Into<String>, help: impl Into<String>) -> Error {
        Error::SweepFile { place: self.place(key), what: what.into(), help: help.into() }
    }

    /// Refuses keys that mean nothing there.
    pub fn only(&self, within: &str, mut keys: impl Iterator<Item = String>, known: &[&str]) -> Result<()> {
        let Some(key) = keys.find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
        let path = if within.is_empty() { key.clone() } else { format!("{within}.{key}") };
        let what = format!("there is no such key{}", did_you_mean(&key, known.iter().copied()));
        Err(self.wrong(&path, what, format!("the keys here are {}", known.join(", "))))
    }

    /// Where a key is.
    pub fn place(&self, key: &str) -> String {
        // A key that is missing is missed in its table.
        let around = || key.rsplit_once('.').and_then(|(table, _)| self.lines.get(table));
        let line = self.lines.get(key).or_else(around).map_or(String::new(), |line| format!(":{line}"));
        format!("{}{line}: {key}", self.name)
    }

    /// A table; an empty one if it is not there.
    pub fn table(&self, key: &str) -> Result<Table> {
        match self.table.get(key) {
            None => Ok(Table::new()),
            Some(TomlValue::Table(table)) => Ok(table.clone()),
            Some(_) => Err(self.wrong(key, "this is a table", format!("write [{key}] in a line of its own"))),
        }
    }

    /// A whole number of a table, if it is there.
    pub fn whole(
        &self,
        within: &str,
        key: &str,
        value: Option<&TomlValue>,
        least: i64,
        most: i64,
    ) -> Result<Option<i64>> {
        match value {
            None => Ok(None),
            Some(TomlValue::Integer(number)) if (least..=most).contains(number) => Ok(Some(*number)),
            Some(other) => {
                let to = if most == i64::MAX { "on".into() } else { format!("to {most}") };
                let what = format!("it is a whole number from {least} {to}, not {other}");
                Err(self.wrong(&format!("{within}.{key}"), what, "`farad sweep --help` shows a whole file"))
            }
        }
    }
}

/// Notes the line of every key, by its path.
fn note(table: &DeTable, within: &str, line: &dyn Fn(usize) -> usize, lines: &mut BTreeMap<String, usize>) {
    for (key, value) in table.iter() {
        let path =
            if within.is_empty() { key.get_ref().to_string() } else { format!("{within}.{}", key.get_ref()) };
        lines.insert(path.clone(), line(key.span().start));
        if let DeValue::Table(table) = value.get_ref() {
            note(table, &path, line, lines);
        }
    }
}
