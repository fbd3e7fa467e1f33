//! Device memory: aligned allocations that return to a bounded pool when their last handle goes.
//!
//! Invariant: an allocation is as long as its bucket, and a bucket's allocations are interchangeable.
//!
//! A [`Memory`] is shared and mutable, as memory of a GPU is: who holds handles orders reads, writes and runs on it.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::HashMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::error::Error;

/// A multiple of every vector's size and of a cache line.
const ALIGNMENT: usize = 128;
/// Bytes that the pool keeps at most.
const POOL_BYTES: usize = 1 << 30;

/// A handle to an allocation; clones share it.
#[derive(Clone)]
pub struct Memory(Arc<Allocation>);

struct Allocation {
    start: NonNull<u8>,
    bytes: usize,
    pool: Arc<Pool>,
}

// SAFETY: an allocation is plain bytes without an owner thread; orderly access is the holders' duty (module doc).
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Memory {
    /// How many bytes were asked for.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// How many handles share the allocation.
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// A number that tells live allocations apart.
    pub fn identity(&self) -> u64 {
        Arc::as_ptr(&self.0) as u64
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.0.start.as_ptr()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} bytes)", self.bytes())
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.pool.give_back(self.start, self.bytes);
    }
}

/// Where allocations come from and go back to, with its counts.
#[derive(Default)]
pub(crate) struct Pool {
    free: Mutex<Free>,
    /// Allocations that the system was asked for.
    pub allocations: AtomicUsize,
    /// Bytes that handles hold.
    pub live: AtomicUsize,
    /// The most that handles ever held.
    pub peak: AtomicUsize,
}

#[derive(Default)]
struct Free {
    buckets: HashMap<usize, Vec<Start>>,
    bytes: usize,
}

struct Start(NonNull<u8>);

// SAFETY: a free allocation is owned by the pool alone.
unsafe impl Send for Start {}

impl Pool {
    /// An allocation of at least `bytes`; zeroed if it is fresh or if asked for.
    pub fn allocate(self: &Arc<Pool>, bytes: usize, zeroed: bool) -> Result<Memory, Error> {
        let size = bucket(bytes);
        let pooled = {
            let mut free = self.free.lock().unwrap_or_else(|e| e.into_inner());
            let start = free.buckets.get_mut(&size).and_then(Vec::pop);
            free.bytes -= if start.is_some() { size } else { 0 };
            start
        };
        let start = match pooled {
            Some(Start(start)) => {
                if zeroed {
                    // SAFETY: the pool handed over an allocation of `size` bytes.
                    unsafe { start.as_ptr().write_bytes(0, size) };
                }
                start
            }
            None => self.fresh(bytes, size)?,
        };
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
        Ok(Memory(Arc::new(Allocation { start, bytes, pool: self.clone() })))
    }

    fn fresh(&self, bytes: usize, size: usize) -> Result<NonNull<u8>, Error> {
        self.allocations.fetch_add(1, Ordering::Relaxed);
        let refused = || Error::OutOfMemory { bytes, live: self.live.load(Ordering::Relaxed) };
        let layout = Layout::from_size_align(size, ALIGNMENT).map_err(|_| refused())?;
        // SAFETY: buckets are not empty.
        NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(refused)
    }

    fn give_back(&self, start: NonNull<u8>, bytes: usize) {
        self.live.fetch_sub(bytes, Ordering::Relaxed);
        let size = bucket(bytes);
        let mut free = self.free.lock().unwrap_or_else(|e| e.into_inner());
        if free.bytes + size <= POOL_BYTES {
            free.bytes += size;
            free.buckets.entry(size).or_default().push(Start(start));
        } else {
            drop(free);
            release(start, size);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let free = self.free.get_mut().unwrap_or_else(|e| e.into_inner());
        for (size, starts) in free.buckets.drain() {
            starts.into_iter().for_each(|Start(start)| release(start, size));
        }
    }
}

fn release(start: NonNull<u8>, size: usize) {
    let layout = Layout::from_size_align(size, ALIGNMENT).expect("it was allocated with this layout");
    // SAFETY: `fresh` allocated it with this layout, and its last handle is gone.
    unsafe { dealloc(start.as_ptr(), layout) };
}

/// The size that an allocation of `bytes` gets: a multiple of the alignment with three significant bits, so that at
/// most a fifth is wasted and a changing last batch finds its old memory.
fn bucket(bytes: usize) -> usize {
    let least = bytes.max(ALIGNMENT);
    let step = (least.next_power_of_two() >> 3).max(ALIGNMENT);
    least.checked_next_multiple_of(step).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_is_asked_for() {
        for bytes in [0, 1, 127, 128, 129, 1000, 4096, 5000, 1 << 20, (1 << 20) + 1, 123_456_789] {
            let size = bucket(bytes);
            assert!(
                size >= bytes
                    && size.is_multiple_of(ALIGNMENT)
                    && size <= bytes.max(ALIGNMENT) * 5 / 4 + ALIGNMENT
            );
            assert_eq!(bucket(size), size, "a bucket is its own bucket");
        }
    }

    #[test]
    fn memory_is_reused_and_counted() {
        let pool = Arc::new(Pool::default());
        let first = pool.allocate(1000, false).unwrap();
        let start = first.start();
        assert_eq!((first.bytes(), first.handles(), first.clone().handles()), (1000, 1, 2));
        assert_eq!(start as usize % ALIGNMENT, 0);
        // SAFETY: the allocation has 1000 bytes.
        assert!(unsafe { std::slice::from_raw_parts(start, 1000) }.iter().all(|&byte| byte == 0));
        // SAFETY: as above.
        unsafe { start.write_bytes(7, 1000) };
        drop(first);
        let again = pool.allocate(1010, true).unwrap();
        assert_eq!(again.start(), start);
        // SAFETY: the allocation has 1010 bytes.
        assert!(unsafe { std::slice::from_raw_parts(start, 1010) }.iter().all(|&byte| byte == 0));
        assert_eq!(pool.allocations.load(Ordering::Relaxed), 1);
        assert_eq!(pool.live.load(Ordering::Relaxed), 1010);
        assert_eq!(pool.peak.load(Ordering::Relaxed), 1010);
    }

    #[test]
    fn too_much_is_an_error() {
        let pool = Arc::new(Pool::default());
        let error = pool.allocate(isize::MAX as usize, false).unwrap_err();
        assert_eq!(error, Error::OutOfMemory { bytes: isize::MAX as usize, live: 0 });
    }
}
