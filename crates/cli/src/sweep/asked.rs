//! What a sweep's file says about space and search.

use farad::run::Table;
use farad::train::TrainingKind;
use farad::train::settings::TomlValue;

use super::file::SweepFile;
use super::search::{Search, SearchKind, combinations, too_many};
use super::space::{Dimension, DimensionValues, ValueRange};
use crate::arguments::resumes;
use crate::error::{Result, did_you_mean};

/// Trials at most.
const MOST_TRIALS: usize = 10_000;
/// The flags that make a run go on for longer.
pub const LONGER: [&str; 2] = ["updates", "epochs"];
const VALUES: &str =
    "a list such as [1, 2, 4], or a range such as { from = 1e-4, to = 0.1, scale = \"log\" }";

impl SweepFile {
    /// What is varied.
    pub fn space(&self) -> Result<Vec<Dimension>> {
        let table = self.table("space")?;
        if table.is_empty() {
            return Err(self.wrong("space", "nothing is varied", "such as learning_rate = [0.01, 0.001]"));
        }
        let dimension = |(key, value): (&String, &TomlValue)| {
            let path = format!("space.{key}");
            let values = match value {
                TomlValue::Array(list) if list.is_empty() => {
                    Err(self.wrong(&path, "the list is empty", VALUES))
                }
                TomlValue::Array(list) if list.iter().any(TomlValue::is_table) => {
                    Err(self.wrong(&path, "values are numbers, texts or lists of them", VALUES))
                }
                TomlValue::Array(list) => Ok(DimensionValues::List(list.clone())),
                TomlValue::Table(range) => self.range(&path, range).map(DimensionValues::Range),
                other => Err(self.wrong(&path, format!("it has the single value {other}"), VALUES)),
            };
            Ok(Dimension { key: key.clone(), values: values? })
        };
        table.iter().map(dimension).collect()
    }

    fn range(&self, path: &str, table: &Table) -> Result<ValueRange> {
        self.only(path, table.keys().cloned(), &["from", "to", "scale", "count"])?;
        let number = |key: &str| match table.get(key) {
            Some(TomlValue::Integer(whole)) => Ok((*whole as f64, true)),
            Some(TomlValue::Float(number)) if number.is_finite() => Ok((*number, false)),
            Some(other) => {
                Err(self.wrong(&format!("{path}.{key}"), format!("it is a number, not {other}"), VALUES))
            }
            None => Err(self.wrong(path, format!("the range has no `{key}`"), VALUES)),
        };
        let ((from, first), (to, second)) = (number("from")?, number("to")?);
        let log = match table.get("scale").map(TomlValue::as_str) {
            None | Some(Some("linear")) => false,
            Some(Some("log")) => true,
            Some(_) => {
                return Err(self.wrong(&format!("{path}.scale"), "it is \"linear\" or \"log\"", VALUES));
            }
        };
        if from >= to {
            return Err(self.wrong(path, format!("from is not below to ({from} vs {to})"), VALUES));
        }
        if log && from <= 0.0 {
            let what = format!("a logarithmic scale begins above 0, not at {from}");
            return Err(self.wrong(path, what, "raise from, or leave scale out"));
        }
        let count =
            self.whole(path, "count", table.get("count"), 1, MOST_TRIALS as i64)?.map(|count| count as usize);
        Ok(ValueRange { from, to, whole: first && second, log, count })
    }

    /// How trials are chosen.
    pub fn search(&self, kind: &dyn TrainingKind, space: &[Dimension]) -> Result<Search> {
        let table = self.table("search")?;
        self.only("search", table.keys().cloned(), &["kind", "count", "seed", "rungs", "by", "keep"])?;
        let names = SearchKind::ALL.map(|(name, _)| name).join(", ");
        let asked = table.get("kind").and_then(TomlValue::as_str);
        let of = |name: &str| SearchKind::ALL.iter().find(|(known, _)| *known == name);
        let Some(&(_, search)) = asked.and_then(of) else {
            let nearest =
                did_you_mean(asked.unwrap_or_default(), SearchKind::ALL.iter().map(|(name, _)| *name));
            let what = format!("there is no such search{nearest}");
            return Err(self.wrong("search.kind", what, format!("it is one of {names}")));
        };
        let count = self
            .whole("search", "count", table.get("count"), 1, MOST_TRIALS as i64)?
            .map(|count| count as usize);
        let seed = self.whole("search", "seed", table.get("seed"), 0, i64::MAX)?.unwrap_or(1) as u64;
        self.only_for(search, &table)?;
        if search == SearchKind::Random && count.is_none() {
            return Err(self.wrong("search.count", "it is missing", "such as count = 20"));
        }
        if count.is_none() {
            let endless = space.iter().find(|dimension| dimension.all().is_none());
            if let Some(dimension) = endless {
                let path = format!("space.{}", dimension.key);
                let help = "give it a count, or draw: kind = \"random\" in [search]";
                return Err(self.wrong(&path, "a grid needs to know how many values the range has", help));
            }
            let trials = combinations(space).unwrap_or(usize::MAX);
            if trials > MOST_TRIALS {
                let help = "draw some of them: kind = \"random\" and count = 50 in [search]";
                return Err(self.wrong("space", too_many(trials, MOST_TRIALS), help));
            }
        }
        let (rungs, by) = match search {
            SearchKind::Halving => (self.rungs(&table)?, self.by(kind, &table)?),
            _ => (vec![], ""),
        };
        Ok(Search { kind: search, count, seed, rungs, by, keep: self.keep(&table)? })
    }

    /// Refuses keys of other searches.
    fn only_for(&self, search: SearchKind, table: &Table) -> Result<()> {
        let known: &[&str] = match search {
            SearchKind::Grid => &["kind"],
            SearchKind::Random => &["kind", "count", "seed"],
            SearchKind::Halving => return Ok(()),
        };
        let name = SearchKind::ALL.iter().find(|(_, kind)| *kind == search).map_or("", |(name, _)| name);
        match table.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let what = format!("a search of kind {name} does not take it");
                Err(self.wrong(&format!("search.{key}"), what, format!("it takes {}", known.join(", "))))
            }
        }
    }

    fn rungs(&self, table: &Table) -> Result<Vec<u64>> {
        let help = "such as rungs = [100, 300, 900]: the updates or epochs after which trials are compared";
        let Some(rungs) = table.get("rungs") else {
            return Err(self.wrong("search.rungs", "it is missing", help));
        };
        let numbers = |list: &Vec<TomlValue>| {
            let number =
                |value: &TomlValue| value.as_integer().and_then(|n| u64::try_from(n).ok()).filter(|&n| n > 0);
            list.iter().map(number).collect::<Option<Vec<u64>>>()
        };
        let rungs = rungs.as_array().and_then(numbers).unwrap_or_default();
        match rungs.len() >= 2 && rungs.is_sorted_by(|a, b| a < b) {
            true => Ok(rungs),
            false => {
                Err(self.wrong("search.rungs", "these are not two or more whole numbers that grow", help))
            }
        }
    }

    /// The flag that makes a run go on for longer.
    fn by(&self, kind: &dyn TrainingKind, table: &Table) -> Result<&'static str> {
        let taken = || LONGER.into_iter().filter(|flag| resumes(kind, flag));
        let asked = table.get("by").map(|by| by.as_str().unwrap_or_default());
        taken().find(|flag| asked.is_none_or(|by| by == *flag)).ok_or_else(|| {
            let what = format!("this training is not counted by {}", asked.unwrap_or_default());
            self.wrong("search.by", what, format!("it takes {}", taken().collect::<Vec<_>>().join(" or ")))
        })
    }

    fn keep(&self, table: &Table) -> Result<f64> {
        match table.get("keep") {
            None => Ok(0.5),
            Some(TomlValue::Float(share)) if *share > 0.0 && *share < 1.0 => Ok(*share),
            Some(other) => {
                let what = format!("it is a number between 0 and 1, not {other}");
                Err(self.wrong("search.keep", what, "0.5 lets the better half go on"))
            }
        }
    }
}
