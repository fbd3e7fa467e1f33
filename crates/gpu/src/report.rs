//! Bad data that kernels met: the error words of a program, and what they mean.
//!
//! Invariant: a program that ran since the last read is on the device's list, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use farad_compile::program::Program;

use crate::buffer::Owned;
use crate::device::{Shared, lock};
use crate::dispatch::ERROR_WORDS;
use crate::error::Error;
use crate::transfer::WORD;

/// Bytes of a program's error words.
pub(crate) const REPORT_BYTES: usize = ERROR_WORDS * WORD;

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
        let word = |i: usize| {
            u32::from_le_bytes(words[i * WORD..][..WORD].try_into().expect("a word is four bytes"))
        };
        let site = (word(0) as usize).checked_sub(1)?;
        let index = word(1) as i32 as i64;
        Some(match self.program.sites.get(site) {
            Some(site) => {
                Error::Index { op: site.op.clone(), location: site.location, index, size: site.size }
            }
            None => Error::Index { op: format!("site {site}"), location: None, index, size: 0 },
        })
    }
}
