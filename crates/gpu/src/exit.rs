//! The end of the process: no work is in flight when the drivers go.
//!
//! When `main` returns or somebody calls `exit`, the libraries of a driver clear away what they hold. Threads of a driver in
//! software may still run kernels on that, and then the process ends with a fault, although all it had to do was done. So every
//! open device waits for its work first, and takes no more.
//!
//! Invariant: functions given to `atexit` run in reverse order, and a device is given to it once its driver is loaded; so
//! devices end before drivers do. Start at [`watch`].

use std::ffi::c_int;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex, Weak};

use crate::device::{Shared, lock};

/// Devices that were opened.
static OPEN: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

unsafe extern "C" {
    /// Of the C library, which every program has.
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// Lets a device end before the process does.
pub(crate) fn watch(shared: &Arc<Shared>) {
    let mut open = lock(&OPEN);
    open.retain(|device| device.strong_count() > 0);
    open.push(Arc::downgrade(shared));
    drop(open);
    if atexit(end) != 0 {
        tracing::warn!("nothing waits for the device when the process ends: no room for exit functions");
    }
}

/// Ends all devices; the first of several calls does.
extern "C" fn end() {
    let open = std::mem::take(&mut *lock(&OPEN));
    for device in open.iter().filter_map(Weak::upgrade) {
        // A panic may not leave a function that C calls, and there is nobody left to tell.
        let _ = catch_unwind(std::panic::AssertUnwindSafe(|| device.end()));
    }
}
