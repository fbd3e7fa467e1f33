//! Rates that fall (or rise) by a formula: constant, stepwise, exponential, linear, polynomial, one's own.

use super::Schedule;

/// The same rate for all steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant(pub f32);

impl Schedule for Constant {
    fn rate(&self, _: u64) -> f32 {
        self.0
    }
}

/// The rate times `factor` after every so many steps.
///
/// ```
/// use farad::optim::schedule::{Schedule, Step};
/// let schedule = Step::new(1.0, 30).factor(0.5);
/// assert_eq!([29, 30, 60].map(|step| schedule.rate(step)), [1.0, 0.5, 0.25]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    rate: f64,
    every: u64,
    factor: f64,
}

impl Step {
    /// From `rate` on, a tenth of it after every `every` steps.
    #[track_caller]
    pub fn new(rate: f64, every: u64) -> Step {
        assert!(every > 0, "step schedule: a rate lasts at least a step: (0 vs 1)");
        Step { rate, every, factor: 0.1 }
    }

    /// What the rate is multiplied by each time.
    pub fn factor(mut self, factor: f64) -> Step {
        self.factor = factor;
        self
    }
}

impl Schedule for Step {
    fn rate(&self, step: u64) -> f32 {
        (self.rate * self.factor.powf((step / self.every) as f64)) as f32
    }
}

/// The rate times `factor` at each of the given steps.
///
/// ```
/// use farad::optim::schedule::{MultiStep, Schedule};
/// let schedule = MultiStep::new(1.0, [30, 80]).factor(0.5);
/// assert_eq!([29, 30, 80].map(|step| schedule.rate(step)), [1.0, 0.5, 0.25]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MultiStep {
    rate: f64,
    milestones: Vec<u64>,
    factor: f64,
}

impl MultiStep {
    /// From `rate` on, a tenth of it from each of the steps on.
    pub fn new(rate: f64, milestones: impl Into<Vec<u64>>) -> MultiStep {
        MultiStep { rate, milestones: milestones.into(), factor: 0.1 }
    }

    /// What the rate is multiplied by each time.
    pub fn factor(mut self, factor: f64) -> MultiStep {
        self.factor = factor;
        self
    }
}

impl Schedule for MultiStep {
    fn rate(&self, step: u64) -> f32 {
        let passed = self.milestones.iter().filter(|&&milestone| milestone <= step).count();
        (self.rate * self.factor.powi(passed as i32)) as f32
    }
}

/// The rate times `factor` at every step.
///
/// ```
/// use farad::optim::schedule::{Exponential, Schedule};
/// assert_eq!(Exponential::new(1.0, 0.5).rate(3), 0.125);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    rate: f64,
    factor: f64,
}

impl Exponential {
    /// `rate · factor^step`
    pub fn new(rate: f64, factor: f64) -> Exponential {
        Exponential { rate, factor }
    }
}

impl Schedule for Exponential {
    fn rate(&self, step: u64) -> f32 {
        (self.rate * self.factor.powf(step as f64)) as f32
    }
}

/// From one share of the rate to another in equal steps, and on with that.
///
/// ```
/// use farad::optim::schedule::{Linear, Schedule};
/// let schedule = Linear::new(1.0, 4).from(0.0).to(0.5);
/// assert_eq!([0, 2, 4, 9].map(|step| schedule.rate(step)), [0.0, 0.25, 0.5, 0.5]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    rate: f64,
    steps: u64,
    from: f64,
    to: f64,
}

impl Linear {
    /// From a third of `rate` to all of it within so many steps.
    #[track_caller]
    pub fn new(rate: f64, steps: u64) -> Linear {
        assert!(steps > 0, "linear schedule: the way takes at least a step: (0 vs 1)");
        Linear { rate, steps, from: 1.0 / 3.0, to: 1.0 }
    }

    /// The share of the rate to begin with.
    pub fn from(mut self, share: f64) -> Linear {
        self.from = share;
        self
    }

    /// The share of the rate to end with.
    pub fn to(mut self, share: f64) -> Linear {
        self.to = share;
        self
    }
}

impl Schedule for Linear {
    fn rate(&self, step: u64) -> f32 {
        let done = step.min(self.steps) as f64 / self.steps as f64;
        (self.rate * (self.from + (self.to - self.from) * done)) as f32
    }
}

/// From the rate to zero within so many steps, as a power of what is left of them.
///
/// ```
/// use farad::optim::schedule::{Polynomial, Schedule};
/// let schedule = Polynomial::new(1.0, 4).power(2.0);
/// assert_eq!([0, 2, 4, 9].map(|step| schedule.rate(step)), [1.0, 0.25, 0.0, 0.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polynomial {
    rate: f64,
    steps: u64,
    power: f64,
}

impl Polynomial {
    /// From `rate` to zero within so many steps, evenly.
    #[track_caller]
    pub fn new(rate: f64, steps: u64) -> Polynomial {
        assert!(steps > 0, "polynomial schedule: the way takes at least a step: (0 vs 1)");
        Polynomial { rate, steps, power: 1.0 }
    }

    /// The power of the steps that are left.
    pub fn power(mut self, power: f64) -> Polynomial {
        self.power = power;
        self
    }
}

impl Schedule for Polynomial {
    fn rate(&self, step: u64) -> f32 {
        let left = 1.0 - step.min(self.steps) as f64 / self.steps as f64;
        (self.rate * left.powf(self.power)) as f32
    }
}

/// The rate times a function of the step.
///
/// ```
/// use farad::optim::schedule::{Lambda, Schedule};
/// let schedule = Lambda::new(0.5, |step| 1.0 / (1.0 + step as f64));
/// assert_eq!(schedule.rate(1), 0.25);
/// ```
#[derive(Clone, Copy)]
pub struct Lambda<F> {
    rate: f64,
    share: F,
}

impl<F: Fn(u64) -> f64> Lambda<F> {
    /// `rate · share(step)`
    pub fn new(rate: f64, share: F) -> Lambda<F> {
        Lambda { rate, share }
    }
}

impl<F: Fn(u64) -> f64> Schedule for Lambda<F> {
    fn rate(&self, step: u64) -> f32 {
        (self.rate * (self.share)(step)) as f32
    }
}
