//! One cycle: up to the largest rate and far down again.

use super::{Schedule, half_cosine};

/// How a rate goes from one value to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Annealing {
    /// Along half a cosine.
    #[default]
    Cosine,
    /// Evenly.
    Linear,
}

/// From a small rate up to the largest, and down to almost nothing (Smith and Topin).
///
/// ```
/// use farad::optim::schedule::{OneCycle, Schedule};
/// let schedule = OneCycle::new(1.0, 100);
/// assert_eq!(schedule.rate(29), 1.0);
/// assert!((schedule.rate(0) - 0.04).abs() < 1e-6 && schedule.rate(99) < 1e-5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneCycle {
    largest: f64,
    steps: u64,
    rise: f64,
    start: f64,
    end: f64,
    annealing: Annealing,
    three_phases: bool,
}

impl OneCycle {
    /// A cycle of so many steps with this largest rate: it begins with a 25th of it, rises for three tenths of
    /// the steps, and ends with a 10,000th of the first rate.
    #[track_caller]
    pub fn new(largest: f64, steps: u64) -> OneCycle {
        assert!(steps > 0, "one-cycle schedule: the cycle takes at least a step: (0 vs 1)");
        let annealing = Annealing::Cosine;
        OneCycle { largest, steps, rise: 0.3, start: 25.0, end: 1e4, annealing, three_phases: false }
    }

    /// The share of the steps on which the rate rises.
    pub fn rise(mut self, share: f64) -> OneCycle {
        self.rise = share;
        self
    }

    /// What the largest rate is divided by for the first one.
    pub fn start_divisor(mut self, divisor: f64) -> OneCycle {
        self.start = divisor;
        self
    }

    /// What the first rate is divided by for the last one.
    pub fn end_divisor(mut self, divisor: f64) -> OneCycle {
        self.end = divisor;
        self
    }

    /// How the rate rises and falls.
    pub fn annealing(mut self, annealing: Annealing) -> OneCycle {
        self.annealing = annealing;
        self
    }

    /// Falls to the first rate as it rose, and only then to the last one.
    pub fn three_phases(mut self) -> OneCycle {
        self.three_phases = true;
        self
    }
}

impl Schedule for OneCycle {
    fn rate(&self, step: u64) -> f32 {
        let first = self.largest / self.start;
        let (last, end) = (first / self.end, self.steps as f64 - 1.0);
        let top = self.rise * self.steps as f64 - 1.0;
        let phases = match self.three_phases {
            true => {
                let down = 2.0 * self.rise * self.steps as f64 - 2.0;
                vec![(top, first, self.largest), (down, self.largest, first), (end, first, last)]
            }
            false => vec![(top, first, self.largest), (end, self.largest, last)],
        };
        let (at, mut begun) = (step as f64, 0.0);
        for (n, &(end, from, to)) in phases.iter().enumerate() {
            if at <= end || n + 1 == phases.len() {
                let share = ((at - begun) / (end - begun)).min(1.0);
                return match self.annealing {
                    Annealing::Cosine => half_cosine(from, to, share) as f32,
                    Annealing::Linear => (from + (to - from) * share) as f32,
                };
            }
            begun = end;
        }
        unreachable!("the last phase takes every step")
    }
}
