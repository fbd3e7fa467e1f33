//! Work that waits for the queue, and when it is submitted.
//!
//! While the GPU is busy, several runs share one submission, because a submission costs about as much as ten
//! small kernels. At most [`HELD`] runs are held back, however many copies are between them, and at most
//! [`HELD_LAUNCHES`] launches. After a run or a read, the host waits until at most [`RUN_AHEAD`] submissions
//! are in flight. Uploads are not limited in this way.
//!
//! Invariant: everything that reaches the queue passes through [`Shared::submit_locked`], so that transfers in
//! the pending encoder come before later work. Start at [`GpuDevice::append_run`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use farad_runtime::profile::Phase;

use crate::buffer::Owned;
use crate::counters::LiveCounters;
use crate::device::{GpuDevice, Shared, lock};
use crate::error::Error;
use crate::heuristics::submissions::{BUSY, HELD, HELD_LAUNCHES, LOOK, RUN_AHEAD};

/// Work that waits for the next submission, and submissions that may not be done.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) encoder: Option<wgpu::CommandEncoder>,
    /// Bytes in wgpu's staging memory, which the next submission frees.
    pub(crate) staged: usize,
    /// Buffers dropped from the pool; destroyed once no unsubmitted command can name them.
    pub(crate) doomed: Vec<Owned>,
    /// The pass that runs are appended to while the device is busy.
    open: Option<Open>,
    /// Passes that were closed because something else had to come after them.
    held: Vec<wgpu::CommandBuffer>,
    /// Runs that wait, in the open pass and in closed ones.
    runs: usize,
    /// Their launches.
    launches: usize,
    /// Submissions that nobody has waited for, oldest first.
    in_flight: VecDeque<wgpu::SubmissionIndex>,
    /// Submissions that are not done yet.
    pub(crate) working: Arc<AtomicUsize>,
}

/// A pass that is not submitted yet.
struct Open {
    // Fields are dropped in order: the pass before its encoder.
    pass: wgpu::ComputePass<'static>,
    encoder: wgpu::CommandEncoder,
}

impl GpuDevice {
    /// Waits until all submitted work is done.
    pub fn wait(&self) -> Result<(), Error> {
        self.check()?;
        self.shared.flush();
        // Submissions of other threads from here on stay in the queue.
        let waited = std::mem::take(&mut lock(&self.shared.pending).in_flight).len();
        self.shared.poll(wgpu::PollType::wait_indefinitely());
        LiveCounters::add(&self.shared.tally.awaited, waited);
        self.check()
    }

    pub(crate) fn submit(&self, commands: wgpu::CommandBuffer) -> wgpu::SubmissionIndex {
        self.shared.submit(Some(commands))
    }

    /// Appends a run to the open pass. Submits the pass unless the device is busy and few runs wait: a
    /// submission costs the host and the device more than a small program does. Frees what is done, and waits
    /// if the host is too far ahead.
    pub(crate) fn append_run(&self, launches: usize, encode: impl FnOnce(&mut wgpu::ComputePass)) {
        let shared = &*self.shared;
        let mut pending = lock(&shared.pending);
        let busy = pending.working.load(Ordering::Relaxed) >= BUSY;
        encode(&mut pending.open(shared).pass);
        pending.runs += 1;
        pending.launches += launches;
        if busy && pending.runs < HELD && pending.launches < HELD_LAUNCHES {
            // Checking the device's progress costs as much as a run, so check only every few runs.
            let look = pending.runs.is_multiple_of(LOOK);
            drop(pending);
            if look {
                shared.poll(wgpu::PollType::Poll);
            }
            return;
        }
        shared.submit_locked(&mut pending, None);
        drop(pending);
        if !shared.keep_pace() {
            shared.poll(wgpu::PollType::Poll);
        }
    }
}

impl Shared {
    /// Submits what is pending, then `commands`, and waits if the host is too far ahead.
    pub(crate) fn submit(&self, commands: Option<wgpu::CommandBuffer>) -> wgpu::SubmissionIndex {
        let index = self.submit_locked(&mut lock(&self.pending), commands);
        self.keep_pace();
        index
    }

    /// Submits what is pending, then `commands`. Runs and reads call [`Shared::keep_pace`] once the lock is
    /// released; uploads and flushes leave that to the next of these.
    pub(crate) fn submit_locked(
        &self,
        pending: &mut Pending,
        commands: Option<wgpu::CommandBuffer>,
    ) -> wgpu::SubmissionIndex {
        let _phase = self.profiler.enter(Phase::Submitting);
        pending.close();
        let before = pending.encoder.take().map(wgpu::CommandEncoder::finish);
        let index = self.queue.submit(pending.held.drain(..).chain(before).chain(commands));
        pending.working.fetch_add(1, Ordering::Relaxed);
        let working = pending.working.clone();
        self.queue.on_submitted_work_done(move || {
            working.fetch_sub(1, Ordering::Relaxed);
        });
        LiveCounters::add(&self.tally.submissions, 1);
        pending.in_flight.push_back(index.clone());
        (pending.runs, pending.launches, pending.staged) = (0, 0, 0);
        for buffer in pending.doomed.drain(..) {
            buffer.destroy();
        }
        self.lose_in_time();
        index
    }

    /// Waits until at most [`RUN_AHEAD`] submissions are in flight; returns whether it had to.
    pub(crate) fn keep_pace(&self) -> bool {
        let (surplus, oldest) = {
            let in_flight = &mut lock(&self.pending).in_flight;
            let surplus = in_flight.len().saturating_sub(RUN_AHEAD);
            (surplus, in_flight.drain(..surplus).next_back())
        };
        let Some(index) = oldest else { return false };
        self.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None });
        LiveCounters::add(&self.tally.awaited, surplus);
        true
    }

    /// Submits what is pending, if anything is.
    pub(crate) fn flush(&self) {
        let mut pending = lock(&self.pending);
        if pending.waits() || pending.staged > 0 || !pending.doomed.is_empty() {
            self.submit_locked(&mut pending, None);
        }
    }
}

impl Pending {
    /// Whether commands wait for the next submission.
    pub(crate) fn waits(&self) -> bool {
        self.encoder.is_some() || self.open.is_some() || !self.held.is_empty()
    }

    /// The open pass, after any pending transfers.
    fn open(&mut self, shared: &Shared) -> &mut Open {
        let encoder = &mut self.encoder;
        self.open.get_or_insert_with(|| {
            let mut encoder = encoder.take().unwrap_or_else(|| shared.encoder());
            let pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()).forget_lifetime();
            Open { pass, encoder }
        })
    }

    /// Ends the open pass, if there is one.
    fn close(&mut self) {
        if let Some(Open { pass, encoder }) = self.open.take() {
            drop(pass);
            self.held.push(encoder.finish());
        }
    }

    /// The encoder of transfers that wait for the next submission.
    pub(crate) fn transfers(&mut self, shared: &Shared) -> &mut wgpu::CommandEncoder {
        self.close();
        self.encoder.get_or_insert_with(|| shared.encoder())
    }
}
