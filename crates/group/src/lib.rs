//! Ranks that train together, and what they say to each other.
//!
//! A [`Group`] is one rank's view of all ranks. Ranks are threads of one process ([`Group::threads`]) or processes that
//! `mpirun` or `srun` started ([`Group::world`], with the feature `mpi`). A process that nobody started so is a group of
//! one, in which every collective does nothing. So the same program runs alone and on many machines.
//!
//! - A `GroupEngine` moves bytes between ranks and knows nothing of numbers. There are two: `threads` and `mpi`.
//! - `collective` computes. Sums are always made in the order of ranks, whatever the engine. So the same number of ranks
//!   gives the same bits, and both engines give the same bits.
//! - `calls` is the communication thread. All calls of a rank go through it, in the order in which they were made, so
//!   a reduction may run while the rank computes.
//!
//! Invariant: every rank makes the same calls in the same order. Start at [`Group`].
//!
//! ```
//! use farad_group::{Combine, Group};
//! let ranks = Group::threads(2)?;
//! let sums: Vec<f32> = std::thread::scope(|scope| {
//!     let started: Vec<_> = ranks
//!         .into_iter()
//!         .map(|group| {
//!             scope.spawn(move || {
//!                 let mut mine = [group.rank() as f32 + 1.0];
//!                 group.all_reduce(&mut mine, Combine::Sum).map(|()| mine[0])
//!             })
//!         })
//!         .collect();
//!     started.into_iter().map(|rank| rank.join().expect("no panic")).collect::<Result<_, _>>()
//! })?;
//! assert_eq!(sums, [3.0, 3.0]);
//! # Ok::<(), farad_group::Error>(())
//! ```

mod calls;
mod collective;
mod cores;
mod engine;
mod error;
mod group;
#[cfg(feature = "mpi")]
mod mpi;
mod numbers;
mod threads;
mod wire;

pub use calls::Underway;
pub use collective::{Combine, MeanPart, WireFormat, share};
pub use cores::core_share;
pub use engine::Membership;
pub use error::{Error, GroupError, Result};
pub use group::{Alarm, Group};
pub use numbers::Summable;
