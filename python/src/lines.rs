//! Lines of Python for errors that come late: an index out of range is found when its result is computed.
//!
//! Ops keep the line of Rust that recorded them, which is a line of this crate. So the Python lines that last recorded an
//! op which can fail late are kept beside, and stand in the message instead. Start at [`note`] and [`told`].

use std::collections::VecDeque;
use std::sync::Mutex;

use pyo3::prelude::*;

/// Methods and layers whose work may find something wrong with the numbers that it is given.
const LATE: [&str; 9] = [
    "gather",
    "index_select",
    "embedding",
    "one_hot",
    "scatter_add",
    "segment_sum",
    "cross_entropy",
    "negative_log_likelihood",
    "Embedding",
];

/// Most lines that are kept.
const KEPT: usize = 4;

/// How a place in this crate begins in a message.
const PLACE: &str = "built at python/src/";

/// The last lines, the newest first, each once.
static LINES: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// Keeps the line of Python that calls an op, if the op can fail late.
pub fn note(op: &str) {
    if !LATE.contains(&op) {
        return;
    }
    let Some(line) = Python::attach(|py| calling_line(py).ok().flatten()) else { return };
    let mut lines = LINES.lock().unwrap_or_else(|e| e.into_inner());
    if lines.front() != Some(&line) {
        lines.retain(|other| *other != line);
        lines.push_front(line);
        lines.truncate(KEPT);
    }
}

/// File and line of the innermost caller that is not in this package.
fn calling_line(py: Python<'_>) -> PyResult<Option<String>> {
    let package = py.import("farad")?.getattr("__path__")?.get_item(0)?.extract::<String>()?;
    let mut frame = py.import("sys")?.call_method0("_getframe")?;
    while !frame.is_none() {
        let file: String = frame.getattr("f_code")?.getattr("co_filename")?.extract()?;
        if !file.starts_with(&package) {
            return Ok(Some(format!("{file}:{}", frame.getattr("f_lineno")?)));
        }
        frame = frame.getattr("f_back")?;
    }
    Ok(None)
}

/// A message with Python's lines in the place of this crate's.
pub fn told(text: String) -> String {
    let Some(at) = text.find(PLACE) else { return text };
    let after = &text[at + PLACE.len()..];
    let end = after.find([' ', '\n', ')']).unwrap_or(after.len());
    let lines = LINES.lock().unwrap_or_else(|e| e.into_inner());
    if lines.is_empty() {
        return text;
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    format!("{}built at {}{}", &text[..at], lines.join(" or "), &after[end..])
}
