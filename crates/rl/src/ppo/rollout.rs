//! A roll-out: all worlds of all seeds act for some steps, as one loop on the device.

use farad::group::Group;
use farad::{DType, Result, Tensor, repeat};

use super::settings::PpoSettings;
use crate::actor_critic::ActorCritic;
use crate::environment::Environment;
use crate::explosion::{noted, unharmed};
use crate::normalizer::Normalizer;
use crate::ranks::WorldShare;

/// Statistics that worlds carry from step to step beside their state, as one tensor: steps of the episode, its
/// return, and its discounted return.
const BESIDE: usize = 3;

/// The collected data. The first two axes are time and world; the worlds of a seed are adjacent.
pub(super) struct Collected {
    /// The state of all worlds afterwards, and the statistics beside it.
    pub worlds: Vec<Tensor>,
    /// `[time, worlds, observations]`, unnormalized.
    pub seen: Tensor,
    /// The observations after the last step, `[1, worlds, observations]`.
    pub last: Tensor,
    /// The observations after each step, before any restart; only if requested.
    pub next: Option<Tensor>,
    /// `[time, worlds, width]`.
    pub actions: Tensor,
    /// `[time, worlds]`, and so are all below.
    pub likelihoods: Tensor,
    pub rewards: Tensor,
    /// Whether it reached a terminal state: 1 or 0.
    pub ended: Tensor,
    /// Whether it ended, or was cut by the time limit: 1 or 0.
    pub over: Tensor,
    /// The return of an episode at its last step, otherwise 0.
    pub finished: Tensor,
    /// Discounted returns so far.
    pub discounted: Tensor,
    /// Explosions, `[1, worlds, 2]`: step and part; only where worlds can explode.
    pub broken: Option<Tensor>,
}

/// Worlds in their initial states.
pub(super) fn begin(environment: &dyn Environment, count: usize, device: &farad::Device) -> Vec<Tensor> {
    let mut worlds = environment.begin(count, device);
    worlds.push(Tensor::zeros([count, BESIDE], device));
    worlds
}

impl Collected {
    /// What all ranks collected. Worlds stay where they are.
    pub fn of_all(self, group: &Group, share: &WorldShare) -> Result<Collected> {
        let Collected { worlds, seen, last, next, actions, likelihoods, rewards, .. } = &self;
        let Collected { ended, over, finished, discounted, broken, .. } = &self;
        let fixed = [seen, last, actions, likelihoods, rewards, ended, over, finished, discounted];
        let own: Vec<&Tensor> = fixed.into_iter().chain(next).chain(broken).collect();
        // One program steps the worlds once, for what is sent and for what stays.
        Tensor::compute_all(&own.iter().copied().chain(worlds).collect::<Vec<_>>())?;
        let mut all = share.all(group, &own)?.into_iter();
        let mut take = || all.next().expect("as many as were given");
        Ok(Collected {
            seen: take(),
            last: take(),
            actions: take(),
            likelihoods: take(),
            rewards: take(),
            ended: take(),
            over: take(),
            finished: take(),
            discounted: take(),
            next: self.next.is_some().then(&mut take),
            broken: self.broken.is_some().then(take),
            worlds: self.worlds,
        })
    }
}

/// Acts for `horizon` steps. With a share, the worlds are those of a rank. Worlds whose episode is over restart.
pub(super) fn collect(
    environment: &dyn Environment,
    network: &ActorCritic,
    weights: &[Tensor],
    normalizer: &Normalizer,
    worlds: &[Tensor],
    settings: &PpoSettings,
    share: Option<WorldShare>,
) -> Collected {
    let (seeds, device) = (weights[0].shape()[0], weights[0].device().clone());
    let count = worlds.len() - 1;
    let all = worlds[count].shape()[0];
    let drawn = environment.starts_slowly().then(|| environment.begin(all, &device));
    let whole = unharmed(environment, &worlds[..count]);
    let carries: Vec<&Tensor> = worlds.iter().chain(&whole).collect();
    let (mut last, mut slices) = repeat(settings.horizon, &carries, |carry, position| {
        let (state, beside) = carry.split_at(count);
        let broken = &beside[1..];
        let beside = [0, 1, 2].map(|n| beside[0].narrow(1, n, 1).squeeze(1));
        let seen = environment.observe(state);
        let by_seed = seen.reshape([seeds, all / seeds, seen.shape()[1]]);
        let by_seed = if settings.normalize { normalizer.apply(&by_seed) } else { by_seed };
        let said = network.act(weights, &by_seed);
        let action = network.draw_of(weights, &said, share);
        let (likelihood, _) = network.likelihood(weights, &said, &action);
        let driven = network.to_environment(&action);
        let step = environment.step(state, &driven);
        let time = &beside[0] + 1.0;
        let over = step.ended.or(time.greater_equal(environment.longest() as f64));
        let total = &beside[1] + &step.reward;
        let discounted = &beside[2] * settings.discount + &step.reward;
        let zero = total.full_like(0.0);
        let fresh = drawn.unwrap_or_else(|| environment.begin(all, &device));
        let starts = |(new, old): (&Tensor, &Tensor)| along(&over, old.rank()).select(new, old);
        let mut next: Vec<Tensor> = fresh.iter().zip(&step.state).map(starts).collect();
        let counted = Tensor::stack(&[&time, &total, &discounted], 1);
        next.push(over.unsqueeze(1).select(&counted.full_like(0.0), &counted));
        let steps = [state, &step.state[..]];
        next.extend(broken.iter().map(|known| noted(environment, known, steps, &driven, position, None)));
        let flat = |t: &Tensor| t.reshape([all, t.numel() / all]);
        let mut slices = vec![seen, flat(&action), likelihood.reshape([all]), step.reward];
        slices.extend([
            step.ended.cast(DType::F32),
            over.cast(DType::F32),
            over.select(&total, &zero),
            discounted,
        ]);
        if settings.bootstrap {
            slices.push(environment.observe(&step.state));
        }
        (next, slices)
    });
    let broken = whole.and_then(|_| last.pop()).map(|notes| notes.unsqueeze(0));
    let next = (slices.len() > 8).then(|| slices.pop()).flatten();
    let mut slices = slices.into_iter();
    let mut take = || slices.next().expect("as many as the body gave");
    Collected {
        last: environment.observe(&last[..count]).unsqueeze(0),
        worlds: last,
        seen: take(),
        actions: take(),
        likelihoods: take(),
        rewards: take(),
        ended: take(),
        over: take(),
        finished: take(),
        discounted: take(),
        next,
        broken,
    }
}

/// Booleans `[worlds]`, reshaped to broadcast to a tensor of this rank.
fn along(mask: &Tensor, rank: usize) -> Tensor {
    (1..rank).fold(mask.clone(), |mask, _| mask.unsqueeze(-1))
}
