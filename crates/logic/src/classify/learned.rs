//! The contents of a run's folder: the kept network, and its circuit.

use std::path::Path;

use farad::TrainError;
use farad::data::ColumnRule;
use farad::run::{Run, Value};
use farad_circuit::{Meta, Netlist};

use super::data::TaskKind;
use super::model::{self, BRIGHTEST};
use super::settings::ClassifierSettings;
use super::trainee::StoredClassifier;
use crate::error::Result;
use crate::network::LogicNetwork;

/// What a run has learned.
pub struct LearnedClassifier {
    /// What it was trained with.
    pub settings: ClassifierSettings,
    /// Steps made.
    pub steps: u64,
    /// The network that was best on the validation part.
    pub network: LogicNetwork,
    /// Its accuracy there.
    pub validation: Option<f64>,
    /// The step after which it was kept.
    pub kept_after: u64,
    /// Channels, height and width of a sample.
    pub shape: [usize; 3],
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The names of a table's columns; empty for pictures, and in runs of earlier builds.
    pub columns: Vec<String>,
    /// The class column; empty for pictures, and in runs of earlier builds.
    pub target: String,
}

impl LearnedClassifier {
    /// Reads a run's checkpoint. Needs neither its data nor its device.
    pub fn of(run: &Run) -> Result<LearnedClassifier> {
        let settings = ClassifierSettings::of(run)?;
        let nothing = || TrainError::NothingLearned { path: run.path().into() };
        let checkpoint = run.checkpoint()?.ok_or_else(nothing)?;
        let stored: StoredClassifier = checkpoint.value()?;
        let network = model::open(&settings, stored.shape, stored.classes.len(), &checkpoint)?;
        Ok(LearnedClassifier {
            settings,
            steps: checkpoint.step(),
            network,
            validation: stored.best,
            kept_after: stored.best_step,
            shape: stored.shape,
            classes: stored.classes,
            columns: stored.columns,
            target: stored.target,
        })
    }

    /// The circuit as learned, with the class head, and with the meaning of its inputs and classes.
    pub fn netlist(&self) -> Result<Netlist> {
        let mut netlist = self.network.to_netlist(&self.name())?;
        netlist.meta.extend(self.known()?);
        Ok(netlist)
    }

    /// The circuit as learned, with the class head and the counts of all classes.
    pub fn netlist_with_counts(&self) -> Result<Netlist> {
        self.network.to_netlist_with_counts(&self.name())
    }

    /// The name of the circuit: a table's file name, otherwise the task's name.
    pub fn name(&self) -> String {
        let stem = Path::new(&self.settings.data).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let named = stem.filter(|_| self.settings.task_kind() == TaskKind::Table && !self.columns.is_empty());
        named.unwrap_or_else(|| self.settings.task.clone()).replace('-', "_")
    }

    /// What exports should know about the circuit: its classes, the thresholds of its input bits, and the names
    /// of columns or the size of pictures. See [`farad_circuit::Circuit`].
    pub fn known(&self) -> Result<Meta> {
        let encoding = self.network.encoding();
        let lists = encoding.levels()?;
        let lists: Vec<Value> =
            lists.chunks(encoding.thresholds_per_feature()).map(|list| list.to_vec().into()).collect();
        // Thresholds that all features share are stored once.
        let shared = lists.iter().all(|list| *list == lists[0]);
        let [channels, height, width] = self.shape;
        let picture = self.settings.task_kind().is_picture() && channels == 1;
        let mut known = Meta::new();
        known.insert("recipe".into(), self.settings.task.clone().into());
        known.insert("kind".into(), if picture { "image-classifier" } else { "classifier" }.into());
        known.insert("classes".into(), self.classes.clone().into());
        known.insert("thresholds".into(), if shared { lists[0].clone() } else { lists.into() });
        if !self.columns.is_empty() {
            // What a circuit reads are the numbers of a row: a word is several of them.
            let rules = self.settings.column_rules()?;
            let names: Vec<String> = rules.iter().flat_map(ColumnRule::names).collect();
            let names = if names.is_empty() { self.columns.clone() } else { names };
            known.insert("columns".into(), names.into());
        }
        if self.settings.task_kind().is_picture() {
            known.insert("channels".into(), channels.into());
            known.insert("height".into(), height.into());
            known.insert("width".into(), width.into());
            known.insert("brightest".into(), BRIGHTEST.into());
        }
        Ok(known)
    }
}
