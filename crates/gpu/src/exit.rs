//! The exit of the process: no work may be in flight when drivers are unloaded.
//!
//! When `main` returns or someone calls `exit`, the libraries of a driver free what they hold. Threads of a
//! software driver may still run kernels on it. The process would then crash, although all its work was done.
//! So every open device first waits for its work, and accepts no more.
//!
//! Invariant: functions registered with `atexit` run in reverse order, together with the destructors of a
//! driver's statics. A driver creates some of these statics only when it first compiles or runs a kernel. So a
//! software driver runs one small kernel before the first registration, and [`again`] registers once more after
//! a wait that may have involved new kernels. So devices end before anything that their work needs. Start at
//! [`watch`].

use std::ffi::c_int;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, Weak};
use std::time::{Duration, Instant};

use crate::adapter::AdapterKind;
use crate::device::{LONGEST_END, Shared, lock};
use crate::rounding;

/// All devices that were opened.
static OPEN: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());
/// Devices that are not completely dropped yet, on any thread.
static ALIVE: AtomicUsize = AtomicUsize::new(0);
/// Pipelines created so far, and how many there were when [`end`] was last registered with `atexit`.
static PIPELINES: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    /// From the C library, which every program links.
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// Makes a device finish before the process exits.
pub(crate) fn watch(shared: &Arc<Shared>) {
    static FIRST: Once = Once::new();
    if shared.info.kind == AdapterKind::Software {
        FIRST.call_once(|| rounding::ask_once(&shared.gpu, &shared.queue));
    }
    let mut open = lock(&OPEN);
    open.retain(|device| device.strong_count() > 0);
    open.push(Arc::downgrade(shared));
    drop(open);
    register();
}

/// Called when a pipeline was created; a software driver compiles it when it first runs.
pub(crate) fn made_pipeline() {
    PIPELINES.fetch_add(1, Ordering::Relaxed);
}

/// Called after waiting for work. The driver's objects for that work are newer than the last registration, so
/// register once more.
pub(crate) fn again() {
    let made = PIPELINES.load(Ordering::Relaxed);
    if SEEN.swap(made, Ordering::Relaxed) != made {
        register();
    }
}

fn register() {
    if atexit(end) != 0 {
        tracing::warn!("the process will not wait for the device at exit: no room for exit functions");
    }
}

/// The last field of a device: dropped after everything that the driver provided was released.
pub(crate) struct Alive(());

impl Alive {
    pub(crate) fn new() -> Alive {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Alive(())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Release);
    }
}

/// Ends all devices; only the first call does anything.
extern "C" fn end() {
    static ENDED: AtomicBool = AtomicBool::new(false);
    if ENDED.swap(true, Ordering::Relaxed) {
        return;
    }
    let open = std::mem::take(&mut *lock(&OPEN));
    let open: Vec<Arc<Shared>> = open.iter().filter_map(Weak::upgrade).collect();
    for device in &open {
        // A panic must not unwind into C, and there is nobody left to tell.
        let _ = catch_unwind(std::panic::AssertUnwindSafe(|| device.end()));
    }
    // Other threads may be dropping devices.
    let began = Instant::now();
    while ALIVE.load(Ordering::Acquire) > open.len() && began.elapsed() < LONGEST_END {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Dropping them here would only make work for the drivers; the process frees everything anyway.
    std::mem::forget(open);
}
