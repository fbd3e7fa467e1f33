//! OpenAI's evolution strategy (Salimans and others, 2017): the mean moves along the noise, weighted by ranks.

use std::sync::Arc;

use farad::group::Group;
use farad::{DType, Device, Order, Result, Tensor};

use super::{EvolutionSettings, PolicyTrial, course, fitness, network, ranks_of, scaled_fitness};
use crate::actor_critic::ActorCritic;
use crate::environment::Environment;
use crate::episodes::Agents;
use crate::error::{RlError, stored};
use crate::explosion::Explosions;
use crate::normalizer::Normalizer;
use crate::ranks::Ranks;

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
/// let mut es = Es::new(std::sync::Arc::new(CartPole), settings, 1, 100, &device)?;
/// let course = es.update()?; // loss, mean return, best return and deviation
/// assert_eq!(course.shape()[..], [1, 4]);
/// # Ok::<(), farad::Error>(())
/// ```
pub struct Es {
    environment: Arc<dyn Environment>,
    network: ActorCritic,
    settings: EvolutionSettings,
    device: Device,
    /// The mean of every seed and Adam's moments, `[seeds, numbers]`. Weights are the mean times the gains.
    state: [Tensor; 3],
    /// How far each number varies, `[1, numbers]`; none if all vary alike.
    gains: Option<Tensor>,
    /// Of what all policies of a seed see, if observations are scaled.
    scale: Option<Normalizer>,
    explosions: Explosions,
    updates: u64,
    updates_in_all: u64,
    /// The ranks that evolve together; each tries its share of the policies.
    ranks: Ranks,
}

impl Es {
    /// The state before the first generation: means are orthogonal weights from the CPU's random numbers.
    pub fn new(
        environment: Arc<dyn Environment>,
        settings: EvolutionSettings,
        seeds: usize,
        updates: u64,
        device: &Device,
    ) -> Result<Es> {
        if !settings.population.is_multiple_of(2) {
            return Err(RlError::OddPopulation { population: settings.population }.into());
        }
        let network = network(&*environment, &settings);
        let weights = network.init(seeds, device)?;
        let gains = gains(&network, environment.clocks(), settings.clock_gain, device);
        let mean = ActorCritic::packed(&weights);
        let mean = gains.as_ref().map_or(mean.clone(), |gains| mean / gains).detach()?;
        let zero = mean.full_like(0.0).detach()?;
        let scale = settings.scale.then(|| Normalizer::new(seeds, environment.observations(), device));
        let explosions = Explosions::none(&*environment, seeds, device);
        let (device, state) = (device.clone(), [mean, zero.clone(), zero]);
        Ok(Es {
            environment,
            network,
            settings,
            device,
            state,
            gains,
            scale,
            explosions,
            updates: 0,
            updates_in_all: updates,
            ranks: None,
        })
    }

    /// Evolves with all ranks of a group, which have been made alike: each tries its share of the policies. Generations are those
    /// of one rank.
    pub fn distributed(mut self, group: &Group) -> Result<Es> {
        self.ranks = ranks_of(group, self.seeds() * self.settings.population)?;
        Ok(self)
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

    /// The weights of policies, from their numbers `[policies, numbers]`.
    fn weights(&self, numbers: &Tensor) -> Tensor {
        self.gains.as_ref().map_or(numbers.clone(), |gains| numbers * gains)
    }

    /// The mean policies.
    pub fn agents(&self) -> Agents {
        let weights = self.network.unpack(&self.weights(&self.state[0]));
        Agents { network: self.network.clone().into(), weights, normalizer: self.scale.clone() }
    }

    /// Continues with these agents as the means.
    pub fn take(&mut self, agents: &Agents) -> Result<()> {
        let weights = ActorCritic::packed(&agents.weights);
        self.state[0] = self.gains.as_ref().map_or(weights.clone(), |gains| weights / gains).detach()?;
        if self.scale.is_some() {
            self.scale.clone_from(&agents.normalizer);
        }
        Ok(())
    }

    /// The share of an episode that policies are tried for now.
    fn share(&self) -> f64 {
        let early = self.settings.early * self.updates_in_all as f64;
        if (self.updates as f64) < early { self.settings.early_share } else { 1.0 }
    }

    /// One generation in one submission. Returns `[seeds, 4]` without waiting for it ([`super::GENERATION`]).
    pub fn update(&mut self) -> Result<Tensor> {
        let EvolutionSettings { population, noise, decay, .. } = self.settings;
        let mean = &self.state[0];
        let (seeds, numbers) = (mean.shape()[0], mean.shape()[1]);
        let drawn = Tensor::randn([seeds, population / 2, numbers], &self.device);
        let both = Tensor::concat(&[&drawn, &-&drawn], 1);
        let rows = (mean.unsqueeze(1) + both * noise).reshape([seeds * population, numbers]);
        let rows = self.weights(&rows);
        let trial =
            PolicyTrial::new(&*self.environment, &self.settings, self.share(), &self.device, &self.ranks);
        let (found, broken, scale) = match &self.scale {
            None => {
                let (found, broken) = fitness(&trial, &self.network, &rows)?;
                (found, broken, None)
            }
            Some(scale) => {
                let (found, broken, scale) = scaled_fitness(&trial, &self.network, &rows, scale)?;
                (found, broken, Some(scale))
            }
        };
        let found = found.reshape([seeds, population]);
        // Ranks from -1/2 to 1/2: only the order matters.
        let ranks = found.argsort(1, Order::Ascending).argsort(1, Order::Ascending).cast(DType::F32);
        let ranks = ranks * (1.0 / (population - 1) as f64) - 0.5;
        let [up, down] = [0, population / 2].map(|from| ranks.narrow(1, from, population / 2));
        let slope = ((up - down).unsqueeze(2) * drawn).sum_axes([1]) * (1.0 / (population as f64 * noise));
        let slope = slope - mean * decay;
        let next = self.moved(&slope);
        let explosions = self.explosions.with(broken.as_ref(), self.updates + 1);
        let course = explosions.marked(&course(&found, &Tensor::full(noise, [seeds], &self.device)));
        let others = scale.iter().flat_map(Normalizer::tensors).chain(explosions.tensor());
        Tensor::compute_all(&next.iter().chain([&course]).chain(others).collect::<Vec<_>>())?;
        for (old, new) in self.state.iter_mut().zip(next) {
            *old = new.detach()?;
        }
        self.scale = scale.map(|scale| scale.detach()).transpose()?;
        self.explosions = explosions.detach()?;
        self.updates += 1;
        Ok(course)
    }

    /// The mean and the moments after a step up this slope, `[seeds, numbers]`.
    fn moved(&self, slope: &Tensor) -> [Tensor; 3] {
        let EvolutionSettings { noise, step, together, .. } = self.settings;
        let [mean, first, second] = &self.state;
        let steps = (self.updates + 1) as f64;
        let corrections = BETAS.map(|beta| Tensor::number(1.0 - beta.powf(steps), &self.device));
        if together {
            // Most weights matter little, and their slopes are noise: divided by its own deviation, each would go as far as the others.
            let length = slope.square().sum_axes(farad::kept([1])).sqrt() + SMALL;
            let m = first * BETAS[0] + slope / length * (1.0 - BETAS[0]);
            let far = step * noise * (slope.shape()[1] as f64).sqrt();
            return [mean + &m / &corrections[0] * far, m, second.clone()];
        }
        let m = first * BETAS[0] + slope * (1.0 - BETAS[0]);
        let v = second * BETAS[1] + slope.square() * (1.0 - BETAS[1]);
        let moved = (&m / &corrections[0]) / ((&v / &corrections[1]).sqrt() + SMALL);
        [mean + moved * step, m, v]
    }

    /// An error that names generation, step, world and body if a world exploded so far. Reads.
    pub fn check(&self) -> Result<()> {
        self.explosions.check(&*self.environment)
    }

    /// Everything that evolution needs to continue, by name.
    pub fn tensors(&self) -> Vec<(String, Tensor)> {
        self.names().into_iter().zip(self.all().into_iter().cloned()).collect()
    }

    fn all(&self) -> Vec<&Tensor> {
        self.state.iter().chain(self.scale.iter().flat_map(Normalizer::tensors)).collect()
    }

    fn names(&self) -> Vec<String> {
        let scale = self.scale.iter().flat_map(|_| ["seen.count", "seen.mean", "seen.variance"]);
        ["mean", "first", "second"].into_iter().chain(scale).map(String::from).collect()
    }

    /// Continues from what [`Es::tensors`] returned after this many generations.
    pub fn restore(&mut self, tensors: &[(String, Tensor)], updates: u64) -> Result<()> {
        let mut new = stored(&self.names(), &self.all(), tensors)?.into_iter();
        let scale = self.scale.iter_mut().flat_map(|scale| {
            let Normalizer { count, mean, variance } = scale;
            [count, mean, variance]
        });
        self.state.iter_mut().chain(scale).zip(new.by_ref()).for_each(|(old, new)| *old = new);
        self.updates = updates;
        Ok(())
    }
}

/// How far each number of a policy varies, `[1, numbers]`: those that weigh a clock's observations, which are the last, so many times
/// as far as the others.
fn gains(network: &ActorCritic, clocks: usize, gain: f64, device: &Device) -> Option<Tensor> {
    if clocks == 0 || gain == 1.0 {
        return None;
    }
    let shape = &network.shapes()[0];
    let (inputs, outputs) = (shape[1], shape[2]);
    let of = |number: usize| {
        let is_clock = (inputs - clocks..inputs).contains(&(number / outputs));
        if is_clock { gain as f32 } else { 1.0 }
    };
    let numbers = network.numbers();
    Some(Tensor::from_vec((0..numbers).map(of).collect(), [1, numbers], device))
}
