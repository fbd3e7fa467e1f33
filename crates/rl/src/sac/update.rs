//! Gradient steps of SAC: two critics, an actor and a temperature, all steps of an update as one loop.

use std::f64::consts::{LN_2, PI};

use farad::{DType, Result, Tensor, scan};

use super::settings::SacSettings;
use crate::actor_critic::ActorCritic;
use crate::learned::Learned;

/// Decay rates of Adam's moments.
const BETAS: [f64; 2] = [0.9, 0.999];
/// Bounds of the logarithm of an action's deviation.
const DEVIATIONS: [f64; 2] = [-5.0, 2.0];

/// The architecture: an actor that says mean and log deviation of every action before tanh, and two critics.
#[derive(Clone)]
pub(super) struct SacNetworks {
    pub actor: ActorCritic,
    pub critics: ActorCritic,
    pub seen: usize,
    pub actions: usize,
}

/// An action, and the logarithm of its density: `[seeds, samples, actions]` and `[seeds, samples]`.
pub(super) struct DrawnAction {
    pub action: Tensor,
    likelihood: Tensor,
}

impl SacNetworks {
    /// Draws actions by the actor.
    pub fn drawn(&self, weights: &[Tensor], seen: &Tensor) -> DrawnAction {
        let said = self.actor.act(weights, seen);
        let mean = said.narrow(2, 0, self.actions);
        let log = said.narrow(2, self.actions, self.actions).clamp(DEVIATIONS[0], DEVIATIONS[1]);
        let noise = Tensor::randn(mean.shape(), mean.device());
        let before = &mean + &noise * log.exp();
        // The logarithm of 1 − tanh², written so that it does not overflow.
        let slope = (&before * -2.0).softplus();
        let slope = (-&before - slope + LN_2) * 2.0;
        let likelihood = -(noise.square() * 0.5) - &log - 0.5 * (2.0 * PI).ln() - slope;
        DrawnAction { action: before.tanh(), likelihood: likelihood.sum_axes([2]) }
    }

    /// The lower value of both critics, and both: `[seeds, samples]` and `[seeds, 2, samples]`.
    fn values(&self, weights: &[Tensor], seen: &Tensor, action: &Tensor) -> (Tensor, Tensor) {
        let both = self.critics.said(weights, &Tensor::concat(&[seen, action], 2)).squeeze(3);
        (both.min_axes([1]), both)
    }
}

/// Everything that is learned.
#[derive(Clone)]
pub(super) struct SacState {
    pub actor: Learned,
    pub critics: Learned,
    /// The logarithm of the temperature, `[seeds, 1]`.
    pub temperature: Learned,
    /// The critics that follow slowly, `[seeds, numbers]`.
    pub target: Tensor,
}

impl SacState {
    pub fn tensors(&self) -> Vec<&Tensor> {
        let parts = [&self.actor, &self.critics, &self.temperature];
        parts.into_iter().flat_map(Learned::tensors).chain([&self.target]).collect()
    }

    fn of(parts: &[Tensor]) -> SacState {
        SacState {
            actor: Learned::of(&parts[..3]),
            critics: Learned::of(&parts[3..6]),
            temperature: Learned::of(&parts[6..9]),
            target: parts[9].clone(),
        }
    }
}

/// What gradient steps need beside samples.
pub(super) struct SacStep<'a> {
    pub networks: &'a SacNetworks,
    pub settings: &'a SacSettings,
    pub discount: f64,
    pub rate: Tensor,
}

impl SacStep<'_> {
    /// Learns from samples `[steps, seeds, batch, numbers]`, after so many steps before: the state afterwards, and the
    /// means of the critics' loss and of the temperature, `[seeds]`. Where `learns` is 0, nothing changes.
    pub fn learn(
        &self,
        state: &SacState,
        rows: &Tensor,
        steps: &Tensor,
        learns: &Tensor,
    ) -> Result<(SacState, [Tensor; 2])> {
        let count = rows.shape()[0];
        let numbers = Tensor::arange(count, rows.device()).cast(DType::F32) + steps + 1.0;
        let mut failed = None;
        let (last, course) = scan(&state.tensors(), &[rows, &numbers], |carry, slice| {
            match self.one(&SacState::of(carry), &slice[0], &slice[1]) {
                Ok((next, loss, temperature)) => {
                    let pairs = carry.iter().zip(next.tensors());
                    let kept = pairs.map(|(old, new)| old + (new - old) * learns).collect();
                    (kept, vec![loss, temperature])
                }
                Err(error) => {
                    failed = Some(error);
                    let nothing = carry[6].squeeze(1);
                    (carry.to_vec(), vec![nothing.clone(), nothing])
                }
            }
        });
        match failed {
            Some(error) => Err(error),
            None => Ok((SacState::of(&last), [0, 1].map(|n| course[n].mean_axes([0])))),
        }
    }

    /// One gradient step from samples `[seeds, batch, numbers]`.
    fn one(&self, state: &SacState, rows: &Tensor, step: &Tensor) -> Result<(SacState, Tensor, Tensor)> {
        let networks = self.networks;
        let (seen, acted) = (networks.seen, networks.actions);
        let before = rows.narrow(2, 0, seen);
        let action = rows.narrow(2, seen, acted);
        let after = rows.narrow(2, seen + acted, seen);
        let [reward, ended] = [0, 1].map(|n| rows.narrow(2, 2 * seen + acted + n, 1).squeeze(2));
        let [actor, critics, target] = [
            networks.actor.unpack(&state.actor.weights),
            networks.critics.unpack(&state.critics.weights),
            networks.critics.unpack(&state.target),
        ];
        let temperature = state.temperature.weights.exp();
        // What the critics should say.
        let next = networks.drawn(&actor, &after);
        let (ahead, _) = networks.values(&target, &after, &next.action);
        let soft = ahead - &next.likelihood * &temperature;
        let wanted = reward * self.settings.reward_scale + (1.0 - ended) * soft * self.discount;
        let wanted = wanted.stop_gradient().unsqueeze(1);
        let (_, said) = networks.values(&critics, &before, &action);
        let loss = (said - wanted).square().mean_axes([2]).sum_axes([1]);
        let gradient = loss.sum().gradients_at(&critics.iter().collect::<Vec<_>>())?;
        let critics_after = state.critics.stepped(&ActorCritic::packed(&gradient), step, &self.rate, BETAS);
        // The actor, with the critics as they were.
        let own = networks.drawn(&actor, &before);
        let (value, _) = networks.values(&critics, &before, &own.action);
        let goal = (&own.likelihood * &temperature - value).mean_axes([1]);
        let gradient = goal.sum().gradients_at(&actor.iter().collect::<Vec<_>>())?;
        let actor_after = state.actor.stepped(&ActorCritic::packed(&gradient), step, &self.rate, BETAS);
        // The temperature moves until the entropy is minus the number of actions.
        let surplus = own.likelihood.mean_axes([1]) - acted as f64;
        let slope = -surplus.stop_gradient().unsqueeze(1);
        let temperature_after = state.temperature.stepped(&slope, step, &self.rate, BETAS);
        let rate = self.settings.target_rate;
        let follows = &state.target * (1.0 - rate) + &critics_after.weights * rate;
        let next = SacState {
            actor: actor_after,
            critics: critics_after,
            temperature: temperature_after,
            target: follows,
        };
        Ok((next, loss, temperature.squeeze(1)))
    }
}
