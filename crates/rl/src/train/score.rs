//! How good agents are: returns of whole episodes.

use farad::run::{Value, json};
use farad::{Device, Result};

use super::settings::Settings;
use crate::environment::Environment;
use crate::episodes::{Agents, returns};

/// Returns of an agent's episodes.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturnScore {
    /// One per episode.
    pub returns: Vec<f32>,
    /// Steps of each.
    pub lengths: Vec<f32>,
}

impl ReturnScore {
    /// The scores of every agent, over `episodes` episodes each, from starts that depend on this seed. Does not
    /// advance the device's own random numbers.
    pub fn of(
        environment: &dyn Environment,
        agents: &Agents,
        episodes: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Vec<ReturnScore>> {
        let random = device.random_state();
        device.seed(seed);
        let [totals, lengths] = returns(environment, agents, episodes, device);
        device.set_random_state(random);
        farad::Tensor::compute_all(&[&totals, &lengths])?;
        let (totals, lengths) = (totals.to_vec::<f32>()?, lengths.to_vec::<f32>()?);
        let pairs = totals.chunks(episodes).zip(lengths.chunks(episodes));
        Ok(pairs.map(|(t, l)| ReturnScore { returns: t.to_vec(), lengths: l.to_vec() }).collect())
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
        json!({
            "world": settings.world, "algorithm": settings.algorithm, "seed": seed, "updates": steps,
            "episodes": self.returns.len(), "return_mean": self.mean(), "return_min": self.min(),
            "length_mean": length / self.lengths.len().max(1) as f64,
        })
    }
}
