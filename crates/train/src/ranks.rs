//! What differs between ranks that train together.

use farad_group::Group;
use farad_tensor::RandomState;

/// What keeps the seeds of ranks apart: odd, and without a pattern in its bits.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The random numbers of a rank, from those of rank 0, which checkpoints keep. Ranks draw equally often, so their counters
/// agree, and only the seeds differ: dropout hides other units on every rank.
///
/// ```
/// use farad::group::Group;
/// use farad::devices::RandomState;
/// let state = RandomState { seed: 7, counter: 3 };
/// assert_eq!(farad::train::of_rank(state, &Group::alone()), state);
/// ```
pub fn of_rank(state: RandomState, group: &Group) -> RandomState {
    RandomState { seed: state.seed.wrapping_add(STRIDE.wrapping_mul(group.rank() as u64)), ..state }
}
