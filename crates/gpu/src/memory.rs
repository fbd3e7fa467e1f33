//! Device memory: reference-counted handles to buffers, and the pool that buffers return to.
//!
//! The pool does not hand out the most recently freed buffer of a size immediately if it is the only one. A run
//! that writes to the same buffer as the run before it must wait. A run that writes to another buffer overlaps
//! with it.
//!
//! Invariant: one queue orders all work, so memory may be reused as soon as its last handle is gone, while the
//! device still works on it. A buffer keeps its number for its whole lifetime. So a number always names one
//! `wgpu::Buffer`, and bind groups can be cached by it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use farad_runtime::profile::Phase;
use farad_runtime::{Allocation, Memory};

use crate::buffer::{BufferPurpose, Owned};
use crate::counters::LiveCounters;
use crate::device::{GpuDevice, Shared, lock};
use crate::error::Error;
use crate::heuristics::pools::{RETAINED, SECOND};

/// Sizes are multiples of this many bytes.
const GRANULE: usize = 256;

/// A buffer held through handles; it returns to the pool with the last one.
pub(crate) struct PooledBuffer {
    /// Present until dropped.
    slab: Option<Slab>,
    bytes: usize,
    shared: Arc<Shared>,
}

/// A buffer and its number.
pub(crate) struct Slab {
    buffer: Owned,
    number: u64,
    bytes: usize,
}

/// Free buffers by size. The last but one to be freed is reused first: a run that writes to the same buffer as
/// the run before it must wait, while one that writes to another buffer can start before the other ends.
#[derive(Default)]
pub(crate) struct BufferPool {
    classes: BTreeMap<usize, Vec<(u64, Slab)>>,
    bytes: usize,
    clock: u64,
    /// The size of the most recently freed buffer, until it was skipped once.
    last: Option<usize>,
}

impl Allocation for PooledBuffer {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl PooledBuffer {
    fn slab(&self) -> &Slab {
        self.slab.as_ref().expect("memory keeps its buffer until the last handle is gone")
    }
}

/// What this backend needs of memory. Check the memory's home before you ask for its buffer or number.
pub(crate) trait OnGpu {
    fn buffer(&self) -> &wgpu::Buffer;

    /// A number that never names another buffer.
    fn number(&self) -> u64;

    /// Whether the memory belongs to this device.
    fn check_home(&self, op: &'static str, device: &GpuDevice) -> Result<(), Error>;

    /// Whether `bytes` bytes starting at `offset` lie inside.
    fn check_range(&self, op: &'static str, offset: usize, bytes: usize) -> Result<(), Error>;
}

impl OnGpu for Memory {
    fn buffer(&self) -> &wgpu::Buffer {
        &self.of::<PooledBuffer>().slab().buffer
    }

    fn number(&self) -> u64 {
        self.of::<PooledBuffer>().slab().number
    }

    fn check_home(&self, op: &'static str, device: &GpuDevice) -> Result<(), Error> {
        let held = self.get::<PooledBuffer>();
        if held.is_some_and(|held| Arc::ptr_eq(&held.shared, &device.shared)) {
            return Ok(());
        }
        let memory = held.map_or("no GPU", |held| &held.shared.info.name).to_string();
        Err(Error::Foreign { op, memory, device: device.name().to_string() })
    }

    fn check_range(&self, op: &'static str, offset: usize, bytes: usize) -> Result<(), Error> {
        if offset.checked_add(bytes).is_none_or(|end| end > self.bytes()) {
            return Err(Error::Range { op, offset, bytes, size: self.bytes() });
        }
        Ok(())
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        self.shared.tally.gave(self.bytes);
        if let Some(slab) = self.slab.take() {
            let live = self.shared.tally.snapshot().bytes_live as usize;
            let given_up = lock(&self.shared.pool).put(slab, live.max(RETAINED));
            self.shared.give_up(given_up);
        }
    }
}

impl BufferPool {
    /// A buffer of at least `bytes` that wastes at most a quarter. `None` if the only one was freed last and a
    /// second of its size is affordable.
    fn take(&mut self, bytes: usize) -> Option<Slab> {
        let most = bytes + bytes / 4;
        let (&class, list) = self.classes.range_mut(bytes..=most).next()?;
        let last = list.len() - 1;
        if last == 0 && class <= SECOND && self.last.take_if(|came| *came == class).is_some() {
            return None;
        }
        let (_, slab) = list.remove(last.saturating_sub(1));
        if list.is_empty() {
            self.classes.remove(&class);
        }
        self.bytes -= class;
        Some(slab)
    }

    /// Keeps a buffer; returns the buffers that are dropped to stay below `limit` bytes.
    fn put(&mut self, mut slab: Slab, limit: usize) -> Vec<Owned> {
        slab.buffer.repurpose(BufferPurpose::Pool);
        self.clock += 1;
        self.last = Some(slab.bytes);
        self.bytes += slab.bytes;
        self.classes.entry(slab.bytes).or_default().push((self.clock, slab));
        let mut given_up = Vec::new();
        while self.bytes > limit {
            given_up.extend(self.evict());
        }
        given_up
    }

    /// Drops the buffer that has waited longest.
    fn evict(&mut self) -> Option<Owned> {
        let oldest = self.classes.iter().min_by_key(|(_, list)| list[0].0).map(|(&class, _)| class)?;
        let list = self.classes.get_mut(&oldest)?;
        let (_, slab) = list.remove(0);
        if list.is_empty() {
            self.classes.remove(&oldest);
        }
        self.bytes -= slab.bytes;
        Some(slab.buffer)
    }

    /// Drops everything.
    pub(crate) fn drain(&mut self) -> Vec<Owned> {
        std::iter::from_fn(|| self.evict()).collect()
    }
}

impl GpuDevice {
    /// At least `bytes` bytes of memory. Memory from the pool has unspecified contents, fresh memory is zero.
    pub fn allocate(&self, bytes: usize) -> Result<Memory, Error> {
        self.take(bytes, BufferPurpose::Tensor).map(|(memory, _)| memory)
    }

    /// At least `bytes` bytes of memory, all zero.
    pub fn allocate_zeroed(&self, bytes: usize) -> Result<Memory, Error> {
        self.take_zeroed(bytes, BufferPurpose::Tensor)
    }

    /// Zeroed scratch memory for a program.
    pub(crate) fn allocate_block(&self, bytes: usize) -> Result<Memory, Error> {
        self.take_zeroed(bytes, BufferPurpose::Block)
    }

    fn take_zeroed(&self, bytes: usize, purpose: BufferPurpose) -> Result<Memory, Error> {
        let (memory, fresh) = self.take(bytes, purpose)?;
        if !fresh {
            let mut pending = lock(&self.shared.pending);
            pending.transfers(&self.shared).clear_buffer(memory.buffer(), 0, None);
        }
        Ok(memory)
    }

    /// Memory, and whether it is fresh.
    fn take(&self, asked: usize, purpose: BufferPurpose) -> Result<(Memory, bool), Error> {
        self.check()?;
        let _phase = self.profiler().enter(Phase::Allocating);
        let limit = self.shared.limits.max_buffer_size as usize;
        let bytes = asked.max(1).checked_next_multiple_of(GRANULE).unwrap_or(usize::MAX);
        if bytes > limit {
            return Err(Error::TooLarge { op: "allocate", asked, limit });
        }
        let pooled = lock(&self.shared.pool).take(bytes);
        let fresh = pooled.is_none();
        let slab = match pooled {
            Some(mut slab) => {
                slab.buffer.repurpose(purpose);
                slab
            }
            None => self.create(bytes, purpose)?,
        };
        self.shared.tally.took(bytes);
        Ok((Memory::new(PooledBuffer { slab: Some(slab), bytes, shared: self.shared.clone() }), fresh))
    }

    fn create(&self, bytes: usize, purpose: BufferPurpose) -> Result<Slab, Error> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let buffer = self.shared.create_buffer(bytes, usage, purpose)?;
        LiveCounters::add(&self.shared.tally.allocations, 1);
        Ok(Slab { buffer, number: NUMBERS.fetch_add(1, Ordering::Relaxed), bytes })
    }
}
