//! How fast a process trains, and where the time of an update goes.
//!
//! Invariant: nothing here changes what is learned or logged; speeds stand in `events.jsonl` and in the report only.

use std::time::Instant;

use farad::{Device, OpenProfile, Profile};

use super::{Breakdown, Trainer};
use crate::error::Result;

/// How fast a process trained, validation and checkpoints apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speed {
    /// Tokens that were learned from.
    pub tokens: u64,
    /// In so many seconds.
    pub seconds: f64,
}

impl Speed {
    /// Tokens per second, if any were counted.
    pub fn tokens_per_second(&self) -> Option<f64> {
        (self.tokens > 0 && self.seconds > 0.0).then(|| self.tokens as f64 / self.seconds)
    }
}

/// Times the updates of a process without the first, which compiles, and without validations and checkpoints.
pub(super) struct UpdateClock {
    /// Since when the clock runs.
    since: Option<Instant>,
    update_tokens: u64,
    speed: Speed,
}

impl UpdateClock {
    pub fn new(update_tokens: u64) -> UpdateClock {
        UpdateClock { since: None, update_tokens, speed: Speed::default() }
    }

    /// An update was made.
    pub fn counted(&mut self) {
        if self.since.is_some() {
            self.speed.tokens += self.update_tokens;
        }
    }

    /// The device has nothing left to do.
    pub fn stop(&mut self) {
        (self.speed, self.since) = (self.now(), None);
    }

    pub fn go_on(&mut self) {
        self.since = Some(Instant::now());
    }

    /// Forgets the time since the last pause: something else was measured.
    pub fn restart(&mut self, device: &Device) -> Result<()> {
        device.wait()?;
        if self.since.is_some() {
            (self.speed, self.since) = (Speed::default(), Some(Instant::now()));
        }
        Ok(())
    }

    /// How fast it is so far.
    pub fn now(&self) -> Speed {
        let more = self.since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        Speed { seconds: self.speed.seconds + more, ..self.speed }
    }
}

/// Profiles a few updates of a process.
pub(super) struct Probe {
    /// The first update of the host's profile, counted from 0, and how many it has.
    host: (u64, u64),
    /// The same of the kernels' profile.
    kernels: (u64, u64),
    open: Option<OpenProfile>,
    found: Vec<Profile>,
}

impl Probe {
    /// Of a process that begins after so many updates, of so many in all.
    pub fn new(done: u64, in_all: u64) -> Probe {
        let (first, of_host, of_kernels) = match in_all.saturating_sub(done) {
            60.. => (10, 20, 5),
            8.. => (3, 3, 2),
            _ => (0, 0, 0),
        };
        let first = done + first;
        Probe { host: (first, of_host), kernels: (first + of_host, of_kernels), open: None, found: vec![] }
    }

    /// Opens what begins with the next update.
    pub fn before(&mut self, trainer: &Trainer) {
        let next = trainer.updates();
        let options = match next {
            _ if self.host.1 > 0 && next == self.host.0 => Breakdown::host_options(),
            _ if self.kernels.1 > 0 && next == self.kernels.0 => Breakdown::kernel_options(),
            _ => return,
        };
        if let Err(error) = trainer.device().wait() {
            tracing::warn!("profile: {error}");
        }
        self.open = Some(trainer.device().open_profile(options));
    }

    /// Closes what ended with the last update; whether the last of them is done.
    pub fn after(&mut self, trainer: &Trainer) -> bool {
        let made = trainer.updates();
        let ends = [self.host, self.kernels].map(|(first, count)| first + count);
        if self.open.is_none() || !ends.contains(&made) {
            return false;
        }
        self.found.extend(self.open.take().map(OpenProfile::finish));
        made == ends[1]
    }

    /// What was found, if there were enough updates to see.
    pub fn breakdown(&self) -> Option<Breakdown> {
        match &self.found[..] {
            [host, kernels] => Some(Breakdown::of((kernels, self.kernels.1), (host, self.host.1))),
            _ => None,
        }
    }
}
