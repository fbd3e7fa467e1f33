//! Device memory: aligned allocations that return to a bounded pool when their last handle is dropped.
//!
//! Invariant: an allocation is as long as its bucket, and all allocations of a bucket are interchangeable.
//!
//! A [`Memory`] is shared and mutable, as GPU memory is. Whoever holds its handles is responsible for ordering
//! reads, writes and runs.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use farad_runtime::{Allocation, Holdings, Memory};

use crate::error::Error;
use crate::heuristics::pools::POOL_BYTES;

/// A multiple of every vector's size and of a cache line.
const ALIGNMENT: usize = 128;

/// Aligned bytes, which return to the pool with their last handle.
pub(crate) struct PooledBlock {
    start: NonNull<u8>,
    bytes: usize,
    purpose: BlockPurpose,
    keeper: Keeper,
}

/// Who has the bytes of an allocation afterwards.
enum Keeper {
    Pool(Arc<BlockPool>),
    /// Somebody outside, who lent them for reading.
    Lender(#[allow(dead_code)] Box<dyn Any + Send + Sync>),
}

/// What an allocation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockPurpose {
    Tensor,
    /// Scratch memory of a program, zeroed.
    Block,
}

// SAFETY: an allocation is plain bytes without an owner thread; the holders are responsible for ordering
// accesses (see the module docs).
unsafe impl Send for PooledBlock {}
// SAFETY: as above.
unsafe impl Sync for PooledBlock {}

impl Allocation for PooledBlock {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn is_borrowed(&self) -> bool {
        matches!(self.keeper, Keeper::Lender(_))
    }
}

/// Memory that is bytes of somebody else, without a copy; `owner` is dropped with the last handle.
///
/// # Safety
/// The bytes from `start` on can be read, and nobody writes to them, until `owner` is dropped.
pub unsafe fn lend(start: NonNull<u8>, bytes: usize, owner: Box<dyn Any + Send + Sync>) -> Memory {
    Memory::new(PooledBlock { start, bytes, purpose: BlockPurpose::Tensor, keeper: Keeper::Lender(owner) })
}

/// The address of memory of this backend. Panics if another backend made it.
pub(crate) fn start(memory: &Memory) -> *mut u8 {
    memory.of::<PooledBlock>().start.as_ptr()
}

impl Drop for PooledBlock {
    fn drop(&mut self) {
        if let Keeper::Pool(pool) = &self.keeper {
            pool.give_back(self.start, self.bytes, self.purpose);
        }
    }
}

/// The source of allocations, with its counts.
#[derive(Default)]
pub(crate) struct BlockPool {
    free: Mutex<Free>,
    /// Allocations requested from the system.
    pub allocations: AtomicUsize,
    /// Bytes held through handles.
    pub live: AtomicUsize,
    /// The most bytes ever held through handles.
    pub peak: AtomicUsize,
    /// Bytes of the allocations in use, by purpose.
    held: [AtomicUsize; 2],
    /// Bytes allocated from the system, and the limit.
    total: AtomicUsize,
    limit: Option<usize>,
    /// The holdings when the most bytes were allocated from the system.
    high_water: Mutex<Holdings>,
}

#[derive(Default)]
struct Free {
    buckets: HashMap<usize, Vec<BlockStart>>,
    bytes: usize,
}

struct BlockStart(NonNull<u8>);

// SAFETY: a free allocation is owned by the pool alone.
unsafe impl Send for BlockStart {}

impl BlockPool {
    /// A pool that never holds more than `limit` bytes, free ones included.
    pub fn new(limit: Option<usize>) -> Arc<BlockPool> {
        let mut pool = BlockPool::default();
        pool.limit = limit;
        Arc::new(pool)
    }

    /// What is held, by purpose.
    pub fn holdings(&self) -> Holdings {
        Holdings {
            tensors: self.held[BlockPurpose::Tensor as usize].load(Ordering::Relaxed) as u64,
            blocks: self.held[BlockPurpose::Block as usize].load(Ordering::Relaxed) as u64,
            pool: self.free().bytes as u64,
            ..Holdings::default()
        }
    }

    /// The holdings when the total was highest.
    pub fn high_water(&self) -> Holdings {
        *self.high_water.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Updates the high-water mark.
    fn mark(&self) {
        let now = self.holdings();
        let mut most = self.high_water.lock().unwrap_or_else(|e| e.into_inner());
        if now.total() > most.total() {
            *most = now;
        }
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// An allocation of at least `bytes`; zeroed if it is fresh or a block.
    pub fn allocate(self: &Arc<BlockPool>, bytes: usize, purpose: BlockPurpose) -> Result<Memory, Error> {
        let size = bucket(bytes);
        let pooled = {
            let mut free = self.free();
            let start = free.buckets.get_mut(&size).and_then(Vec::pop);
            free.bytes -= if start.is_some() { size } else { 0 };
            start
        };
        let fresh = pooled.is_none();
        let start = match pooled {
            Some(BlockStart(start)) => {
                if purpose == BlockPurpose::Block {
                    // SAFETY: the pool handed over an allocation of `size` bytes.
                    unsafe { start.as_ptr().write_bytes(0, size) };
                }
                start
            }
            None => self.fresh(bytes, size)?,
        };
        self.held[purpose as usize].fetch_add(size, Ordering::Relaxed);
        if fresh {
            self.mark();
        }
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
        Ok(Memory::new(PooledBlock { start, bytes, purpose, keeper: Keeper::Pool(self.clone()) }))
    }

    /// Memory from the system. If there is none, the pool's free memory is released first.
    fn fresh(&self, bytes: usize, size: usize) -> Result<NonNull<u8>, Error> {
        self.allocations.fetch_add(1, Ordering::Relaxed);
        let again = || {
            self.drain();
            self.take(size)
        };
        self.take(size).or_else(again).ok_or_else(|| Error::OutOfMemory {
            bytes,
            limit: self.limit,
            holdings: self.holdings(),
        })
    }

    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(size, ALIGNMENT).ok()?;
        let total = self.total.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        let allowed = self.limit.is_none_or(|limit| total <= limit);
        // SAFETY: buckets are not empty.
        let start = if allowed { NonNull::new(unsafe { alloc_zeroed(layout) }) } else { None };
        if start.is_none() {
            self.total.fetch_sub(size, Ordering::Relaxed);
        }
        start
    }

    /// Returns all free memory to the system.
    fn drain(&self) {
        let mut free = self.free();
        free.bytes = 0;
        for (size, starts) in free.buckets.drain() {
            self.total.fetch_sub(size * starts.len(), Ordering::Relaxed);
            starts.into_iter().for_each(|BlockStart(start)| release(start, size));
        }
    }

    fn give_back(&self, start: NonNull<u8>, bytes: usize, purpose: BlockPurpose) {
        self.live.fetch_sub(bytes, Ordering::Relaxed);
        let size = bucket(bytes);
        self.held[purpose as usize].fetch_sub(size, Ordering::Relaxed);
        let mut free = self.free();
        if free.bytes + size <= POOL_BYTES {
            free.bytes += size;
            free.buckets.entry(size).or_default().push(BlockStart(start));
        } else {
            drop(free);
            self.total.fetch_sub(size, Ordering::Relaxed);
            release(start, size);
        }
    }
}

impl Drop for BlockPool {
    fn drop(&mut self) {
        self.drain();
    }
}

fn release(start: NonNull<u8>, size: usize) {
    let layout = Layout::from_size_align(size, ALIGNMENT).expect("it was allocated with this layout");
    // SAFETY: `fresh` allocated it with this layout, and its last handle is gone.
    unsafe { dealloc(start.as_ptr(), layout) };
}

/// The size that an allocation of `bytes` gets: a multiple of the alignment with three significant bits, so
/// that at most a fifth is wasted and a smaller last batch reuses memory.
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
        let pool = Arc::new(BlockPool::default());
        let first = pool.allocate(1000, BlockPurpose::Tensor).unwrap();
        let place = start(&first);
        assert_eq!((first.bytes(), first.handles(), first.clone().handles()), (1000, 1, 2));
        assert_eq!(place as usize % ALIGNMENT, 0);
        // SAFETY: the allocation has 1000 bytes.
        assert!(unsafe { std::slice::from_raw_parts(place, 1000) }.iter().all(|&byte| byte == 0));
        // SAFETY: as above.
        unsafe { place.write_bytes(7, 1000) };
        drop(first);
        let again = pool.allocate(1010, BlockPurpose::Block).unwrap();
        assert_eq!(start(&again), place);
        // SAFETY: the allocation has 1010 bytes.
        assert!(unsafe { std::slice::from_raw_parts(place, 1010) }.iter().all(|&byte| byte == 0));
        assert_eq!(pool.allocations.load(Ordering::Relaxed), 1);
        assert_eq!(pool.live.load(Ordering::Relaxed), 1010);
        assert_eq!(pool.peak.load(Ordering::Relaxed), 1010);
    }

    #[test]
    fn lent_bytes_are_nobodys_alone_and_go_back_to_their_owner() {
        let (owner, numbers) = (Arc::new(()), [1u8, 2, 3]);
        // SAFETY: the numbers outlive the memory, and nobody writes to them.
        let memory = unsafe { lend(NonNull::from(&numbers[0]), 3, Box::new(owner.clone())) };
        assert_eq!((memory.bytes(), memory.handles(), Arc::strong_count(&owner)), (3, usize::MAX, 2));
        assert_eq!(start(&memory).cast_const(), numbers.as_ptr());
        drop(memory);
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    fn too_much_is_an_error() {
        let pool = Arc::new(BlockPool::default());
        let bytes = isize::MAX as usize;
        let error = pool.allocate(bytes, BlockPurpose::Tensor).unwrap_err();
        assert_eq!(error, Error::OutOfMemory { bytes, limit: None, holdings: Holdings::default() });
    }

    #[test]
    fn a_full_pool_is_freed_before_an_error() {
        let pool = BlockPool::new(Some(10_240));
        let (first, block) = (
            pool.allocate(4096, BlockPurpose::Tensor).unwrap(),
            pool.allocate(4096, BlockPurpose::Block).unwrap(),
        );
        let full = Holdings { tensors: 4096, blocks: 4096, pool: 0, ..Holdings::default() };
        let error = pool.allocate(5120, BlockPurpose::Tensor).unwrap_err();
        assert_eq!(error, Error::OutOfMemory { bytes: 5120, limit: Some(10_240), holdings: full });
        drop(first);
        assert_eq!(pool.holdings(), Holdings { tensors: 0, blocks: 4096, pool: 4096, ..Holdings::default() });
        let second = pool.allocate(5120, BlockPurpose::Tensor).unwrap();
        assert_eq!(pool.holdings(), Holdings { tensors: 5120, blocks: 4096, pool: 0, ..Holdings::default() });
        drop((second, block));
        assert_eq!(pool.total.load(Ordering::Relaxed), 5120 + 4096);
    }
}
