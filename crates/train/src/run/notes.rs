//! `notes.json`: what people wrote about a run, as tags and a text.
//!
//! Training neither reads nor writes it, so it may be changed while a run trains and needs no lock. Invariant: what is
//! written is within the limits, and replaces the file as a whole. Start at [`Notes::of`].

use std::path::Path;

use farad_tensor::engine::write_whole;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, TrainError};

/// The file in a run's folder.
const FILE: &str = "notes.json";
/// A larger file is none of these.
const MOST_BYTES: u64 = 1 << 17;
const MOST_TAGS: usize = 32;
/// Letters of a tag.
const LONGEST_TAG: usize = 40;
/// Letters of a text.
const LONGEST_TEXT: usize = 20_000;

/// What people wrote about a run.
///
/// ```
/// use farad::run::{Notes, Run, Table};
/// # let folder = std::env::temp_dir().join(format!("farad-doc-notes-{}", std::process::id()));
/// # let _ = std::fs::remove_dir_all(&folder);
/// # drop(Run::create(&folder, "example", Table::new())?);
/// assert!(Notes::of(&folder)?.is_empty());
/// let notes = Notes::new(["baseline", "keep", "keep"], "Learns well.")?;
/// notes.write(&folder)?;
/// assert_eq!(Notes::of(&folder)?.tags, ["baseline", "keep"]);
/// assert!(Notes::new(["a, b"], "").is_err());
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notes {
    /// Words to find the run by, each once, in the order in which they were given.
    #[serde(default)]
    pub tags: Vec<String>,
    /// A text of any number of lines.
    #[serde(default)]
    pub text: String,
}

impl Notes {
    /// Notes with these tags and this text; refused beyond the limits. Spaces around either go.
    pub fn new<T: AsRef<str>>(tags: impl IntoIterator<Item = T>, text: &str) -> Result<Notes> {
        let mut notes = Notes { tags: vec![], text: text.trim().replace("\r\n", "\n") };
        for tag in tags {
            let tag = tag.as_ref().trim();
            if !tag.is_empty() && !notes.tags.iter().any(|known| known == tag) {
                notes.tags.push(tag.into());
            }
        }
        match notes.excess() {
            None => Ok(notes),
            Some(why) => Err(TrainError::NotesRefused { why }.into()),
        }
    }

    /// What is beyond the limits.
    fn excess(&self) -> Option<String> {
        let odd = |tag: &&String| tag.contains([',', '#']) || tag.contains(char::is_control);
        let long = |tag: &&String| tag.chars().count() > LONGEST_TAG;
        let letters = self.text.chars().count();
        if let Some(tag) = self.tags.iter().find(odd) {
            return Some(format!("a tag has no comma, no # and no line end: {tag:?}"));
        }
        if let Some(tag) = self.tags.iter().find(long) {
            return Some(format!("a tag is too long ({} letters vs {LONGEST_TAG})", tag.chars().count()));
        }
        if self.tags.len() > MOST_TAGS {
            return Some(format!("too many tags ({} vs {MOST_TAGS})", self.tags.len()));
        }
        let odd = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
        if self.text.contains(odd) {
            return Some("the text has control characters".into());
        }
        (letters > LONGEST_TEXT)
            .then(|| format!("the text is too long ({letters} letters vs {LONGEST_TEXT})"))
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.text.is_empty()
    }

    /// Those of a run's folder; empty if there are none. A damaged file is an error, so that nobody writes over it.
    pub fn of(folder: impl AsRef<Path>) -> Result<Notes> {
        let path = folder.as_ref().join(FILE);
        let fail = |source| Error::File { op: "notes", path: path.clone(), source };
        let metadata = match std::fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Notes::default()),
            Err(source) => return Err(fail(source)),
        };
        let damaged = |why: String| TrainError::NotesDamaged { path: path.clone(), why };
        if !metadata.is_file() {
            return Err(damaged("it is not a file".into()).into());
        }
        if metadata.len() > MOST_BYTES {
            return Err(damaged(format!("it is too large ({} bytes vs {MOST_BYTES})", metadata.len())).into());
        }
        let bytes = std::fs::read(&path).map_err(fail)?;
        let notes: Notes = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        Notes::new(&notes.tags, &notes.text).map_err(|error| damaged(error.to_string()).into())
    }

    /// Writes `notes.json` into a run's folder, whole; removes it if there is nothing to say.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<()> {
        let path = folder.as_ref().join(FILE);
        if self.is_empty() {
            return match std::fs::remove_file(&path) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    Err(Error::File { op: "notes", path, source })
                }
                _ => Ok(()),
            };
        }
        let mut text = serde_json::to_string(self).expect("texts");
        text.push('\n');
        write_whole("notes", &path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_kept_and_damage_is_not_written_over() {
        let why = |tags: &[&str], text: &str| Notes::new(tags, text).unwrap_err().to_string();
        let many: Vec<String> = (0..33).map(|n| n.to_string()).collect();
        assert_eq!(Notes::new(&many, "").unwrap_err().to_string(), "notes: too many tags (33 vs 32)");
        assert!(why(&[&"a".repeat(41)], "").contains("too long (41 letters vs 40)"));
        assert!(why(&["a\nb"], "").contains("no line end") && why(&["#a"], "").contains("no #"));
        assert!(why(&[], "\u{1b}[31m").contains("control characters"));
        assert!(why(&[], &"é".repeat(20_001)).contains("too long (20001 letters vs 20000)"));
        let folder = std::env::temp_dir().join(format!("farad-notes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Notes::new([" a "], " two\r\nlines ").unwrap().write(&folder).unwrap();
        assert_eq!(Notes::of(&folder).unwrap(), Notes { tags: vec!["a".into()], text: "two\nlines".into() });
        for damage in ["{", "[1]", r#"{"tags":["a,b"]}"#] {
            std::fs::write(folder.join(FILE), damage).unwrap();
            let text = Notes::of(&folder).unwrap_err().to_string();
            assert!(text.starts_with("notes: damaged: ") && text.contains("\nhelp: "), "{text}");
        }
        Notes::default().write(&folder).unwrap();
        assert!(!folder.join(FILE).exists() && Notes::of(&folder).unwrap().is_empty());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
