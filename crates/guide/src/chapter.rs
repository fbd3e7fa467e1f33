//! The texts whose examples are tested: the chapters of the guide and the README.

use std::path::{Path, PathBuf};

/// One Markdown text.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// Where it lies, from the repository's root.
    pub name: String,
    /// What it says.
    pub text: String,
}

impl Chapter {
    /// The repository's root.
    pub fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// The chapters that `SUMMARY.md` lists, in its order.
    ///
    /// # Panics
    /// If one is not there.
    pub fn of_the_guide() -> Vec<Chapter> {
        let summary = Chapter::read("docs/guide/src/SUMMARY.md");
        let links = summary.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        links.map(|file| Chapter::read(&format!("docs/guide/src/{file}"))).collect()
    }

    /// The README and the chapters of the guide.
    ///
    /// # Panics
    /// If one is not there.
    pub fn all() -> Vec<Chapter> {
        std::iter::once(Chapter::read("README.md")).chain(Chapter::of_the_guide()).collect()
    }

    fn read(name: &str) -> Chapter {
        let text = std::fs::read_to_string(Chapter::root().join(name));
        Chapter { name: name.into(), text: text.unwrap_or_else(|error| panic!("{name}: {error}")) }
    }
}
