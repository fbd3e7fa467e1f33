//! Tables in text files: numbers to learn from, and one column to learn.
//!
//! Invariant: every number of a set was in the file; what is missing is an error that names line and column.

use std::path::{Path, PathBuf};

use super::file::{expect_file, read_bounded};
use super::{Array, TensorSet};
use crate::error::{DataError, Error, Result};

const OP: &str = "csv";
/// A larger file is not read into memory.
const MOST_BYTES: u64 = 1 << 32;
/// What stands for a missing value.
const MISSING: [&str; 6] = ["", "na", "n/a", "nan", "null", "?"];

/// A column by name or by number, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By its name in the header, or by its number where no name is that.
    Name(String),
    /// By its number.
    Number(usize),
}

impl From<&str> for Column {
    fn from(name: &str) -> Column {
        Column::Name(name.into())
    }
}

impl From<usize> for Column {
    fn from(number: usize) -> Column {
        Column::Number(number)
    }
}

/// What the target column holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetKind {
    /// Numbers if all are, else classes.
    #[default]
    Guess,
    /// Classes, named by their texts.
    Class,
    /// Numbers.
    Number,
}

/// Separators that are recognized.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How a file of separated values becomes a data set: inputs `[columns]`, targets a class or `[1]`.
///
/// ```
/// use farad::data::{Csv, Dataset};
/// let path = std::env::temp_dir().join(format!("farad-doc-{}.csv", std::process::id()));
/// std::fs::write(&path, "size,weight,kind\n1.0,2.0,cat\n3.5,9.0,dog\n").unwrap();
/// let set = Csv::new().target("kind").read(&path)?;
/// assert_eq!((set.len(), set.classes()), (2, &["cat".to_string(), "dog".to_string()][..]));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Csv {
    header: bool,
    separator: Option<u8>,
    target: Option<Column>,
    kind: TargetKind,
    ignored: Vec<Column>,
    truths: bool,
}

impl Default for Csv {
    fn default() -> Csv {
        let (kind, ignored) = (TargetKind::Guess, vec![]);
        Csv { header: true, separator: None, target: None, kind, ignored, truths: false }
    }
}

impl Csv {
    /// With a header, separated by what the first line has most of (commas, semicolons, tabs or bars); the last column the
    /// target.
    pub fn new() -> Csv {
        Csv::default()
    }

    /// The first line is a row already.
    pub fn without_header(mut self) -> Csv {
        self.header = false;
        self
    }

    /// Numbers are bits, and [`Csv::select`] takes `true`, `yes`, `false` and `no` for them.
    pub fn of_bits(mut self) -> Csv {
        self.truths = true;
        self
    }

    /// This separator and no other, e.g. `b';'`.
    pub fn separator(mut self, separator: u8) -> Csv {
        self.separator = Some(separator);
        self
    }

    /// Which column is learned.
    pub fn target(mut self, column: impl Into<Column>) -> Csv {
        self.target = Some(column.into());
        self
    }

    /// What the target column holds.
    pub fn kind(mut self, kind: TargetKind) -> Csv {
        self.kind = kind;
        self
    }

    /// A column that is neither input nor target, e.g. a number of the row.
    pub fn ignore(mut self, column: impl Into<Column>) -> Csv {
        self.ignored.push(column.into());
        self
    }

    /// The names of the columns that are inputs, in their order, and that of the target: numbers where the file has no
    /// header.
    pub fn columns(&self, path: impl AsRef<Path>) -> Result<(Vec<String>, String)> {
        let table = self.table(path.as_ref())?;
        let (inputs, target) = self.parts(&table)?;
        let inputs = inputs.into_iter().map(|column| table.names[column].clone()).collect();
        Ok((inputs, table.names[target].clone()))
    }

    /// Reads columns by name, in any order; others are ignored. Targets may be missing, all of them or in some
    /// rows.
    ///
    /// ```
    /// use farad::data::Csv;
    /// let path = std::env::temp_dir().join(format!("farad-doc-select-{}.csv", std::process::id()));
    /// std::fs::write(&path, "kind,size,weight\ncat,1.0,2.0\n?,3.5,9.0\n").unwrap();
    /// let names = |all: &[&str]| all.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    /// let rows = Csv::new().select(&path, &names(&["weight", "size"]), &names(&["kind"]))?;
    /// assert_eq!(rows.inputs.to_f32(), [2.0, 1.0, 9.0, 3.5]);
    /// assert_eq!(rows.targets, [Some(names(&["cat"])), None]);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn select(
        &self,
        path: impl AsRef<Path>,
        inputs: &[String],
        targets: &[String],
    ) -> Result<SelectedRows> {
        let table = self.table(path.as_ref())?;
        let places = table.named(inputs);
        if places.len() < inputs.len() {
            let there = places.len();
            let missing: Vec<&str> = inputs
                .iter()
                .map(String::as_str)
                .filter(|&name| !table.names.iter().any(|own| own == name))
                .collect();
            let missing = if missing.is_empty() {
                "one of several of the same name".into()
            } else {
                missing.join(", ")
            };
            let (path, columns) = (table.path.clone(), table.names.join(", "));
            return Err(
                DataError::MissingColumns { path, missing, there, wanted: inputs.len(), columns }.into()
            );
        }
        let mut values = Vec::with_capacity(table.rows.len() * inputs.len());
        for row in 0..table.rows.len() {
            for &column in &places {
                values.push(if self.truths { table.bit(row, column)? } else { table.number(row, column)? });
            }
        }
        let aims = table.named(targets);
        let known = !targets.is_empty() && aims.len() == targets.len();
        let target = |row: usize| {
            let texts = aims.iter().map(|&column| table.text(row, column).ok().map(str::to_string));
            if known { texts.collect() } else { None }
        };
        Ok(SelectedRows {
            inputs: Array::new(values, [table.rows.len(), inputs.len()]),
            targets: (0..table.rows.len()).map(target).collect(),
        })
    }

    /// The columns that are inputs, and the target.
    fn parts(&self, table: &CsvTable) -> Result<(Vec<usize>, usize)> {
        let width = table.names.len();
        let target = match &self.target {
            Some(column) => table.find(column)?,
            None => width - 1,
        };
        let ignored = self.ignored.iter().map(|column| table.find(column)).collect::<Result<Vec<_>>>()?;
        let inputs: Vec<usize> = (0..width).filter(|n| *n != target && !ignored.contains(n)).collect();
        match inputs.is_empty() {
            true => {
                let (path, columns) = (table.path.clone(), table.names.join(", "));
                Err(DataError::NoInputs { path, columns }.into())
            }
            false => Ok((inputs, target)),
        }
    }

    /// Reads a file.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<TensorSet> {
        let path = path.as_ref();
        let table = self.table(path)?;
        let (inputs, target) = self.parts(&table)?;
        let mut values = Vec::with_capacity(table.rows.len() * inputs.len());
        for row in 0..table.rows.len() {
            for &column in &inputs {
                values.push(table.number(row, column)?);
            }
        }
        let inputs = Array::new(values, [table.rows.len(), inputs.len()]);
        let numeric = match self.kind {
            TargetKind::Number => true,
            TargetKind::Class => false,
            TargetKind::Guess => (0..table.rows.len()).all(|row| table.number(row, target).is_ok()),
        };
        if numeric { table.numbers(inputs, target) } else { table.classes(inputs, target) }
    }

    fn table(&self, path: &Path) -> Result<CsvTable> {
        expect_file(OP, path, "csv")?;
        let bytes = read_bounded(OP, path, MOST_BYTES)?;
        let mut reader = ::csv::ReaderBuilder::new()
            .has_headers(self.header)
            .delimiter(self.separator.unwrap_or_else(|| separator_of(&bytes)))
            .trim(::csv::Trim::All)
            .from_reader(&bytes[..]);
        let fail = |error: ::csv::Error| parse_error(path, &error);
        let first = reader.headers().map_err(fail)?.clone();
        let names: Vec<String> = match self.header {
            true => first.iter().map(|name| name.trim_start_matches('\u{feff}').to_string()).collect(),
            false => (0..first.len()).map(|n| n.to_string()).collect(),
        };
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(fail)?;
            rows.push((record.position().map_or(0, |at| at.line()), record));
        }
        if rows.is_empty() || names.is_empty() {
            return Err(DataError::EmptyTable { path: path.into() }.into());
        }
        Ok(CsvTable { path: path.into(), names, rows })
    }
}

/// What the columns of a file's first line are separated by: what there is most of outside of quotes, else a comma.
fn separator_of(bytes: &[u8]) -> u8 {
    let (mut counts, mut quoted) = ([0; SEPARATORS.len()], false);
    for byte in bytes.iter().take_while(|byte| **byte != b'\n') {
        quoted ^= *byte == b'"';
        if let Some(at) = SEPARATORS.iter().position(|separator| separator == byte && !quoted) {
            counts[at] += 1;
        }
    }
    // The first of those that there are most of.
    let most = (0..SEPARATORS.len()).rev().max_by_key(|&at| counts[at]);
    most.map_or(b',', |at| SEPARATORS[at])
}

/// Columns that were read by name.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedRows {
    /// `[rows, columns]`
    pub inputs: Array,
    /// The texts of the targets, row by row, where they are there.
    pub targets: Vec<Option<Vec<String>>>,
}

/// The texts of a file.
struct CsvTable {
    path: PathBuf,
    names: Vec<String>,
    rows: Vec<(u64, ::csv::StringRecord)>,
}

impl CsvTable {
    fn find(&self, column: &Column) -> Result<usize> {
        let found = match column {
            Column::Name(name) => {
                let named = self.names.iter().position(|other| other == name);
                named.or_else(|| name.parse().ok())
            }
            Column::Number(number) => Some(*number),
        };
        let found = found.filter(|&number| number < self.names.len());
        found.ok_or_else(|| {
            let column = match column {
                Column::Name(name) => name.clone(),
                Column::Number(number) => number.to_string(),
            };
            DataError::NoColumn { path: self.path.clone(), column, columns: self.names.join(", ") }.into()
        })
    }

    /// A value that is there.
    fn text(&self, row: usize, column: usize) -> Result<&str> {
        let (line, record) = &self.rows[row];
        let text = record.get(column).unwrap_or("");
        match MISSING.contains(&text.to_lowercase().as_str()) {
            true => Err(DataError::MissingValue {
                path: self.path.clone(),
                line: *line,
                column: self.names[column].clone(),
            }
            .into()),
            false => Ok(text),
        }
    }

    fn number(&self, row: usize, column: usize) -> Result<f32> {
        let text = self.text(row, column)?;
        let not_number = || DataError::NotNumber {
            path: self.path.clone(),
            line: self.rows[row].0,
            column: self.names[column].clone(),
            found: text.into(),
        };
        Ok(text.parse().ok().filter(|number: &f32| number.is_finite()).ok_or_else(not_number)?)
    }

    /// A bit as a number, by any of its names.
    fn bit(&self, row: usize, column: usize) -> Result<f32> {
        let text = self.text(row, column)?;
        match text.to_ascii_lowercase().as_str() {
            "0" | "false" | "no" => Ok(0.0),
            "1" | "true" | "yes" => Ok(1.0),
            _ => {
                let (path, line) = (self.path.clone(), self.rows[row].0);
                let (column, found) = (self.names[column].clone(), text.into());
                Err(DataError::NotBit { path, line, column, found }.into())
            }
        }
    }

    /// Where columns of these names stand; of several of one name, one after the other. What is missing is left out.
    fn named(&self, names: &[String]) -> Vec<usize> {
        let mut places: Vec<usize> = vec![];
        for name in names {
            let place = (0..self.names.len()).find(|n| self.names[*n] == *name && !places.contains(n));
            places.extend(place);
        }
        places
    }

    fn numbers(&self, inputs: Array, target: usize) -> Result<TensorSet> {
        let targets =
            (0..self.rows.len()).map(|row| self.number(row, target)).collect::<Result<Vec<f32>>>()?;
        TensorSet::from_arrays(inputs, Array::new(targets, [self.rows.len(), 1]))
    }

    /// Classes in the order of their names; of numbers where all names are integers.
    fn classes(&self, inputs: Array, target: usize) -> Result<TensorSet> {
        let texts = (0..self.rows.len()).map(|row| self.text(row, target)).collect::<Result<Vec<&str>>>()?;
        let mut names = texts.clone();
        names.sort_unstable();
        names.dedup();
        if names.iter().all(|name| name.parse::<i64>().is_ok()) {
            names.sort_by_key(|name| name.parse::<i64>().unwrap_or_default());
        }
        let number: std::collections::HashMap<&str, i32> =
            names.iter().enumerate().map(|(n, name)| (*name, n as i32)).collect();
        let targets: Vec<i32> = texts.iter().map(|text| number[text]).collect();
        TensorSet::from_arrays(inputs, Array::new(targets, [self.rows.len()]))?.with_classes(names)
    }
}

fn parse_error(path: &Path, error: &::csv::Error) -> Error {
    let line = error.position().map_or(String::new(), |at| format!(": line {}", at.line()));
    let what = match error.kind() {
        ::csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("another number of columns ({len} vs {expected_len})")
        }
        ::csv::ErrorKind::Utf8 { .. } => "it is not UTF-8".to_string(),
        _ => error.to_string(),
    };
    Error::Damaged { op: OP, path: path.into(), place: line, what }
}
