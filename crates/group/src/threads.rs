//! Ranks that are threads of one process.
//!
//! All ranks meet at a [`Rendezvous`]. Each puts its bytes into a slot of its own, waits for the others, and looks into theirs.
//! A rank has two slots and takes turns with them: who puts down the bytes of a call has seen everybody arrive at the call
//! before, so nobody looks at those of two calls ago any more. Slots keep their memory from call to call.
//!
//! Invariant: nobody waits for a rank that is gone. A rank that leaves, also by a panic, is an error for all who wait.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use crate::engine::{Fold, GroupEngine, Membership, Scratch, aligned};
use crate::error::{GroupError, Result};

/// Where the ranks of a process meet.
pub(crate) struct Rendezvous {
    table: Mutex<MeetingTable>,
    changed: Condvar,
    /// Two of each rank.
    slots: Vec<[RwLock<Slot>; 2]>,
}

struct MeetingTable {
    /// Ranks that have arrived at this call.
    arrived: usize,
    /// Calls at which all have arrived.
    calls: u64,
    /// Who is gone, and why.
    gone: Option<(usize, String)>,
}

/// What a rank puts down.
#[derive(Default)]
struct Slot {
    bytes: Scratch,
    /// How many bytes its call is about.
    given: usize,
}

impl Rendezvous {
    pub fn new(size: usize) -> Arc<Rendezvous> {
        let table = Mutex::new(MeetingTable { arrived: 0, calls: 0, gone: None });
        let slots = (0..size).map(|_| <[RwLock<Slot>; 2]>::default()).collect();
        Arc::new(Rendezvous { table, changed: Condvar::new(), slots })
    }

    /// A rank is gone for good; whoever waits for it is told.
    pub fn leave(&self, rank: usize, reason: &str) {
        self.lock().gone.get_or_insert((rank, reason.into()));
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, MeetingTable> {
        // A table is never left half-changed.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all ranks have arrived, or one is gone. Who gave up stays counted, so nobody arrives after a rank is gone.
    fn meet(&self) -> Result<()> {
        let mut table = self.lock();
        table.whole()?;
        let call = table.calls;
        table.arrived += 1;
        if table.arrived == self.slots.len() {
            (table.arrived, table.calls) = (0, call + 1);
            self.changed.notify_all();
        }
        while table.calls == call {
            table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
            if table.calls == call {
                table.whole()?;
            }
        }
        Ok(())
    }
}

impl MeetingTable {
    /// Fails if a rank is gone.
    fn whole(&self) -> Result<()> {
        match &self.gone {
            Some((rank, reason)) => Err(GroupError::Lost { rank: *rank, reason: reason.clone() }.into()),
            None => Ok(()),
        }
    }
}

/// One rank of a process.
pub(crate) struct ThreadEngine {
    meeting: Arc<Rendezvous>,
    membership: Membership,
    /// Which of its slots it uses next.
    turn: usize,
}

impl ThreadEngine {
    pub fn new(meeting: Arc<Rendezvous>, membership: Membership) -> ThreadEngine {
        ThreadEngine { meeting, membership, turn: 0 }
    }

    /// Puts bytes down and waits for all others; which slots have those of this call. `given` bytes are what the call is about.
    fn meet(&mut self, given: usize, put: impl FnOnce(&mut Scratch)) -> Result<usize> {
        let turn = self.turn;
        self.turn = 1 - turn;
        let slot = &self.meeting.slots[self.membership.rank][turn];
        let mut own = slot.write().unwrap_or_else(PoisonError::into_inner);
        own.given = given;
        put(&mut own.bytes);
        drop(own);
        self.meeting.meet()?;
        Ok(turn)
    }

    /// The same with these bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<usize> {
        self.meet(bytes.len(), |own| own.sized(bytes.len()).copy_from_slice(bytes))
    }

    /// What a rank has put down. Its call must be about so many bytes.
    fn slot(
        &self,
        op: &'static str,
        rank: usize,
        turn: usize,
        mine: usize,
    ) -> Result<RwLockReadGuard<'_, Slot>> {
        let slot = self.meeting.slots[rank][turn].read().unwrap_or_else(PoisonError::into_inner);
        match slot.given == mine {
            true => Ok(slot),
            false => Err(GroupError::Lengths { op, mine, other: slot.given, rank }.into()),
        }
    }

    /// All ranks but this one.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.membership.rank;
        (0..self.membership.size).filter(move |&rank| rank != own)
    }
}

impl Drop for ThreadEngine {
    fn drop(&mut self) {
        self.meeting.leave(self.membership.rank, "it has ended");
    }
}

impl GroupEngine for ThreadEngine {
    fn membership(&self) -> &Membership {
        &self.membership
    }

    fn all_gather(&mut self, mine: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<()> {
        let turn = self.put(mine)?;
        let mut rest = all;
        for (rank, &length) in lengths.iter().enumerate() {
            let slot = self.slot("all_gather", rank, turn, length)?;
            let (part, more) = rest.split_at_mut(length);
            part.copy_from_slice(slot.bytes.bytes());
            rest = more;
        }
        Ok(())
    }

    fn exchange(&mut self, bytes: &mut [u8], ranges: &[Range<usize>], fold: Fold<'_>) -> Result<()> {
        let (own, others) = (self.membership.rank, self.others());
        let places = places(ranges);
        let given = &*bytes;
        let turn = self.meet(given.len(), |slot| {
            let slot = slot.sized(places[ranges.len()]);
            for rank in others {
                let range = ranges[rank].clone();
                slot[places[rank]..][..range.len()].copy_from_slice(&given[range]);
            }
        })?;
        let slots = self.others().map(|rank| self.slot("reduce", rank, turn, bytes.len()));
        let slots = slots.collect::<Result<Vec<_>>>()?;
        let len = ranges[own].len();
        let parts: Vec<&[u8]> = slots.iter().map(|slot| &slot.bytes.bytes()[places[own]..][..len]).collect();
        fold(&mut bytes[ranges[own].clone()], &parts);
        Ok(())
    }

    fn spread(&mut self, bytes: &mut [u8], ranges: &[Range<usize>]) -> Result<()> {
        let mine = &bytes[ranges[self.membership.rank].clone()];
        let turn = self.meet(bytes.len(), |own| own.sized(mine.len()).copy_from_slice(mine))?;
        for rank in self.others() {
            let slot = self.slot("reduce", rank, turn, bytes.len())?;
            bytes[ranges[rank].clone()].copy_from_slice(slot.bytes.bytes());
        }
        Ok(())
    }

    fn broadcast(&mut self, bytes: &mut [u8], root: usize) -> Result<()> {
        let is_root = self.membership.rank == root;
        let turn = self.put(if is_root { bytes } else { &[] })?;
        if !is_root {
            bytes.copy_from_slice(self.slot("broadcast", root, turn, bytes.len())?.bytes.bytes());
        }
        Ok(())
    }

    fn gather(&mut self, mine: &[u8], lengths: &[usize], root: usize, all: &mut [u8]) -> Result<()> {
        match self.membership.rank == root {
            true => self.all_gather(mine, lengths, all),
            false => self.put(mine).map(drop),
        }
    }

    fn barrier(&mut self) -> Result<()> {
        self.put(&[]).map(drop)
    }
}

/// Where the bytes of each range begin in a slot, and where the last ones end.
fn places(ranges: &[Range<usize>]) -> Vec<usize> {
    let mut places = vec![0; ranges.len() + 1];
    for (rank, range) in ranges.iter().enumerate() {
        places[rank + 1] = places[rank] + aligned(range.len());
    }
    places
}
