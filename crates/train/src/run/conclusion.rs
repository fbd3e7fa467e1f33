//! `result.json`: what a run was judged to be when it ended, for those who list runs.
//!
//! Invariant: it says after how many steps it was made, so that nobody takes it for that of a run that went on since.
//! Start at [`Conclusion::of`].

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Run;
use crate::error::Result;

/// The file in a run's folder.
const FILE: &str = "result.json";
/// A larger file is none of these.
const MOST_BYTES: u64 = 1 << 16;

/// What a run was judged to be.
///
/// ```
/// use farad::run::{Conclusion, Run, Table};
/// # let folder = std::env::temp_dir().join(format!("farad-doc-conclusion-{}", std::process::id()));
/// # let _ = std::fs::remove_dir_all(&folder);
/// let run = Run::create(&folder, "example", Table::new())?;
/// Conclusion::share(240, "test accuracy", 0.9333).write(&run)?;
/// assert_eq!(Conclusion::of(&folder, 240).unwrap().words, "test accuracy 93.33 %");
/// assert_eq!(Conclusion::of(&folder, 300), None, "it was trained for longer since");
/// # drop(run);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// Steps that were made when it was judged.
    pub step: u64,
    /// What was measured and on what, e.g. `test accuracy`.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Both, in a few words.
    pub words: String,
}

impl Conclusion {
    /// A number with its name.
    pub fn new(step: u64, name: &str, value: f64, words: impl Into<String>) -> Conclusion {
        Conclusion { step, name: name.into(), value, words: words.into() }
    }

    /// A share of one, told in percent.
    pub fn share(step: u64, name: &str, value: f64) -> Conclusion {
        Conclusion::new(step, name, value, format!("{name} {:.2} %", 100.0 * value))
    }

    /// Writes `result.json` into a run.
    #[track_caller]
    pub fn write(&self, run: &Run) -> Result<()> {
        let mut text = serde_json::to_string(self).expect("numbers and texts");
        text.push('\n');
        run.write_file(FILE, text.as_bytes()).map(drop)
    }

    /// That of a run's folder after so many steps; none if it was not judged, or of another step.
    pub fn of(folder: impl AsRef<Path>, step: u64) -> Option<Conclusion> {
        let path = folder.as_ref().join(FILE);
        let small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= MOST_BYTES);
        let text = small.then(|| std::fs::read(&path).ok()).flatten()?;
        serde_json::from_slice(&text).ok().filter(|conclusion: &Conclusion| conclusion.step == step)
    }

    /// As those who list runs tell it.
    pub fn json(&self) -> Value {
        serde_json::json!({ "name": self.name, "value": self.value, "words": self.words })
    }
}
