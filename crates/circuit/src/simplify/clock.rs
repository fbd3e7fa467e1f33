//! The time limit.

use std::time::{Duration, Instant};

/// A deadline, if there is one.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    start: Instant,
    deadline: Option<Instant>,
}

impl Deadline {
    pub(super) fn new(time: Option<Duration>) -> Deadline {
        let start = Instant::now();
        Deadline { start, deadline: time.map(|time| start + time) }
    }

    pub(super) fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
