//! The end of the process: no work is in flight when the drivers go.
//!
//! When `main` returns or somebody calls `exit`, the libraries of a driver clear away what they hold. Threads of a driver in
//! software may still run kernels on that, and then the process ends with a fault, although all it had to do was done. So every
//! open device waits for its work first, and takes no more.
//!
//! Invariant: functions given to `atexit` run in reverse order, and so do the destructors of a driver's statics. A driver makes
//! some of these only when it first compiles or runs a kernel. So a driver in software runs one small kernel before the first
//! device is given to `atexit`, and [`again`] gives them once more after waits that may have seen new kernels. So devices end
//! before anything that their work needs. Start at [`watch`].

use std::ffi::c_int;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, Weak};
use std::time::{Duration, Instant};

use crate::adapter::AdapterKind;
use crate::device::{LONGEST_END, Shared, lock};
use crate::rounding;

/// Devices that were opened.
static OPEN: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());
/// Devices that are not wholly dropped yet, wherever that happens.
static ALIVE: AtomicUsize = AtomicUsize::new(0);
/// Pipelines that were made, and how many of them there were when [`end`] was last given to `atexit`.
static PIPELINES: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    /// Of the C library, which every program has.
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// Lets a device end before the process does.
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

/// A pipeline was made; a driver in software compiles it when it first runs.
pub(crate) fn made_pipeline() {
    PIPELINES.fetch_add(1, Ordering::Relaxed);
}

/// Work was waited for. What the driver made for it is newer than the last registration, so there is another one.
pub(crate) fn again() {
    let made = PIPELINES.load(Ordering::Relaxed);
    if SEEN.swap(made, Ordering::Relaxed) != made {
        register();
    }
}

fn register() {
    if atexit(end) != 0 {
        tracing::warn!("nothing waits for the device when the process ends: no room for exit functions");
    }
}

/// The last field of a device: dropped when all that the driver gave has been given back.
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

/// Ends all devices; the first of several calls does.
extern "C" fn end() {
    static ENDED: AtomicBool = AtomicBool::new(false);
    if ENDED.swap(true, Ordering::Relaxed) {
        return;
    }
    let open = std::mem::take(&mut *lock(&OPEN));
    let open: Vec<Arc<Shared>> = open.iter().filter_map(Weak::upgrade).collect();
    for device in &open {
        // A panic may not leave a function that C calls, and there is nobody left to tell.
        let _ = catch_unwind(std::panic::AssertUnwindSafe(|| device.end()));
    }
    // Other threads may be dropping devices.
    let began = Instant::now();
    while ALIVE.load(Ordering::Acquire) > open.len() && began.elapsed() < LONGEST_END {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Dropping them here would be more work for drivers, and the process gives everything back anyway.
    std::mem::forget(open);
}
