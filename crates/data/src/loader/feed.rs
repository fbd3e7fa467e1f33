//! Batches made ahead of time, on threads.
//!
//! Invariant: thread `n` of `w` makes batches `n, n + w, …` and gives them through a channel of its own, so batches
//! arrive in order without anybody sorting them; and no thread outlives the feed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use super::work::{EpochWork, HostBatch};
use crate::error::{DataError, Error, Result};

/// Where batches come from, in order.
pub(super) struct Feed {
    work: Arc<EpochWork>,
    next: usize,
    channels: Vec<Receiver<Result<HostBatch>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Feed {
    /// Starts to make batches from number `first` on, with so many threads (0: none) that are `prefetch` batches
    /// ahead together.
    pub fn start(work: EpochWork, first: usize, workers: usize, prefetch: usize) -> Result<Feed> {
        let workers = workers.min(work.batches.saturating_sub(first));
        let work = Arc::new(work);
        let mut feed = Feed { work: work.clone(), next: first, channels: vec![], threads: vec![] };
        for worker in 0..workers {
            let (sender, receiver) = sync_channel(prefetch.div_ceil(workers).max(1));
            let work = work.clone();
            let make = move || {
                for number in (first + worker..work.batches).step_by(workers) {
                    let made = work.make(number);
                    let failed = made.is_err();
                    if sender.send(made).is_err() || failed {
                        return;
                    }
                }
            };
            let thread = std::thread::Builder::new().name(format!("farad-loader-{worker}")).spawn(make);
            feed.threads.push(thread.map_err(|source| DataError::Thread { source })?);
            feed.channels.push(receiver);
        }
        Ok(feed)
    }

    /// The next batch; waits for it.
    pub fn take(&mut self, first: usize) -> Result<HostBatch> {
        let number = self.next;
        self.next += 1;
        if self.channels.is_empty() {
            return self.work.make(number);
        }
        let channel = &self.channels[(number - first) % self.channels.len()];
        channel.recv().unwrap_or_else(|_| Err(gone(number)))
    }

    /// The next batch if it is there already.
    pub fn take_ready(&mut self, first: usize) -> Option<Result<HostBatch>> {
        if self.channels.is_empty() || self.next >= self.work.batches {
            return None;
        }
        let channel = &self.channels[(self.next - first) % self.channels.len()];
        let made = match channel.try_recv() {
            Ok(made) => made,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err(gone(self.next)),
        };
        self.next += 1;
        Some(made)
    }
}

fn gone(batch: usize) -> Error {
    DataError::Worker { batch, message: "its thread is gone".into() }.into()
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.work.stopped.store(true, Ordering::Relaxed);
        // Threads that wait to send see that nobody receives.
        self.channels.clear();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}
