//! What every training says at its start and at its end, whatever it trains.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use farad::run::shell_word;

use super::wrap::columns_of_stderr;
use super::{COMMAND, HEADING, Talk, paint};

/// Letters of a title, with the space behind it.
const TITLE: usize = 10;
/// Names of files in a line at most.
const NAMED: usize = 8;

/// What a run leaves behind, and what may be done with it.
pub struct Closing<'a> {
    folder: &'a Path,
    next: Vec<(String, &'static str)>,
}

impl<'a> Closing<'a> {
    /// Of a run's folder.
    pub fn new(folder: &'a Path) -> Closing<'a> {
        Closing { folder, next: vec![] }
    }

    /// A command to try: its words after `farad`, where `RUN` stands for the run, and what it does.
    pub fn next(mut self, words: &str, does: &'static str) -> Closing<'a> {
        let run = typed(self.folder);
        self.next.push((format!("{} {}", itself(), words.replace("RUN", &run)), does));
        self
    }

    /// The dashboard, as the last command to try.
    pub fn dashboard(mut self) -> Closing<'a> {
        // The dashboard looks into `runs` unless it is told otherwise.
        let parent = shown(self.folder).parent().map(Path::to_path_buf).unwrap_or_default();
        let words = match parent.as_os_str().is_empty() {
            true => "dashboard .".to_string(),
            false if parent == Path::new(crate::source::RUNS) => "dashboard".to_string(),
            false => format!("dashboard {}", shell_word(parent)),
        };
        self.next.push((format!("{} {words}", itself()), "all runs in the browser"));
        self
    }

    fn lines(&self, columns: Option<usize>) -> Vec<(&'static str, String)> {
        let mut lines = vec![];
        let run = shown(self.folder);
        if self.folder.join("report.md").is_file() {
            lines.push(("report", run.join("report.md").display().to_string()));
        }
        if self.folder.join("report.html").is_file() {
            lines.push(("page", format!("{} (the report for a browser)", run.join("report.html").display())));
        }
        for (title, folder, ends) in [
            ("pictures", "plots", &[".svg", ".png", ".gif"][..]),
            ("circuits", "circuits", &["simplified.json"][..]),
        ] {
            let names = files(&self.folder.join(folder), ends);
            if !names.is_empty() {
                lines.push((title, format!("{}: {}", run.join(folder).display(), listed(&names))));
            }
        }
        lines.extend(self.commands(columns.unwrap_or(usize::MAX)));
        lines
    }

    /// What to try: commands beside what they do or, where there is no room, above it.
    fn commands(&self, columns: usize) -> Vec<(&'static str, String)> {
        let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text.chars().count()).max();
        let width = widest(&mut self.next.iter().map(|(command, _)| &**command)).unwrap_or(0);
        let about = widest(&mut self.next.iter().map(|(_, does)| *does)).unwrap_or(0);
        let fits = TITLE + width + 2 + about <= columns;
        let mut lines = vec![];
        for (n, (command, does)) in self.next.iter().enumerate() {
            let (title, painted) = (if n == 0 { "next" } else { "" }, paint(COMMAND, command));
            let room = " ".repeat(width - command.chars().count());
            match fits {
                true => lines.push((title, format!("{painted}{room}  {does}"))),
                false => lines.extend([(title, painted), ("", format!("  {does}"))]),
            }
        }
        lines
    }
}

impl Talk {
    /// A training begins: what it is, where it computes, where it writes.
    pub fn begins(self, what: &str, device: &str, folder: &Path) {
        self.say(paint(HEADING, what));
        self.fact("device", device);
        let (run, typed) = (shown(folder).display().to_string(), typed(folder));
        self.fact("run", format!("{run} (Ctrl-C saves, `{} train --resume {typed}` goes on)", itself()));
    }

    /// A training was interrupted and everything is saved.
    pub fn stopped(self, done: &str, folder: &Path) {
        self.say(format!("stopped and saved after {done}"));
        self.fact("go on", paint(COMMAND, format!("{} train --resume {}", itself(), typed(folder))));
    }

    /// A training was over and saved when somebody broke off what comes after it.
    pub fn left(self, folder: &Path) {
        self.say("\nstopped; the training is saved, its report is incomplete");
        self.fact("finish it", paint(COMMAND, format!("{} train --resume {}", itself(), typed(folder))));
    }

    /// A training is over.
    pub fn ends(self, closing: &Closing) {
        closing.lines(columns_of_stderr()).into_iter().for_each(|(title, text)| self.fact(title, text));
    }

    /// A title and what there is to say about it.
    pub fn fact(self, title: &str, text: impl Display) {
        self.say(format!(
            "{}{} {text}",
            paint(HEADING, title),
            " ".repeat((TITLE - 1).saturating_sub(title.len()))
        ));
    }
}

/// A path as seen from the current folder.
pub fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path).to_path_buf()
}

/// The command as the user calls it, so that what is shown can be typed again.
pub fn itself() -> String {
    let called = std::env::args().next().unwrap_or_default();
    match called.contains(std::path::MAIN_SEPARATOR) {
        true => callable(&shown(Path::new(&called))),
        false => "farad".into(),
    }
}

/// A program as a shell finds it: a bare name would be looked for elsewhere.
fn callable(program: &Path) -> String {
    let bare = program.parent().is_some_and(|folder| folder.as_os_str().is_empty());
    shell_word(if bare { Path::new(".").join(program) } else { program.to_path_buf() })
}

/// A path as seen from the current folder, as it may be typed.
pub fn typed(path: &Path) -> String {
    shell_word(shown(path))
}

/// The names of files in a folder that end in one of these, in order.
fn files(folder: &Path, ends: &[&str]) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| ends.iter().any(|end| name.ends_with(end))).collect();
    names.sort();
    names
}

fn listed(names: &[String]) -> String {
    match names.len() {
        many if many > NAMED => format!("{} and {} more", names[..NAMED - 1].join(", "), many + 1 - NAMED),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let names = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!(listed(&names(3)), "0, 1, 2");
        assert_eq!(listed(&names(20)), "0, 1, 2, 3, 4, 5, 6 and 13 more");
    }

    #[test]
    fn commands_can_be_typed() {
        assert_eq!(callable(Path::new("farad")), "./farad");
        assert_eq!(callable(Path::new("./farad")), "./farad");
        assert_eq!(callable(Path::new("/my tools/farad")), "'/my tools/farad'");
        let closing = Closing::new(Path::new("sp ace/run 1")).next("export RUN --out RUN/c", "");
        assert!(closing.next[0].0.ends_with("export 'sp ace/run 1' --out 'sp ace/run 1'/c"));
    }

    #[test]
    fn narrow_terminals_have_commands_above_what_they_do() {
        let closing =
            Closing::new(Path::new("runs/life-5")).next("eval RUN", "judge again").next("runs", "all runs");
        let plain = |columns: usize| {
            let lines = closing.commands(columns).into_iter();
            lines
                .map(|(title, text)| (title, anstream::adapter::strip_str(&text).to_string()))
                .collect::<Vec<_>>()
        };
        let (wide, narrow) = (plain(1_000), plain(30));
        assert!(wide.len() == 2 && wide[1].1.ends_with("  all runs"), "{wide:?}");
        assert_eq!((narrow.len(), &narrow[1], narrow[2].0), (4, &("", "  judge again".to_string()), ""));
    }

    #[test]
    fn paths_are_shown_from_here() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(shown(&here.join("runs/life-5")), Path::new("runs/life-5"));
        assert_eq!(shown(Path::new("runs/life-5")), Path::new("runs/life-5"));
        assert_eq!(shown(Path::new("/elsewhere")), Path::new("/elsewhere"));
    }
}
