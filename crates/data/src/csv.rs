//! Tables in text files: numbers to learn from, and one column to learn.
//!
//! Invariant: every number of a set was in the file, or was made by a rule that the caller gave. Anything else is an
//! error that names line and column.

use std::path::Path;

use super::column_rule::ColumnRule;
use super::csv_table::CsvTable;
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
        if self.is_numeric(&table, target) {
            table.numbers(inputs, target)
        } else {
            table.classes(inputs, target)
        }
    }

    /// The class of every row, as [`Csv::read`] numbers them; none if the target is a number.
    pub fn row_classes(&self, path: impl AsRef<Path>) -> Result<Option<Vec<usize>>> {
        let table = self.table(path.as_ref())?;
        let (_, target) = self.parts(&table)?;
        match self.is_numeric(&table, target) {
            true => Ok(None),
            false => Ok(Some(table.class_names(target)?.1.into_iter().map(|class| class as usize).collect())),
        }
    }

    fn is_numeric(&self, table: &CsvTable, target: usize) -> bool {
        match self.kind {
            TargetKind::Number => true,
            TargetKind::Class => false,
            TargetKind::Guess => (0..table.rows.len()).all(|row| table.number(row, target).is_ok()),
        }
    }

    fn table(&self, path: &Path) -> Result<CsvTable> {
        expect_file(OP, path, "csv")?;
        let bytes = read_bounded(OP, path, MOST_BYTES)?;
        let mut reader = ::csv::ReaderBuilder::new()
            .has_headers(self.header)
            .delimiter(self.separator.unwrap_or_else(|| separator_of(&bytes)))
            .trim(::csv::Trim::All)
            .from_reader(&bytes[..]);
        let fail = |error: ::csv::Error| parse_error(path, &bytes, &error);
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

fn parse_error(path: &Path, bytes: &[u8], error: &::csv::Error) -> Error {
    const AS_TEXT: &str = "save the table as UTF-8, which spreadsheets call CSV UTF-8";
    const FIELDS: &str = "a row has a field for every name in the first line; a field with a separator in it stands in quotation marks";
    let line = error.position().map_or(String::new(), |at| format!(": line {}", at.line()));
    let what = match error.kind() {
        ::csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let open = bytes.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
            let why = if open { ", and a quotation mark is not closed" } else { "" };
            format!("another number of columns ({len} vs {expected_len}){why}\nhelp: {FIELDS}")
        }
        ::csv::ErrorKind::Utf8 { .. } if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") => {
            format!("it is UTF-16\nhelp: {AS_TEXT}")
        }
        ::csv::ErrorKind::Utf8 { .. } => format!("it is not UTF-8\nhelp: {AS_TEXT}"),
        _ => error.to_string(),
    };
    Error::Damaged { op: OP, path: path.into(), place: line, what }
}
