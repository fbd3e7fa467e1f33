//! Lines that are as long as a terminal is wide: broken at words, and what goes on is indented.
//!
//! Invariant: without line breaks, indents and the ` \` of broken commands, the text is the same. Start at [`wrapped`].

use std::io::{IsTerminal, Write};

use console::Term;

use super::COMMAND;

/// Terminals of fewer columns break lines by themselves.
const NARROW: usize = 20;
/// What goes on in a line of two columns stands under the second one, unless that begins further right.
const FAR: usize = 40;
/// Behind a command that goes on in the next line, so that both can be pasted.
const GOES_ON: &str = " \\";

/// Columns of the terminal that stdout ends in, if it does.
pub fn columns_of_stdout() -> Option<usize> {
    columns(std::io::stdout().is_terminal(), &Term::stdout())
}

/// Columns of the terminal that stderr ends in, if it does.
pub fn columns_of_stderr() -> Option<usize> {
    columns(std::io::stderr().is_terminal(), &Term::stderr())
}

fn columns(is_terminal: bool, terminal: &Term) -> Option<usize> {
    let (_, columns) = terminal.size_checked().filter(|_| is_terminal)?;
    Some(usize::from(columns)).filter(|&columns| columns >= NARROW)
}

/// Text whose lines fit so many columns, if it ends in a terminal. Colors take no room.
pub fn wrapped(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.into() };
    let line = |line: &str| match visible_width(line) <= columns {
        true => line.to_string(),
        false => broken(line, columns),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Letters that are seen.
pub fn visible_width(text: &str) -> usize {
    let (mut width, mut escape) = (0, false);
    for letter in text.chars() {
        match letter {
            '\x1b' => escape = true,
            _ if escape => escape = !letter.is_ascii_alphabetic(),
            _ => width += 1,
        }
    }
    width
}

/// A word, with the colors that begin or end in it.
#[derive(Debug, Default)]
struct Piece {
    text: String,
    width: usize,
    /// Spaces before it.
    spaces: usize,
    /// What should stay in one line: a command, or what is between backticks.
    whole: bool,
    /// Whether it is part of a command in its color.
    command: bool,
}

/// The words of a line.
fn pieces(line: &str) -> Vec<Piece> {
    let color = COMMAND.render().to_string();
    let (mut pieces, mut now) = (vec![], Piece::default());
    let (mut command, mut quoted) = (false, false);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\x1b' => {
                let mut escape = String::from(letter);
                for letter in letters.by_ref() {
                    escape.push(letter);
                    if letter.is_ascii_alphabetic() {
                        break;
                    }
                }
                command = escape == color || (command && escape != "\x1b[0m");
                now.text += &escape;
            }
            ' ' if now.width > 0 => {
                let (whole, command) = (quoted || command, command);
                pieces.push(std::mem::take(&mut now));
                now = Piece { spaces: 1, whole, command, ..Piece::default() };
            }
            ' ' => now.spaces += 1,
            _ => {
                quoted ^= letter == '`';
                now.text.push(letter);
                now.width += 1;
            }
        }
    }
    pieces.push(now);
    pieces
}

/// Where a line goes on: under its second column if it has two, else a little further right than it began.
fn hang(pieces: &[Piece], columns: usize) -> usize {
    let first = pieces.first().map_or(0, |piece| piece.spaces);
    let mut at = 0;
    for (n, piece) in pieces.iter().enumerate() {
        at += piece.spaces;
        if n > 0 && piece.spaces > 1 && piece.width > 0 {
            return if at <= FAR.min(columns / 2) { at } else { first + 4 };
        }
        at += piece.width;
    }
    first + 2
}

fn broken(line: &str, columns: usize) -> String {
    let pieces = pieces(line);
    let indent = hang(&pieces, columns);
    let mut lines = BrokenLine { text: String::new(), at: 0, fresh: true, indent, columns };
    let mut rest = &pieces[..];
    while let Some(first) = rest.first() {
        // What stays in one line goes there together, if there is a line that takes it.
        let many = 1 + rest[1..].iter().take_while(|piece| piece.whole && piece.spaces == 1).count();
        let (whole, others) = rest.split_at(many);
        let width = whole.iter().map(|piece| piece.width + piece.spaces).sum::<usize>() - first.spaces;
        if many > 1 && !lines.takes(first.spaces + width) && indent + width <= columns {
            lines.next();
        }
        for (n, piece) in whole.iter().enumerate() {
            lines.put(piece, whole.get(n + 1).is_some_and(|next| next.command));
        }
        rest = others;
    }
    lines.text
}

/// A line that is being broken.
struct BrokenLine {
    text: String,
    at: usize,
    /// Whether nothing stands in it yet.
    fresh: bool,
    indent: usize,
    columns: usize,
}

impl BrokenLine {
    fn takes(&self, width: usize) -> bool {
        self.at + width <= self.columns
    }

    fn next(&mut self) {
        self.text += "\n";
        self.text += &" ".repeat(self.indent);
        (self.at, self.fresh) = (self.indent, true);
    }

    /// Puts a word; behind one that `goes_on` there must be room to say so.
    fn put(&mut self, piece: &Piece, goes_on: bool) {
        let room = if goes_on { GOES_ON.len() } else { 0 };
        if piece.width > 0 && !self.fresh && !self.takes(piece.spaces + piece.width + room) {
            if piece.command {
                self.text += GOES_ON;
            }
            self.next();
        } else if !(self.fresh && self.at > 0) {
            self.text += &" ".repeat(piece.spaces);
            self.at += piece.spaces;
        }
        self.text += &piece.text;
        self.at += piece.width;
        self.fresh &= piece.width == 0;
    }
}

/// Where results go: in a terminal, lines of text are as long as it is wide. Lines of JSON stay whole.
pub struct Results<W: Write> {
    stream: W,
    columns: Option<usize>,
    /// A line that has not ended.
    line: Vec<u8>,
}

impl<W: Write> Results<W> {
    pub(super) fn new(stream: W, columns: Option<usize>) -> Results<W> {
        Results { stream, columns, line: vec![] }
    }

    /// Writes the lines that have ended.
    fn write_lines(&mut self) -> std::io::Result<()> {
        let Some(end) = self.line.iter().rposition(|&byte| byte == b'\n') else { return Ok(()) };
        let rest = self.line.split_off(end + 1);
        let lines = std::mem::replace(&mut self.line, rest);
        for line in String::from_utf8_lossy(&lines).lines() {
            match line.starts_with('{') {
                true => writeln!(self.stream, "{line}")?,
                false => writeln!(self.stream, "{}", wrapped(line, self.columns))?,
            }
        }
        Ok(())
    }
}

impl<W: Write> Write for Results<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.columns.is_none() {
            return self.stream.write(bytes);
        }
        self.line.extend(bytes);
        self.write_lines()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let rest = std::mem::take(&mut self.line);
        self.stream.write_all(&rest)?;
        self.stream.flush()
    }
}

impl<W: Write> Drop for Results<W> {
    fn drop(&mut self) {
        // Who wants to know of errors flushes.
        if !self.line.is_empty() {
            let _ = self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::{GOOD, HEADING, paint};

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn lines_go_on_under_their_second_column() {
        let line = format!("{}    runs/life-5/plots: circuit.svg, gates.svg", paint(HEADING, "pictures"));
        let text = wrapped(&line, Some(40));
        assert_eq!(plain(&text), "pictures    runs/life-5/plots:\n            circuit.svg, gates.svg");
        assert_eq!(wrapped("one two three four five six", Some(20)), "one two three four\n  five six");
        let flag = format!("      --a-flag-that-is-long-itself <VALUE>  {}", "what it does ".repeat(4));
        assert_eq!(wrapped(flag.trim_end(), Some(60)).lines().nth(1).unwrap().find("it"), Some(15), "{flag}");
        assert_eq!(wrapped("a line\nshort", Some(60)), "a line\nshort");
        assert_eq!(wrapped("in a wider terminal, or so", Some(20)), "in a wider terminal,\n  or so");
        assert_eq!(wrapped(&"long ".repeat(40), None), "long ".repeat(40));
    }

    #[test]
    fn commands_stay_whole_or_can_be_pasted() {
        let command = "farad export runs/life-5 --format html --out runs/life-5/page";
        let line = format!("next      {}  play with it", paint(COMMAND, command));
        let (wide, narrow) = (plain(&wrapped(&line, Some(80))), plain(&wrapped(&line, Some(60))));
        assert_eq!(wide, format!("next      {command}  play\n          with it"));
        assert_eq!(
            narrow,
            "next      farad export runs/life-5 --format html --out \\\n          runs/life-5/page  play with it"
        );
        let said = wrapped("saved: Ctrl-C ends it, and `farad train --resume runs/life-5` goes on", Some(50));
        assert_eq!(said, "saved: Ctrl-C ends it, and\n  `farad train --resume runs/life-5` goes on");
    }

    #[test]
    fn nothing_is_lost_and_every_line_fits() {
        let words = ["a", "of", "in", "gates", "runs/checkerboard-1", "3,040", "`farad eval runs/x`"];
        let mut random = 7u64;
        let mut draw = |most: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % most
        };
        for _ in 0..2_000 {
            let count = 1 + draw(30);
            let line: Vec<String> = (0..count)
                .map(|_| {
                    let word = words[draw(words.len())];
                    if draw(5) == 0 { paint(GOOD, word) } else { word.into() }
                })
                .collect();
            let (line, columns) = (" ".repeat(draw(9)) + &line.join(" "), 60 + draw(70));
            let text = plain(&wrapped(&line, Some(columns)));
            assert!(text.lines().all(|line| visible_width(line) <= columns), "{columns}: {text}");
            let same = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(same(&text), same(&plain(&line)));
        }
    }

    #[test]
    fn results_are_wrapped_and_json_is_not() {
        let mut written = vec![];
        let json = format!("{{\"words\":\"{}\"}}", "many words ".repeat(9));
        let mut results = Results::new(&mut written, Some(30));
        write!(results, "a sentence that is longer ").unwrap();
        writeln!(results, "than thirty letters\n{json}").unwrap();
        write!(results, "rest").unwrap();
        results.flush().unwrap();
        drop(results);
        let text = String::from_utf8(written).unwrap();
        assert_eq!(text, format!("a sentence that is longer than\n  thirty letters\n{json}\nrest"));
    }
}
