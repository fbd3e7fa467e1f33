//! `log.csv`: one row per logged step, columns fixed when the run is made.
//!
//! Invariant: the bytes depend only on the rows. On resuming, rows after the checkpoint's step are cut,
//! and the resumed run writes them again, so that an interrupted run ends with the same file as an
//! unbroken one. For that, log a step before its checkpoint is written ([`super::Run::save`]).

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::events::whole_lines;
use crate::error::{Error, Result, TrainError};

/// Rows reach the file at least this often, for those who watch it.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// One value of a row, made with `into()`: numbers in the fewest digits that give the same number
/// back, bool values as 0 and 1, `None` as nothing.
///
/// ```
/// use farad::run::LogCell;
/// assert_eq!(LogCell::from(0.1f32).as_str(), "0.1");
/// assert_eq!(LogCell::from(2.0f64).as_str(), "2");
/// assert_eq!(LogCell::from(None::<f32>).as_str(), "");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogCell(String);

impl LogCell {
    /// The text in the file.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<f32> for LogCell {
    fn from(value: f32) -> LogCell {
        LogCell(shortest(format!("{value:?}")))
    }
}

impl From<f64> for LogCell {
    fn from(value: f64) -> LogCell {
        LogCell(shortest(format!("{value:?}")))
    }
}

impl From<u64> for LogCell {
    fn from(value: u64) -> LogCell {
        LogCell(value.to_string())
    }
}

impl From<usize> for LogCell {
    fn from(value: usize) -> LogCell {
        LogCell(value.to_string())
    }
}

impl From<bool> for LogCell {
    fn from(value: bool) -> LogCell {
        LogCell((value as u8).to_string())
    }
}

impl<T: Into<LogCell>> From<Option<T>> for LogCell {
    fn from(value: Option<T>) -> LogCell {
        value.map_or(LogCell::default(), Into::into)
    }
}

/// Rust prints the shortest digits already; whole numbers need no point.
fn shortest(text: String) -> String {
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

/// The writer of `log.csv`.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: BufWriter<File>,
    columns: usize,
    last: Option<u64>,
    flushed: Instant,
}

impl Log {
    /// A new file with the column `step` and these; refused if there is one already.
    #[track_caller]
    pub fn create(path: impl AsRef<Path>, columns: &[&str]) -> Result<Log> {
        let path = path.as_ref();
        let header = header(columns);
        let opened = OpenOptions::new().write(true).create_new(true).open(path);
        let mut log = Log::on(path, opened, columns, None)?;
        log.write(&header)?;
        log.flush()?;
        Ok(log)
    }

    /// Goes on with a file after `step` steps (none: from the very beginning): whatever was logged
    /// later is cut off and will be logged again.
    #[track_caller]
    pub fn resume(path: impl AsRef<Path>, columns: &[&str], step: Option<u64>) -> Result<Log> {
        let path = path.as_ref();
        let header = header(columns);
        let fail = |source| Error::File { op: "log", path: path.into(), source };
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => vec![],
            Err(error) => return Err(fail(error)),
        };
        let whole = &bytes[..whole_lines(&bytes)];
        if !whole.is_empty() && !whole.starts_with(header.as_bytes()) {
            let found = String::from_utf8_lossy(whole).lines().next().unwrap_or_default().to_string();
            return Err(TrainError::LogColumns {
                path: path.into(),
                found,
                wanted: header.trim_end().into(),
            }
            .into());
        }
        let (kept, last) = kept(whole, columns.len(), step);
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let opened = opened.and_then(|file| file.set_len(kept as u64).map(|()| file));
        let mut log = Log::on(path, opened, columns, last)?;
        if kept == 0 {
            log.write(&header)?;
        }
        log.flush()?;
        Ok(log)
    }

    fn on(path: &Path, opened: std::io::Result<File>, columns: &[&str], last: Option<u64>) -> Result<Log> {
        let file = opened.map_err(|source| Error::File { op: "log", path: path.into(), source })?;
        let file = BufWriter::new(file);
        Ok(Log { path: path.into(), file, columns: columns.len(), last, flushed: Instant::now() })
    }

    /// Adds the row of a step: one value per column. Steps only go up.
    #[track_caller]
    pub fn row(&mut self, step: u64, values: &[LogCell]) -> Result<()> {
        assert!(
            values.len() == self.columns,
            "log: one value per column: ({} vs {})",
            values.len(),
            self.columns
        );
        if let Some(last) = self.last {
            assert!(step > last, "log: steps go up: ({step} vs {last})");
        }
        self.last = Some(step);
        let mut line = step.to_string();
        for value in values {
            line.push(',');
            line.push_str(value.as_str());
        }
        line.push('\n');
        self.write(&line)?;
        if self.flushed.elapsed() >= FLUSH_AFTER {
            self.flushed = Instant::now();
            return self.file.flush().map_err(|source| self.fail(source));
        }
        Ok(())
    }

    /// Brings all rows to the disk.
    pub fn flush(&mut self) -> Result<()> {
        self.flushed = Instant::now();
        let done = self.file.flush().and_then(|()| self.file.get_ref().sync_data());
        done.map_err(|source| self.fail(source))
    }

    fn write(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(|source| self.fail(source))
    }

    fn fail(&self, source: std::io::Error) -> Error {
        Error::File { op: "log", path: self.path.clone(), source }
    }
}

#[track_caller]
fn header(columns: &[&str]) -> String {
    for column in columns {
        assert!(
            !column.contains([',', '"', '\n', '\r']),
            "log: column names have no comma or quote: {column:?}"
        );
    }
    format!("step,{}\n", columns.join(",")).replace(",\n", "\n")
}

/// The bytes to keep: the header and the rows up to a step; and the step of the last of them.
fn kept(whole: &[u8], columns: usize, until: Option<u64>) -> (usize, Option<u64>) {
    let (mut kept, mut last) = (0, None);
    for (number, line) in whole.split_inclusive(|&b| b == b'\n').enumerate() {
        if number > 0 {
            let row = std::str::from_utf8(line).ok().and_then(|text| row(text, columns));
            let Some((step, _)) = row else {
                tracing::warn!("log: line {} is damaged; the log is cut there", number + 1);
                break;
            };
            if until.is_none_or(|until| step > until) {
                break;
            }
            last = Some(step);
        }
        kept += line.len();
    }
    (kept, last)
}

/// A row's step and values; none if it is no row.
fn row(line: &str, columns: usize) -> Option<(u64, Vec<Option<f64>>)> {
    let mut cells = line.trim_end().split(',');
    let step = cells.next()?.parse().ok()?;
    let values: Option<Vec<Option<f64>>> = cells
        .map(|cell| match cell {
            "" => Some(None),
            number => number.parse().ok().map(Some),
        })
        .collect();
    values.filter(|values| values.len() == columns).map(|values| (step, values))
}

/// What a `log.csv` says, for plots and reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogTable {
    columns: Vec<String>,
    rows: Vec<(u64, Vec<Option<f64>>)>,
}

impl LogTable {
    /// Reads a file; a torn or damaged line is skipped.
    pub fn read(path: impl AsRef<Path>) -> Result<LogTable> {
        let path = path.as_ref();
        let text =
            std::fs::read(path).map_err(|source| Error::File { op: "log", path: path.into(), source })?;
        let text = String::from_utf8_lossy(&text[..whole_lines(&text)]).into_owned();
        let mut lines = text.lines();
        let names = lines.next().unwrap_or_default().split(',').skip(1);
        let columns: Vec<String> = names.map(str::to_string).collect();
        let rows = lines.filter_map(|line| row(line, columns.len())).collect();
        Ok(LogTable { columns, rows })
    }

    /// The names of the columns after `step`.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The steps that have a row.
    pub fn steps(&self) -> Vec<u64> {
        self.rows.iter().map(|(step, _)| *step).collect()
    }

    /// Step and value wherever a column has a value; empty if there is no such column.
    pub fn series(&self, column: &str) -> Vec<(f64, f64)> {
        let Some(at) = self.columns.iter().position(|c| c == column) else { return vec![] };
        self.rows.iter().filter_map(|(step, values)| Some((*step as f64, values[at]?))).collect()
    }
}
