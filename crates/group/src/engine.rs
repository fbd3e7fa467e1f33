//! What an engine is: it moves bytes between ranks.
//!
//! Invariant: an engine computes nothing. What comes out depends on the bytes that ranks give, never on timing.

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};

use crate::error::Result;

/// Where a rank stands in its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Which rank it is, from 0 on.
    pub rank: usize,
    /// How many ranks there are.
    pub size: usize,
    /// Which it is among the ranks of its machine.
    pub local_rank: usize,
    /// How many ranks its machine has.
    pub local_size: usize,
    /// The machine's name.
    pub host: String,
}

/// What a rank makes of numbers of all ranks: its own bytes, in place, and those of all others, in the order of ranks.
pub(crate) type Fold<'a> = &'a mut dyn FnMut(&mut [u8], &[&[u8]]);

/// Moves bytes between ranks. Only the communication thread of a rank calls it.
pub(crate) trait GroupEngine {
    /// Where this rank stands.
    fn membership(&self) -> &Membership;

    /// Everybody's bytes, one after the other, into `all`; rank `n` gives `lengths[n]` of them.
    fn all_gather(&mut self, mine: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<()>;

    /// `ranges[n]` of the bytes goes to rank `n`. When everybody's bytes for this rank are there, `fold` gets its own range and
    /// those of the others. All ranks give the same ranges. Bytes of others begin where any number may.
    fn exchange(&mut self, bytes: &mut [u8], ranges: &[Range<usize>], fold: Fold<'_>) -> Result<()>;

    /// `ranges[n]` of the bytes of rank `n` goes to all, in place. All ranks give the same ranges.
    fn spread(&mut self, bytes: &mut [u8], ranges: &[Range<usize>]) -> Result<()>;

    /// The bytes of rank `root`, to all.
    fn broadcast(&mut self, bytes: &mut [u8], root: usize) -> Result<()>;

    /// As `all_gather`, but only `root` has room for it.
    fn gather(&mut self, mine: &[u8], lengths: &[usize], root: usize, all: &mut [u8]) -> Result<()>;

    /// Returns when all ranks have called it.
    fn barrier(&mut self) -> Result<()>;
}

/// Bytes that are used again and again. They begin where any number may.
#[derive(Default)]
pub(crate) struct Scratch {
    words: Vec<u64>,
    len: usize,
}

impl Scratch {
    /// So many bytes; what is in them is left from before.
    pub fn sized(&mut self, len: usize) -> &mut [u8] {
        let words = len.div_ceil(size_of::<u64>());
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        self.len = len;
        &mut cast_slice_mut(&mut self.words)[..len]
    }

    /// The bytes that were asked for last.
    pub fn bytes(&self) -> &[u8] {
        &cast_slice(&self.words)[..self.len]
    }
}

/// So many bytes, or a few more, so that any number may begin behind them.
pub(crate) fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(size_of::<u64>())
}
