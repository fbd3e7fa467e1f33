//! A wish to stop that training loops look at between updates.
//!
//! A signal handler, a window or a time limit sets the flag; the loop saves and
//! returns. Nothing is torn down from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that says: stop when you can. Clones are the same flag.
///
/// ```
/// let stop = farad::run::Stop::new();
/// let watched = stop.clone();
/// assert!(!watched.is_set());
/// stop.set();
/// assert!(watched.is_set());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag that is not set.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Asks the loop to stop. Safe to call from a signal's thread, and more than once.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether the loop should save and return.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
