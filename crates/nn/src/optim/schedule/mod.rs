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

/// From `from` to `to` along half a cosine, at a share of the way.
fn half_cosine(from: f64, to: f64, share: f64) -> f64 {
    to + (from - to) * (1.0 + (std::f64::consts::PI * share).cos()) / 2.0
}
