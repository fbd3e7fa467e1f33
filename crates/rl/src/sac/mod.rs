//! Soft actor-critic (Haarnoja and others, 2018), entirely on the device: replay, sampling and all gradient steps.
//!
//! An update is one program. All worlds act for some steps; what they saw joins the replay; then come the gradient steps,
//! each from samples of the whole replay. Many seeds train in parallel, each with its own replay.
//!
//! Invariant: an update depends only on the tensors that [`Sac::tensors`] returns, the device's random numbers and
//! the number of updates before it. Start at [`Sac::update`].

mod settings;
mod update;

use std::sync::Arc;

use farad::group::Group;
use farad::{DType, Device, Result, Tensor, repeat};

use crate::actor_critic::ActorCritic;
use crate::environment::{Actions, Environment};
use crate::episode_step;
use crate::episodes::Agents;
use crate::error::{RlError, stored};
use crate::explosion::{Explosions, noted, unharmed};
use crate::learned::Learned;
use crate::ppo::PpoSettings;
pub use settings::SacSettings;
use update::{SacNetworks, SacState, SacStep};

/// The columns that [`Sac::update`] returns.
pub const SAC_COURSE: [&str; 4] = ["loss", "return", "temperature", "samples"];

/// Agents in training by SAC, one per seed. For continuous actions.
///
/// ```
/// use farad::prelude::*;
/// use farad_rl::{Pendulum, PpoSettings, Sac, SacSettings};
/// let device = Device::cpu();
/// farad::seed(1);
/// device.seed(1);
/// let shared = PpoSettings { worlds: 4, horizon: 4, ..PpoSettings::default() };
/// let settings = SacSettings { replay: 64, batch: 8, gradients: 2, warm_up_samples: 16, ..SacSettings::default() };
/// let mut sac = Sac::new(std::sync::Arc::new(Pendulum), settings, shared, 2, &device)?;
/// let course = sac.update()?; // loss, return, temperature and samples of two seeds
/// assert_eq!(course.shape()[..], [2, 4]);
/// # Ok::<(), farad::Error>(())
/// ```
pub struct Sac {
    environment: Arc<dyn Environment>,
    networks: SacNetworks,
    settings: SacSettings,
    shared: PpoSettings,
    seeds: usize,
    device: Device,
    state: SacState,
    /// The newest samples of every seed, the newest last: `[seeds, replay, numbers]`.
    replay: Tensor,
    /// The state of all worlds, then steps and return of their episodes, `[worlds, 2]`.
    worlds: Vec<Tensor>,
    /// The mean return of recently ended episodes, `[seeds]`.
    recent: Tensor,
    explosions: Explosions,
    updates: u64,
}

/// What worlds did: samples `[seeds, samples, numbers]`, the worlds afterwards, sums and numbers of ended returns, and what
/// exploded.
struct Acted {
    rows: Tensor,
    worlds: Vec<Tensor>,
    finished: [Tensor; 2],
    broken: Option<Tensor>,
}

impl Sac {
    /// Agents before their first update. Weights are drawn from the CPU's random numbers ([`farad::seed`]), everything
    /// else from the device's.
    pub fn new(
        environment: Arc<dyn Environment>,
        settings: SacSettings,
        shared: PpoSettings,
        seeds: usize,
        device: &Device,
    ) -> Result<Sac> {
        let Actions::Continuous(actions) = environment.actions() else {
            return Err(RlError::Discrete { algorithm: "sac" }.into());
        };
        let each = shared.worlds * shared.horizon;
        if each > settings.replay {
            return Err(RlError::SmallReplay { replay: settings.replay, samples: each }.into());
        }
        let hidden: Vec<usize> = shared.hidden.iter().map(|&size| size as usize).collect();
        let seen = environment.observations();
        let networks = SacNetworks {
            actor: ActorCritic::actor(seen, &hidden, Actions::Continuous(2 * actions)),
            critics: ActorCritic::new(seen + actions, &hidden, Actions::Discrete(1)),
            seen,
            actions,
        };
        let drawn = |network: &ActorCritic| -> Result<Tensor> {
            Ok(ActorCritic::packed(&network.init(seeds, device)?))
        };
        let critics = drawn(&networks.critics)?;
        let state = SacState {
            actor: Learned::new(drawn(&networks.actor)?),
            target: critics.clone(),
            critics: Learned::new(critics),
            temperature: Learned::new(Tensor::full(settings.temperature.ln(), [seeds, 1], device)),
        };
        let worlds = episode_step::begin(&*environment, seeds * shared.worlds, device);
        let replay = Tensor::zeros([seeds, settings.replay, 2 * seen + actions + 2], device);
        let explosions = Explosions::none(&*environment, seeds, device);
        let (recent, device) = (Tensor::zeros([seeds], device), device.clone());
        let mut sac = Sac {
            environment,
            networks,
            settings,
            shared,
            seeds,
            device,
            state,
            replay,
            worlds,
            recent,
            explosions,
            updates: 0,
        };
        sac.settle(&sac.recent.clone())?;
        Ok(sac)
    }

    /// The same alone; several ranks are refused.
    pub fn distributed(self, group: &Group) -> Result<Sac> {
        match group.size() {
            1 => Ok(self),
            ranks => Err(RlError::OneRank { algorithm: "sac", ranks }.into()),
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
        let actions = self.networks.actions;
        let mut weights = self.networks.actor.unpack(&self.state.actor.weights);
        let last = weights.len() - 2;
        for weight in &mut weights[last..] {
            *weight = weight.narrow(3, 0, actions);
        }
        Agents { network: self.squashed().into(), weights, normalizer: None }
    }

    fn squashed(&self) -> ActorCritic {
        let hidden: Vec<usize> = self.shared.hidden.iter().map(|&size| size as usize).collect();
        ActorCritic::actor(self.networks.seen, &hidden, Actions::Continuous(self.networks.actions)).squashed()
    }

    /// Continues with these agents' means; deviations stay as they are.
    pub fn take(&mut self, agents: &Agents) -> Result<()> {
        let actions = self.networks.actions;
        let own = self.networks.actor.unpack(&self.state.actor.weights);
        let last = own.len() - 2;
        let joined = own.iter().zip(&agents.weights).enumerate().map(|(n, (own, new))| match n >= last {
            true => Tensor::concat(&[new, &own.narrow(3, actions, actions)], 3),
            false => new.clone(),
        });
        self.state.actor.weights = ActorCritic::packed(&joined.collect::<Vec<_>>());
        self.settle(&self.recent.clone())
    }

    /// Samples per seed so far, at most as many as are remembered.
    fn filled(&self, updates: u64) -> u64 {
        let each = (self.shared.worlds * self.shared.horizon) as u64;
        (updates * each).min(self.settings.replay as u64)
    }

    /// One update in one submission. Returns `[seeds, 4]` without waiting for it ([`SAC_COURSE`]).
    pub fn update(&mut self) -> Result<Tensor> {
        let SacSettings { replay, batch, gradients, warm_up_samples, .. } = self.settings;
        let acted = self.act();
        let each = acted.rows.shape()[1];
        let kept = match replay - each {
            0 => acted.rows.clone(),
            rest => Tensor::concat(&[&self.replay.narrow(1, each, rest), &acted.rows], 1),
        };
        let filled = self.filled(self.updates + 1);
        let learns = filled >= (warm_up_samples as u64).min(replay as u64);
        let number = |value: f64| Tensor::number(value, &self.device);
        // The newest samples are the last ones.
        let back =
            (Tensor::rand([gradients, self.seeds, batch], &self.device) * number(filled as f64)).floor();
        let first = (Tensor::arange(self.seeds, &self.device).cast(DType::F32) + 1.0) * replay as f64 - 1.0;
        let places = (first.reshape([1, self.seeds, 1]) - back).cast(DType::I32);
        let width = kept.shape()[2];
        let rows = kept
            .reshape([self.seeds * replay, width])
            .index_select(0, &places.reshape([gradients * self.seeds * batch]))
            .reshape([gradients, self.seeds, batch, width]);
        let step = SacStep {
            networks: &self.networks,
            settings: &self.settings,
            discount: self.shared.discount,
            rate: number(self.shared.learning_rate),
        };
        let steps = number((self.updates * gradients as u64) as f64);
        let flag = number(f64::from(u8::from(learns)));
        let (state, [loss, temperature]) = step.learn(&self.state, &rows, &steps, &flag)?;
        let [total, count] = &acted.finished;
        self.recent = count.greater(0.0).select(&(total / count.maximum(1.0)), &self.recent);
        (self.state, self.replay, self.worlds) = (state, kept, acted.worlds);
        self.updates += 1;
        let samples = self.recent.full_like(1.0) * number(filled as f64);
        self.explosions = self.explosions.with(acted.broken.as_ref(), self.updates);
        let course = Tensor::stack(&[&loss, &self.recent, &temperature, &samples], 1);
        let course = self.explosions.marked(&course);
        self.settle(&course)?;
        Ok(course)
    }

    /// An error that names update, step, world and body if a world exploded in an update so far. Reads.
    pub fn check(&self) -> Result<()> {
        self.explosions.check(&*self.environment)
    }

    /// All worlds act for some steps; at random until there are enough samples.
    fn act(&self) -> Acted {
        let (seeds, all) = (self.seeds, self.seeds * self.shared.worlds);
        let (environment, networks) = (&*self.environment, &self.networks);
        let count = self.worlds.len();
        let weights = networks.actor.unpack(&self.state.actor.weights);
        let random = self.filled(self.updates) < self.settings.warm_up_samples as u64;
        let random = Tensor::number(f64::from(u8::from(random)), &self.device);
        let none = Tensor::zeros([all], &self.device);
        let whole = unharmed(environment, &self.worlds[..count - 1]);
        let starts = episode_step::starts(environment, all, &self.device);
        let carries: Vec<&Tensor> = self.worlds.iter().chain([&none, &none]).chain(&whole).collect();
        let (last, slices) = repeat(self.shared.horizon, &carries, |carry, position| {
            let (worlds, sums) = carry.split_at(count);
            let state = &worlds[..count - 1];
            let seen = environment.observe(state);
            let drawn = networks.drawn(&weights, &seen.reshape([seeds, all / seeds, networks.seen])).action;
            let drawn = drawn.reshape([all, networks.actions]);
            let any = Tensor::rand(drawn.shape(), &self.device) * 2.0 - 1.0;
            let action = &drawn + (any - &drawn) * &random;
            let step = episode_step::stepped(environment, worlds, &action, starts);
            let [reward, ended] = [step.reward.unsqueeze(1), step.ended.unsqueeze(1)];
            let row = Tensor::concat(&[&seen, &action, &step.after, &reward, &ended], 1);
            let mut counted = vec![&sums[0] + step.finished, &sums[1] + step.over];
            let steps = [state, &step.state[..]];
            counted.extend(
                sums[2..].iter().map(|known| noted(environment, known, steps, &action, position, None)),
            );
            ([step.worlds, counted].concat(), vec![row])
        });
        let (steps, width) = (self.shared.horizon, slices[0].shape()[2]);
        let rows = slices[0].reshape([steps, seeds, all / seeds, width]).permute(&[1, 0, 2, 3]);
        let sum = |t: &Tensor| t.reshape([seeds, all / seeds]).sum_axes([1]);
        Acted {
            rows: rows.reshape([seeds, steps * all / seeds, width]),
            worlds: last[..count].to_vec(),
            finished: [sum(&last[count]), sum(&last[count + 1])],
            broken: last.get(count + 2).cloned(),
        }
    }

    fn all(&self) -> Vec<&Tensor> {
        let rest = [&self.replay, &self.recent];
        self.state.tensors().into_iter().chain(&self.worlds).chain(rest).collect()
    }

    fn all_mut(&mut self) -> Vec<&mut Tensor> {
        let SacState { actor, critics, temperature, target } = &mut self.state;
        let learned = [actor, critics, temperature].into_iter().flat_map(Learned::tensors_mut);
        let rest = [&mut self.replay, &mut self.recent];
        learned.chain([target]).chain(&mut self.worlds).chain(rest).collect()
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
        let parts = ["actor", "critics", "temperature"];
        let mut all: Vec<String> = parts.into_iter().flat_map(Learned::names).collect();
        all.push("target".into());
        all.extend((0..self.worlds.len()).map(|n| format!("worlds.{n}")));
        all.extend(["replay", "recent"].map(String::from));
        all
    }

    /// Continues from what [`Sac::tensors`] returned after this many updates. The caller must restore the
    /// device's random numbers.
    pub fn restore(&mut self, tensors: &[(String, Tensor)], updates: u64) -> Result<()> {
        let new = stored(&self.names(), &self.all(), tensors)?;
        self.all_mut().into_iter().zip(new).for_each(|(old, new)| *old = new);
        self.updates = updates;
        Ok(())
    }
}
