//! Reads a file that another process appends lines to, continuing where the last poll ended.
//!
//! Invariant: every line is returned once and complete. A last line without its end waits. A file that was
//! truncated, replaced or rewritten is read from the start, and the result says so. A poll reads at most
//! [`PIECE`] bytes. Start at [`Tail::look`].

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes read per poll; a longer line is skipped.
pub const PIECE: usize = 256 * 1024;

/// How many bytes before the current offset are compared with what was read there.
const PRINT: usize = 64;

/// The result of a poll.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether the file is a different one, so that earlier lines are no longer valid.
    pub restarted: bool,
    /// New lines, without their ends.
    pub lines: Vec<String>,
    /// Whether there is more to read immediately.
    pub more: bool,
}

/// The position in a file.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    offset: u64,
    /// The bytes before `offset`, to detect a file that was truncated and has grown again since.
    print: Vec<u8>,
    /// Whether reading is in the middle of a line that is too long.
    skipping: bool,
}

impl Tail {
    /// At the start of a file, which need not exist yet.
    pub fn new(path: &Path) -> Tail {
        Tail { path: path.into(), offset: 0, print: vec![], skipping: false }
    }

    /// Reads what is new. A file that cannot be read has no lines.
    pub fn look(&mut self) -> Look {
        match self.read() {
            Ok(look) => look,
            Err(error) => {
                if error.kind() != std::io::ErrorKind::NotFound {
                    tracing::debug!("dashboard: {}: {error}", self.path.display());
                }
                Look { restarted: self.restart(), ..Look::default() }
            }
        }
    }

    /// Starts over; returns whether anything had been read.
    fn restart(&mut self) -> bool {
        let begun = self.offset > 0;
        (self.offset, self.skipping) = (0, false);
        self.print.clear();
        begun
    }

    fn read(&mut self) -> std::io::Result<Look> {
        let mut file = File::open(&self.path)?;
        let length = file.metadata()?.len();
        let restarted = (length < self.offset || !self.is_same(&mut file)?) && self.restart();
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::with_capacity(PIECE.min((length - self.offset) as usize + 1));
        file.take(PIECE as u64).read_to_end(&mut bytes)?;
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map(|at| at + 1);
        let taken = match end {
            Some(end) => end,
            // A whole piece without a line end: no file that is shown has such lines.
            None if bytes.len() == PIECE => {
                self.skipping = true;
                PIECE
            }
            None => 0,
        };
        let more = bytes.len() == PIECE;
        Ok(Look { restarted, lines: self.take(&bytes[..taken], end.is_some()), more })
    }

    /// Advances by these bytes, which end a line or are the middle of one that is too long.
    fn take(&mut self, bytes: &[u8], ends: bool) -> Vec<String> {
        self.offset += bytes.len() as u64;
        self.print.extend_from_slice(&bytes[bytes.len().saturating_sub(PRINT)..]);
        self.print.drain(..self.print.len().saturating_sub(PRINT));
        if !ends {
            return vec![];
        }
        let rest = std::mem::take(&mut self.skipping) as usize;
        let text = String::from_utf8_lossy(bytes);
        text.lines().skip(rest).map(str::to_string).collect()
    }

    /// Whether the file still has the same bytes before the current offset.
    fn is_same(&self, file: &mut File) -> std::io::Result<bool> {
        if self.print.is_empty() {
            return Ok(true);
        }
        let mut now = vec![0; self.print.len()];
        file.seek(SeekFrom::Start(self.offset - now.len() as u64))?;
        match file.read_exact(&mut now) {
            Ok(()) => Ok(now == self.print),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchFolder;

    fn look(lines: &[&str], restarted: bool) -> Look {
        Look { restarted, lines: lines.iter().map(|line| line.to_string()).collect(), more: false }
    }

    #[test]
    fn lines_come_once_and_whole() {
        let scratch = ScratchFolder::new();
        let mut tail = Tail::new(&scratch.path("log.csv"));
        assert_eq!(tail.look(), look(&[], false), "there is no file yet");
        scratch.write("log.csv", "step,loss\n1,0.5\n2,0.");
        assert_eq!(tail.look(), look(&["step,loss", "1,0.5"], false));
        assert_eq!(tail.look(), look(&[], false));
        scratch.write("log.csv", "step,loss\n1,0.5\n2,0.25\n");
        assert_eq!(tail.look(), look(&["2,0.25"], false));
    }

    #[test]
    fn a_file_that_was_cut_or_replaced_starts_over() {
        let scratch = ScratchFolder::new();
        let mut tail = Tail::new(&scratch.path("log.csv"));
        scratch.write("log.csv", "step,loss\n1,0.5\n2,0.25\n");
        assert_eq!(tail.look().lines.len(), 3);
        scratch.write("log.csv", "step,loss\n1,0.5\n");
        assert_eq!(tail.look(), look(&["step,loss", "1,0.5"], true));
        // Truncated, and grown beyond the old end between two polls.
        scratch.write("log.csv", "step,loss\n1,0.7\n2,0.6\n3,0.5\n");
        assert_eq!(tail.look(), look(&["step,loss", "1,0.7", "2,0.6", "3,0.5"], true));
        std::fs::remove_file(scratch.path("log.csv")).unwrap();
        assert_eq!(tail.look(), look(&[], true));
        assert_eq!(tail.look(), look(&[], false));
    }

    #[test]
    fn long_files_come_in_pieces_and_endless_lines_do_not_come() {
        let scratch = ScratchFolder::new();
        let mut tail = Tail::new(&scratch.path("log.csv"));
        let text: String = (0..60_000).map(|n| format!("{n},0.125\n")).collect();
        scratch.write("log.csv", &text);
        let (mut lines, mut looks) = (vec![], 0);
        loop {
            let look = tail.look();
            lines.extend(look.lines);
            looks += 1;
            if !look.more {
                break;
            }
        }
        assert!(looks > 1 && lines.len() == 60_000 && lines[59_999] == "59999,0.125");
        let mut tail = Tail::new(&scratch.path("events.jsonl"));
        scratch.write("events.jsonl", &format!("first\n{}\nlast\n", "x".repeat(3 * PIECE)));
        let mut lines = vec![];
        while lines.last().is_none_or(|line| line != "last") {
            lines.extend(tail.look().lines);
        }
        assert_eq!(lines, ["first", "last"]);
    }
}
