//! How much a request may ask for, and how long it may take: one row each.

use std::time::Duration;

/// Bounds of a server. What goes beyond them is refused with the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServeLimits {
    /// Bytes of a request's body.
    pub body: usize,
    /// Samples of a request.
    pub samples: usize,
    /// Samples that are computed together.
    pub batch: usize,
    /// Requests that wait; more are told to come again.
    pub waiting: usize,
    /// How long a request waits for its answer.
    pub time: Duration,
    /// Tokens that one request for text may draw.
    pub tokens: usize,
    /// Texts that take turns; others wait.
    pub texts: usize,
}

impl Default for ServeLimits {
    fn default() -> ServeLimits {
        ServeLimits {
            body: 16 << 20,
            samples: 4096,
            batch: 64,
            waiting: 1024,
            time: Duration::from_secs(30),
            tokens: 4096,
            texts: 8,
        }
    }
}
