//! Proximal policy optimization (Schulman and others, 2017), entirely on the device.
//!
//! An update is one program: the roll-out is a loop, advantages are a loop, and all minibatches of all epochs
//! are a third one. Many seeds train in parallel. The first axis of every tensor is the seed, and each seed has
//! its own worlds, sample order, gradient norm and learning rate. Nothing is read back.
//!
//! Invariant: an update depends only on the tensors that [`Ppo::tensors`] returns, the device's random numbers
//! and the number of updates before it. Start at [`Ppo::update`].

mod rollout;
mod settings;
mod update;

use std::sync::Arc;

use farad::group::Group;
use farad::{DType, Device, Result, Tensor, TrainError};

use crate::actor_critic::ActorCritic;
use crate::discounted::discounted;
use crate::environment::Environment;
use crate::episodes::Agents;
use crate::error::stored;
use crate::explosion::Explosions;
use crate::normalizer::Normalizer;
use crate::ranks::{Ranks, WorldShare, seen_by};
use crate::samples::{by_seed, by_time};
use rollout::Collected;
pub use settings::PpoSettings;
use update::{LearnedWeights, Samples, UpdateMeans};

/// The columns that [`Ppo::update`] returns.
pub const COURSE: [&str; 4] = ["loss", "return", "entropy", "divergence"];

/// How the names of tensors begin that hold the state of worlds.
const WORLDS: &str = "worlds.";

/// Rewards are clamped to this many standard deviations of returns.
const FAR: f64 = 10.0;

/// Agents in training by PPO, one per seed.
///
/// ```
/// use farad::prelude::*;
/// use farad_rl::{CartPole, Ppo, PpoSettings};
/// let device = Device::cpu();
/// farad::seed(1);
/// device.seed(1);
/// let settings = PpoSettings { worlds: 4, horizon: 8, minibatches: 2, ..PpoSettings::default() };
/// let mut ppo = Ppo::new(std::sync::Arc::new(CartPole), settings, 2, 100, &device)?;
/// let course = ppo.update()?; // loss, return, entropy and divergence of two seeds
/// assert_eq!(course.shape()[..], [2, 4]);
/// # Ok::<(), farad::Error>(())
/// ```
pub struct Ppo {
    environment: Arc<dyn Environment>,
    network: ActorCritic,
    settings: PpoSettings,
    seeds: usize,
    device: Device,
    learned: LearnedWeights,
    /// The state of all worlds, and the episode statistics beside it.
    worlds: Vec<Tensor>,
    normalizer: Normalizer,
    /// Statistics of discounted returns.
    scale: Normalizer,
    /// The mean return of recently ended episodes, `[seeds]`.
    recent: Tensor,
    explosions: Explosions,
    /// The initial learning rate of every seed, `[seeds]`.
    rates: Tensor,
    updates: u64,
    updates_in_all: u64,
    /// The ranks that train together; each has its share of the worlds.
    ranks: Ranks,
    /// The worlds of all ranks, once they were gathered.
    gathered: Option<Vec<Tensor>>,
}

impl Ppo {
    /// Agents before their first update; `updates` is the total planned. Weights are drawn from the CPU's
    /// random numbers ([`farad::seed`]), everything else from the device's.
    pub fn new(
        environment: Arc<dyn Environment>,
        settings: PpoSettings,
        seeds: usize,
        updates: u64,
        device: &Device,
    ) -> Result<Ppo> {
        settings.check_minibatches("ppo")?;
        let hidden: Vec<usize> = settings.hidden.iter().map(|&size| size as usize).collect();
        let network = ActorCritic::new(environment.observations(), &hidden, environment.actions());
        let weights = ActorCritic::packed(&network.init(seeds, device)?);
        let learned =
            LearnedWeights { first: weights.full_like(0.0), second: weights.full_like(0.0), weights };
        let worlds = rollout::begin(&*environment, seeds * settings.worlds, device);
        let normalizer = Normalizer::new(seeds, environment.observations(), device);
        let scale = Normalizer::new(seeds, 1, device);
        let rates = Tensor::full(settings.learning_rate, [seeds], device);
        let explosions = Explosions::none(&*environment, seeds, device);
        let (recent, device, updates_in_all) = (Tensor::zeros([seeds], device), device.clone(), updates);
        let mut ppo = Ppo {
            environment,
            network,
            settings,
            seeds,
            device,
            learned,
            worlds,
            normalizer,
            scale,
            recent,
            explosions,
            rates,
            updates: 0,
            updates_in_all,
            ranks: None,
            gathered: None,
        };
        ppo.settle()?;
        Ok(ppo)
    }

    /// Trains with all ranks of a group, which have been made alike: each steps its share of the worlds, and takes its share of
    /// every minibatch. Updates are those of one rank, up to the rounding of sums.
    pub fn distributed(mut self, group: &Group) -> Result<Ppo> {
        let PpoSettings { worlds, horizon, minibatches, .. } = self.settings;
        if let Some(share) = WorldShare::of(group, self.seeds, worlds)? {
            let (count, ranks) = (worlds * horizon / minibatches, group.size());
            if count < ranks {
                return Err(TrainError::SmallBatch { batch: count, ranks }.into());
            }
            self.worlds = self.worlds.iter().map(|all| share.take(all)).collect();
            self.ranks = Some((group.clone(), share));
            self.settle()?;
        }
        Ok(self)
    }

    /// Sets the learning rate of every seed.
    pub fn learning_rates(mut self, rates: &[f64]) -> Ppo {
        assert_eq!(
            rates.len(),
            self.seeds,
            "ppo: one learning rate per seed ({} vs {})",
            rates.len(),
            self.seeds
        );
        let rates = rates.iter().map(|&rate| rate as f32).collect::<Vec<_>>();
        self.rates = Tensor::from_vec(rates, [self.seeds], &self.device);
        self
    }

    /// The architecture of the networks.
    pub fn network(&self) -> &ActorCritic {
        &self.network
    }

    /// Where the agents act.
    pub fn environment(&self) -> &Arc<dyn Environment> {
        &self.environment
    }

    /// What they are trained with.
    pub fn settings(&self) -> &PpoSettings {
        &self.settings
    }

    /// The number of agents that train in parallel.
    pub fn seeds(&self) -> usize {
        self.seeds
    }

    /// Where everything runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Updates made so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Steps per update, over all worlds.
    pub fn steps_per_update(&self) -> usize {
        self.seeds * self.settings.worlds * self.settings.horizon
    }

    /// The agents as they are now.
    pub fn agents(&self) -> Agents {
        let normalizer = self.settings.normalize.then(|| self.normalizer.clone());
        Agents { network: self.network.clone().into(), weights: self.weights(), normalizer }
    }

    /// The weights, layer by layer.
    fn weights(&self) -> Vec<Tensor> {
        self.network.unpack(&self.learned.weights)
    }

    /// Continues with these agents' weights and normalizers.
    pub fn take(&mut self, agents: &Agents) -> Result<()> {
        self.learned.weights = ActorCritic::packed(&agents.weights);
        if let Some(normalizer) = &agents.normalizer {
            self.normalizer = normalizer.clone();
        }
        self.settle()
    }

    /// One update: a roll-out, then all minibatches, in one submission. Returns `[seeds, 4]` without waiting
    /// for it: the loss, the mean return of recently ended episodes, the entropy, and the divergence from the
    /// old policy ([`COURSE`]). If the loss of a seed is not finite, or one of its worlds exploded ([`Ppo::check`]), none of its columns is.
    pub fn update(&mut self) -> Result<Tensor> {
        let settings = &self.settings;
        let rollout = self.rolled_out()?;
        let samples = self.samples(&rollout);
        let left = 1.0 - self.updates as f64 / self.updates_in_all.max(1) as f64;
        let share = if settings.anneal { left.max(0.0) } else { 1.0 };
        let rates = &self.rates * Tensor::number(share, &self.device);
        let steps = self.updates * (settings.epochs * settings.minibatches) as u64;
        let (network, before) = (&self.network, &self.learned);
        let (learned, course) = match &self.ranks {
            None => update::learn(network, before, &samples, &rates, steps, settings)?,
            Some((group, _)) => {
                update::learn_together(group, network, before, &samples, &rates, steps, settings)?
            }
        };
        self.recent = self.recent_after(&rollout);
        if settings.normalize {
            self.normalizer = self.normalizer.with(&self.by_seed(&rollout.seen));
        }
        if settings.normalize_rewards {
            self.scale = self.scale.with(&self.by_seed(&rollout.discounted.unsqueeze(2)));
        }
        self.updates += 1;
        self.explosions = self.explosions.with(rollout.broken.as_ref(), self.updates);
        (self.learned, self.worlds) = (learned, rollout.worlds);
        let course = self.course(&course);
        self.settle_with(&course)?;
        Ok(course)
    }

    /// What all worlds of all ranks came to.
    fn rolled_out(&self) -> Result<Collected> {
        let Ppo { network, normalizer, worlds, settings, .. } = self;
        let share = self.ranks.as_ref().map(|(_, share)| *share);
        let own = seen_by(&self.environment, &self.ranks, |environment| {
            rollout::collect(environment, network, &self.weights(), normalizer, worlds, settings, share)
        });
        match &self.ranks {
            None => Ok(own),
            Some((group, share)) => own.of_all(group, share),
        }
    }

    /// `[time, seeds · worlds, numbers]` as `[seeds, time · worlds, numbers]`.
    fn by_seed(&self, t: &Tensor) -> Tensor {
        by_seed(t, self.seeds)
    }

    /// Observations as the networks see them.
    fn scaled(&self, seen: &Tensor) -> Tensor {
        if self.settings.normalize { self.normalizer.apply(seen) } else { seen.clone() }
    }

    /// The critic's values of observations `[time, worlds, observations]`: `[time, worlds]`.
    fn values(&self, seen: &Tensor) -> Tensor {
        let seen = self.scaled(&self.by_seed(seen));
        by_time(&self.network.value(&self.weights(), &seen), self.settings.worlds)
    }

    /// Advantages and returns of the collected data, and everything else that updates need.
    fn samples(&self, rollout: &Collected) -> Samples {
        let PpoSettings { horizon, discount, trace, .. } = self.settings;
        let values = self.values(&Tensor::concat(&[&rollout.seen, &rollout.last], 0));
        let old = values.narrow(0, 0, horizon);
        let (next, ends) = match &rollout.next {
            Some(next) => (self.values(next), &rollout.ended),
            None => (values.narrow(0, 1, horizon), &rollout.over),
        };
        let rewards = match self.settings.normalize_rewards {
            true => self.scaled_rewards(&rollout.rewards),
            false => rollout.rewards.clone(),
        };
        let differences = rewards + next * (1.0 - ends) * discount - &old;
        let keep = (1.0 - &rollout.over) * (discount * trace);
        let advantages = discounted(&differences, &keep);
        let column = |t: &Tensor| self.by_seed(&t.unsqueeze(2)).squeeze(2);
        Samples {
            seen: self.scaled(&self.by_seed(&rollout.seen)),
            actions: self.by_seed(&rollout.actions),
            likelihoods: column(&rollout.likelihoods),
            values: column(&old),
            returns: column(&(&advantages + &old)),
            advantages: column(&advantages),
        }
    }

    fn scaled_rewards(&self, rewards: &Tensor) -> Tensor {
        let deviation = (&self.scale.variance + 1e-8).sqrt().reshape([1, self.seeds, 1]);
        let (time, worlds) = (rewards.shape()[0], self.settings.worlds);
        let scaled = rewards.reshape([time, self.seeds, worlds]) / deviation;
        scaled.clamp(-FAR, FAR).reshape([time, self.seeds * worlds])
    }

    /// The mean return of the episodes that ended in a roll-out; unchanged if none did.
    fn recent_after(&self, rollout: &Collected) -> Tensor {
        let sum = |t: &Tensor| self.by_seed(&t.unsqueeze(2)).sum_axes([1, 2]);
        let (total, count) = (sum(&rollout.finished), sum(&rollout.over));
        count.greater(0.0).select(&(total / count.maximum(1.0)), &self.recent)
    }

    fn course(&self, course: &UpdateMeans) -> Tensor {
        let all = Tensor::stack(&[&course.loss, &self.recent, &course.entropy, &course.divergence], 1);
        let fine = course.loss.is_finite().unsqueeze(1);
        self.explosions.marked(&fine.select(&all, &all.full_like(f64::NAN)))
    }

    /// An error that names update, step, world and body if a world exploded in an update so far. Reads.
    pub fn check(&self) -> Result<()> {
        self.explosions.check(&*self.environment)
    }

    fn state(&self) -> Vec<&Tensor> {
        let LearnedWeights { weights, first, second } = &self.learned;
        let learned = [weights, first, second].into_iter();
        let scales = self.normalizer.tensors().into_iter().chain(self.scale.tensors());
        learned.chain(&self.worlds).chain(scales).chain([&self.recent]).collect()
    }

    fn state_mut(&mut self) -> Vec<&mut Tensor> {
        let LearnedWeights { weights, first, second } = &mut self.learned;
        let learned = [weights, first, second].into_iter();
        let Normalizer { count, mean, variance } = &mut self.normalizer;
        let scales = [count, mean, variance].into_iter();
        let Normalizer { count, mean, variance } = &mut self.scale;
        let scales = scales.chain([count, mean, variance]);
        learned.chain(&mut self.worlds).chain(scales).chain([&mut self.recent]).collect()
    }

    fn settle(&mut self) -> Result<()> {
        let nothing = self.recent.clone();
        self.settle_with(&nothing)
    }

    /// Runs everything that is recorded as one program, and keeps only the values.
    fn settle_with(&mut self, course: &Tensor) -> Result<()> {
        let all = self.state().into_iter().chain([course]).chain(self.explosions.tensor());
        Tensor::compute_all(&all.collect::<Vec<_>>())?;
        for tensor in self.state_mut() {
            *tensor = tensor.detach()?;
        }
        self.explosions = self.explosions.detach()?;
        Ok(())
    }

    /// Everything that training needs to continue, by name.
    pub fn tensors(&self) -> Vec<(String, Tensor)> {
        let mut all: Vec<(String, Tensor)> =
            self.names().into_iter().zip(self.state().into_iter().cloned()).collect();
        let worlds = all.iter_mut().filter(|(name, _)| name.starts_with(WORLDS));
        for ((_, own), whole) in worlds.zip(self.gathered.iter().flatten()) {
            *own = whole.clone();
        }
        all
    }

    /// Puts the worlds of all ranks together for [`Ppo::tensors`]. All ranks call it.
    pub fn gather(&mut self) -> Result<()> {
        let Some((group, share)) = &self.ranks else { return Ok(()) };
        let rows: Vec<Tensor> = self.worlds.iter().map(|own| own.cast(DType::F32).unsqueeze(0)).collect();
        let whole = share.all(group, &rows.iter().collect::<Vec<_>>())?;
        let worlds = whole.iter().zip(&self.worlds);
        self.gathered =
            Some(worlds.map(|(all, own)| all.squeeze(0).cast(own.dtype()).detach()).collect::<Result<_>>()?);
        Ok(())
    }

    fn names(&self) -> Vec<String> {
        let mut all: Vec<String> = ["weights", "first", "second"].map(String::from).to_vec();
        all.extend((0..self.worlds.len()).map(|n| format!("{WORLDS}{n}")));
        for part in ["seen", "returns"] {
            all.extend(["count", "mean", "variance"].map(|name| format!("{part}.{name}")));
        }
        all.push("recent".into());
        all
    }

    /// Continues from what [`Ppo::tensors`] returned after this many updates. The caller must restore the
    /// device's random numbers.
    pub fn restore(&mut self, tensors: &[(String, Tensor)], updates: u64) -> Result<()> {
        let own = |(name, whole): &(String, Tensor)| {
            let share = self.ranks.as_ref().filter(|_| name.starts_with(WORLDS)).map(|(_, share)| share);
            let share = share.filter(|share| whole.shape().first() == Some(&share.all_worlds()));
            (name.clone(), share.map_or(whole.clone(), |share| share.take(whole)))
        };
        let tensors: Vec<(String, Tensor)> = tensors.iter().map(own).collect();
        let new = stored(&self.names(), &self.state(), &tensors)?;
        self.state_mut().into_iter().zip(new).for_each(|(old, new)| *old = new);
        self.updates = updates;
        Ok(())
    }
}
