//! The data sets to classify: where they are found, and how they are split.
//!
//! Invariant: which samples are for training, validation and test depends only on the set, the fractions and
//! the seed. Only the final judgment uses the test part.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use farad::TrainError;
use farad::data::{
    Array, Column, ColumnForm, Csv, Dataset, Elements, NamedSet, Opened, Random, SampleForm, TargetKind,
};

use super::ClassifierSettings;
use crate::error::{Error, Result};

/// Synthetic digits for training and for the test.
const DRAWN: (usize, usize) = (6000, 1000);
/// Up to this many different numbers can be classes, however few samples there are.
const FEW_VALUES: usize = 10;
/// Random streams of the orders that split the parts.
const TEST: u32 = 0x6c74_7374;
const VALIDATION: u32 = 0x6c76_616c;

/// A classification task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Handwritten digits.
    Mnist,
    /// Small color pictures.
    Cifar10,
    /// A table of numbers with a column of classes.
    Table,
}

/// The task's name, its description for lists, and the name of its data set in the table of all sets.
const TASKS: [(TaskKind, &str, &str, &str); 3] = [
    (
        TaskKind::Mnist,
        "logic-mnist",
        "handwritten digits by a circuit (--data FOLDER, or synthetic)",
        "mnist",
    ),
    (
        TaskKind::Cifar10,
        "logic-cifar10",
        "small color pictures by a circuit (--data FOLDER with binary files or train/CLASS/*.png, or synthetic)",
        "cifar10",
    ),
    (TaskKind::Table, "logic-table", "the classes of a table by a circuit (--data FILE.csv)", "csv"),
];

impl TaskKind {
    /// All of them.
    pub const ALL: [TaskKind; 3] = [TASKS[0].0, TASKS[1].0, TASKS[2].0];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// What it is, for lists.
    pub fn about(self) -> &'static str {
        self.row().2
    }

    /// The task with this name.
    pub fn named(name: &str) -> Option<TaskKind> {
        TaskKind::ALL.into_iter().find(|task| task.name() == name)
    }

    /// Whether samples are pictures of bytes.
    pub fn is_picture(self) -> bool {
        self.set().form != SampleForm::Table
    }

    /// The data set.
    pub fn set(self) -> &'static NamedSet {
        NamedSet::of(self.row().3).expect("a task learns a set of the table")
    }

    fn row(self) -> &'static (TaskKind, &'static str, &'static str, &'static str) {
        &TASKS[self as usize]
    }
}

/// The numbers of samples, sample by sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Levels {
    /// Pictures.
    Bytes(Vec<u8>),
    /// Tables.
    Numbers(Vec<f32>),
}

impl Levels {
    /// Appends the numbers of a sample to those of samples of the same kind.
    fn add(all: &mut Option<Levels>, sample: &Array) {
        match (all, sample.elements()) {
            (Some(Levels::Bytes(all)), Elements::U8(bytes)) => all.extend(bytes),
            (Some(Levels::Numbers(all)), _) => all.extend(sample.to_f32()),
            (none, Elements::U8(bytes)) => *none = Some(Levels::Bytes(bytes.clone())),
            (none, _) => *none = Some(Levels::Numbers(sample.to_f32())),
        }
    }
}

/// Some samples of a set, on the host.
#[derive(Clone, Debug)]
pub struct HostSamples {
    /// The numbers.
    pub levels: Levels,
    /// The class of each sample.
    pub labels: Vec<i32>,
    /// Channels, height and width; a table has columns, 1 and 1.
    pub shape: [usize; 3],
}

impl HostSamples {
    /// Numbers of a sample.
    pub fn features(&self) -> usize {
        self.shape.iter().product()
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// All numbers.
    pub fn numbers(&self) -> Vec<f32> {
        match &self.levels {
            Levels::Bytes(bytes) => bytes.iter().map(|&byte| f32::from(byte)).collect(),
            Levels::Numbers(numbers) => numbers.clone(),
        }
    }

    /// These samples and others of the same shape and kind; without the others if their kind differs.
    pub(super) fn with(&self, others: &HostSamples) -> HostSamples {
        let mut all = self.clone();
        match (&mut all.levels, &others.levels) {
            (Levels::Bytes(own), Levels::Bytes(more)) => own.extend(more),
            (Levels::Numbers(own), Levels::Numbers(more)) => own.extend(more),
            _ => return all,
        }
        all.labels.extend(&others.labels);
        all
    }

    /// The samples with these indices.
    fn picked(&self, places: &[usize]) -> HostSamples {
        fn rows<T: Copy>(all: &[T], width: usize, places: &[usize]) -> Vec<T> {
            places.iter().flat_map(|&place| &all[place * width..][..width]).copied().collect()
        }
        let levels = match &self.levels {
            Levels::Bytes(bytes) => Levels::Bytes(rows(bytes, self.features(), places)),
            Levels::Numbers(numbers) => Levels::Numbers(rows(numbers, self.features(), places)),
        };
        HostSamples { levels, labels: rows(&self.labels, 1, places), shape: self.shape }
    }

    /// Splits off a fraction of the samples, in an order from the seed.
    fn cut(self, share: f64, seed: u64, stream: u32) -> (HostSamples, HostSamples) {
        let (kept, cut) = cut(self.len(), share, seed, stream);
        (self.picked(&kept), self.picked(&cut))
    }
}

/// The numbers of samples that stay, and of a fraction that is split off; there are at least two.
fn cut(samples: usize, share: f64, seed: u64, stream: u32) -> (Vec<usize>, Vec<usize>) {
    let mut order = Random::at(seed, stream, 0).permutation(samples);
    let kept = samples - ((share * samples as f64).round() as usize).clamp(1, samples - 1);
    let cut = order.split_off(kept);
    (order, cut)
}

/// A set, split into three parts.
#[derive(Clone, Debug)]
pub struct ClassifierData {
    /// To learn from.
    pub train: HostSamples,
    /// To choose the best circuit.
    pub validation: HostSamples,
    /// To judge it.
    pub test: HostSamples,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The names of a table's columns; empty for pictures.
    pub columns: Vec<String>,
    /// The name of the class column; empty for pictures.
    pub target: String,
}

impl ClassifierData {
    /// What the samples are, in a line: how many, and a checksum.
    pub fn fingerprint(&self) -> String {
        let mut sum = DefaultHasher::new();
        for part in [&self.train, &self.validation, &self.test] {
            match &part.levels {
                Levels::Bytes(bytes) => sum.write(bytes),
                Levels::Numbers(numbers) => numbers.iter().for_each(|n| sum.write(&n.to_le_bytes())),
            }
            part.labels.hash(&mut sum);
        }
        self.classes.hash(&mut sum);
        format!("{} samples with checksum {:016x}", self.train.len(), sum.finish())
    }

    /// Opens the data that the settings ask for, and records in the settings where it was found.
    pub fn open(settings: &mut ClassifierSettings) -> Result<ClassifierData> {
        let seed = settings.seed as u64;
        let (sets, classes) = sets(settings)?;
        if classes.len() < 2 {
            return Err(Error::OneClass { classes: classes.len() });
        }
        refuse_numbers(settings, &sets, &classes)?;
        let mut parts = sets.into_iter();
        let first = parts.next().expect("a set has a part");
        if first.len() < 4 {
            return Err(Error::FewSamples { samples: first.len() });
        }
        let (rest, test) = match parts.next() {
            Some(test) => (first, test),
            None => first.cut(settings.test, seed, TEST),
        };
        if rest.shape != test.shape {
            let what = "training and test samples differ in size";
            return Err(Error::Encoding { what, found: test.features(), wanted: rest.features() });
        }
        let (train, validation) = rest.cut(settings.validation, seed, VALIDATION);
        let seen = train.labels.iter().any(|&label| label != train.labels[0]);
        if !seen {
            return Err(Error::OneClass { classes: 1 });
        }
        let (columns, target) = match settings.task_kind() {
            TaskKind::Table => table(settings)?.columns(&settings.data)?,
            _ => (vec![], String::new()),
        };
        Ok(ClassifierData { train, validation, test, classes, columns, target })
    }
}

/// Rejects a table whose target is a measured number, not a class: most of its values occur once.
fn refuse_numbers(settings: &ClassifierSettings, sets: &[HostSamples], classes: &[String]) -> Result<()> {
    let samples: usize = sets.iter().map(HostSamples::len).sum();
    let numbers = classes.iter().all(|class| class.parse::<f64>().is_ok());
    let measured = numbers && classes.len() > FEW_VALUES && 4 * classes.len() > samples;
    if settings.task_kind() != TaskKind::Table || !measured {
        return Ok(());
    }
    let target = if settings.target.is_empty() { "the last column".into() } else { settings.target.clone() };
    Err(Error::NumericTarget { target, values: classes.len(), samples })
}

/// The training part of a set and, if it exists, the test part, and its classes.
fn sets(settings: &mut ClassifierSettings) -> Result<(Vec<HostSamples>, Vec<String>)> {
    let task = settings.task_kind();
    if let Some(draw) = task.set().draw.filter(|_| settings.data == "synthetic") {
        let [train, test] = [draw(DRAWN.0, 1), draw(DRAWN.1, 2)];
        return Ok((vec![part(&train)?, part(&test)?], train.classes().to_vec()));
    }
    let path = place(task, &settings.data)?;
    // The run may be opened later from another folder.
    settings.data = std::path::absolute(&path).unwrap_or(path.clone()).display().to_string();
    if task == TaskKind::Table && settings.rules.is_empty() {
        settings.rules = rules(settings, &path)?;
    }
    match task.set().open(&path, &table(settings)?)? {
        Opened::Parts { train, test } => Ok((vec![part(&train)?, part(&test)?], train.classes().to_vec())),
        Opened::Whole(whole) => Ok((vec![part(&whole)?], whole.classes().to_vec())),
    }
}

/// The samples of a set, decoded.
fn part(set: &dyn Dataset) -> Result<HostSamples> {
    let (mut levels, mut labels, mut shape) = (None, Vec::with_capacity(set.len()), None);
    for index in 0..set.len() {
        let sample = set.get(index)?;
        let own = match sample.input.shape()[..] {
            [channels, height, width] => [channels, height, width],
            _ => [sample.input.shape().numel(), 1, 1],
        };
        let wanted = *shape.get_or_insert(own);
        if own != wanted {
            let what = "pictures differ in size";
            let [found, wanted] = [own, wanted].map(|shape| shape.iter().product());
            return Err(Error::Encoding { what, found, wanted });
        }
        Levels::add(&mut levels, &sample.input);
        let Elements::I32(class) = sample.target.elements() else {
            return Err(Error::OneClass { classes: 0 });
        };
        labels.extend(class);
    }
    let (levels, shape) = (levels.unwrap_or(Levels::Bytes(vec![])), shape.unwrap_or_default());
    if !labels.is_empty() && shape.contains(&0) {
        let what = "samples have no numbers to learn from";
        return Err(Error::Encoding { what, found: 0, wanted: 1 });
    }
    Ok(HostSamples { levels, labels, shape })
}

/// Where the data are: where the user says, or in one of the usual folders.
fn place(task: TaskKind, asked: &str) -> Result<PathBuf> {
    match (asked.is_empty(), task.set().published) {
        (false, _) => Ok(Path::new(asked).into()),
        (true, true) => Ok(task.set().find()?),
        (true, false) => Err(TrainError::NeedsData { subject: task.name().into() }.into()),
    }
}

/// The rules of a table's columns, from the rows that are not held back for the test; none if all columns are numbers
/// without empty fields.
fn rules(settings: &ClassifierSettings, path: &Path) -> Result<Vec<String>> {
    let csv = table(settings)?;
    let rows = csv.rows(path)?;
    if rows < 2 {
        return Ok(vec![]);
    }
    let (learned, _) = cut(rows, settings.test, settings.seed as u64, TEST);
    let found = csv.find_rules(path, Some(&learned), false)?;
    if found.iter().all(|rule| rule.form == ColumnForm::Number && !rule.marked) {
        return Ok(vec![]);
    }
    Ok(found.iter().map(|rule| serde_json::to_string(rule).expect("a rule is a JSON object")).collect())
}

fn table(settings: &ClassifierSettings) -> Result<Csv> {
    let column = |text: &str| Column::Name(text.into());
    let mut csv = Csv::new().kind(TargetKind::Class);
    if !settings.header {
        csv = csv.without_header();
    }
    if !settings.target.is_empty() {
        csv = csv.target(column(&settings.target));
    }
    let csv = csv.rules(settings.column_rules()?);
    Ok(settings.ignore.iter().fold(csv, |csv, name| csv.ignore(column(name))))
}

#[cfg(test)]
mod tests {
    use farad::data::ImageFolder;
    use farad::run::Picture;

    use super::*;

    /// A folder of single-color pictures, one class each; the last one has this width.
    fn drawn(name: &str, last: usize) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("farad-pictures-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        for (class, color) in [("blue", [0, 0, 200]), ("red", [200, 0, 0])] {
            std::fs::create_dir_all(folder.join(class)).unwrap();
            for number in 0..3 {
                let width = if class == "red" && number == 2 { last } else { 4 };
                let picture = Picture::filled(width, 2, color);
                picture.write_png(folder.join(class).join(format!("{number}.png"))).unwrap();
            }
        }
        folder
    }

    #[test]
    fn tasks_have_their_rows() {
        for (n, row) in TASKS.iter().enumerate() {
            assert_eq!(row.0 as usize, n);
            assert_eq!(TaskKind::named(row.1), Some(row.0));
            assert_eq!(row.0.set().name, row.3);
        }
    }

    #[test]
    fn folders_of_pictures_are_bytes_by_channels() {
        let folder = drawn("alike", 4);
        let part = part(&ImageFolder::open(&folder).unwrap()).unwrap();
        assert_eq!((part.shape, &part.labels[..]), ([3, 2, 4], &[0, 0, 0, 1, 1, 1][..]));
        let Levels::Bytes(bytes) = &part.levels else { panic!("pictures are bytes") };
        assert_eq!(bytes[..8], [0; 8], "a blue picture has no red");
        assert_eq!(bytes[3 * 24..][..8], [200; 8], "a red one has");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn pictures_of_other_sizes_are_refused() {
        let folder = drawn("unlike", 5);
        let text = part(&ImageFolder::open(&folder).unwrap()).unwrap_err().to_string();
        assert!(text.contains("pictures differ in size") && text.contains("30 vs 24"), "{text}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
