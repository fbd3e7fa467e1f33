//! The data sets by name: where they are looked for, and how they are cut into parts.
//!
//! Invariant: which samples train, watch and judge depends on the set, the shares and the seed only.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farad_data::{
    Array, Column, Csv, Dataset, Elements, NamedSet, Opened, Random, SampleForm, Subset, TargetKind,
    shares_by_class, split, split_by_class,
};
use farad_ir::Shape;
use farad_train::TrainError;

use crate::Task;
use crate::error::{FitError, Result};
use crate::scaled::{Scaled, spread};
use crate::settings::SupervisedSettings;

/// Samples that means and deviations are taken from at most.
const MEASURED: usize = 2000;
/// Drawn digits to train on, and to judge.
const DRAWN: (usize, usize) = (6000, 1000);

/// A set in its parts.
pub struct Sets {
    /// What is learned from.
    pub train: Arc<dyn Dataset>,
    /// What training is watched by.
    pub validation: Arc<dyn Dataset>,
    /// What the end is judged on.
    pub test: Arc<dyn Dataset>,
    /// What is learned.
    pub task: Task,
    /// The shape of an input.
    pub shape: Shape,
    /// Classes, or numbers that are predicted.
    pub outputs: usize,
}

/// Samples that a fingerprint looks at.
const LOOKED_AT: usize = 64;

impl Sets {
    /// What the samples are, in a line: how many, and a checksum of some of them.
    pub fn fingerprint(&self) -> String {
        let mut sum = DefaultHasher::new();
        for part in [&self.train, &self.validation, &self.test] {
            let every = part.len().div_ceil(LOOKED_AT).max(1);
            for sample in (0..part.len()).step_by(every).filter_map(|n| part.get(n).ok()) {
                for array in [&sample.input, &sample.target] {
                    array.to_f32().iter().for_each(|number| sum.write(&number.to_le_bytes()));
                }
            }
        }
        let counts = [&self.train, &self.validation, &self.test].map(|part| part.len().to_string());
        format!("{} samples with checksum {:016x}", counts.join(" + "), sum.finish())
    }

    /// Opens what the settings say, and writes down where it was found and how it is normalized.
    pub fn open(settings: &mut SupervisedSettings) -> Result<Sets> {
        let (train, test) = parts(settings)?;
        // A run that goes on has classes already.
        if settings.samples == 0 {
            check_classes(settings, &*train, &*test)?;
        }
        if test.is_empty() {
            return Err(FitError::NoTest { samples: train.len() }.into());
        }
        known_again(settings, &*train, &*test)?;
        let parts = if settings.stratified { split_by_class } else { split };
        let (train, validation) = parts(train, 1.0 - settings.validation, settings.seed);
        let (train, validation): (Arc<dyn Dataset>, Arc<dyn Dataset>) =
            (Arc::new(train), Arc::new(validation));
        let first = train.get(0)?;
        let (task, outputs) = match first.target.elements() {
            Elements::I32(_) => (Task::Classify, train.classes().len()),
            _ => (Task::Regress, first.target.shape().numel()),
        };
        // The run need not guess again, and says what it is.
        if settings.target_kind == "guess" && settings.named_set().form == SampleForm::Table {
            settings.target_kind = if task == Task::Classify { "class" } else { "number" }.into();
        }
        let mut shape = first.input.shape();
        if let (&[channels, height, width], size) = (&shape[..], settings.size) {
            let (height, width) = if size > 0 { (size, size) } else { (height, width) };
            shape = Shape::new(&[channels, height, width]);
        }
        if settings.means.is_empty() && settings.deviations.is_empty() {
            (settings.means, settings.deviations) = measured(&*train)?;
            if task == Task::Regress {
                (settings.target_mean, settings.target_deviation) = spread(&*train)?;
            }
        }
        settings.shape = shape.to_vec();
        let channels = shape.first().copied().unwrap_or(1);
        for (key, numbers) in [("means", &settings.means), ("deviations", &settings.deviations)] {
            if numbers.len() != channels {
                let (key, found) = (key.to_string(), format!("{numbers:?}"));
                let wanted = "a number per column or channel".into();
                return Err(TrainError::Setting { key, wanted, found }.into());
            }
        }
        let scaled = |set: Arc<dyn Dataset>| -> Arc<dyn Dataset> {
            match task {
                Task::Classify => set,
                Task::Regress => Arc::new(Scaled::new(set, settings)),
            }
        };
        let (train, validation, test) = (scaled(train), scaled(validation), scaled(test));
        Ok(Sets { train, validation, test, task, shape, outputs })
    }
}

/// How many samples of every class there are; none where classes are not known.
pub fn class_counts(set: &dyn Dataset) -> Option<Vec<usize>> {
    let mut counts = vec![0; set.classes().len()];
    for index in 0..set.len() {
        *counts.get_mut(set.class_of(index)?)? += 1;
    }
    (!counts.is_empty()).then_some(counts)
}

/// Whether there are classes that can be told apart.
fn check_classes(settings: &SupervisedSettings, train: &dyn Dataset, test: &dyn Dataset) -> Result<()> {
    let (path, samples) = (settings.data.clone(), train.len() + test.len());
    match train.classes() {
        [] if settings.class_weights != "none" => Err(FitError::NoClasses.into()),
        [class] => Err(FitError::OneClass { path, class: class.clone() }.into()),
        classes if classes.len() == samples && samples > 2 => {
            Err(FitError::OwnClasses { path, samples }.into())
        }
        _ => Ok(()),
    }
}

/// Whether the data are those that the run was made with: with others, samples that were learned may be judged on.
fn known_again(settings: &mut SupervisedSettings, train: &dyn Dataset, test: &dyn Dataset) -> Result<()> {
    let samples = train.len() + test.len();
    if settings.samples == 0 {
        (settings.samples, settings.classes) = (samples, train.classes().to_vec());
    }
    let changed = |what, then: String, now: String| {
        Err(FitError::DataChanged { path: settings.data.clone(), what, then, now }.into())
    };
    if settings.samples != samples {
        return changed("samples", settings.samples.to_string(), samples.to_string());
    }
    if settings.classes != train.classes() {
        return changed("classes", settings.classes.join(", "), train.classes().join(", "));
    }
    if settings.named_set().form == SampleForm::Table {
        let (columns, target) = table(settings)?.columns(&settings.data)?;
        // Runs of earlier versions do not say.
        if settings.columns.is_empty() {
            (settings.columns, settings.target_name) = (columns, target);
        } else if settings.columns != columns {
            return changed("columns", settings.columns.join(", "), columns.join(", "));
        }
    }
    Ok(())
}

/// The training part and the test part.
fn parts(settings: &mut SupervisedSettings) -> Result<(Arc<dyn Dataset>, Arc<dyn Dataset>)> {
    let set = settings.named_set();
    if settings.data == "synthetic" {
        let needs = || TrainError::NeedsData { subject: set.name.into() };
        let draw = set.draw.ok_or_else(needs)?;
        return Ok((Arc::new(draw(DRAWN.0, 1)), Arc::new(draw(DRAWN.1, 2))));
    }
    let path = place(set, &settings.data)?;
    // Whoever opens the run later may stand elsewhere.
    settings.data = std::path::absolute(&path).unwrap_or(path.clone()).display().to_string();
    if set.form == SampleForm::Table && settings.samples == 0 && settings.rules.is_empty() {
        settings.rules = rules(settings, &path)?;
    }
    match set.open(&path, &table(settings)?)? {
        Opened::Parts { train, test } => Ok((train, test)),
        Opened::Whole(set) => Ok(held_back(set, settings)),
    }
}

/// Where the data are: where the user says, or in one of the usual places.
fn place(set: &NamedSet, asked: &str) -> Result<PathBuf> {
    match (asked.is_empty(), set.published) {
        (false, _) => Ok(asked.into()),
        (true, true) => set.find(),
        (true, false) => Err(TrainError::NeedsData { subject: set.name.into() }.into()),
    }
}

/// The rules of a table's columns, from the rows that are not held back.
fn rules(settings: &SupervisedSettings, path: &Path) -> Result<Vec<String>> {
    let csv = table(settings)?;
    let classes = csv.row_classes(path)?;
    let class_of = |row: usize| classes.as_ref().and_then(|classes| classes.get(row).copied());
    let (learned, _) = held_back_rows(csv.rows(path)?, class_of, settings);
    let found = csv.find_rules(path, Some(&learned), settings.empty == "refuse")?;
    Ok(found.iter().map(|rule| serde_json::to_string(rule).expect("a rule is a JSON object")).collect())
}

/// A share of the samples for the end.
fn held_back(set: Arc<dyn Dataset>, settings: &SupervisedSettings) -> (Arc<dyn Dataset>, Arc<dyn Dataset>) {
    let (rest, test) = held_back_rows(set.len(), |index| set.class_of(index), settings);
    (Arc::new(Subset::new(set.clone(), rest)), Arc::new(Subset::new(set, test)))
}

/// The numbers of the samples that are learned from, and of those for the end.
fn held_back_rows(
    samples: usize,
    class_of: impl Fn(usize) -> Option<usize>,
    settings: &SupervisedSettings,
) -> (Vec<usize>, Vec<usize>) {
    // Another seed than that of the validation part.
    let mut order = Random::at(settings.seed, 0x7465_7374, 0).permutation(samples);
    if settings.stratified && samples > 1 {
        return shares_by_class(order, 1.0 - settings.test, class_of);
    }
    let kept = ((1.0 - settings.test) * samples as f64).round() as usize;
    let test = order.split_off(kept.clamp(1, samples.max(1)).min(samples));
    (order, test)
}

fn table(settings: &SupervisedSettings) -> Result<Csv> {
    let column = |text: &str| Column::Name(text.into());
    let mut csv = Csv::new().kind(match settings.target_kind.as_str() {
        "class" => TargetKind::Class,
        "number" => TargetKind::Number,
        _ => TargetKind::Guess,
    });
    if !settings.header {
        csv = csv.without_header();
    }
    if !settings.target.is_empty() {
        csv = csv.target(column(&settings.target));
    }
    let csv = csv.rules(settings.column_rules()?);
    Ok(settings.ignore.iter().fold(csv, |csv, name| csv.ignore(column(name))))
}

/// Means and deviations along the first axis of inputs, over the first samples.
fn measured(set: &dyn Dataset) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut sums: Vec<[f64; 3]> = vec![];
    for index in 0..set.len().min(MEASURED) {
        let input: Array = set.get(index)?.input;
        let channels = input.shape().first().copied().unwrap_or(1).max(1);
        let values = input.to_f32();
        sums.resize(channels, [0.0; 3]);
        for (sum, part) in sums.iter_mut().zip(values.chunks((values.len() / channels).max(1))) {
            for &value in part {
                *sum = [sum[0] + 1.0, sum[1] + f64::from(value), sum[2] + f64::from(value).powi(2)];
            }
        }
    }
    let mean = |[count, total, _]: &[f64; 3]| total / count.max(1.0);
    let deviation = |sum: &[f64; 3]| (sum[2] / sum[0].max(1.0) - mean(sum).powi(2)).max(0.0).sqrt();
    Ok((sums.iter().map(mean).collect(), sums.iter().map(deviation).collect()))
}
