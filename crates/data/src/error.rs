//! What can be wrong with data. Programmer errors panic instead.

use std::fmt;
use std::path::PathBuf;

use farad_ir::Shape;

use farad_tensor::disagreement;

pub use farad_tensor::{Error, Result};

/// Why something could not be done.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum DataError {
    #[error(
        "train: no data: {set} is in none of {places}\nhelp: fetch it from {source}, or say where it is with --data or FARAD_DATA; `--data synthetic` draws digits instead", source = crate::origin(.set)
    )]
    NoData { set: &'static str, places: String },
    #[error("{op}: file is too large: {path} ({found} bytes vs at most {most})")]
    TooLarge { op: &'static str, path: PathBuf, found: u64, most: u64 },
    #[error(
        "{op}: checksums differ: {path} ({found:08x} vs {wanted:08x})\nhelp: the file is damaged or of another set; get it again, or read other sets of this format with `idx_set`"
    )]
    Checksum { op: &'static str, path: PathBuf, found: u32, wanted: u32 },
    #[error(
        "{op}: files are missing: {folder}: {files}\nhelp: get them from {from}\nand put them into {folder}"
    )]
    MissingData { op: &'static str, files: String, from: &'static str, folder: PathBuf },
    #[error("{op}: a file, where a folder is expected: {path}\nhelp: name the folder that holds {wanted}")]
    FileNotFolder { op: &'static str, path: PathBuf, wanted: String },
    #[error("{op}: a folder, where a file is expected: {path}\nhelp: name the file itself{inside}")]
    FolderNotFile { op: &'static str, path: PathBuf, inside: String },
    #[error("images: another class: {path}\nhelp: the classes are {classes}; a test folder has no others")]
    OtherClass { path: PathBuf, classes: String },
    #[error("images: no pictures: {path}\nhelp: it takes one folder per class with .png or .jpg files in it")]
    NoPictures { path: PathBuf },
    #[error("images: no pictures: {path}: no .png or .jpg file, in it or in its folders (0 vs at least 1)")]
    NoPicture { path: PathBuf },
    #[error(
        "csv: a value is missing: {path}: line {line}, column `{column}`\nhelp: fill it in, leave the row out, or ignore the column"
    )]
    MissingValue { path: PathBuf, line: u64, column: String },
    #[error(
        "csv: not a number: {path}: line {line}, column `{column}`: `{found}`\nhelp: ignore the column, or write it as numbers"
    )]
    NotNumber { path: PathBuf, line: u64, column: String, found: String },
    #[error(
        "csv: not a date: {path}: line {line}, column `{column}`: `{found}`\nhelp: the others look like {example}; write it so, leave it empty, or ignore the column"
    )]
    NotDate { path: PathBuf, line: u64, column: String, found: String, example: &'static str },
    #[error(
        "csv: days and months cannot be told apart: {path}: column `{column}`\nhelp: write dates like 2024-03-31, or ignore the column"
    )]
    AmbiguousDates { path: PathBuf, column: String },
    #[error("csv: a column is empty: {path}: column `{column}`\nhelp: ignore it: --set ignore={column}")]
    EmptyColumn { path: PathBuf, column: String },
    #[error(
        "csv: too many different words: {path}: column `{column}` ({words} in {rows} rows vs at most 100, and 20 or half as many as rows)\nhelp: names and numbers of rows teach nothing; ignore the column: --set ignore={column}"
    )]
    ManyWords { path: PathBuf, column: String, words: usize, rows: usize },
    #[error(
        "csv: no column is left to learn from: {path}: its columns are {columns}\nhelp: it needs one beside the target, separated by commas, semicolons, tabs or bars"
    )]
    NoInputs { path: PathBuf, columns: String },
    #[error(
        "csv: no samples: {path}: no line below the header (0 vs at least 1)\nhelp: a table has a line per sample; if its first line is one already, say `--set header=false`"
    )]
    EmptyTable { path: PathBuf },
    #[error(
        "csv: not a bit: {path}: line {line}, column `{column}`: `{found}`\nhelp: bits are 0 and 1, or yes and no"
    )]
    NotBit { path: PathBuf, line: u64, column: String, found: String },
    #[error(
        "csv: columns are missing: {path}: {missing} ({there} vs {wanted} that are needed)\nhelp: its columns are {columns}; they may stand in any order"
    )]
    MissingColumns { path: PathBuf, missing: String, there: usize, wanted: usize, columns: String },
    #[error("csv: no such column: {path}: `{column}`{nearest}\nhelp: the columns are {columns}")]
    NoColumn { path: PathBuf, column: String, nearest: String, columns: String },
    #[error("text: a letter that the model does not know: {letter:?} at {place}")]
    UnknownLetter { letter: char, place: usize },
    #[error("text: too short for a window: ({letters} letters vs more than {length}, which is at least 1)")]
    TextTooShort { letters: usize, length: usize },
    #[error("{op}: no samples: (0 vs at least 1)")]
    NoSamples { op: &'static str },
    #[error("data: no such sample: ({index} vs below {len})")]
    NoSample { index: usize, len: usize },
    #[error("data: inputs and targets differ in length: {inputs} and {targets}{}", rows(.inputs, .targets))]
    Unequal { inputs: Shape, targets: Shape },
    #[error("{op}: targets are not classes: they are not integers")]
    NotClasses { op: &'static str },
    #[error("classes: target outside: sample {sample} ({class} vs below {count})")]
    Class { sample: usize, class: i64, count: usize },
    #[error("batch: shapes differ: sample {index} of the batch is {found}, those before {wanted} ({disagree})\nhelp: bring them to one size, e.g. with `Resize`", disagree = disagreement(.found, .wanted))]
    SampleShape { index: usize, found: Shape, wanted: Shape },
    #[error("batch: kinds of elements differ: sample {index} of the batch has another than those before")]
    SampleKind { index: usize },
    #[error("{op}: inputs have another shape: ({found} vs {wanted})")]
    TransformShape { op: &'static str, found: Shape, wanted: String },
    #[error("loader: a batch needs samples: (0 vs at least 1)")]
    BatchSize,
    #[error(
        "loader: not one whole batch: ({samples} samples vs {batch})\nhelp: take a smaller batch, or keep the last one"
    )]
    NoBatch { samples: usize, batch: usize },
    #[error("loader: position does not fit: {what} ({found} vs {wanted})")]
    Position { what: &'static str, found: usize, wanted: usize },
    #[error("loader: making batch {batch} panicked: {message}")]
    Worker { batch: usize, message: String },
    #[error("loader: no thread could be started: {source}")]
    Thread { source: std::io::Error },
}

/// The same as `Display`.
impl fmt::Debug for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The first sizes of two shapes.
fn rows(inputs: &Shape, targets: &Shape) -> String {
    match (inputs.first(), targets.first()) {
        (Some(a), Some(b)) => format!(" ({a} vs {b})"),
        _ => " (both need a first axis)".into(),
    }
}

impl From<DataError> for Error {
    fn from(error: DataError) -> Error {
        Error::Part(Box::new(error))
    }
}
