//! Tables in text files: numbers to learn from, and one column to learn.
//!
//! Invariant: every number of a set was in the file, or was made by a rule that the caller gave. Anything else is an
//! error that names line and column.

use std::path::{Path, PathBuf};

use super::column_rule::{ColumnRule, FieldFault, FieldUse, NoRule, is_missing, number_of};
use super::file::{expect_file, read_bounded};
use super::{Array, TensorSet};
use crate::error::{DataError, Error, Result};

const OP: &str = "csv";
/// A larger file is not read into memory.
const MOST_BYTES: u64 = 1 << 32;

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
    rules: Vec<ColumnRule>,
}

impl Default for Csv {
    fn default() -> Csv {
        let (kind, ignored) = (TargetKind::Guess, vec![]);
        Csv { header: true, separator: None, target: None, kind, ignored, truths: false, rules: vec![] }
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

    /// Inputs become numbers by these rules, one for each input column in its order. Without rules, all of them are numbers
    /// and no field is empty.
    pub fn rules(mut self, rules: Vec<ColumnRule>) -> Csv {
        self.rules = rules;
        self
    }

    /// The rules by which the inputs of a file become numbers: words, dates and empty fields have some. What empty fields
    /// become and which words there are is found in the chosen rows, or in all. `refuse_empty`: an empty field is an
    /// error.
    ///
    /// ```
    /// use farad::data::Csv;
    /// let path = std::env::temp_dir().join(format!("farad-doc-rules-{}.csv", std::process::id()));
    /// std::fs::write(&path, "color,size,price\nred,1,10\nblue,,12\nred,3,9\n").unwrap();
    /// let rules = Csv::new().find_rules(&path, None, false)?;
    /// let names: Vec<String> = rules.iter().flat_map(|rule| rule.names()).collect();
    /// assert_eq!(names, ["color=blue", "color=red", "size", "size is empty"]);
    /// let set = Csv::new().rules(rules).read(&path)?;
    /// assert_eq!(set.inputs().to_f32()[4..8], [1.0, 0.0, 2.0, 1.0]);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn find_rules(
        &self,
        path: impl AsRef<Path>,
        chosen: Option<&[usize]>,
        refuse_empty: bool,
    ) -> Result<Vec<ColumnRule>> {
        let table = self.table(path.as_ref())?;
        let all: Vec<usize> = (0..table.rows.len()).collect();
        let chosen = chosen.unwrap_or(&all);
        let (inputs, _) = self.parts(&table)?;
        let rule = |column: usize| {
            let fields: Vec<&str> = all.iter().map(|&row| table.field(row, column)).collect();
            ColumnRule::found(&table.names[column], &fields, chosen, refuse_empty)
                .map_err(|why| table.no_rule(column, why).into())
        };
        inputs.into_iter().map(rule).collect()
    }

    /// How many rows a file has.
    pub fn rows(&self, path: impl AsRef<Path>) -> Result<usize> {
        Ok(self.table(path.as_ref())?.rows.len())
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
        let (values, notes) = match self.truths {
            true => (table.bits(&places)?, vec![]),
            false => table.values(&places, &self.rules)?,
        };
        let width = values.len() / table.rows.len();
        let aims = table.named(targets);
        let known = !targets.is_empty() && aims.len() == targets.len();
        let target = |row: usize| {
            let texts = aims.iter().map(|&column| table.text(row, column).ok().map(str::to_string));
            if known { texts.collect() } else { None }
        };
        Ok(SelectedRows {
            inputs: Array::new(values, [table.rows.len(), width]),
            notes,
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
        let (values, _) = table.values(&inputs, &self.rules)?;
        let width = values.len() / table.rows.len();
        let inputs = Array::new(values, [table.rows.len(), width]);
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
    /// What was filled, and which words no rule knows.
    pub notes: Vec<String>,
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

    /// A field as it is.
    fn field(&self, row: usize, column: usize) -> &str {
        self.rows[row].1.get(column).unwrap_or("")
    }

    /// A value that is there.
    fn text(&self, row: usize, column: usize) -> Result<&str> {
        let text = self.field(row, column);
        match is_missing(text) {
            true => Err(self.fault(row, column, FieldFault::Empty).into()),
            false => Ok(text),
        }
    }

    /// What is wrong with a field.
    fn fault(&self, row: usize, column: usize, fault: FieldFault) -> DataError {
        let (path, line, found) = (self.path.clone(), self.rows[row].0, self.field(row, column).into());
        let column = self.names[column].clone();
        match fault {
            FieldFault::Empty => DataError::MissingValue { path, line, column },
            FieldFault::NotNumber => DataError::NotNumber { path, line, column, found },
            FieldFault::NotDate(order) => {
                DataError::NotDate { path, line, column, found, example: order.example() }
            }
        }
    }

    /// Why a column has no rule.
    fn no_rule(&self, column: usize, why: NoRule) -> DataError {
        let (path, name) = (self.path.clone(), self.names[column].clone());
        match why {
            NoRule::Field(row, fault) => self.fault(row, column, fault),
            NoRule::AllEmpty => DataError::EmptyColumn { path, column: name },
            NoRule::Ambiguous => DataError::AmbiguousDates { path, column: name },
            NoRule::ManyWords(words) => {
                DataError::ManyWords { path, column: name, words, rows: self.rows.len() }
            }
        }
    }

    /// The numbers of columns, row by row, by rules in the order of the columns; without rules, plain numbers. And what
    /// was filled or is not known.
    fn values(&self, columns: &[usize], rules: &[ColumnRule]) -> Result<(Vec<f32>, Vec<String>)> {
        let plain: Vec<ColumnRule> =
            columns.iter().map(|&column| ColumnRule::number(&self.names[column])).collect();
        let rules = if rules.len() == columns.len() { rules } else { &plain };
        let (mut values, mut filled) = (vec![], vec![0usize; columns.len()]);
        let mut unknown: Vec<(usize, &str)> = vec![(0, ""); columns.len()];
        for row in 0..self.rows.len() {
            for (at, (&column, rule)) in columns.iter().zip(rules).enumerate() {
                let text = self.field(row, column);
                match rule.read(text, &mut values).map_err(|fault| self.fault(row, column, fault))? {
                    FieldUse::Read => {}
                    FieldUse::Filled => filled[at] += 1,
                    FieldUse::Unknown => unknown[at] = (unknown[at].0 + 1, text),
                }
            }
        }
        let mut notes = vec![];
        for (at, rule) in rules.iter().enumerate() {
            let column = &rule.column;
            if let (count @ 1.., Some(value)) = (filled[at], rule.empty) {
                notes.push(format!("`{column}`: {count} empty, filled with {value} as the run says"));
            }
            if let (count @ 1.., word) = unknown[at] {
                notes.push(format!(
                    "`{column}`: {count} with a word that was not there in training, such as `{word}`"
                ));
            }
        }
        Ok((values, notes))
    }

    /// The bits of columns, row by row.
    fn bits(&self, columns: &[usize]) -> Result<Vec<f32>> {
        let rows = (0..self.rows.len()).flat_map(|row| columns.iter().map(move |&column| (row, column)));
        rows.map(|(row, column)| self.bit(row, column)).collect()
    }

    fn number(&self, row: usize, column: usize) -> Result<f32> {
        let text = self.text(row, column)?;
        Ok(number_of(text).ok_or_else(|| self.fault(row, column, FieldFault::NotNumber))?)
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
