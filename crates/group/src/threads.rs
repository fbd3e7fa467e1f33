//! Ranks that are threads of one process.
//!
//! All ranks meet at a [`Rendezvous`]. Each puts its bytes down, waits for the others, looks at everybody's bytes and leaves.
//! The last to leave clears the table for the next call.
//!
//! Invariant: nobody waits for a rank that is gone. A rank that leaves, also by a panic, is an error for all who wait.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::engine::{GroupEngine, Membership};
use crate::error::{GroupError, Result};

/// Where the ranks of a process meet.
pub(crate) struct Rendezvous {
    table: Mutex<ExchangeTable>,
    changed: Condvar,
}

struct ExchangeTable {
    /// What each rank put down for this call.
    bytes: Vec<Option<Arc<Vec<u8>>>>,
    /// Ranks that have put something down.
    arrived: usize,
    /// Ranks that have looked.
    left: usize,
    /// Who is gone, and why.
    gone: Option<(usize, String)>,
}

impl Rendezvous {
    pub fn new(size: usize) -> Arc<Rendezvous> {
        let table = ExchangeTable { bytes: vec![None; size], arrived: 0, left: 0, gone: None };
        Arc::new(Rendezvous { table: Mutex::new(table), changed: Condvar::new() })
    }

    /// A rank is gone for good; whoever waits for it is told.
    pub fn leave(&self, rank: usize, reason: &str) {
        self.lock().gone.get_or_insert((rank, reason.into()));
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, ExchangeTable> {
        // A table is never left half-changed.
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits until something is so, or a rank is gone.
    fn until<'a>(
        &self,
        mut table: MutexGuard<'a, ExchangeTable>,
        is: impl Fn(&ExchangeTable) -> bool,
    ) -> Result<MutexGuard<'a, ExchangeTable>> {
        while !is(&table) {
            if let Some((rank, reason)) = &table.gone {
                return Err(GroupError::Lost { rank: *rank, reason: reason.clone() }.into());
            }
            table = self.changed.wait(table).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        Ok(table)
    }

    /// Puts bytes down and gets everybody's.
    fn swap(&self, rank: usize, bytes: Vec<u8>) -> Result<Vec<Arc<Vec<u8>>>> {
        // Those of the call before may still be looking.
        let mut table = self.until(self.lock(), |table| table.bytes[rank].is_none())?;
        let size = table.bytes.len();
        table.bytes[rank] = Some(Arc::new(bytes));
        table.arrived += 1;
        self.changed.notify_all();
        let mut table = self.until(table, |table| table.arrived == size)?;
        let all = table.bytes.iter().flatten().cloned().collect();
        table.left += 1;
        if table.left == size {
            (table.arrived, table.left) = (0, 0);
            table.bytes.fill(None);
            self.changed.notify_all();
        }
        Ok(all)
    }
}

/// One rank of a process.
pub(crate) struct ThreadEngine {
    meeting: Arc<Rendezvous>,
    membership: Membership,
}

impl ThreadEngine {
    pub fn new(meeting: Arc<Rendezvous>, membership: Membership) -> ThreadEngine {
        ThreadEngine { meeting, membership }
    }

    fn swap(&self, bytes: Vec<u8>) -> Result<Vec<Arc<Vec<u8>>>> {
        self.meeting.swap(self.membership.rank, bytes)
    }
}

impl Drop for ThreadEngine {
    fn drop(&mut self) {
        self.meeting.leave(self.membership.rank, "it has ended");
    }
}

impl GroupEngine for ThreadEngine {
    fn membership(&self) -> Membership {
        self.membership.clone()
    }

    fn all_gather(&mut self, mine: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<()> {
        let mut rest = all;
        for (rank, bytes) in self.swap(mine.to_vec())?.iter().enumerate() {
            check("all_gather", lengths[rank], bytes.len(), rank)?;
            let (part, more) = rest.split_at_mut(bytes.len());
            part.copy_from_slice(bytes);
            rest = more;
        }
        Ok(())
    }

    fn exchange(&mut self, parts: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<()> {
        let rank = self.membership.rank;
        let (start, len) = (lengths[..rank].iter().sum::<usize>(), lengths[rank]);
        for (from, bytes) in self.swap(parts.to_vec())?.iter().enumerate() {
            check("reduce", parts.len(), bytes.len(), from)?;
            all[from * len..][..len].copy_from_slice(&bytes[start..start + len]);
        }
        Ok(())
    }

    fn broadcast(&mut self, bytes: &mut [u8], root: usize) -> Result<()> {
        let mine = if self.membership.rank == root { bytes.to_vec() } else { vec![] };
        let all = self.swap(mine)?;
        check("broadcast", bytes.len(), all[root].len(), root)?;
        bytes.copy_from_slice(&all[root]);
        Ok(())
    }

    fn gather(&mut self, mine: &[u8], lengths: &[usize], root: usize, all: &mut [u8]) -> Result<()> {
        match self.membership.rank == root {
            true => self.all_gather(mine, lengths, all),
            false => self.swap(mine.to_vec()).map(drop),
        }
    }

    fn barrier(&mut self) -> Result<()> {
        self.swap(vec![]).map(drop)
    }
}

fn check(op: &'static str, mine: usize, other: usize, rank: usize) -> Result<()> {
    match mine == other {
        true => Ok(()),
        false => Err(GroupError::Lengths { op, mine, other, rank }.into()),
    }
}
