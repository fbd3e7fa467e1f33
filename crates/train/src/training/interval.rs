//! The mean of the losses since the last regular row of the log, which is what a row has.
//!
//! Invariant: a row depends on its step alone. Rows that come in between (validations, the last step of a run that may go on)
//! take nothing away from the next, and checkpoints hold the sums, so that no row depends on when a run was stopped.

use farad_group::Combine;
use farad_tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::Training;
use super::late::Late;
use crate::error::Result;
use crate::kind::Trainee;

/// Whether the log has a row after a step whatever else happens: after every so many, and often at the beginning, so that the
/// curve of a short run has points.
pub(super) fn is_regular(step: u64, log_every: u64) -> bool {
    step.is_multiple_of(log_every) || (step < log_every && step.is_power_of_two())
}

/// Sums of the losses of an interval, one for each model. Losses that are not finite do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossSums {
    /// The bits of the sums: a text of digits might not give the same number back.
    sums: Vec<u64>,
    counts: Vec<u64>,
}

impl LossSums {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Adds the losses of a step.
    pub fn add(&mut self, losses: &[f32]) {
        if self.sums.len() != losses.len() {
            (self.sums, self.counts) = (vec![0f64.to_bits(); losses.len()], vec![0; losses.len()]);
        }
        for (n, loss) in losses.iter().enumerate().filter(|(_, loss)| loss.is_finite()) {
            self.sums[n] = (f64::from_bits(self.sums[n]) + f64::from(*loss)).to_bits();
            self.counts[n] += 1;
        }
    }

    /// The means. A model without a finite loss has none.
    pub fn means(&self) -> Vec<f32> {
        let mean = |(&sum, &count): (&u64, &u64)| match count {
            0 => f32::NAN,
            _ => (f64::from_bits(sum) / count as f64) as f32,
        };
        self.sums.iter().zip(&self.counts).map(mean).collect()
    }
}

/// Losses on their way from the device.
pub(super) struct LateLosses {
    /// The last step that they are of.
    pub step: u64,
    /// How many steps they are of.
    pub steps: usize,
    numbers: Late,
    /// Whether the log has a row after them.
    pub logs: bool,
}

/// Steps whose losses wait on the device at most.
pub(super) const MOST_FRESH: usize = 64;

impl<T: Trainee + ?Sized> Training<T> {
    /// Asks the device for the losses of the last steps.
    pub(super) fn ask(&mut self, logs: bool) {
        let fresh = std::mem::take(&mut self.fresh);
        let mut rest = &fresh[..];
        while let Some(most) = rest.len().checked_ilog2() {
            // By powers of two, so that few programs do it for any number.
            let (now, later) = rest.split_at(1 << most);
            let numbers = match now {
                [one] => Late::new(one),
                many => Late::new(&Tensor::stack(&many.iter().collect::<Vec<_>>(), 0)),
            };
            self.late.push(LateLosses {
                step: self.step - later.len() as u64,
                steps: now.len(),
                numbers,
                logs: logs && later.is_empty(),
            });
            rest = later;
        }
    }

    /// Takes losses that were asked for; those of the last step among them.
    pub(super) fn arrived(&mut self, late: LateLosses) -> Result<Vec<f32>> {
        let mut numbers = late.numbers.get()?;
        let (group, device) = (&self.group, self.trainee.device());
        let parts = match self.trainee.is_spread() {
            true => device.waiting_for_others(|| group.all_gather(&numbers))?,
            false => {
                if !self.trainee.is_same() {
                    device.waiting_for_others(|| group.all_reduce(&mut numbers, Combine::Mean))?;
                }
                vec![numbers]
            }
        };
        // Step by step, the models of all ranks.
        let of = |part: &Vec<f32>, n: usize| {
            part[n * part.len() / late.steps..(n + 1) * part.len() / late.steps].to_vec()
        };
        let mut last = vec![];
        for n in 0..late.steps {
            last = parts.iter().flat_map(|part| of(part, n)).collect();
            if self.trainee.logs_means() {
                self.standing.sums.add(&last);
            }
        }
        Ok(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_have_rows() {
        let rows = |log_every: u64, steps: u64| {
            (1..=steps).filter(|&step| is_regular(step, log_every)).collect::<Vec<_>>()
        };
        assert_eq!(rows(20, 45), [1, 2, 4, 8, 16, 20, 40]);
        assert_eq!(rows(3, 10), [1, 2, 3, 6, 9]);
        assert_eq!(rows(1, 3), [1, 2, 3]);
    }

    #[test]
    fn means_are_of_finite_losses_and_survive_a_text() {
        let mut sums = LossSums::default();
        sums.add(&[0.1, f32::NAN]);
        sums.add(&[0.7, f32::INFINITY]);
        assert_eq!(sums.means()[0], 0.4);
        assert!(sums.means()[1].is_nan());
        let back: LossSums = serde_json::from_str(&serde_json::to_string(&sums).unwrap()).unwrap();
        assert_eq!(back, sums);
    }
}
