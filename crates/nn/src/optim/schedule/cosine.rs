//! Rates along a cosine, once or again and again.

use super::{Schedule, half_cosine};

/// Along half a cosine down to a minimum within so many steps, and up again after that (Loshchilov and Hutter).
///
/// ```
/// use farad::optim::schedule::{Cosine, Schedule};
/// let schedule = Cosine::new(1.0, 100).minimum(0.5);
/// assert_eq!([0, 50, 100].map(|step| schedule.rate(step)), [1.0, 0.75, 0.5]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cosine {
    rate: f64,
    steps: u64,
    minimum: f64,
}

impl Cosine {
    /// From `rate` to zero within so many steps.
    #[track_caller]
    pub fn new(rate: f64, steps: u64) -> Cosine {
        assert!(steps > 0, "cosine schedule: the way takes at least a step: (0 vs 1)");
        Cosine { rate, steps, minimum: 0.0 }
    }

    /// The lowest rate.
    pub fn minimum(mut self, rate: f64) -> Cosine {
        self.minimum = rate;
        self
    }
}

impl Schedule for Cosine {
    fn rate(&self, step: u64) -> f32 {
        half_cosine(self.rate, self.minimum, step as f64 / self.steps as f64) as f32
    }
}

/// Along half a cosine down to a minimum, then from the full rate again, each time for longer if asked for
/// (Loshchilov and Hutter).
///
/// ```
/// use farad::optim::schedule::{CosineRestarts, Schedule};
/// let schedule = CosineRestarts::new(1.0, 10).growth(2);
/// assert_eq!([0, 5, 10, 20, 30].map(|step| schedule.rate(step)), [1.0, 0.5, 1.0, 0.5, 1.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CosineRestarts {
    rate: f64,
    steps: u64,
    growth: u64,
    minimum: f64,
}

impl CosineRestarts {
    /// From `rate` to zero within so many steps, again and again.
    #[track_caller]
    pub fn new(rate: f64, steps: u64) -> CosineRestarts {
        assert!(steps > 0, "cosine schedule: the way takes at least a step: (0 vs 1)");
        CosineRestarts { rate, steps, growth: 1, minimum: 0.0 }
    }

    /// How many times longer each way is than the one before.
    #[track_caller]
    pub fn growth(mut self, times: u64) -> CosineRestarts {
        assert!(times > 0, "cosine schedule: ways do not end: growth by nothing (0 vs 1)");
        self.growth = times;
        self
    }

    /// The lowest rate.
    pub fn minimum(mut self, rate: f64) -> CosineRestarts {
        self.minimum = rate;
        self
    }
}

impl Schedule for CosineRestarts {
    fn rate(&self, step: u64) -> f32 {
        let (mut at, mut steps) = (step, self.steps);
        if self.growth == 1 {
            at %= steps;
        }
        while at >= steps {
            at -= steps;
            steps = steps.saturating_mul(self.growth);
        }
        half_cosine(self.rate, self.minimum, at as f64 / steps as f64) as f32
    }
}
