//! What an engine is: it moves bytes between ranks.
//!
//! Invariant: an engine computes nothing. What comes out depends on the bytes that ranks give, never on timing.

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

/// Moves bytes between ranks. Only the communication thread of a rank calls it.
pub(crate) trait GroupEngine {
    /// Where this rank stands.
    fn membership(&self) -> Membership;

    /// Everybody's bytes, one after the other, into `all`; rank `n` gives `lengths[n]` of them.
    fn all_gather(&mut self, mine: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<()>;

    /// Part `n` of `parts`, `lengths[n]` bytes, goes to rank `n`. `all` gets everybody's part for this rank, in order.
    fn exchange(&mut self, parts: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<()>;

    /// The bytes of rank `root`, to all.
    fn broadcast(&mut self, bytes: &mut [u8], root: usize) -> Result<()>;

    /// As `all_gather`, but only `root` has room for it.
    fn gather(&mut self, mine: &[u8], lengths: &[usize], root: usize, all: &mut [u8]) -> Result<()>;

    /// Returns when all ranks have called it.
    fn barrier(&mut self) -> Result<()>;
}
