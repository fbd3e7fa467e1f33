//! A slow start before any other schedule.

use super::Schedule;

/// The first rate of another schedule, reached evenly within so many steps; then that schedule from its start.
///
/// ```
/// use farad::optim::schedule::{Exponential, Schedule, Warmup};
/// let schedule = Warmup::new(4, Exponential::new(1.0, 0.5)).from(0.0);
/// assert_eq!([0, 1, 4, 5].map(|step| schedule.rate(step)), [0.0, 0.25, 1.0, 0.5]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warmup<S> {
    steps: u64,
    from: f64,
    then: S,
}

impl<S: Schedule> Warmup<S> {
    /// This many steps, the first with `1 / steps` of the rate, before another schedule begins.
    pub fn new(steps: u64, then: S) -> Warmup<S> {
        Warmup { steps, from: 1.0 / steps.max(1) as f64, then }
    }

    /// The share of the rate to begin with.
    pub fn from(mut self, share: f64) -> Warmup<S> {
        self.from = share;
        self
    }
}

impl<S: Schedule> Schedule for Warmup<S> {
    fn rate(&self, step: u64) -> f32 {
        if step >= self.steps {
            return self.then.rate(step - self.steps);
        }
        let share = self.from + (1.0 - self.from) * step as f64 / self.steps as f64;
        (self.then.rate(0) as f64 * share) as f32
    }
}
