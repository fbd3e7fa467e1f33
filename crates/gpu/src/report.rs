//! Indices out of range that kernels found: the error words of programs, their meaning, and which threads are
//! told.
//!
//! Every site has its own words ([`crate::dispatch`]), so an index is never attributed to another op. A read
//! checks the words of all programs that ran since the words were last clean. It does so whichever thread ran
//! them, because it may read what another thread computed. It returns what it finds. Every other thread that
//! ran the program gets the same error at its own next read.
//!
//! Invariant: a run stays on the list until a read that began after it has ended. So no thread gets data made
//! from a bad index without an error.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::ThreadId;

use farad_compile::program::Program;

use crate::buffer::Owned;
use crate::dispatch::{ERROR_WORDS, UNSIGNED};
use crate::error::Error;
use crate::transfer::WORD;

/// A program that may see bad data, and its error words.
pub(crate) struct ErrorReport {
    pub(crate) words: Owned,
    pub(crate) program: Arc<Program>,
}

/// Runs whose error words nobody has checked since, and errors found on behalf of other threads.
#[derive(Default)]
pub(crate) struct Reports {
    runs: Vec<Ran>,
    clock: u64,
    owed: HashMap<ThreadId, Error>,
}

/// The last run of a program by a thread.
#[derive(Clone)]
pub(crate) struct Ran {
    pub(crate) report: Arc<ErrorReport>,
    thread: ThreadId,
    time: u64,
}

/// Most threads for which errors are kept; some of these threads may have ended.
const MOST_OWED: usize = 1024;

impl ErrorReport {
    pub(crate) fn new(words: Owned, program: Arc<Program>) -> Arc<ErrorReport> {
        Arc::new(ErrorReport { words, program })
    }

    /// Bytes of a program's error words.
    pub(crate) fn bytes_for(program: &Program) -> usize {
        (program.sites.len().max(1) * ERROR_WORDS * WORD).next_multiple_of(4 * WORD)
    }

    /// Bytes of these error words.
    pub(crate) fn bytes(&self) -> usize {
        self.words.size() as usize
    }

    /// The error that the words describe, if any.
    pub(crate) fn error(&self, words: &[u8]) -> Option<Error> {
        let word = |n: usize| u32::from_le_bytes(words[n * WORD..][..WORD].try_into().expect("four bytes"));
        let sites = 0..words.len() / (ERROR_WORDS * WORD);
        let (site, kind) = sites.map(|site| (site, word(ERROR_WORDS * site))).find(|(_, kind)| *kind != 0)?;
        let bits = word(ERROR_WORDS * site + 1);
        let index = if kind == UNSIGNED { bits as i64 } else { bits as i32 as i64 };
        let (op, location, size) = match self.program.sites.get(site) {
            Some(site) => (site.op.clone(), site.location, site.size),
            None => (format!("site {site}"), None, 0),
        };
        Some(Error::Index { op, location, index, size, elsewhere: false })
    }
}

impl Reports {
    /// Records that this thread runs a program.
    pub(crate) fn ran(&mut self, report: &Arc<ErrorReport>) {
        self.clock += 1;
        let (thread, time) = (std::thread::current().id(), self.clock);
        match self.runs.iter_mut().find(|ran| ran.thread == thread && Arc::ptr_eq(&ran.report, report)) {
            Some(ran) => ran.time = time,
            None => self.runs.push(Ran { report: report.clone(), thread, time }),
        }
    }

    /// The runs that a read must check.
    pub(crate) fn open(&self) -> Vec<Ran> {
        self.runs.clone()
    }

    /// Removes the runs that a thread's read has checked. Returns the error for that thread: what it found
    /// itself, or what others found for it. `found` are the programs whose words were set.
    pub(crate) fn close(
        &mut self,
        reader: ThreadId,
        seen: &[Ran],
        found: &[(&Arc<ErrorReport>, Error)],
    ) -> Option<Error> {
        let mut own = None;
        for (report, error) in found {
            let of = |ran: &&Ran| ran.thread != reader && Arc::ptr_eq(&ran.report, report);
            let elsewhere = seen.iter().any(|ran| of(&ran));
            own.get_or_insert_with(|| error.clone().heard_elsewhere(elsewhere));
            // Threads whose runs are not on the list any more have checked by themselves. Threads that ran the
            // program again since then are told too, because the words are cleared.
            for ran in self.runs.iter().filter(of) {
                if self.owed.len() >= MOST_OWED {
                    self.owed.clear();
                }
                self.owed.entry(ran.thread).or_insert_with(|| error.clone().heard_elsewhere(true));
            }
        }
        self.runs.retain(|ran| !seen.iter().any(|seen| seen.is(ran)));
        let owed = self.owed.remove(&reader);
        own.or(owed)
    }
}

impl Ran {
    /// Whether this is the same run.
    fn is(&self, other: &Ran) -> bool {
        (self.thread, self.time) == (other.thread, other.time) && Arc::ptr_eq(&self.report, &other.report)
    }
}
