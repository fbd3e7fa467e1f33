//! A window: all worlds act for some steps, and gradients pass from every reward back to the actor's weights.
//!
//! Invariant: gradients end where the window begins and where an episode begins.

use farad::{Tensor, repeat};

use crate::actor_critic::ActorCritic;
use crate::environment::Environment;
use crate::episode_step;
use crate::explosion::{noted, unharmed};
use crate::normalizer::Normalizer;
use crate::samples::{by_seed, by_time};

/// Bounds of the logarithm of an action's deviation.
const DEVIATIONS: [f64; 2] = [-5.0, 2.0];

/// The architecture: an actor that says the mean of every action before tanh, and a critic.
///
/// The actor's numbers are its weights, then the log deviation of every action. The critic's are its weights.
#[derive(Clone)]
pub(super) struct ShacNetworks {
    pub actor: ActorCritic,
    pub critic: ActorCritic,
}

impl ShacNetworks {
    /// The actor's layers and log deviations, `[seeds, 1, actions]`, from its numbers `[seeds, numbers]`.
    pub fn actor_parts(&self, numbers: &Tensor) -> (Vec<Tensor>, Tensor) {
        let weights = self.actor.numbers();
        let layers = self.actor.unpack(&numbers.narrow(1, 0, weights));
        let log = numbers.narrow(1, weights, self.actor.actions().outputs()).unsqueeze(1);
        (layers, log.clamp(DEVIATIONS[0], DEVIATIONS[1]))
    }

    /// The critic's values `[seeds, samples]` of scaled observations `[seeds, samples, observations]`.
    pub fn values(&self, numbers: &Tensor, seen: &Tensor) -> Tensor {
        self.critic.act(&self.critic.unpack(numbers), seen).squeeze(2)
    }
}

/// Where and how worlds act.
pub(super) struct WindowSetting<'a> {
    pub environment: &'a dyn Environment,
    pub networks: &'a ShacNetworks,
    pub scale: Option<&'a Normalizer>,
    pub seeds: usize,
    pub steps: usize,
    pub discount: f64,
    /// What rewards are multiplied by.
    pub gain: f64,
}

/// What happened. The first two axes are time and world; the worlds of a seed are adjacent.
pub(super) struct Window {
    /// The state of all worlds afterwards, and what is counted beside it.
    pub worlds: Vec<Tensor>,
    /// Observations before every step, `[time, worlds, observations]`, not scaled.
    pub seen: Tensor,
    /// Observations after every step, before any restart.
    pub after: Tensor,
    /// Rewards times the gain, `[time, worlds]`, and so are all below.
    pub rewards: Tensor,
    /// Whether it reached a terminal state: 1 or 0.
    pub ended: Tensor,
    /// Whether it ended, or was cut by the time limit: 1 or 0.
    pub over: Tensor,
    /// The return of an episode at its last step, otherwise 0.
    pub finished: Tensor,
    /// What a reward counts: the discount to the power of the steps since the window or the episode began.
    pub share: Tensor,
    /// What exploded, `[worlds, 2]`; only where worlds can explode.
    pub broken: Option<Tensor>,
}

impl WindowSetting<'_> {
    /// Observations `[seeds, samples, observations]` as the networks see them.
    pub fn scaled(&self, seen: &Tensor) -> Tensor {
        self.scale.map_or(seen.clone(), |scale| scale.apply(seen))
    }

    /// Acts by the actor of these numbers. Worlds whose episode is over restart.
    pub fn collect(&self, actor: &Tensor, worlds: &[Tensor]) -> Window {
        let (seeds, count, all) = (self.seeds, worlds.len(), worlds[0].shape()[0]);
        let (layers, log) = self.networks.actor_parts(actor);
        let (deviation, actions) = (log.exp(), self.networks.actor.actions().outputs());
        let one = Tensor::ones([all], actor.device());
        let whole = unharmed(self.environment, &worlds[..count - 1]);
        let carries: Vec<&Tensor> = worlds.iter().chain([&one]).chain(&whole).collect();
        let (last, slices) = repeat(self.steps, &carries, |carry, position| {
            let (worlds, share) = (&carry[..count], &carry[count]);
            let seen = self.environment.observe(&worlds[..count - 1]);
            let scaled = self.scaled(&seen.reshape([seeds, all / seeds, seen.shape()[1]]));
            let mean = self.networks.actor.act(&layers, &scaled);
            let noise = Tensor::randn(mean.shape(), mean.device());
            let action = (mean + noise * &deviation).tanh().reshape([all, actions]);
            let step = episode_step::stepped(self.environment, worlds, &action, None);
            let steps = [&worlds[..count - 1], &step.state[..]];
            let broken = carry[count + 1..].iter();
            let broken = broken.map(|known| noted(self.environment, known, steps, &action, position, None));
            let broken = broken.collect();
            let next = (1.0 - &step.over) * share * self.discount + &step.over;
            let rewards = step.reward * self.gain;
            let slices = vec![seen, step.after, rewards, step.ended, step.over, step.finished, share.clone()];
            ([step.worlds, vec![next], broken].concat(), slices)
        });
        let [seen, after, rewards, ended, over, finished, share] =
            [0, 1, 2, 3, 4, 5, 6].map(|n| slices[n].clone());
        let (worlds, broken) = (last[..count].to_vec(), last.get(count + 1).map(Tensor::stop_gradient));
        Window { worlds, seen, after, rewards, ended, over, finished, share, broken }
    }

    /// The values that a critic of these numbers gives to what follows every step, `[time, worlds]`: 0 after a terminal state.
    pub fn ahead(&self, critic: &Tensor, window: &Window) -> Tensor {
        let seen = self.scaled(&by_seed(&window.after, self.seeds));
        let values = self.networks.values(critic, &seen);
        let values = by_time(&values, window.over.shape()[1] / self.seeds);
        window.ended.greater(0.0).select(&values.full_like(0.0), &values)
    }

    /// What the actor makes small, for every seed: minus the discounted rewards, and minus the value where an episode or the
    /// window ends, per step.
    pub fn loss(&self, window: &Window, ahead: &Tensor) -> Tensor {
        let gained = &window.rewards + ahead * window.ends() * self.discount;
        let parts = (gained * &window.share).unsqueeze(2);
        -by_seed(&parts, self.seeds).mean_axes([1, 2])
    }

    /// What the critic should say of every observation, `[time, worlds]`: returns of TD(λ) within the window.
    pub fn wanted(&self, window: &Window, ahead: &Tensor, trace: f64) -> Tensor {
        let later = (1.0 - window.ends()) * trace;
        let rows = &window.rewards + (1.0 - &later) * ahead * self.discount;
        crate::discounted::discounted(&rows, &(later * self.discount))
    }
}

impl Window {
    /// 1 where an episode or the window ends, otherwise 0.
    fn ends(&self) -> Tensor {
        let (steps, worlds) = (self.over.shape()[0], self.over.shape()[1]);
        let last = Tensor::ones([1, worlds], self.over.device());
        match steps {
            1 => last,
            _ => Tensor::concat(&[&self.over.narrow(0, 0, steps - 1), &last], 0),
        }
    }

    /// Sums and numbers of the returns of episodes that ended, `[seeds]` each.
    pub fn ended_returns(&self, seeds: usize) -> [Tensor; 2] {
        [&self.finished, &self.over].map(|t| by_seed(&t.unsqueeze(2), seeds).sum_axes([1, 2]))
    }
}
