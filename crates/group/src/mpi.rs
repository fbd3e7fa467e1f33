//! Ranks that are processes, over the system's MPI library.
//!
//! MPI lives on the communication thread from its start to its end. An error inside MPI ends the process, and `mpirun`
//! then ends all others.
//!
//! Invariant: no call of MPI is made by another thread, except the one that ends all ranks.

use std::time::Duration;

use mpi::Threading;
use mpi::datatype::{Partition, PartitionMut};
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};

use crate::engine::{GroupEngine, Membership};
use crate::error::{GroupError, Result};

/// How long MPI may take to end all ranks before this process ends itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// One rank of MPI's world.
pub(crate) struct MpiEngine {
    /// Ends MPI when it is dropped.
    _universe: Universe,
    world: SimpleCommunicator,
    membership: Membership,
}

impl MpiEngine {
    /// Starts MPI on this thread.
    pub fn new() -> Result<MpiEngine> {
        let fail = |why: &str| GroupError::Mpi { why: why.into() };
        let started = mpi::initialize_with_threading(Threading::Multiple);
        let (universe, _) = started.ok_or_else(|| fail("it was started before"))?;
        let world = universe.world();
        let local = world.split_shared(world.rank());
        let membership = Membership {
            rank: world.rank() as usize,
            size: world.size() as usize,
            local_rank: local.rank() as usize,
            local_size: local.size() as usize,
            host: mpi::environment::processor_name().unwrap_or_else(|_| "unknown".into()),
        };
        Ok(MpiEngine { _universe: universe, world, membership })
    }
}

/// Ends all ranks, with an exit code.
pub(crate) fn abort(code: i32) -> ! {
    let _ = std::thread::Builder::new().spawn(|| {
        std::thread::sleep(PATIENCE);
        std::process::abort()
    });
    SimpleCommunicator::world().abort(code)
}

/// Where nothing is sent from. The address of an empty vector of bytes is 1, which OpenMPI takes for `MPI_IN_PLACE`.
static NOTHING: [u8; 1] = [0];

/// Bytes at an address of their own, also if there are none.
fn addressed(bytes: &[u8]) -> &[u8] {
    if bytes.is_empty() { &NOTHING[..0] } else { bytes }
}

/// Lengths and starts as MPI takes them.
fn counts(lengths: &[usize]) -> (Vec<i32>, Vec<i32>) {
    let mut starts = Vec::with_capacity(lengths.len());
    let mut start = 0;
    for &length in lengths {
        starts.push(start);
        start += length as i32;
    }
    (lengths.iter().map(|&length| length as i32).collect(), starts)
}

impl GroupEngine for MpiEngine {
    fn membership(&self) -> Membership {
        self.membership.clone()
    }

    fn all_gather(&mut self, mine: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<()> {
        if all.is_empty() {
            return Ok(());
        }
        let (counts, starts) = counts(lengths);
        self.world.all_gather_varcount_into(addressed(mine), &mut PartitionMut::new(all, counts, starts));
        Ok(())
    }

    fn exchange(&mut self, parts: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let mut nothing = [0];
        let all = if all.is_empty() { &mut nothing[..0] } else { all };
        let (out, out_starts) = counts(lengths);
        let (own, own_starts) = counts(&vec![lengths[self.membership.rank]; lengths.len()]);
        self.world.all_to_all_varcount_into(
            &Partition::new(parts, out, out_starts),
            &mut PartitionMut::new(all, own, own_starts),
        );
        Ok(())
    }

    fn broadcast(&mut self, bytes: &mut [u8], root: usize) -> Result<()> {
        if !bytes.is_empty() {
            self.world.process_at_rank(root as i32).broadcast_into(bytes);
        }
        Ok(())
    }

    fn gather(&mut self, mine: &[u8], lengths: &[usize], root: usize, all: &mut [u8]) -> Result<()> {
        if lengths.iter().all(|&length| length == 0) {
            return Ok(());
        }
        let process = self.world.process_at_rank(root as i32);
        let mine = addressed(mine);
        if self.membership.rank != root {
            process.gather_varcount_into(mine);
            return Ok(());
        }
        let (counts, starts) = counts(lengths);
        process.gather_varcount_into_root(mine, &mut PartitionMut::new(all, counts, starts));
        Ok(())
    }

    fn barrier(&mut self) -> Result<()> {
        self.world.barrier();
        Ok(())
    }
}
