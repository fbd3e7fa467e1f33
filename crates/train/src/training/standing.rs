//! How training stands beside the model: what decides when it ends and what is kept.

use serde::{Deserialize, Serialize};

use super::interval::LossSums;
use crate::kind::Validation;

/// What the loop must know to go on as if it had never stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// How good the best validation was.
    pub best: Option<f64>,
    /// After which step.
    pub best_step: u64,
    /// Validations since then.
    pub since_best: u64,
    /// The loss was not finite in the last row of the log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overflowed: bool,
    /// Losses since the last regular row of the log.
    #[serde(default, skip_serializing_if = "LossSums::is_empty")]
    pub sums: LossSums,
}

impl Standing {
    /// Notes a validation; whether it is the best so far. One that is not a number never is.
    pub fn note(&mut self, step: u64, validation: &Validation) -> bool {
        let now = validation.goodness;
        let better = match self.best {
            _ if now.is_nan() => false,
            None => true,
            Some(best) => now > best || (validation.later_wins && now == best),
        };
        match better {
            true => (self.best, self.best_step, self.since_best) = (Some(now), step, 0),
            false => self.since_best += 1,
        }
        better
    }
}
