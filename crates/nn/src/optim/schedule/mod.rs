//! Learning rates as functions of the step.
//!
//! A schedule is a value: `rate(step)` is the same whenever it is asked, steps count from 0, and nothing needs to
//! be saved. Only [`Plateau`] has a state, because it looks at a metric. Definitions and defaults are
//! PyTorch's.
//!
//! ```
//! use farad::optim::schedule::{Cosine, Schedule, Warmup};
//! use farad::prelude::*;
//! let schedule = Warmup::new(10, Cosine::new(1e-3, 90));
//! let mut sgd = Sgd::new(vec![Parameter::new(Tensor::zeros([2], &Device::cpu()))]);
//! for step in 0..100 {
//!     sgd.set_learning_rate(schedule.rate(step));
//!     // .. and a step
//! }
//! // Or let the optimizer ask by itself, with the number of its own steps:
//! let sgd = sgd.schedule(schedule);
//! # drop(sgd);
//! ```

mod cosine;
mod cycle;
mod decay;
mod plateau;
mod warmup;

pub use cosine::{Cosine, CosineRestarts};
pub use cycle::{Annealing, OneCycle};
pub use decay::{Constant, Exponential, Lambda, Linear, MultiStep, Polynomial, Step};
pub use plateau::{Plateau, PlateauState};
pub use warmup::Warmup;

/// A learning rate for every step.
pub trait Schedule {
    /// The rate of a step, counted from 0.
    fn rate(&self, step: u64) -> f32;
}

impl<S: Schedule + ?Sized> Schedule for &S {
    fn rate(&self, step: u64) -> f32 {
        (**self).rate(step)
    }
}

impl<S: Schedule + ?Sized> Schedule for Box<S> {
    fn rate(&self, step: u64) -> f32 {
        (**self).rate(step)
    }
}

/// A row of [`SCHEDULES`].
#[derive(Clone, Copy)]
pub struct ScheduleRow {
    /// As settings call it, such as `one-cycle`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    make: fn(&Course) -> Box<dyn Schedule + Send + Sync>,
}

/// What a schedule runs over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// The largest rate.
    pub rate: f64,
    /// The first steps, in which the rate grows to it; those among `steps`.
    pub warm_up: u64,
    /// All steps of a training, at least 1.
    pub steps: u64,
}

/// The schedules of a whole training, as settings name them.
#[rustfmt::skip]
pub const SCHEDULES: &[ScheduleRow] = &[
    ScheduleRow { name: "constant", about: "The same rate after warming up.", make: |c| c.warmed(Constant(c.rate as f32)) },
    ScheduleRow { name: "linear", about: "Down to zero along a line.", make: |c| c.warmed(Linear::new(c.rate, c.left()).from(1.0).to(0.0)) },
    ScheduleRow { name: "cosine", about: "Down to zero along half a cosine.", make: |c| c.warmed(Cosine::new(c.rate, c.left())) },
    ScheduleRow { name: "one-cycle", about: "Up and down again along half cosines, with a rise of its own.", make: |c| Box::new(OneCycle::new(c.rate, c.steps)) },
];

impl ScheduleRow {
    /// The row of this name.
    ///
    /// ```
    /// use farad::optim::schedule::{Course, ScheduleRow};
    /// let course = Course { rate: 0.5, warm_up: 0, steps: 100 };
    /// let schedule = ScheduleRow::of("linear").expect("a row").schedule(&course);
    /// assert_eq!((schedule.rate(0), schedule.rate(50)), (0.5, 0.25));
    /// ```
    pub fn of(name: &str) -> Option<&'static ScheduleRow> {
        SCHEDULES.iter().find(|row| row.name == name)
    }

    /// The names of all rows.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        SCHEDULES.iter().map(|row| row.name)
    }

    /// The schedule, over a training.
    pub fn schedule(&self, course: &Course) -> Box<dyn Schedule + Send + Sync> {
        (self.make)(course)
    }
}

impl Course {
    /// Steps after warming up.
    fn left(&self) -> u64 {
        self.steps.saturating_sub(self.warm_up).max(1)
    }

    fn warmed(&self, then: impl Schedule + Send + Sync + 'static) -> Box<dyn Schedule + Send + Sync> {
        Box::new(Warmup::new(self.warm_up, then))
    }
}

/// From `from` to `to` along half a cosine, at a share of the way.
fn half_cosine(from: f64, to: f64, share: f64) -> f64 {
    to + (from - to) * (1.0 + (std::f64::consts::PI * share).cos()) / 2.0
}
