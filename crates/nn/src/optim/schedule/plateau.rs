//! A rate that falls when a metric stops getting better.
//!
//! Invariant: what the next rate depends on, apart from settings and metrics, is [`PlateauState`].

use serde::{Deserialize, Serialize};

/// Lowers the rate when a metric (a loss, unless told otherwise) has not got better for a while. Unlike the
/// others it has a state, which goes into checkpoints.
///
/// ```
/// use farad::optim::schedule::Plateau;
/// let mut plateau = Plateau::new(1.0).patience(1).factor(0.5);
/// let rates: Vec<f32> = [3.0, 2.0, 2.0, 2.0, 2.0].map(|loss| plateau.observe(loss)).into();
/// assert_eq!(rates, [1.0, 1.0, 1.0, 0.5, 0.5]);
/// // As one resumes from a checkpoint:
/// let mut again = Plateau::new(1.0).patience(1).factor(0.5);
/// again.restore(plateau.state());
/// assert_eq!(again.observe(2.0), plateau.observe(2.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    larger: bool,
    factor: f64,
    patience: u64,
    threshold: f64,
    absolute: bool,
    cooldown: u64,
    minimum: f64,
    state: PlateauState,
}

/// What a [`Plateau`] remembers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlateauState {
    /// The rate.
    pub rate: f64,
    /// The best metric so far, if there was one.
    pub best: Option<f64>,
    /// How many metrics in a row were not better.
    pub bad: u64,
    /// For how many more metrics nothing is counted.
    pub rest: u64,
}

/// A rate that would change by less than this stays.
const SMALLEST_CHANGE: f64 = 1e-8;

impl Plateau {
    /// From `rate` on, a tenth of it after more than ten metrics that were not smaller than the smallest by a
    /// share of 1e-4.
    pub fn new(rate: f64) -> Plateau {
        Plateau {
            larger: false,
            factor: 0.1,
            patience: 10,
            threshold: 1e-4,
            absolute: false,
            cooldown: 0,
            minimum: 0.0,
            state: PlateauState { rate, best: None, bad: 0, rest: 0 },
        }
    }

    /// Larger metrics are better.
    pub fn larger_is_better(mut self) -> Plateau {
        self.larger = true;
        self
    }

    /// What the rate is multiplied by.
    pub fn factor(mut self, factor: f64) -> Plateau {
        self.factor = factor;
        self
    }

    /// How many metrics in a row may be no better before the rate falls.
    pub fn patience(mut self, metrics: u64) -> Plateau {
        self.patience = metrics;
        self
    }

    /// By what share of the best a metric must be better to count.
    pub fn threshold(mut self, share: f64) -> Plateau {
        (self.threshold, self.absolute) = (share, false);
        self
    }

    /// By how much a metric must be better to count.
    pub fn absolute_threshold(mut self, difference: f64) -> Plateau {
        (self.threshold, self.absolute) = (difference, true);
        self
    }

    /// For how many metrics nothing is counted after the rate fell.
    pub fn cooldown(mut self, metrics: u64) -> Plateau {
        self.cooldown = metrics;
        self
    }

    /// The lowest rate.
    pub fn minimum(mut self, rate: f64) -> Plateau {
        self.minimum = rate;
        self
    }

    /// The rate as it is.
    pub fn rate(&self) -> f32 {
        self.state.rate as f32
    }

    /// Takes a metric and gives the rate from now on.
    pub fn observe(&mut self, metric: f32) -> f32 {
        let metric = metric as f64;
        if self.state.best.is_none_or(|best| self.is_better(metric, best)) {
            (self.state.best, self.state.bad) = (Some(metric), 0);
        } else {
            self.state.bad += 1;
        }
        if self.state.rest > 0 {
            (self.state.rest, self.state.bad) = (self.state.rest - 1, 0);
        }
        if self.state.bad > self.patience {
            let rate = (self.state.rate * self.factor).max(self.minimum);
            if self.state.rate - rate > SMALLEST_CHANGE {
                self.state.rate = rate;
            }
            (self.state.rest, self.state.bad) = (self.cooldown, 0);
        }
        self.rate()
    }

    fn is_better(&self, metric: f64, best: f64) -> bool {
        match (self.larger, self.absolute) {
            (false, false) => metric < best * (1.0 - self.threshold),
            (false, true) => metric < best - self.threshold,
            (true, false) => metric > best * (1.0 + self.threshold),
            (true, true) => metric > best + self.threshold,
        }
    }

    /// What it remembers, for checkpoints.
    pub fn state(&self) -> PlateauState {
        self.state
    }

    /// Goes on from there.
    pub fn restore(&mut self, state: PlateauState) {
        self.state = state;
    }
}
