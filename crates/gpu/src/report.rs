//! Bad data that kernels met: the error words of a program, and what they mean.
//!
//! Invariant: a program that ran since the last read is on the device's list, once. Every site has
//! words of its own ([`crate::dispatch`]), so an index is never blamed on another op.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use farad_compile::program::Program;

use crate::buffer::Owned;
use crate::device::{Shared, lock};
use crate::dispatch::{ERROR_WORDS, UNSIGNED};
use crate::error::Error;
use crate::transfer::WORD;

/// A program that may meet bad data, and its error words.
pub(crate) struct Report {
    pub(crate) words: Owned,
    pub(crate) program: Arc<Program>,
    /// Whether the next read will look at it.
    listed: AtomicBool,
}

impl Report {
    pub(crate) fn new(words: Owned, program: Arc<Program>) -> Arc<Report> {
        Arc::new(Report { words, program, listed: AtomicBool::new(false) })
    }

    /// Bytes of a program's error words.
    pub(crate) fn bytes_for(program: &Program) -> usize {
        (program.sites.len().max(1) * ERROR_WORDS * WORD).next_multiple_of(4 * WORD)
    }

    /// Bytes of these error words.
    pub(crate) fn bytes(&self) -> usize {
        self.words.size() as usize
    }

    /// Has the next read look at these words.
    pub(crate) fn list(self: &Arc<Report>, shared: &Shared) {
        if !self.listed.swap(true, Ordering::AcqRel) {
            lock(&shared.reports).push(self.clone());
        }
    }

    /// The next run lists it again.
    pub(crate) fn unlist(&self) {
        self.listed.store(false, Ordering::Release);
    }

    /// What the words say, if they say anything.
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
        Some(Error::Index { op, location, index, size })
    }
}
