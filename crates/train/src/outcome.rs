//! What came out of a training or of a look at a run: for people, for programs, and what to do next.
//!
//! Nothing here is printed; the command decides on colors and widths.

use serde_json::Value;

/// How something should look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As everything else.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Neither good nor bad.
    Doubtful,
    /// As it should not be.
    Bad,
    /// A title.
    Heading,
    /// Less important than the rest.
    Faint,
}

/// Words with a tone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toned {
    /// How they should look.
    pub tone: Tone,
    /// The words.
    pub words: String,
}

impl Toned {
    /// Words with a tone.
    pub fn new(tone: Tone, words: impl Into<String>) -> Toned {
        Toned { tone, words: words.into() }
    }

    /// `yes`, which is good, or `no`, which is bad.
    pub fn yes(is: bool) -> Toned {
        Toned::judged(is, if is { "yes" } else { "no" })
    }

    /// Words that are good or bad.
    pub fn judged(good: bool, words: impl Into<String>) -> Toned {
        Toned::new(if good { Tone::Good } else { Tone::Bad }, words)
    }
}

impl<T: std::fmt::Display> From<T> for Toned {
    fn from(words: T) -> Toned {
        Toned::new(Tone::Plain, words.to_string())
    }
}

/// A table: titles and rows. Columns of numbers stand at the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextTable {
    /// The titles of the columns, and whether they are of numbers.
    pub columns: Vec<(String, bool)>,
    /// A cell for each column.
    pub rows: Vec<Vec<Toned>>,
}

impl TextTable {
    /// A table without rows; columns of numbers are true.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, bool)>) -> TextTable {
        TextTable {
            columns: columns.into_iter().map(|(title, right)| (title.into(), right)).collect(),
            rows: vec![],
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Toned>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// For programs: one object per line.
    pub json: Vec<Value>,
    /// For people: a table, if there is one.
    pub table: Option<TextTable>,
    /// For people: lines after the table.
    pub lines: Vec<String>,
    /// What to say beside results.
    pub said: Vec<Toned>,
    /// Whether what was wanted came out, where that can be said: without it, `farad train --tries` goes on with other seeds.
    pub succeeded: Option<bool>,
    /// Commands to go on with (`RUN` stands for the run's folder), and what they do.
    pub next: Vec<(&'static str, &'static str)>,
}

impl Outcome {
    /// One object, and one line that says the same.
    pub fn new(json: Value, line: impl Into<String>) -> Outcome {
        Outcome { json: vec![json], lines: vec![line.into()], ..Outcome::default() }
    }

    /// Something to say beside results.
    pub fn say(mut self, tone: Tone, words: impl Into<String>) -> Outcome {
        self.said.push(Toned::new(tone, words));
        self
    }

    /// A command to go on with, and what it does.
    pub fn next(mut self, command: &'static str, does: &'static str) -> Outcome {
        self.next.push((command, does));
        self
    }
}
