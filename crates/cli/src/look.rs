//! How the command looks: colors, numbers, tables, progress and the words around them, once for all commands.
//!
//! Invariant: results go to stdout, everything else to stderr. Text is written with its colors; the streams of this module
//! take them out unless they end in a terminal (`NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are honored). Start at [`Talk`].

mod closing;
mod curve;
mod half_blocks;
mod numbers;
mod progress;
mod side_by_side;
mod table;
mod wrap;

pub use closing::{Closing, itself, shown, typed};
pub use curve::SmallCurve;
pub use half_blocks::half_blocks;
pub use numbers::{bytes, count, counted, duration, percent};
pub use progress::JobProgress;
pub use side_by_side::{JobLine, SideBySide};
pub use table::{Table, TableCell, left, right};
use wrap::columns_of_stderr;
pub use wrap::{Results, columns_of_stdout, wrapped};

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{IsTerminal, StdoutLock, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::builder::{StyledStr, Styles};
use farad::run::visible;

/// Titles of tables and sections.
pub const HEADING: Style = Style::new().bold();
/// What is as it should be.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What is not.
pub const BAD: Style = AnsiColor::Red.on_default();
/// What could be better, or is in between.
pub const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
/// A command that may be typed.
pub const COMMAND: Style = AnsiColor::Cyan.on_default();
/// What is there to be passed over.
pub const FAINT: Style = Style::new().dimmed();

/// How clap shows help.
pub const HELP: Styles = Styles::styled()
    .header(HEADING)
    .usage(HEADING)
    .literal(COMMAND)
    .placeholder(FAINT)
    .error(AnsiColor::Red.on_default().bold())
    .valid(GOOD)
    .invalid(DOUBTFUL);

/// Text in a style.
pub fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Where results go.
pub fn out() -> Results<AutoStream<StdoutLock<'static>>> {
    Results::new(anstream::stdout().lock(), columns_of_stdout())
}

/// Text by a model for stdout: in a terminal, what it would obey is written out (`\x1b`); a pipe or a file gets it as it is.
pub fn by_a_model(text: &str) -> Cow<'_, str> {
    if std::io::stdout().is_terminal() { visible(text) } else { text.into() }
}

/// Whether stderr shows colors.
pub fn colored_errors() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// Whether stderr is a terminal that can draw a line again.
pub fn lively() -> bool {
    std::io::stderr().is_terminal() && !farad::ENVIRONMENT.dumb
}

/// A line on stderr. Whoever closed it does not want to know, and the work goes on.
pub fn tell(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{}", wrapped(&text.to_string(), columns_of_stderr()));
}

/// What is going on just now. On a terminal the next line takes its place, and an empty one clears it.
pub fn passing(text: &str) {
    if lively() {
        let mut stderr = std::io::stderr();
        // A line that is longer could not be cleared.
        let room = columns_of_stderr().map_or(usize::MAX, |columns| columns - 1);
        let text: String = text.chars().take(room).collect();
        let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
    } else if !text.is_empty() {
        tell(text);
    }
}

/// A warning that does not stop anything.
pub fn warn(text: impl Display) {
    tell(marked("warning", DOUBTFUL.bold(), &text.to_string()));
}

/// What went wrong, with its `help:` and `usage:` lines.
pub fn fail(text: impl Display) {
    tell(marked("error", BAD.bold(), &text.to_string()));
}

fn marked(word: &str, style: Style, text: &str) -> String {
    // Messages quote files and command lines, and those may hold anything.
    let text = without_numbers(&visible(text));
    let line = |line: &str| {
        let marked = ["help:", "usage:"].iter().find_map(|word| Some((word, line.strip_prefix(word)?)));
        marked.map_or(line.to_string(), |(word, rest)| paint(COMMAND.bold(), word) + rest)
    };
    let lines: Vec<String> = text.lines().map(line).collect();
    format!("{} {}", paint(style, format!("{word}:")), lines.join("\n"))
}

/// Text without the numbers that the system has for its errors: the words before them say the same.
fn without_numbers(text: &str) -> String {
    const MARK: &str = " (os error ";
    let mut parts = text.split(MARK);
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |all, part| match part.split_once(')') {
        Some((number, rest)) if number.bytes().all(|digit| digit.is_ascii_digit()) => all + rest,
        _ => all + MARK + part,
    })
}

/// The first section of examples, for the short help.
pub fn brief(text: &str) -> StyledStr {
    examples(text.split("\n\n").next().unwrap_or_default())
}

/// Examples under a help text: lines that stand at the margin and end in a colon are headings.
pub fn examples(text: &str) -> StyledStr {
    let heading = |line: &str| !line.starts_with(' ') && line.ends_with(':');
    let line = |line: &str| if heading(line) { paint(HEADING, line) } else { line.to_string() };
    StyledStr::from(text.lines().map(line).collect::<Vec<_>>().join("\n"))
}

/// What is said beside results, unless `--quiet` forbids it.
#[derive(Clone, Copy, Debug)]
pub struct Talk {
    quiet: bool,
}

impl Talk {
    /// As the flag has it.
    pub fn new(quiet: bool) -> Talk {
        Talk { quiet }
    }

    /// A line on stderr.
    pub fn say(self, text: impl Display) {
        if !self.quiet {
            tell(text);
        }
    }

    /// Shows that something is being done whose end nobody knows, where that can be drawn.
    pub fn working(self, what: &str) -> JobProgress {
        JobProgress::working(self.quiet, what)
    }

    /// Whether something can be drawn, and may be.
    pub fn draws(self) -> bool {
        !self.quiet && lively()
    }

    /// A bar or lines for so many steps, of which some are done.
    pub fn progress(self, unit: &str, steps: u64, done: u64) -> JobProgress {
        JobProgress::new(self.quiet, unit, steps, done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_and_usage_lines_are_marked() {
        let plain = |text: &str| anstream::adapter::strip_str(&marked("error", BAD, text)).to_string();
        assert_eq!(plain("op: wrong\nhelp: do this"), "error: op: wrong\nhelp: do this");
        let text = marked("error", BAD, "op: wrong help: no\nusage: x");
        assert_eq!(
            text.matches("\x1b[0m").count(),
            2,
            "the mark, and the line that begins with one: {text:?}"
        );
    }

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        let text = anstream::adapter::strip_str(&marked("error", BAD, "csv: `\x1b[2J\x07`")).to_string();
        assert_eq!(text, "error: csv: `\\x1b[2J\\x07`");
    }

    #[test]
    fn numbers_of_the_system_are_left_out() {
        let text = "a: Not found (os error 2)\nhelp: b (os error x) c (os error 17)";
        assert_eq!(without_numbers(text), "a: Not found\nhelp: b (os error x) c");
    }

    #[test]
    fn only_headings_of_examples_are_painted() {
        let text = examples("Examples:\n  farad train life:\nplain").ansi().to_string();
        assert!(text.contains("\x1b[1mExamples:\x1b[0m\n  farad train life:\nplain"), "{text:?}");
    }
}
