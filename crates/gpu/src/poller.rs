//! Polls the device while a future waits; on native devices nothing else does.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::task::Waker;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::device::{Shared, lock};

/// How many staging buffers are not mapped yet, and whom to wake.
pub(crate) struct Done {
    left: AtomicUsize,
    failed: AtomicBool,
    abandoned: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Done {
    pub(crate) fn new(left: usize) -> Arc<Done> {
        Arc::new(Done {
            left: AtomicUsize::new(left),
            failed: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            waker: Mutex::new(None),
        })
    }

    /// One more buffer was mapped, or failed to map.
    pub(crate) fn count(&self, mapped: bool) {
        if !mapped {
            self.failed.store(true, Ordering::Release);
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.wake();
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Nobody waits any more.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    /// Whom to wake.
    pub(crate) fn tell(&self, waker: &Waker) {
        *lock(&self.waker) = Some(waker.clone());
    }

    fn wake(&self) {
        if let Some(waker) = lock(&self.waker).take() {
            waker.wake();
        }
    }
}

/// A thread that polls the device while futures wait; the first future starts it.
#[derive(Default)]
pub(crate) struct Poller {
    thread: Mutex<Option<Thread>>,
}

struct Thread {
    sender: Sender<Arc<Done>>,
    /// `None` if no thread could be started.
    handle: Option<JoinHandle<()>>,
}

impl Poller {
    pub(crate) fn watch(&self, shared: &Arc<Shared>, done: Arc<Done>) {
        let mut thread = lock(&self.thread);
        let Thread { sender, .. } = thread.get_or_insert_with(|| Thread::start(shared));
        if let Err(unsent) = sender.send(done) {
            // Without the thread, an executor that polls again on every wake still makes progress.
            unsent.0.wake();
        }
    }

    /// Waits for the thread to end, once its device is lost.
    pub(crate) fn end(&self) {
        let Some(Thread { sender, handle }) = lock(&self.thread).take() else { return };
        drop(sender);
        // The woken task may exit the process from this very thread.
        let other = |handle: &JoinHandle<()>| handle.thread().id() != std::thread::current().id();
        if let Some(handle) = handle.filter(other) {
            let _ = handle.join();
        }
    }
}

impl Thread {
    fn start(shared: &Arc<Shared>) -> Thread {
        let (sender, receiver) = channel::<Arc<Done>>();
        let shared = Arc::downgrade(shared);
        let body = move || receiver.iter().for_each(|done| poll_until(&shared, &done));
        let handle = std::thread::Builder::new().name("farad-gpu-poll".to_string()).spawn(body);
        let handle = handle
            .inspect_err(|error| tracing::error!(%error, "could not start a thread to poll the device"));
        Thread { sender, handle: handle.ok() }
    }
}

fn poll_until(shared: &Weak<Shared>, done: &Done) {
    // Short polls rather than one long wait: a wait holds wgpu's lock, and other threads must not block.
    let mut pause = Duration::from_micros(20);
    while !done.is_done() && !done.abandoned.load(Ordering::Acquire) {
        let Some(shared) = shared.upgrade() else { break };
        shared.poll(wgpu::PollType::Poll);
        if shared.is_lost() {
            done.wake();
            break;
        }
        drop(shared);
        if !done.is_done() {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_micros(400));
        }
    }
}
