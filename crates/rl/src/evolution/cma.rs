//! CMA-ES (Hansen): a normal distribution of policies whose covariance adapts to successful steps.
//!
//! Policies are evaluated on the device, one generation in one program; the distribution is kept in f64 on the
//! host. Samples are `m + σ A z`, where `A` is the Cholesky factor of the covariance. So the evolution path
//! needs no inverse: it uses the mean of `z`.

use std::sync::Arc;

use farad::group::Group;
use farad::{Device, Result, Tensor};

use super::{EvolutionSettings, PolicyTrial, course, fitness, network, ranks_of};
use crate::actor_critic::ActorCritic;
use crate::environment::Environment;
use crate::episodes::Agents;
use crate::error::{RlError, stored};
use crate::explosion::Explosions;
use crate::ranks::Ranks;

/// Most parameters of a policy: the covariance has their square.
const MOST: usize = 1024;

/// The distributions of many seeds, each with its own population.
///
/// ```
/// use farad::prelude::*;
/// use farad_rl::{CartPole, Cma, EvolutionSettings};
/// let device = Device::cpu();
/// let settings = EvolutionSettings { population: 8, trials: 1, policy: vec![], ..EvolutionSettings::default() };
/// let mut cma = Cma::new(std::sync::Arc::new(CartPole), settings, 1, 7, &device)?;
/// let course = cma.update()?; // loss, mean return, best return and deviation
/// assert_eq!(course.shape()[..], [1, 4]);
/// # Ok::<(), farad::Error>(())
/// ```
pub struct Cma {
    environment: Arc<dyn Environment>,
    network: ActorCritic,
    settings: EvolutionSettings,
    device: Device,
    rates: Rates,
    distributions: Vec<Distribution>,
    explosions: Explosions,
    seed: u64,
    updates: u64,
    /// The ranks that evolve together; each tries its share of the policies.
    ranks: Ranks,
}

/// The distribution from which policies are drawn.
struct Distribution {
    mean: Vec<f64>,
    sigma: f64,
    /// Row by row.
    covariance: Vec<f64>,
    /// The evolution paths of the step size and of the covariance.
    path_sigma: Vec<f64>,
    path: Vec<f64>,
}

/// The constants of the method, for the given numbers of parameters and policies.
struct Rates {
    weights: Vec<f64>,
    effective: f64,
    sigma: f64,
    damping: f64,
    path: f64,
    one: f64,
    many: f64,
    /// The expected length of a standard normal vector.
    length: f64,
}

impl Rates {
    fn new(numbers: usize, population: usize) -> Rates {
        let n = numbers as f64;
        let parents = population / 2;
        let raw = |rank: usize| ((population as f64 + 1.0) / 2.0).ln() - (rank as f64 + 1.0).ln();
        let sum: f64 = (0..parents).map(raw).sum();
        let weights: Vec<f64> = (0..parents).map(|rank| raw(rank) / sum).collect();
        let effective = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        let sigma = (effective + 2.0) / (n + effective + 5.0);
        let one = 2.0 / ((n + 1.3).powi(2) + effective);
        let many = 2.0 * (effective - 2.0 + 1.0 / effective) / ((n + 2.0).powi(2) + effective);
        Rates {
            effective,
            sigma,
            damping: 1.0 + 2.0 * (((effective - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + sigma,
            path: (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n),
            one,
            many: many.min(1.0 - one),
            length: n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
            weights,
        }
    }
}

impl Distribution {
    fn new(mean: Vec<f64>, sigma: f64) -> Distribution {
        let n = mean.len();
        let covariance = (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect();
        Distribution { path_sigma: vec![0.0; n], path: vec![0.0; n], covariance, mean, sigma }
    }

    /// The lower Cholesky factor `A` of the covariance `A Aᵀ`; pivots that rounding made negative are kept
    /// positive.
    fn factor(&self) -> Vec<f64> {
        let n = self.mean.len();
        let mut a = vec![0.0; n * n];
        for row in 0..n {
            for column in 0..=row {
                let dot: f64 = (0..column).map(|k| a[row * n + k] * a[column * n + k]).sum();
                let rest = self.covariance[row * n + column] - dot;
                a[row * n + column] = match row == column {
                    true => rest.max(1e-20).sqrt(),
                    false => rest / a[column * n + column],
                };
            }
        }
        a
    }

    /// The step `A z`.
    fn step(factor: &[f64], z: &[f64]) -> Vec<f64> {
        let n = z.len();
        (0..n).map(|row| (0..=row).map(|k| factor[row * n + k] * z[k]).sum()).collect()
    }

    /// Moves the distribution toward the best policies: `order` lists their indices, best first.
    fn adapt(&mut self, rates: &Rates, drawn: &[Vec<f64>], factor: &[f64], order: &[usize], generation: u64) {
        let n = self.mean.len();
        let steps: Vec<Vec<f64>> =
            order[..rates.weights.len()].iter().map(|&at| Distribution::step(factor, &drawn[at])).collect();
        let weighted = |parts: &mut dyn Iterator<Item = &Vec<f64>>| {
            let mut sum = vec![0.0; n];
            for (part, weight) in parts.zip(&rates.weights) {
                sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += weight * x);
            }
            sum
        };
        let (step, z) = (weighted(&mut steps.iter()), weighted(&mut order.iter().map(|&at| &drawn[at])));
        self.mean.iter_mut().zip(&step).for_each(|(mean, step)| *mean += self.sigma * step);
        let keep = (rates.sigma * (2.0 - rates.sigma) * rates.effective).sqrt();
        self.path_sigma.iter_mut().zip(&z).for_each(|(p, z)| *p = (1.0 - rates.sigma) * *p + keep * z);
        let length = self.path_sigma.iter().map(|p| p * p).sum::<f64>().sqrt();
        let settled = 1.0 - (1.0 - rates.sigma).powf(2.0 * (generation + 1) as f64);
        let calm = length / settled.sqrt() < (1.4 + 2.0 / (n as f64 + 1.0)) * rates.length;
        let keep = if calm { (rates.path * (2.0 - rates.path) * rates.effective).sqrt() } else { 0.0 };
        self.path.iter_mut().zip(&step).for_each(|(p, s)| *p = (1.0 - rates.path) * *p + keep * s);
        let lost = if calm { 0.0 } else { rates.path * (2.0 - rates.path) };
        let old = 1.0 - rates.one - rates.many + rates.one * lost;
        for row in 0..n {
            for column in 0..=row {
                let many: f64 = steps.iter().zip(&rates.weights).map(|(s, w)| w * s[row] * s[column]).sum();
                let new = old * self.covariance[row * n + column]
                    + rates.one * self.path[row] * self.path[column]
                    + rates.many * many;
                self.covariance[row * n + column] = new;
                self.covariance[column * n + row] = new;
            }
        }
        self.sigma *= ((rates.sigma / rates.damping) * (length / rates.length - 1.0)).min(1.0).exp();
    }

    fn numbers(&self) -> Vec<f64> {
        let parts = [&self.mean, &self.covariance, &self.path_sigma, &self.path];
        std::iter::once(self.sigma).chain(parts.into_iter().flatten().copied()).collect()
    }

    fn put(&mut self, numbers: &[f64]) {
        let mut from = numbers.iter().copied();
        self.sigma = from.next().unwrap_or(self.sigma);
        for part in [&mut self.mean, &mut self.covariance, &mut self.path_sigma, &mut self.path] {
            part.iter_mut().zip(from.by_ref()).for_each(|(old, new)| *old = new);
        }
    }
}

impl Cma {
    /// The state before the first generation. Means are orthogonal weights from the CPU's random numbers;
    /// policies are drawn from `seed`.
    pub fn new(
        environment: Arc<dyn Environment>,
        settings: EvolutionSettings,
        seeds: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Cma> {
        let network = network(&*environment, &settings);
        let numbers = network.numbers();
        if numbers > MOST {
            return Err(RlError::ManyNumbers { numbers, most: MOST }.into());
        }
        let means = means(&network.init(seeds, &Device::cpu())?)?;
        let distributions = means.into_iter().map(|mean| Distribution::new(mean, settings.noise)).collect();
        let (rates, device) = (Rates::new(numbers, settings.population), device.clone());
        let explosions = Explosions::none(&*environment, seeds, &device);
        let (updates, ranks) = (0, None);
        Ok(Cma {
            environment,
            network,
            settings,
            device,
            rates,
            distributions,
            explosions,
            seed,
            updates,
            ranks,
        })
    }

    /// Evolves with all ranks of a group, which have been made alike: each tries its share of the policies. Generations are those
    /// of one rank.
    pub fn distributed(mut self, group: &Group) -> Result<Cma> {
        self.ranks = ranks_of(group, self.seeds() * self.settings.population)?;
        Ok(self)
    }

    /// The number of agents that train in parallel.
    pub fn seeds(&self) -> usize {
        self.distributions.len()
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
        let means: Vec<f32> =
            self.distributions.iter().flat_map(|d| d.mean.iter().map(|&x| x as f32)).collect();
        let rows = Tensor::from_vec(means, [self.seeds(), self.network.numbers()], &self.device);
        Agents { network: self.network.clone().into(), weights: self.network.unpack(&rows), normalizer: None }
    }

    /// Continues with these agents as the means.
    pub fn take(&mut self, agents: &Agents) -> Result<()> {
        let means = means(&agents.weights)?;
        self.distributions.iter_mut().zip(means).for_each(|(d, mean)| d.mean = mean);
        Ok(())
    }

    /// The normal random numbers of a generation: for all seeds and all policies.
    fn drawn(&self) -> Result<Vec<Vec<Vec<f64>>>> {
        let (population, n) = (self.settings.population, self.network.numbers());
        let count = self.seeds() * population * n;
        let uniform =
            |part: u64| wide(&Tensor::rand_at(self.seed, 2 * self.updates + part, [count], &Device::cpu()));
        let (u, v) = (uniform(0)?, uniform(1)?);
        let normal =
            |(u, v): (&f64, &f64)| (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        let all: Vec<f64> = u.iter().zip(&v).map(normal).collect();
        Ok(all.chunks(population * n).map(|seed| seed.chunks(n).map(<[f64]>::to_vec).collect()).collect())
    }

    /// One generation: evaluated in one submission, whose returns are read and used to adapt the distribution.
    /// Returns `[seeds, 4]` ([`super::GENERATION`]).
    pub fn update(&mut self) -> Result<Tensor> {
        let (seeds, population) = (self.seeds(), self.settings.population);
        let drawn = self.drawn()?;
        let factors: Vec<Vec<f64>> = self.distributions.iter().map(Distribution::factor).collect();
        let mut rows: Vec<f32> = vec![];
        for ((d, factor), all) in self.distributions.iter().zip(&factors).zip(&drawn) {
            for z in all {
                let step = Distribution::step(factor, z);
                rows.extend(d.mean.iter().zip(step).map(|(mean, step)| (mean + d.sigma * step) as f32));
            }
        }
        let rows = Tensor::from_vec(rows, [seeds * population, self.network.numbers()], &self.device);
        let trial = PolicyTrial::new(&*self.environment, &self.settings, 1.0, &self.device, &self.ranks);
        let (found, broken) = fitness(&trial, &self.network, &rows)?;
        let found = found.reshape([seeds, population]);
        let explosions = self.explosions.with(broken.as_ref(), self.updates + 1);
        let sigmas: Vec<f32> = self.distributions.iter().map(|d| d.sigma as f32).collect();
        let course = explosions.marked(&course(&found, &Tensor::from_vec(sigmas, [seeds], &self.device)));
        Tensor::compute_all(&[&found, &course].into_iter().chain(explosions.tensor()).collect::<Vec<_>>())?;
        self.explosions = explosions.detach()?;
        let totals = found.to_vec::<f32>()?;
        for (n, distribution) in self.distributions.iter_mut().enumerate() {
            let own = &totals[n * population..][..population];
            let mut order: Vec<usize> = (0..population).collect();
            order.sort_by(|&a, &b| own[b].total_cmp(&own[a]));
            distribution.adapt(&self.rates, &drawn[n], &factors[n], &order, self.updates);
        }
        self.updates += 1;
        course.detach()
    }

    /// An error that names generation, step, world and body if a world exploded so far. Reads.
    pub fn check(&self) -> Result<()> {
        self.explosions.check(&*self.environment)
    }

    /// Everything that evolution needs to continue, by name; each f64 is stored as two 32-bit words.
    pub fn tensors(&self) -> Vec<(String, Tensor)> {
        let words = |d: &Distribution| {
            let bits = d.numbers().into_iter().map(f64::to_bits);
            bits.flat_map(|bits| [bits as u32, (bits >> 32) as u32]).collect::<Vec<u32>>()
        };
        let tensor = |d: &Distribution| {
            let words = words(d);
            Tensor::from_vec::<u32>(words.clone(), [words.len()], &Device::cpu())
        };
        self.distributions.iter().enumerate().map(|(n, d)| (format!("distribution.{n}"), tensor(d))).collect()
    }

    /// Continues from what [`Cma::tensors`] returned after this many generations.
    pub fn restore(&mut self, tensors: &[(String, Tensor)], updates: u64) -> Result<()> {
        let (names, own): (Vec<String>, Vec<Tensor>) = self.tensors().into_iter().unzip();
        let new = stored(&names, &own.iter().collect::<Vec<_>>(), tensors)?;
        for (distribution, words) in self.distributions.iter_mut().zip(new) {
            let words = words.to_vec::<u32>()?;
            let number = |pair: &[u32]| f64::from_bits(u64::from(pair[0]) | u64::from(pair[1]) << 32);
            distribution.put(&words.chunks(2).map(number).collect::<Vec<f64>>());
        }
        self.updates = updates;
        Ok(())
    }
}

/// The numbers of a tensor in f64.
fn wide(tensor: &Tensor) -> Result<Vec<f64>> {
    Ok(tensor.to_vec::<f32>()?.into_iter().map(f64::from).collect())
}

/// The weights of every agent as one row.
fn means(weights: &[Tensor]) -> Result<Vec<Vec<f64>>> {
    let agents = weights[0].shape()[0];
    let rows = weights.iter().map(wide).collect::<Result<Vec<_>>>()?;
    let of = |row: &Vec<f64>, agent: usize| row[agent * row.len() / agents..][..row.len() / agents].to_vec();
    Ok((0..agents).map(|agent| rows.iter().flat_map(|row| of(row, agent)).collect()).collect())
}
