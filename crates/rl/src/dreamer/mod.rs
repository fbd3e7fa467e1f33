//! DreamerV3 (Hafner and others, 2023): an agent that learns a model of its world and acts by what it imagines there.
//!
//! An update is a few programs. In the first, all worlds act for some steps, which join the replay. Every other one is a
//! gradient step: sequences out of the replay train the world model, and trajectories that it imagines from there train
//! actor and critic. Nothing is read back. Many seeds train in parallel, each with its own replay.
//!
//! Invariant: an update depends only on the tensors that [`Dreamer::tensors`] returns, the device's random numbers and
//! the number of updates before it. Start at [`Dreamer::update`].

mod image;
mod layers;
mod learn;
mod network;
mod optimizer;
mod policy;
mod replay;
mod returns;
mod rssm;
mod scenes;
mod settings;
mod symlog;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use farad::group::Group;
use farad::{DType, Device, Result, Tensor, repeat};

use crate::actor_critic::ActorCritic;
use crate::environment::Environment;
use crate::episode_step;
use crate::episodes::Agents;
use crate::error::{RlError, stored};
use crate::explosion::{Explosions, noted, unharmed};
use crate::ppo::PpoSettings;
use crate::sac::SacSettings;
use learn::{DreamerState, DreamerStep};
pub use network::DreamerNetwork;
use optimizer::LearnedRow;
use replay::{StepRow, extended, sequences};
use scenes::Scenes;
pub use settings::{DREAMER_SIZES, DreamerSettings, DreamerSize};
use symlog::TwoHot;

/// The columns that [`Dreamer::update`] returns.
pub const DREAMER_COURSE: [&str; 11] = [
    "loss",
    "return",
    "reconstruction_loss",
    "reward_loss",
    "continue_loss",
    "divergence",
    "actor_loss",
    "critic_loss",
    "entropy",
    "imagined_return",
    "samples",
];

/// Numbers that worlds carry beside their state: steps and return of the episode, the last reward, whether this is the
/// last step, and whether it is because the episode ended.
const BESIDE: usize = 5;
/// Tensors of what an agent remembers of its worlds.
const MEMORY: usize = 3;

/// Agents in training by DreamerV3, one per seed.
///
/// ```
/// use farad::prelude::*;
/// use farad_rl::{Dreamer, DreamerSettings, Pendulum, PpoSettings, SacSettings};
/// let device = Device::cpu();
/// farad::seed(1);
/// device.seed(1);
/// let shared = PpoSettings { worlds: 2, horizon: 8, learning_rate: 1e-3, ..PpoSettings::default() };
/// let replay = SacSettings { replay: 256, batch: 2, warm_up_samples: 16, ..SacSettings::default() };
/// let settings = DreamerSettings {
///     size: "debug".into(), sequence: 8, imagination: 3, train_ratio: 1.0, ..DreamerSettings::default()
/// };
/// let mut dreamer = Dreamer::new(std::sync::Arc::new(Pendulum), settings, replay, shared, 1, &device)?;
/// let course = dreamer.update()?; // losses, the return and more of one seed
/// assert_eq!(course.shape()[..], [1, 11]);
/// # Ok::<(), farad::Error>(())
/// ```
pub struct Dreamer {
    environment: Arc<dyn Environment>,
    network: DreamerNetwork,
    settings: DreamerSettings,
    replays: SacSettings,
    shared: PpoSettings,
    seeds: usize,
    device: Device,
    bins: TwoHot,
    row: StepRow,
    /// How states are remembered instead of what was seen of them, if that is pictures.
    scenes: Option<Scenes>,
    state: DreamerState,
    /// The newest steps of every world, the newest last: `[seeds, worlds, capacity, numbers]`.
    replay: Tensor,
    /// The state of all worlds, the numbers beside it, and what agents remember of them.
    worlds: Vec<Tensor>,
    /// The mean return of recently ended episodes, `[seeds]`.
    recent: Tensor,
    /// What was told of the latest gradient step, `[seeds, 9]`.
    told: Tensor,
    explosions: Explosions,
    updates: u64,
}

/// What worlds did: rows `[seeds, worlds, steps, numbers]`, the worlds afterwards, and sums and numbers of ended returns.
struct Acted {
    rows: Tensor,
    worlds: Vec<Tensor>,
    finished: [Tensor; 2],
    /// What exploded, `[worlds, 2]`; only where worlds can explode.
    broken: Option<Tensor>,
}

impl Dreamer {
    /// Agents before their first update. Weights are drawn from the CPU's random numbers ([`farad::seed`]), everything
    /// else from the device's.
    pub fn new(
        environment: Arc<dyn Environment>,
        settings: DreamerSettings,
        replays: SacSettings,
        shared: PpoSettings,
        seeds: usize,
        device: &Device,
    ) -> Result<Dreamer> {
        let size = DreamerSize::of(&settings.size).expect("checked by its row");
        let capacity = replays.replay / shared.worlds;
        let least = settings.sequence.max(shared.horizon);
        if capacity < least {
            let samples = least * shared.worlds;
            return Err(RlError::SmallMemory { replay: replays.replay, samples }.into());
        }
        let network = DreamerNetwork::new(&*environment, size);
        let all = seeds * shared.worlds;
        let mut worlds = environment.begin(all, device);
        let scenes = environment.image().map(|_| Scenes::of(&worlds));
        let seen = scenes.as_ref().map_or(environment.observations(), Scenes::width);
        let row = StepRow { seen, actions: network.actions };
        let weights = ActorCritic::packed(&network.layout.init(seeds, device)?);
        let critic = network.layout.numbers_from(network.critic_from);
        let slow = weights.narrow(1, network.numbers() - critic, critic);
        let range = Tensor::zeros([seeds, 2], device);
        let state = DreamerState { learned: LearnedRow::new(weights), slow, range };
        worlds.push(Tensor::zeros([all, BESIDE], device));
        worlds.extend(network.memory(seeds, shared.worlds, device));
        let replay = Tensor::zeros([seeds, shared.worlds, capacity, row.width()], device);
        let told = Tensor::zeros([seeds, DREAMER_COURSE.len() - 2], device);
        let explosions = Explosions::none(&*environment, seeds, device);
        let mut dreamer = Dreamer {
            explosions,
            bins: TwoHot::new(device),
            recent: Tensor::zeros([seeds], device),
            device: device.clone(),
            environment,
            network,
            settings,
            replays,
            shared,
            seeds,
            row,
            scenes,
            state,
            replay,
            worlds,
            told,
            updates: 0,
        };
        settle(dreamer.all_mut())?;
        Ok(dreamer)
    }

    /// The same alone; several ranks are refused.
    pub fn distributed(self, group: &Group) -> Result<Dreamer> {
        match group.size() {
            1 => Ok(self),
            ranks => Err(RlError::OneRank { algorithm: "dreamer", ranks }.into()),
        }
    }

    /// The number of weights per agent.
    pub fn numbers(&self) -> usize {
        self.network.numbers()
    }

    /// Updates made so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Steps per update, over all worlds.
    pub fn steps_per_update(&self) -> usize {
        self.seeds * self.shared.worlds * self.shared.horizon
    }

    /// The agents as they are now.
    pub fn agents(&self) -> Agents {
        let weights = self.network.layout.unpack(&self.state.learned.weights);
        Agents { network: self.network.clone().into(), weights, normalizer: None }
    }

    /// Continues with these agents' weights, also as those of the slow critic.
    pub fn take(&mut self, agents: &Agents) -> Result<()> {
        let weights = ActorCritic::packed(&agents.weights);
        let critic = self.state.slow.shape()[1];
        self.state.slow = weights.narrow(1, self.numbers() - critic, critic);
        self.state.learned.weights = weights;
        settle(self.state.tensors_mut())
    }

    /// Steps of every world that are remembered after so many updates.
    fn filled(&self, updates: u64) -> u64 {
        let capacity = self.replays.replay / self.shared.worlds;
        (updates * self.shared.horizon as u64).min(capacity as u64)
    }

    /// Gradient steps made after so many updates: as many as the train ratio asks for, from the first update on that has
    /// enough steps to learn from.
    fn gradient_steps(&self, updates: u64) -> u64 {
        let PpoSettings { worlds, horizon, .. } = self.shared;
        let random = self.replays.warm_up_samples.div_ceil(worlds * horizon);
        let waits = (self.settings.sequence.div_ceil(horizon)).max(random) as u64;
        let steps = (updates + 1).saturating_sub(waits.max(1)) as f64 * (worlds * horizon) as f64;
        (steps * self.settings.train_ratio / (self.replays.batch * self.settings.sequence) as f64) as u64
    }

    /// One update. Returns `[seeds, 11]` without waiting for it ([`DREAMER_COURSE`]).
    pub fn update(&mut self) -> Result<Tensor> {
        let acted = self.act();
        self.explosions = self.explosions.with(acted.broken.as_ref(), self.updates + 1);
        let [total, count] = &acted.finished;
        self.recent = count.greater(0.0).select(&(total / count.maximum(1.0)), &self.recent);
        (self.replay, self.worlds) = (extended(&self.replay, &acted.rows), acted.worlds);
        let lived = [&mut self.replay, &mut self.recent];
        settle(self.worlds.iter_mut().chain(lived).collect())?;
        let steps = self.gradient_steps(self.updates)..self.gradient_steps(self.updates + 1);
        self.updates += 1;
        for step in steps {
            self.learn(step + 1)?;
        }
        let samples = self.filled(self.updates) * self.shared.worlds as u64;
        let samples = self.recent.full_like(1.0) * Tensor::number(samples as f64, &self.device);
        let course = Tensor::concat(
            &[
                &self.told.narrow(1, 0, 1),
                &self.recent.unsqueeze(1),
                &self.told.narrow(1, 1, DREAMER_COURSE.len() - 3),
                &samples.unsqueeze(1),
            ],
            1,
        );
        let course = self.explosions.marked(&course);
        Tensor::compute_all(&self.explosions.tensor().into_iter().chain([&course]).collect::<Vec<_>>())?;
        self.explosions = self.explosions.detach()?;
        Ok(course)
    }

    /// An error that names update, step, world and body if a world exploded in an update so far. Reads.
    pub fn check(&self) -> Result<()> {
        self.explosions.check(&*self.environment)
    }

    /// One gradient step, as one program; `step` counts from 1.
    fn learn(&mut self, step: u64) -> Result<()> {
        let number = |value: f64| Tensor::number(value, &self.device);
        let warm = (step as f64 / self.settings.rate_warm_up.max(1) as f64).min(1.0);
        let filled = number(self.filled(self.updates) as f64);
        let rows = sequences(&self.replay, &filled, self.settings.sequence, self.replays.batch);
        let learn = DreamerStep {
            network: &self.network,
            bins: &self.bins,
            imagination: self.settings.imagination,
            imagine_last: self.settings.imagine_last,
            discount: self.shared.discount,
            lambda: self.shared.trace,
            entropy: self.shared.entropy,
        };
        let (time, rate) = (self.settings.sequence, number(self.shared.learning_rate * warm));
        let mut steps = self.row.split(&rows);
        if let Some(scenes) = &self.scenes {
            steps.seen = scenes.shown(&*self.environment, &steps.seen);
        }
        let (state, means) = learn.learn(&self.state, &steps, time, &number(step as f64), &rate)?;
        (self.state, self.told) = (state, means.columns());
        settle(self.state.tensors_mut().into_iter().chain([&mut self.told]).collect())
    }

    /// All worlds act for some steps; at random until there are enough samples. The last step of an episode is a step of
    /// its own, whose action does nothing but begin the next one.
    fn act(&self) -> Acted {
        let (seeds, all) = (self.seeds, self.seeds * self.shared.worlds);
        let (environment, network, row) = (&*self.environment, &self.network, self.row);
        let count = self.worlds.len() - 1 - MEMORY;
        let weights = network.layout.unpack(&self.state.learned.weights);
        let samples = self.filled(self.updates) * self.shared.worlds as u64;
        let random = f64::from(u8::from(samples < self.replays.warm_up_samples as u64));
        let random = Tensor::number(random, &self.device);
        let none = Tensor::zeros([all], &self.device);
        let whole = unharmed(environment, &self.worlds[..count]);
        let starts = episode_step::starts(environment, all, &self.device);
        let carries: Vec<&Tensor> = self.worlds.iter().chain([&none, &none]).chain(&whole).collect();
        let (last, slices) = repeat(self.shared.horizon, &carries, |carry, position| {
            let (state, rest) = carry.split_at(count);
            let [time, total, reward, over, ended] =
                [0, 1, 2, 3, 4].map(|n| rest[0].narrow(1, n, 1).squeeze(1));
            let seen = environment.observe(state);
            let first = time.equal(0.0);
            let keep = 1.0 - first.cast(DType::F32).unsqueeze(1);
            let memory: Vec<Tensor> = rest[1..=MEMORY].iter().map(|x| x * &keep).collect();
            let (said, latent) = network.look(&weights, &memory, &seen);
            let drawn = network.policy.drawn(&said);
            let action = &drawn + (network.policy.any(&said) - &drawn) * &random;
            let memory = DreamerNetwork::remembered(&latent, &action);
            let driven = network.policy.to_environment(&memory[2]);
            let step = environment.step(state, &driven);
            let seen = self.scenes.as_ref().map_or(seen, |_| Scenes::joined(state));
            let joined = row.joined(&seen, &memory[2], [&reward, &first.cast(DType::F32), &over, &ended]);
            // What comes next: another episode, or the next step.
            let again = over.greater(0.0);
            let (time, total) = (time + 1.0, total + &step.reward);
            let cut = time.greater_equal(environment.longest() as f64);
            let (over, ended) = (step.ended.or(cut).cast(DType::F32), step.ended.cast(DType::F32));
            let counted = again.not().cast(DType::F32) * &over;
            let beside = Tensor::stack(&[&time, &total, &step.reward, &over, &ended], 1);
            let fresh = starts.clone().unwrap_or_else(|| environment.begin(all, &self.device));
            let along = |rank: usize| (1..rank).fold(again.clone(), |mask, _| mask.unsqueeze(-1));
            let begun = |(new, old): (&Tensor, &Tensor)| along(old.rank()).select(new, old);
            let mut next: Vec<Tensor> = fresh.iter().zip(&step.state).map(begun).collect();
            next.push(along(2).select(&beside.full_like(0.0), &beside));
            next.extend(memory);
            let (sum, number) = (&rest[MEMORY + 1], &rest[MEMORY + 2]);
            next.push(sum + counted.greater(0.0).select(&total, &total.full_like(0.0)));
            next.push(number + counted);
            // The step that only begins another episode does not count.
            let (steps, goes) = ([state, &step.state[..]], again.not());
            let broken = rest[MEMORY + 3..].iter();
            next.extend(broken.map(|known| noted(environment, known, steps, &driven, position, Some(&goes))));
            (next, vec![joined])
        });
        let (steps, width) = (self.shared.horizon, row.width());
        let rows = slices[0].reshape([steps, seeds, all / seeds, width]).permute(&[1, 2, 0, 3]);
        let sum = |t: &Tensor| t.reshape([seeds, all / seeds]).sum_axes([1]);
        let kept = self.worlds.len();
        let finished = [sum(&last[kept]), sum(&last[kept + 1])];
        Acted { rows, worlds: last[..kept].to_vec(), finished, broken: last.get(kept + 2).cloned() }
    }

    fn all(&self) -> Vec<&Tensor> {
        let rest = [&self.replay, &self.recent, &self.told];
        self.state.tensors().into_iter().chain(&self.worlds).chain(rest).collect()
    }

    fn all_mut(&mut self) -> Vec<&mut Tensor> {
        let rest = [&mut self.replay, &mut self.recent, &mut self.told];
        self.state.tensors_mut().into_iter().chain(&mut self.worlds).chain(rest).collect()
    }

    /// Everything that training needs to continue, by name.
    pub fn tensors(&self) -> Vec<(String, Tensor)> {
        self.names().into_iter().zip(self.all().into_iter().cloned()).collect()
    }

    fn names(&self) -> Vec<String> {
        let mut all: Vec<String> =
            ["weights", "momentum", "squares", "slow", "range"].map(String::from).to_vec();
        all.extend((0..self.worlds.len()).map(|n| format!("worlds.{n}")));
        all.extend(["replay", "recent", "told"].map(String::from));
        all
    }

    /// Continues from what [`Dreamer::tensors`] returned after this many updates. The caller must restore the
    /// device's random numbers.
    pub fn restore(&mut self, tensors: &[(String, Tensor)], updates: u64) -> Result<()> {
        let new = stored(&self.names(), &self.all(), tensors)?;
        self.all_mut().into_iter().zip(new).for_each(|(old, new)| *old = new);
        self.updates = updates;
        Ok(())
    }
}

/// Runs everything that is recorded for these tensors as one program, and keeps only their values.
fn settle(tensors: Vec<&mut Tensor>) -> Result<()> {
    Tensor::compute_all(&tensors.iter().map(|tensor| &**tensor).collect::<Vec<_>>())?;
    for tensor in tensors {
        *tensor = tensor.detach()?;
    }
    Ok(())
}
