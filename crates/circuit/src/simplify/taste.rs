//! Which moves are taken: those that gain, and sometimes those that only change the form.

use crate::random::RandomStream;

/// Whether a pass makes moves that gain nothing. Making some of them at random, with a fixed seed, leads to
/// forms in which something else gains.
pub(super) struct Taste {
    zero: bool,
    stream: RandomStream,
}

impl Taste {
    /// Only moves that gain.
    pub(super) fn strict() -> Taste {
        Taste { zero: false, stream: RandomStream::new(0) }
    }

    /// Also moves that gain nothing.
    pub(super) fn loose(seed: u64) -> Taste {
        Taste { zero: true, stream: RandomStream::new(seed) }
    }

    pub(super) fn least_gain(&self) -> isize {
        if self.zero { 0 } else { 1 }
    }

    /// Whether a move with this gain is made; of those without gain, one in `one_in`.
    pub(super) fn takes(&mut self, gain: isize, one_in: usize) -> bool {
        gain > 0 || (gain == 0 && self.zero && self.stream.below(one_in) == 0)
    }
}
