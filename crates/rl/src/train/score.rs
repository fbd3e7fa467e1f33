//! How good agents are: returns of whole episodes.

use farad::run::{Value, json};
use farad::{Device, Result, Tensor};

use super::settings::Settings;
use crate::environment::Environment;
use crate::episodes::{Agents, episodes as tried};

/// Returns of an agent's episodes.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturnScore {
    /// One per episode.
    pub returns: Vec<f32>,
    /// Steps of each.
    pub lengths: Vec<f32>,
    /// Body lengths that each got ahead, in worlds of bodies.
    pub ahead: Option<Vec<f32>>,
}

impl ReturnScore {
    /// The scores of every agent, over `episodes` episodes each, from starts that depend on this seed. Does not
    /// advance the device's own random numbers. An error if a world exploded.
    pub fn of(
        environment: &dyn Environment,
        agents: &Agents,
        episodes: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Vec<ReturnScore>> {
        let random = device.random_state();
        device.seed(seed);
        let totals = tried(environment, agents, episodes, None, device);
        device.set_random_state(random);
        let all: Vec<&Tensor> = [&totals.returns, &totals.lengths].into_iter().chain(&totals.ahead).collect();
        Tensor::compute_all(&all.iter().copied().chain(&totals.broken).collect::<Vec<_>>())?;
        totals.check(environment)?;
        let numbers = all.into_iter().map(Tensor::to_vec::<f32>).collect::<Result<Vec<_>>>()?;
        let own = |n: usize, agent: usize| numbers[n][agent * episodes..][..episodes].to_vec();
        let score = |agent: usize| ReturnScore {
            returns: own(0, agent),
            lengths: own(1, agent),
            ahead: totals.ahead.as_ref().map(|_| own(2, agent)),
        };
        Ok((0..numbers[0].len() / episodes).map(score).collect())
    }

    /// The mean of body lengths, and the least of them.
    pub fn body_lengths(&self) -> Option<[f64; 2]> {
        let all = self.ahead.as_ref()?.iter().map(|&ahead| f64::from(ahead));
        Some([all.clone().sum::<f64>() / all.len().max(1) as f64, all.fold(f64::INFINITY, f64::min)])
    }

    /// The mean return.
    pub fn mean(&self) -> f64 {
        self.returns.iter().map(|&total| f64::from(total)).sum::<f64>() / self.returns.len().max(1) as f64
    }

    /// The worst return.
    pub fn min(&self) -> f64 {
        self.returns.iter().map(|&total| f64::from(total)).fold(f64::INFINITY, f64::min)
    }

    /// The score as JSON.
    pub fn json(&self, settings: &Settings, seed: u64, steps: u64) -> Value {
        let length = self.lengths.iter().map(|&length| f64::from(length)).sum::<f64>();
        let mut json = json!({
            "world": settings.world, "algorithm": settings.algorithm, "seed": seed, "updates": steps,
            "episodes": self.returns.len(), "return_mean": self.mean(), "return_min": self.min(),
            "length_mean": length / self.lengths.len().max(1) as f64,
        });
        if let Some([mean, min]) = self.body_lengths() {
            (json["body_lengths_mean"], json["body_lengths_min"]) = (mean.into(), min.into());
        }
        json
    }
}
