//! The fenced blocks of a Markdown text, and what the comments before them say about testing.
//!
//! Invariant: a block is found whatever its language, so that none can hide from the tests.

/// What the HTML comment right before a block says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockNote {
    /// `<!-- not run: why -->`: it cannot run where tests run; its flags are still checked.
    NotRun(String),
    /// `<!-- fails -->`: every command of it is an error, and the output is what it says.
    Fails,
    /// `<!-- file: name -->`: it is the content of a file that later commands read.
    File(String),
}

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencedBlock {
    /// All that stands behind the opening fence.
    pub info: String,
    /// The lines between the fences.
    pub text: String,
    /// The line of the opening fence, from 1.
    pub line: usize,
    /// What the comment before it says.
    pub note: Option<BlockNote>,
}

impl FencedBlock {
    /// The first word behind the fence; empty if there is none.
    pub fn language(&self) -> &str {
        self.info.split([',', ' ']).next().unwrap_or_default()
    }

    /// Whether its commands are run.
    pub fn is_run(&self) -> bool {
        !matches!(self.note, Some(BlockNote::NotRun(_)))
    }
}

/// All fenced blocks, in order.
///
/// ```
/// use farad_guide::{BlockNote, blocks};
/// let found = blocks("text\n\n<!-- not run: needs a GPU -->\n```sh\nfarad tune\n```\n");
/// assert_eq!((found[0].language(), found[0].text.as_str()), ("sh", "farad tune\n"));
/// assert_eq!(found[0].note, Some(BlockNote::NotRun("needs a GPU".into())));
/// ```
///
/// # Panics
/// If a fence is never closed.
pub fn blocks(markdown: &str) -> Vec<FencedBlock> {
    let (mut found, mut note) = (vec![], None);
    let mut lines = markdown.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else {
            // A blank line between comment and block changes nothing.
            note = if line.trim().is_empty() { note } else { read_note(line) };
            continue;
        };
        let indent = line.len() - line.trim_start().len();
        let mut text = String::new();
        loop {
            let (_, inside) = lines.next().unwrap_or_else(|| panic!("line {}: no closing fence", number + 1));
            if inside.trim() == "```" {
                break;
            }
            text.push_str(inside.get(indent..).unwrap_or_default());
            text.push('\n');
        }
        found.push(FencedBlock { info: info.trim().into(), text, line: number + 1, note: note.take() });
    }
    found
}

fn read_note(line: &str) -> Option<BlockNote> {
    let words = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    match words.split_once(':') {
        Some(("not run", why)) => Some(BlockNote::NotRun(why.trim().into())),
        Some(("file", name)) => Some(BlockNote::File(name.trim().into())),
        _ => (words == "fails").then_some(BlockNote::Fails),
    }
}
