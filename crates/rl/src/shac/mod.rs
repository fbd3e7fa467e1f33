//! Short-horizon actor-critic (Xu and others, 2022), entirely on the device: gradients through the steps of worlds.
//!
//! An update is one program. All worlds act for a window of some steps. The actor follows the gradient of its rewards, and of a
//! slow critic's value where the window ends, back through physics and policy. Then the critic learns the returns of TD(λ) of
//! the window's states, all minibatches as one loop. Many seeds train in parallel.
//!
//! Invariant: an update depends only on the tensors that [`Shac::tensors`] returns, the device's random numbers and
//! the number of updates before it. Start at [`Shac::update`].

mod settings;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

use farad::group::Group;
use farad::{DType, Device, Result, Tensor, scan};

use crate::actor_critic::ActorCritic;
use crate::environment::{Actions, Environment};
use crate::episode_step;
use crate::episodes::Agents;
use crate::error::{RlError, stored};
use crate::explosion::Explosions;
use crate::learned::Learned;
use crate::normalizer::Normalizer;
use crate::ppo::PpoSettings;
use crate::samples::{by_seed, minibatches};
pub use settings::ShacSettings;
use window::{ShacNetworks, Window, WindowSetting};

/// The columns that [`Shac::update`] returns.
pub const SHAC_COURSE: [&str; 4] = ["loss", "return", "critic", "slope"];

/// Decay rates of Adam's moments: gradients through physics change quickly.
const BETAS: [f64; 2] = [0.7, 0.95];

/// Agents in training by SHAC, one per seed. For continuous actions, and for worlds whose rewards and observations have
/// gradients.
///
/// ```
/// use farad::prelude::*;
/// use farad_rl::{Pendulum, PpoSettings, Shac, ShacSettings};
/// let device = Device::cpu();
/// farad::seed(1);
/// device.seed(1);
/// let shared = PpoSettings { worlds: 4, horizon: 8, minibatches: 2, ..PpoSettings::default() };
/// let mut shac = Shac::new(std::sync::Arc::new(Pendulum), ShacSettings::default(), shared, 2, 100, &device)?;
/// let course = shac.update()?; // loss, return, the critic's loss and the length of the gradient, of two seeds
/// assert_eq!(course.shape()[..], [2, 4]);
/// # Ok::<(), farad::Error>(())
/// ```
pub struct Shac {
    environment: Arc<dyn Environment>,
    networks: ShacNetworks,
    settings: ShacSettings,
    shared: PpoSettings,
    seeds: usize,
    device: Device,
    actor: Learned,
    critic: Learned,
    /// The slow critic, `[seeds, numbers]`.
    slow: Tensor,
    /// The state of all worlds, then steps and return of their episodes, `[worlds, 2]`.
    worlds: Vec<Tensor>,
    normalizer: Normalizer,
    /// The mean return of recently ended episodes, `[seeds]`.
    recent: Tensor,
    explosions: Explosions,
    updates: u64,
    updates_in_all: u64,
}

impl Shac {
    /// Agents before their first update; `updates` is the total planned. Weights are drawn from the CPU's random numbers
    /// ([`farad::seed`]), everything else from the device's.
    pub fn new(
        environment: Arc<dyn Environment>,
        settings: ShacSettings,
        shared: PpoSettings,
        seeds: usize,
        updates: u64,
        device: &Device,
    ) -> Result<Shac> {
        let Actions::Continuous(actions) = environment.actions() else {
            return Err(RlError::Discrete { algorithm: "shac" }.into());
        };
        shared.check_minibatches("shac")?;
        let hidden: Vec<usize> = shared.hidden.iter().map(|&size| size as usize).collect();
        let seen = environment.observations();
        let networks = ShacNetworks {
            actor: ActorCritic::actor(seen, &hidden, environment.actions()).squashed(),
            critic: ActorCritic::actor(seen, &hidden, Actions::Discrete(1)),
        };
        let drawn = |network: &ActorCritic| -> Result<Tensor> {
            Ok(ActorCritic::packed(&network.init(seeds, device)?))
        };
        let deviations = Tensor::full(settings.deviation.ln(), [seeds, actions], device);
        let actor = Tensor::concat(&[&drawn(&networks.actor)?, &deviations], 1);
        let critic = drawn(&networks.critic)?;
        let worlds = episode_step::begin(&*environment, seeds * shared.worlds, device);
        let normalizer = Normalizer::new(seeds, seen, device);
        let explosions = Explosions::none(&*environment, seeds, device);
        let mut shac = Shac {
            environment,
            explosions,
            networks,
            settings,
            shared,
            seeds,
            device: device.clone(),
            actor: Learned::new(actor),
            slow: critic.clone(),
            critic: Learned::new(critic),
            worlds,
            normalizer,
            recent: Tensor::zeros([seeds], device),
            updates: 0,
            updates_in_all: updates,
        };
        shac.settle(&shac.recent.clone())?;
        Ok(shac)
    }

    /// The same alone; several ranks are refused.
    pub fn distributed(self, group: &Group) -> Result<Shac> {
        match group.size() {
            1 => Ok(self),
            ranks => Err(RlError::OneRank { algorithm: "shac", ranks }.into()),
        }
    }

    /// Updates made so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Steps per update, over all worlds.
    pub fn steps_per_update(&self) -> usize {
        self.seeds * self.shared.worlds * self.shared.horizon
    }

    /// The agents as they are now: their actions are the tanh of what the actor says the mean is.
    pub fn agents(&self) -> Agents {
        let (weights, _) = self.networks.actor_parts(&self.actor.weights);
        let normalizer = self.shared.normalize.then(|| self.normalizer.clone());
        Agents { network: self.networks.actor.clone().into(), weights, normalizer }
    }

    /// Continues with these agents' means and normalizers; deviations stay as they are.
    pub fn take(&mut self, agents: &Agents) -> Result<()> {
        let weights = ActorCritic::packed(&agents.weights);
        let from = weights.shape()[1];
        let deviations = self.actor.weights.narrow(1, from, self.actor.weights.shape()[1] - from);
        self.actor.weights = Tensor::concat(&[&weights, &deviations], 1);
        if let Some(normalizer) = &agents.normalizer {
            self.normalizer = normalizer.clone();
        }
        self.settle(&self.recent.clone())
    }

    /// Where and how worlds act.
    fn setting(&self) -> WindowSetting<'_> {
        WindowSetting {
            environment: &*self.environment,
            networks: &self.networks,
            scale: self.shared.normalize.then_some(&self.normalizer),
            seeds: self.seeds,
            steps: self.shared.horizon,
            discount: self.shared.discount,
            gain: self.settings.reward_gain,
        }
    }

    /// One update in one submission. Returns `[seeds, 4]` without waiting for it ([`SHAC_COURSE`]). The actor of a seed whose
    /// gradient is not finite stays as it is.
    pub fn update(&mut self) -> Result<Tensor> {
        let number = |value: f64| Tensor::number(value, &self.device);
        let left = 1.0 - self.updates as f64 / self.updates_in_all.max(1) as f64;
        let left = if self.shared.anneal { left.max(0.0) } else { 1.0 };
        let setting = self.setting();
        let window = setting.collect(&self.actor.weights, &self.worlds);
        let ahead = setting.ahead(&self.slow, &window);
        let loss = setting.loss(&window, &ahead);
        let gradient = loss.sum().gradients_at(&[&self.actor.weights])?.remove(0);
        let (rate, step) = (number(self.shared.learning_rate * left), number((self.updates + 1) as f64));
        let longest = self.shared.gradient_norm;
        let (actor, slope) = self.actor.stepped_within(&gradient, longest, &step, &rate, BETAS);
        let (critic, off) =
            self.criticized(&setting, &window, &ahead, &number(self.settings.critic_rate * left))?;
        let follow = self.settings.slow_critic;
        let slow = &self.slow * (1.0 - follow) + &critic.weights * follow;
        let [total, count] = window.ended_returns(self.seeds);
        self.recent = count.greater(0.0).select(&(total / count.maximum(1.0)), &self.recent);
        if self.shared.normalize {
            self.normalizer = self.normalizer.with(&by_seed(&window.seen, self.seeds));
        }
        self.updates += 1;
        self.explosions = self.explosions.with(window.broken.as_ref(), self.updates);
        (self.actor, self.critic, self.slow, self.worlds) = (actor, critic, slow, window.worlds);
        let course = Tensor::stack(&[&loss, &self.recent, &off, &slope.squeeze(1)], 1);
        let course = self.explosions.marked(&course);
        self.settle(&course)?;
        Ok(course)
    }

    /// An error that names update, step, world and body if a world exploded in an update so far. Reads.
    pub fn check(&self) -> Result<()> {
        self.explosions.check(&*self.environment)
    }

    /// The critic after all minibatches of a window, and its mean loss, `[seeds]`.
    fn criticized(
        &self,
        setting: &WindowSetting,
        window: &Window,
        ahead: &Tensor,
        rate: &Tensor,
    ) -> Result<(Learned, Tensor)> {
        let PpoSettings { epochs, minibatches: parts, gradient_norm, trace, .. } = self.shared;
        let seen = setting.scaled(&by_seed(&window.seen, self.seeds));
        let wanted = by_seed(&setting.wanted(window, ahead, trace).unsqueeze(2), self.seeds);
        let rows = Tensor::concat(&[&seen, &wanted], 2).stop_gradient();
        let rows = minibatches(&rows, epochs, parts);
        let (count, width) = (rows.shape()[0], seen.shape()[2]);
        let before = Tensor::number((self.updates * count as u64) as f64, &self.device);
        let numbers = Tensor::arange(count, &self.device).cast(DType::F32) + (before + 1.0);
        let mut failed = None;
        let (last, losses) = scan(&self.critic.tensors(), &[&rows, &numbers], |carry, slice| {
            let critic = Learned::of(carry);
            let said = self.networks.values(&critic.weights, &slice[0].narrow(2, 0, width));
            let wanted = slice[0].narrow(2, width, 1).squeeze(2);
            let loss = (said - wanted).square().mean_axes([1]);
            let gradient = loss.sum().gradients_at(&[&critic.weights]).unwrap_or_else(|error| {
                failed = Some(error);
                vec![critic.weights.clone()]
            });
            let (next, _) = critic.stepped_within(&gradient[0], gradient_norm, &slice[1], rate, BETAS);
            (next.tensors().map(Tensor::clone).to_vec(), vec![loss])
        });
        match failed {
            Some(error) => Err(error),
            None => Ok((Learned::of(&last), losses[0].mean_axes([0]))),
        }
    }

    fn all(&self) -> Vec<&Tensor> {
        let learned = self.actor.tensors().into_iter().chain(self.critic.tensors()).chain([&self.slow]);
        learned.chain(&self.worlds).chain(self.normalizer.tensors()).chain([&self.recent]).collect()
    }

    fn all_mut(&mut self) -> Vec<&mut Tensor> {
        let Normalizer { count, mean, variance } = &mut self.normalizer;
        let learned = self.actor.tensors_mut().into_iter().chain(self.critic.tensors_mut());
        let rest = [count, mean, variance, &mut self.recent];
        learned.chain([&mut self.slow]).chain(&mut self.worlds).chain(rest).collect()
    }

    /// Runs everything that is recorded as one program, and keeps only the values.
    fn settle(&mut self, course: &Tensor) -> Result<()> {
        let all = self.all().into_iter().chain([course]).chain(self.explosions.tensor());
        Tensor::compute_all(&all.collect::<Vec<_>>())?;
        for tensor in self.all_mut() {
            *tensor = tensor.detach()?;
        }
        self.explosions = self.explosions.detach()?;
        Ok(())
    }

    /// Everything that training needs to continue, by name.
    pub fn tensors(&self) -> Vec<(String, Tensor)> {
        self.names().into_iter().zip(self.all().into_iter().cloned()).collect()
    }

    fn names(&self) -> Vec<String> {
        let mut all: Vec<String> = ["actor", "critic"].into_iter().flat_map(Learned::names).collect();
        all.push("slow".into());
        all.extend((0..self.worlds.len()).map(|n| format!("worlds.{n}")));
        all.extend(["seen.count", "seen.mean", "seen.variance", "recent"].map(String::from));
        all
    }

    /// Continues from what [`Shac::tensors`] returned after this many updates. The caller must restore the
    /// device's random numbers.
    pub fn restore(&mut self, tensors: &[(String, Tensor)], updates: u64) -> Result<()> {
        let new = stored(&self.names(), &self.all(), tensors)?;
        self.all_mut().into_iter().zip(new).for_each(|(old, new)| *old = new);
        self.updates = updates;
        Ok(())
    }
}
