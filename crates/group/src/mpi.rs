//! Ranks that are processes, over the system's MPI library.
//!
//! MPI lives on the communication thread from its start to its end. An error inside MPI ends the process, and `mpirun`
//! then ends all others.
//!
//! Invariant: no call of MPI is made by another thread, except the one that ends all ranks.

use std::ops::Range;
use std::time::Duration;

use mpi::Threading;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::request::{self, Request, Scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};

use crate::engine::{Fold, GroupEngine, Membership, Scratch, aligned};
use crate::error::{GroupError, Result};

/// How long MPI may take to end all ranks before this process ends itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// One rank of MPI's world.
pub(crate) struct MpiEngine {
    /// Ends MPI when it is dropped.
    _universe: Universe,
    world: SimpleCommunicator,
    membership: Membership,
    /// What others have sent.
    received: Scratch,
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
        Ok(MpiEngine { _universe: universe, world, membership, received: Scratch::default() })
    }

    /// Whom this rank gives to, and whom it gets from, round by round: all others, each once.
    fn rounds(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let Membership { rank, size, .. } = self.membership;
        (1..size).map(move |n| ((rank + n) % size, (rank + size - n) % size))
    }

    /// Gives and gets at once. Either may be nothing. Beside a backward pass this thread has work to do only now and then, so it
    /// leaves its core to others between two looks.
    fn swap(&self, sent: &[u8], to: usize, received: &mut [u8], from: usize) {
        let (to, from) = (self.world.process_at_rank(to as i32), self.world.process_at_rank(from as i32));
        request::scope(|scope| {
            let coming = from.immediate_receive_into(scope, received);
            let going = to.immediate_send(scope, addressed(sent));
            until_done(coming);
            until_done(going);
        });
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

/// Looks at a message in a row, before other threads get the core: some microseconds.
const LOOKS: u32 = 100;

/// Waits, and lets other threads run now and then.
fn until_done<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>) {
    loop {
        for _ in 0..LOOKS {
            match request.test() {
                Ok(_) => return,
                Err(same) => request = same,
            }
        }
        std::thread::yield_now();
    }
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
    fn membership(&self) -> &Membership {
        &self.membership
    }

    fn all_gather(&mut self, mine: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<()> {
        if all.is_empty() {
            return Ok(());
        }
        let (counts, starts) = counts(lengths);
        self.world.all_gather_varcount_into(addressed(mine), &mut PartitionMut::new(all, counts, starts));
        Ok(())
    }

    fn exchange(&mut self, bytes: &mut [u8], ranges: &[Range<usize>], fold: Fold<'_>) -> Result<()> {
        let own = self.membership.rank;
        let (len, room) = (ranges[own].len(), aligned(ranges[own].len()));
        let mut received = std::mem::take(&mut self.received);
        let others = received.sized(room * (ranges.len() - 1));
        // Those of this rank have no place there.
        let place = |rank: usize| room * (rank - usize::from(rank > own));
        for (to, from) in self.rounds() {
            self.swap(&bytes[ranges[to].clone()], to, &mut others[place(from)..][..len], from);
        }
        let parts: Vec<&[u8]> =
            (0..ranges.len()).filter(|&rank| rank != own).map(|rank| &others[place(rank)..][..len]).collect();
        fold(&mut bytes[ranges[own].clone()], &parts);
        self.received = received;
        Ok(())
    }

    fn spread(&mut self, bytes: &mut [u8], ranges: &[Range<usize>]) -> Result<()> {
        let own = &ranges[self.membership.rank];
        for (to, from) in self.rounds() {
            let parts = bytes.get_disjoint_mut([own.clone(), ranges[from].clone()]);
            let [mine, theirs] = parts.expect("ranges of ranks are apart");
            self.swap(mine, to, theirs, from);
        }
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
