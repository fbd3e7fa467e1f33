//! Words aligned to cache lines, so that vectors do not straddle two.

use std::ops::{Deref, DerefMut};

/// Words of a cache line.
const LINE: usize = 8;

/// A fixed number of words, aligned to a cache line.
#[derive(Debug)]
pub(super) struct Aligned {
    memory: Vec<u64>,
    start: usize,
    length: usize,
}

impl Aligned {
    /// Zeros.
    pub(super) fn zeros(length: usize) -> Aligned {
        let memory = vec![0; length + LINE];
        let start = memory.as_ptr().align_offset(8 * LINE).min(LINE);
        Aligned { memory, start, length }
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Aligned {
        // The copy is elsewhere in memory, so its alignment differs.
        let mut copy = Aligned::zeros(self.length);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Aligned {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.memory[self.start..self.start + self.length]
    }
}
