//! What the runtime counts, so that tests and benchmarks can see what a replay costs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident),* $(,)?) => {
        /// A snapshot of what a device has done since it was opened.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct GpuCounters { $($(#[doc = $doc])+ pub $name: u64,)* }

        /// The counters that are updated.
        #[derive(Debug, Default)]
        pub(crate) struct LiveCounters { $(pub(crate) $name: AtomicU64,)* }

        impl LiveCounters {
            pub(crate) fn snapshot(&self) -> GpuCounters {
                GpuCounters { $($name: self.$name.load(Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Runs of executables.
    runs,
    /// Submissions to the queue; command buffers submitted together count once.
    submissions,
    /// Submissions that the host has waited for; at most four fewer than `submissions`.
    awaited,
    /// Compute dispatches.
    dispatches,
    /// Pipelines created.
    pipelines,
    /// Bytes of cached pipelines read from disk when the device was opened.
    cached_bytes,
    /// Bind groups created.
    bind_groups,
    /// Device buffers created for tensors and blocks; memory from the pool is not counted.
    allocations,
    /// Bytes held through handles; pooled memory is not counted.
    bytes_live,
    /// The highest value of `bytes_live`.
    bytes_peak,
    /// Writes from the host, parameters included.
    uploads,
    /// Bytes uploaded.
    bytes_uploaded,
    /// Reads to the host.
    reads,
    /// Bytes read.
    bytes_read,
}

impl LiveCounters {
    pub(crate) fn add(counter: &AtomicU64, amount: usize) {
        counter.fetch_add(amount as u64, Relaxed);
    }

    /// Memory was allocated.
    pub(crate) fn took(&self, bytes: usize) {
        let live = self.bytes_live.fetch_add(bytes as u64, Relaxed) + bytes as u64;
        self.bytes_peak.fetch_max(live, Relaxed);
    }

    /// Memory was freed.
    pub(crate) fn gave(&self, bytes: usize) {
        self.bytes_live.fetch_sub(bytes as u64, Relaxed);
    }

    /// The host uploaded bytes.
    pub(crate) fn uploaded(&self, bytes: usize) {
        LiveCounters::add(&self.uploads, 1);
        LiveCounters::add(&self.bytes_uploaded, bytes);
    }
}
