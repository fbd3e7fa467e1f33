//! What a sweep is asked for, read from its file and checked before anything is trained.

use std::path::Path;

use clap::Parser;
use farad::train::TrainingKind;
use farad::train::settings::TomlValue;

use super::asked::LONGER;
use super::file::SweepFile;
use super::search::{Search, SearchKind};
use super::space::{Dimension, text};
use crate::arguments::{Arguments, known_keys, words_of};
use crate::error::{Result, did_you_mean};
use crate::kinds::KINDS;
use crate::train::{subject_of, unknown};
use crate::usage;

const DEVICES: &str = "device = \"cpu\" at the top, or --device; `farad devices` lists what there is";

/// What a file asks for.
pub struct SweepPlan {
    /// What is trained.
    pub trained: SweptTraining,
    /// The device, if the file names one.
    pub device: Option<String>,
    /// What all trials share.
    pub fixed: Vec<(String, TomlValue)>,
    /// What is varied.
    pub space: Vec<Dimension>,
    /// How trials are chosen.
    pub search: Search,
    /// What says how good a trial is.
    pub score: SweepScore,
}

/// What is trained.
#[derive(Clone)]
pub struct SweptTraining {
    /// As `farad train` calls it.
    pub name: String,
    /// Its kind.
    pub kind: &'static dyn TrainingKind,
}

/// What says how good a trial is.
#[derive(Clone, Debug)]
pub struct SweepScore {
    /// A key of the results; a dot leads to a key within.
    pub figure: String,
    /// Which is best.
    pub best: Best,
    /// Where the file says so.
    pub place: String,
}

/// Which score is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

impl Best {
    /// As the file has it.
    pub fn name(self) -> &'static str {
        if self == Best::Max { "max" } else { "min" }
    }
}

impl SweepPlan {
    /// Reads a file; its text, too.
    ///
    /// A sweep that is new needs its data; one that goes on may have learned from them already.
    pub fn read(path: &Path, is_new: bool) -> Result<(SweepPlan, String)> {
        let fail = |source| farad::Error::File { op: "sweep", path: path.into(), source };
        let text = std::fs::read_to_string(path).map_err(fail)?;
        let file = SweepFile::of(path, &text)?;
        let plan = file.plan()?;
        if is_new {
            file.check_data(&plan)?;
        }
        Ok((plan, text))
    }
}

impl SweepFile {
    fn plan(&self) -> Result<SweepPlan> {
        let known = ["train", "device", "fixed", "space", "search", "score"];
        self.only("", self.table.keys().cloned(), &known)?;
        let trained = self.trained()?;
        let device = match self.table.get("device") {
            None => None,
            Some(TomlValue::String(device)) => Some(device.clone()),
            Some(other) => {
                return Err(self.wrong(
                    "device",
                    format!("it is the name of a device, not {other}"),
                    DEVICES,
                ));
            }
        };
        let fixed: Vec<(String, TomlValue)> = self.table("fixed")?.into_iter().collect();
        let space = self.space()?;
        let search = self.search(trained.kind, &space)?;
        let varied =
            space.iter().flat_map(|of| of.extremes().into_iter().map(|value| ("space", &of.key, value)));
        let shared = fixed.iter().map(|(key, value)| ("fixed", key, value.clone()));
        for (within, key, value) in shared.chain(varied) {
            let path = format!("{within}.{key}");
            if within == "fixed" && space.iter().any(|dimension| dimension.key == *key) {
                return Err(self.wrong(&path, "it is varied, too", "leave it out here or in [space]"));
            }
            if search.kind == SearchKind::Halving && LONGER.contains(&key.as_str()) {
                return Err(self.wrong(
                    &path,
                    "the rungs of halving say how long trials train",
                    "leave it out",
                ));
            }
            self.check(&trained, &path, key, &value)?;
        }
        Ok(SweepPlan { trained, device, fixed, space, search, score: self.score()? })
    }

    /// Whether the data are there that trials learn from; else all of them would fail.
    fn check_data(&self, plan: &SweepPlan) -> Result<()> {
        let varied =
            plan.space.iter().flat_map(|of| of.extremes().into_iter().map(|value| ("space", &of.key, value)));
        let shared = plan.fixed.iter().map(|(key, value)| ("fixed", key, value.clone()));
        for (within, key, value) in shared.chain(varied).filter(|(_, key, _)| *key == "data") {
            let place = text(&value);
            if !place.is_empty() && place != "synthetic" && !Path::new(&place).exists() {
                let what = format!("no such file or folder: {place}");
                let help = "a path begins where the command is started";
                return Err(self.wrong(&format!("{within}.{key}"), what, help));
            }
        }
        Ok(())
    }

    /// What is trained.
    fn trained(&self) -> Result<SweptTraining> {
        let help = "such as train = \"csv\"; `farad train --list` shows what there is";
        let name = match self.table.get("train") {
            Some(TomlValue::String(name)) => name.clone(),
            Some(other) => return Err(self.wrong("train", format!("it is a name, not {other}"), help)),
            None => return Err(self.wrong("train", "it is missing", help)),
        };
        match KINDS.learning(subject_of(&name)) {
            Some((kind, _)) => Ok(SweptTraining { name, kind }),
            None => {
                let said = unknown(&name).to_string();
                let (what, help) = said.split_once("\nhelp: ").unwrap_or((&said, help));
                Err(self.wrong("train", what.trim_start_matches("train: "), help))
            }
        }
    }

    fn score(&self) -> Result<SweepScore> {
        let table = self.table("score")?;
        self.only("score", table.keys().cloned(), &["figure", "best"])?;
        let Some(figure) = table.get("figure").and_then(TomlValue::as_str) else {
            let help = "such as figure = \"accuracy\"; `farad eval --help` lists the keys of results";
            return Err(self.wrong("score.figure", "it names no figure of the results", help));
        };
        let best = match table.get("best").and_then(TomlValue::as_str) {
            Some("max") => Best::Max,
            Some("min") => Best::Min,
            _ => {
                return Err(self.wrong(
                    "score.best",
                    "it is neither \"max\" nor \"min\"",
                    "say which is best",
                ));
            }
        };
        Ok(SweepScore { figure: figure.into(), best, place: self.place("score.figure") })
    }

    /// Whether `farad train` would take a value.
    fn check(&self, trained: &SweptTraining, path: &str, key: &str, value: &TomlValue) -> Result<()> {
        let (kind, name) = (trained.kind, &trained.name);
        let refused = match key {
            "device" => Some(("the device is said once for all trials", DEVICES)),
            "tries" => Some(("a trial is one run", "vary the seed instead: seed = [1, 2, 3]")),
            _ if value.is_table() => {
                Some(("values are numbers, texts or lists of them", "only [space] has ranges"))
            }
            _ => None,
        };
        if let Some((what, help)) = refused {
            return Err(self.wrong(path, what, help));
        }
        let (written, shows) = (text(value), format!("`farad train {name} --list` shows the settings"));
        let Some(words) = words_of(kind, key, &written) else {
            let known = known_keys(kind);
            let nearest = did_you_mean(key, known.iter().map(String::as_str));
            return Err(self.wrong(path, format!("{name} has no such setting{nearest}"), shows));
        };
        let said = |text: &str| {
            let (what, help) = text.split_once("\nhelp: ").unwrap_or((text, &shows));
            let what = what.split_once(": ").map_or(what, |(_, what)| what);
            self.wrong(path, what, help)
        };
        let line: Vec<String> = ["farad", "train", name].map(String::from).into_iter().chain(words).collect();
        let parsed = Arguments::try_parse_from(&line);
        let refused = parsed.err().map(|error| usage::text(&error, line[1..].iter().map(String::as_str)));
        if let Some(text) = refused {
            return Err(said(&text));
        }
        // Flags take more texts than settings do.
        let row = kind.settings().into_iter().find(|row| row.is_called(key));
        row.map_or(Ok(()), |row| row.read(&written).map(drop).map_err(|error| said(&error.to_string())))
    }
}
