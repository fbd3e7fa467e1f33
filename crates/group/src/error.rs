//! What can go wrong between ranks.

use std::fmt;

pub use farad_tensor::{Error, Result};

/// Why ranks could not work together.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum GroupError {
    #[error("group: rank {rank} is gone: {reason}")]
    Lost { rank: usize, reason: String },
    #[error("{op}: ranks give different lengths: ({mine} bytes vs {other} of rank {rank})")]
    Lengths { op: &'static str, mine: usize, other: usize, rank: usize },
    #[error("{op}: no such rank: ({root} vs {size} ranks)")]
    Root { op: &'static str, root: usize, size: usize },
    #[error("group: a group has at least one rank: (0 vs 1)")]
    Empty,
    #[error("group: no thread for communication: {source}")]
    Thread { source: std::io::Error },
    #[error(
        "group: {ranks} processes were started together, and this build cannot connect them\nhelp: build with `cargo build --release --features mpi`, or start it once, without mpirun"
    )]
    NoMpi { ranks: usize },
    #[error(
        "group: MPI does not start: {why}\nhelp: check that `mpirun` and the MPI library are of the same installation; Slurm connects ranks with `srun --mpi=pmix`"
    )]
    Mpi { why: String },
    #[error(
        "group: ranks differ: {what} (rank 0 on {host}: {wanted} vs rank {rank} on {other}: {found})\nhelp: give all ranks the same program, settings and data"
    )]
    Differ { what: String, wanted: String, host: String, found: String, rank: usize, other: String },
}

/// The same as `Display`.
impl fmt::Debug for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<GroupError> for Error {
    fn from(error: GroupError) -> Error {
        Error::Part(Box::new(error))
    }
}
