//! Raw buffers, allocated inside error scopes and counted by purpose: tensors, blocks of plans, pool, staging,
//! parameters.
//!
//! If memory runs out, the pools are freed and the allocation is tried again. If it still fails, the error says
//! how much was requested, by which op and line, and what holds the rest. The device stays usable.
//!
//! Invariant: every buffer of a device is an [`Owned`], so [`GpuDevice::holdings`] accounts for all of its
//! memory, and `memory_limit` bounds all of it.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use farad_runtime::Holdings;

use crate::device::{GpuDevice, Shared, lock};
use crate::error::Error;

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferPurpose {
    Tensor,
    Block,
    Pool,
    Staging,
    Parameter,
}

/// The current [`Holdings`], and their limit.
#[derive(Debug)]
pub(crate) struct Ledger {
    held: [AtomicU64; 5],
    total: AtomicU64,
    limit: u64,
    /// The holdings when their total was highest.
    high_water: Mutex<Holdings>,
}

/// A buffer that is counted while it exists.
pub(crate) struct Owned {
    buffer: wgpu::Buffer,
    purpose: BufferPurpose,
    ledger: Arc<Ledger>,
}

impl Ledger {
    pub(crate) fn new(limit: Option<usize>) -> Arc<Ledger> {
        let limit = limit.map_or(u64::MAX, |bytes| bytes as u64);
        Arc::new(Ledger {
            held: Default::default(),
            total: AtomicU64::new(0),
            limit,
            high_water: Mutex::default(),
        })
    }

    pub(crate) fn holdings(&self) -> Holdings {
        let held = |purpose: BufferPurpose| self.held[purpose as usize].load(Relaxed);
        Holdings {
            tensors: held(BufferPurpose::Tensor),
            blocks: held(BufferPurpose::Block),
            pool: held(BufferPurpose::Pool),
            staging: held(BufferPurpose::Staging),
            parameters: held(BufferPurpose::Parameter),
        }
    }

    /// The limit in bytes, if there is one.
    pub(crate) fn limit(&self) -> Option<u64> {
        (self.limit < u64::MAX).then_some(self.limit)
    }

    /// The out-of-memory error for a request.
    pub(crate) fn refusal(&self, op: impl Into<String>, asked_bytes: Option<usize>) -> Error {
        Error::OutOfMemory { op: op.into(), asked_bytes, limit: self.limit(), holdings: self.holdings() }
    }

    /// Counts bytes, unless they exceed the limit.
    fn reserve(&self, purpose: BufferPurpose, bytes: u64) -> bool {
        if self.total.fetch_add(bytes, Relaxed).saturating_add(bytes) > self.limit {
            self.total.fetch_sub(bytes, Relaxed);
            return false;
        }
        self.held[purpose as usize].fetch_add(bytes, Relaxed);
        let now = self.holdings();
        let mut most = lock(&self.high_water);
        if now.total() > most.total() {
            *most = now;
        }
        true
    }

    fn release(&self, purpose: BufferPurpose, bytes: u64) {
        self.held[purpose as usize].fetch_sub(bytes, Relaxed);
        self.total.fetch_sub(bytes, Relaxed);
    }
}

impl Owned {
    /// Moves the buffer's bytes to another purpose.
    pub(crate) fn repurpose(&mut self, purpose: BufferPurpose) {
        let bytes = self.buffer.size();
        self.ledger.held[self.purpose as usize].fetch_sub(bytes, Relaxed);
        self.ledger.held[purpose as usize].fetch_add(bytes, Relaxed);
        self.purpose = purpose;
    }
}

impl Deref for Owned {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.buffer
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.ledger.release(self.purpose, self.buffer.size());
    }
}

impl GpuDevice {
    /// Bytes that the device holds, by purpose.
    pub fn holdings(&self) -> Holdings {
        self.shared.ledger.holdings()
    }
}

impl GpuDevice {
    /// The holdings at the moment when their total was highest.
    pub fn high_water(&self) -> Holdings {
        *lock(&self.shared.ledger.high_water)
    }
}

impl Shared {
    /// Runs `make` with wgpu's errors caught. Error scopes are per thread.
    pub(crate) fn scoped<T>(&self, make: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
        let scopes =
            [wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::OutOfMemory]
                .map(|filter| self.gpu.push_error_scope(filter));
        let made = make();
        let mut error = None;
        for scope in scopes.into_iter().rev() {
            error = pollster::block_on(scope.pop()).or(error);
        }
        error.map_or(Ok(made), Err)
    }

    /// A buffer, or the error that creating it raised. If memory runs out, the pools are freed and it is tried
    /// once more; so the caller must not hold a lock.
    pub(crate) fn create_buffer(
        &self,
        bytes: usize,
        usage: wgpu::BufferUsages,
        purpose: BufferPurpose,
    ) -> Result<Owned, Error> {
        match self.try_create_buffer(bytes, usage, purpose) {
            Err(Error::OutOfMemory { .. }) => {
                self.free_pools();
                self.try_create_buffer(bytes, usage, purpose)
            }
            result => result,
        }
    }

    fn try_create_buffer(
        &self,
        bytes: usize,
        usage: wgpu::BufferUsages,
        purpose: BufferPurpose,
    ) -> Result<Owned, Error> {
        if !self.ledger.reserve(purpose, bytes as u64) {
            return Err(self.ledger.refusal("allocate", Some(bytes)));
        }
        let descriptor =
            wgpu::BufferDescriptor { label: None, size: bytes as u64, usage, mapped_at_creation: false };
        match self.scoped(|| self.gpu.create_buffer(&descriptor)) {
            Ok(buffer) => Ok(Owned { buffer, purpose, ledger: self.ledger.clone() }),
            Err(error) => {
                self.ledger.release(purpose, bytes as u64);
                Err(Error::from_wgpu(error, || self.ledger.refusal("allocate", Some(bytes))))
            }
        }
    }

    /// Frees the buffers that wait for reuse, and waits until they are gone.
    fn free_pools(&self) {
        let given_up = lock(&self.pool).drain();
        let staging = lock(&self.staging).drain();
        tracing::debug!(buffers = given_up.len(), staging = staging.len(), "out of memory: pools freed");
        drop(staging);
        self.give_up(given_up);
        self.flush();
        self.poll(wgpu::PollType::wait_indefinitely());
    }

    /// Destroys buffers as soon as no unsubmitted command can name them.
    pub(crate) fn give_up(&self, buffers: Vec<Owned>) {
        if buffers.is_empty() {
            return;
        }
        let mut pending = lock(&self.pending);
        if pending.waits() {
            pending.doomed.extend(buffers);
        } else {
            buffers.iter().for_each(|buffer| buffer.destroy());
        }
    }
}
