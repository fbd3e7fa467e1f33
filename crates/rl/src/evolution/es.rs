//! OpenAI's evolution strategy (Salimans and others, 2017): the mean moves along the noise, weighted by ranks.

use std::sync::Arc;

use farad::{DType, Device, Order, Result, Tensor};

use super::{EvolutionSettings, course, fitness, network};
use crate::actor_critic::ActorCritic;
use crate::environment::Environment;
use crate::episodes::Agents;
use crate::error::{RlError, stored};

/// Decay rates of Adam's moments, and its epsilon.
const BETAS: [f64; 2] = [0.9, 0.999];
const SMALL: f64 = 1e-8;

/// The means of many seeds at once, each with a population around it.
///
/// ```
/// use farad::prelude::*;
/// use farad_rl::{CartPole, Es, EvolutionSettings};
/// let device = Device::cpu();
/// let settings = EvolutionSettings { population: 4, trials: 1, policy: vec![], ..EvolutionSettings::default() };
/// let mut es = Es::new(std::sync::Arc::new(CartPole), settings, 1, &device)?;
/// let course = es.update()?; // loss, mean return, best return and deviation
/// assert_eq!(course.shape()[..], [1, 4]);
/// # Ok::<(), farad::Error>(())
/// ```
pub struct Es {
    environment: Arc<dyn Environment>,
    network: ActorCritic,
    settings: EvolutionSettings,
    device: Device,
    /// The mean of every seed and Adam's moments, `[seeds, numbers]`.
    state: [Tensor; 3],
    updates: u64,
}

impl Es {
    /// The state before the first generation: means are orthogonal weights from the CPU's random numbers.
    pub fn new(
        environment: Arc<dyn Environment>,
        settings: EvolutionSettings,
        seeds: usize,
        device: &Device,
    ) -> Result<Es> {
        if !settings.population.is_multiple_of(2) {
            return Err(RlError::OddPopulation { population: settings.population }.into());
        }
        let network = network(&*environment, &settings);
        let weights = network.init(seeds, device)?;
        let mean = ActorCritic::packed(&weights).detach()?;
        let zero = mean.full_like(0.0).detach()?;
        let (device, state) = (device.clone(), [mean, zero.clone(), zero]);
        Ok(Es { environment, network, settings, device, state, updates: 0 })
    }

    /// The number of agents that train in parallel.
    pub fn seeds(&self) -> usize {
        self.state[0].shape()[0]
    }

    /// Generations so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Most steps per generation, over all worlds.
    pub fn steps_per_update(&self) -> usize {
        self.seeds() * self.settings.population * self.settings.trials * self.environment.longest()
    }

    /// The mean policies.
    pub fn agents(&self) -> Agents {
        let weights = self.network.unpack(&self.state[0]);
        Agents { network: self.network.clone(), weights, normalizer: None }
    }

    /// Continues with these agents as the means.
    pub fn take(&mut self, agents: &Agents) -> Result<()> {
        self.state[0] = ActorCritic::packed(&agents.weights).detach()?;
        Ok(())
    }

    /// One generation in one submission. Returns `[seeds, 4]` without waiting for it ([`super::GENERATION`]).
    pub fn update(&mut self) -> Result<Tensor> {
        let EvolutionSettings { population, trials, noise, step, decay, .. } = self.settings;
        let [mean, first, second] = &self.state;
        let (seeds, numbers) = (mean.shape()[0], mean.shape()[1]);
        let drawn = Tensor::randn([seeds, population / 2, numbers], &self.device);
        let both = Tensor::concat(&[&drawn, &-&drawn], 1);
        let rows = (mean.unsqueeze(1) + both * noise).reshape([seeds * population, numbers]);
        let found = fitness(&*self.environment, &self.network, &rows, trials, &self.device);
        let found = found.reshape([seeds, population]);
        // Ranks from -1/2 to 1/2: only the order matters.
        let ranks = found.argsort(1, Order::Ascending).argsort(1, Order::Ascending).cast(DType::F32);
        let ranks = ranks * (1.0 / (population - 1) as f64) - 0.5;
        let [up, down] = [0, population / 2].map(|from| ranks.narrow(1, from, population / 2));
        let slope = ((up - down).unsqueeze(2) * drawn).sum_axes([1]) * (1.0 / (population as f64 * noise));
        let slope = slope - mean * decay;
        let m = first * BETAS[0] + &slope * (1.0 - BETAS[0]);
        let v = second * BETAS[1] + slope.square() * (1.0 - BETAS[1]);
        let steps = (self.updates + 1) as f64;
        let corrections = BETAS.map(|beta| Tensor::number(1.0 - beta.powf(steps), &self.device));
        let moved = (&m / &corrections[0]) / ((&v / &corrections[1]).sqrt() + SMALL);
        let next = [mean + moved * step, m, v];
        let course = course(&found, &Tensor::full(noise, [seeds], &self.device));
        Tensor::compute_all(&[&next[0], &next[1], &next[2], &course])?;
        for (old, new) in self.state.iter_mut().zip(next) {
            *old = new.detach()?;
        }
        self.updates += 1;
        Ok(course)
    }

    /// Everything that evolution needs to continue, by name.
    pub fn tensors(&self) -> Vec<(String, Tensor)> {
        names().into_iter().zip(self.state.iter().cloned()).collect()
    }

    /// Continues from what [`Es::tensors`] returned after this many generations.
    pub fn restore(&mut self, tensors: &[(String, Tensor)], updates: u64) -> Result<()> {
        let new = stored(&names(), &self.state.iter().collect::<Vec<_>>(), tensors)?;
        self.state.iter_mut().zip(new).for_each(|(old, new)| *old = new);
        self.updates = updates;
        Ok(())
    }
}

fn names() -> Vec<String> {
    ["mean", "first", "second"].map(String::from).to_vec()
}
