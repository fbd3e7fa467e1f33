//! A gradient step of Dreamer: the world model on remembered sequences, actor and critic in imagination, one optimizer.
//!
//! Invariant: actor and critic learn from imagined latent states without a gradient into the world model; only the
//! critic's loss on remembered states has one, as published. Start at [`DreamerStep::learn`].

use farad::{Result, Tensor, repeat};

use super::network::DreamerNetwork;
use super::optimizer::{LearnedRow, clipped};
use super::replay::Steps;
use super::returns::{Course, lambda_returns, moved_range, scale};
use super::rssm::{Latent, Remembered};
use super::symlog::TwoHot;
use crate::actor_critic::ActorCritic;

/// Divergences below this many nats are not made smaller.
const FREE: f64 = 1.0;
/// Weights of the losses that have one: dynamics, representation, the critic on remembered states.
const DYNAMICS: f64 = 1.0;
const REPRESENTATION: f64 = 0.1;
const REMEMBERED: f64 = 0.3;
/// How fast the slow critic follows.
const SLOW: f64 = 0.02;

/// Everything that gradient steps change.
#[derive(Clone)]
pub(super) struct DreamerState {
    pub learned: LearnedRow,
    /// The critic that follows slowly, `[agents, numbers]`.
    pub slow: Tensor,
    /// The moving range of returns, `[agents, 2]`.
    pub range: Tensor,
}

impl DreamerState {
    pub fn tensors(&self) -> Vec<&Tensor> {
        self.learned.tensors().into_iter().chain([&self.slow, &self.range]).collect()
    }

    pub fn tensors_mut(&mut self) -> Vec<&mut Tensor> {
        let DreamerState { learned, slow, range } = self;
        learned.tensors_mut().into_iter().chain([slow, range]).collect()
    }
}

/// The losses and what else is told of a gradient step, `[agents]` each.
pub(super) struct StepMeans {
    pub loss: Tensor,
    pub reconstruction: Tensor,
    pub reward: Tensor,
    pub goes_on: Tensor,
    pub divergence: Tensor,
    pub actor: Tensor,
    pub critic: Tensor,
    pub entropy: Tensor,
    pub imagined: Tensor,
}

impl StepMeans {
    /// As columns `[agents, 9]`.
    pub fn columns(&self) -> Tensor {
        let first = [&self.loss, &self.reconstruction, &self.reward, &self.goes_on, &self.divergence];
        let rest = [&self.actor, &self.critic, &self.entropy, &self.imagined];
        Tensor::stack(&first.into_iter().chain(rest).collect::<Vec<_>>(), 1)
    }
}

/// Divergences of posteriors from priors `[agents, rows]`, from probabilities `[agents, rows, variables, classes]`:
/// with the free nats and the weights of both sides, and as it is.
pub(super) fn divergences(posterior: &Tensor, prior: &Tensor) -> [Tensor; 2] {
    let of = |p: &Tensor, q: &Tensor| (p * (p.log() - q.log())).sum_axes([-2, -1]);
    let dynamics = of(&posterior.stop_gradient(), prior);
    let representation = of(posterior, &prior.stop_gradient());
    let loss = dynamics.maximum(FREE) * DYNAMICS + representation.maximum(FREE) * REPRESENTATION;
    [loss, dynamics]
}

/// Imagined trajectories, time first.
pub(super) struct Imagined {
    /// Features `[agents, (horizon + 1) · rows, features]`.
    pub features: Tensor,
    /// Actions after all but the last, `[agents, horizon · rows, numbers]`.
    pub actions: Tensor,
}

/// What gradient steps need.
pub(super) struct DreamerStep<'a> {
    pub network: &'a DreamerNetwork,
    pub bins: &'a TwoHot,
    pub imagination: usize,
    /// The steps at the end of sequences from which trajectories are imagined, and the critic learns; 0 for all.
    pub imagine_last: usize,
    pub discount: f64,
    pub lambda: f64,
    pub entropy: f64,
}

impl DreamerStep<'_> {
    /// One gradient step on sequences of so many steps. `step` counts from 1.
    pub fn learn(
        &self,
        state: &DreamerState,
        steps: &Steps,
        time: usize,
        step: &Tensor,
        rate: &Tensor,
    ) -> Result<(DreamerState, StepMeans)> {
        let layout = &self.network.layout;
        let weights = layout.unpack(&state.learned.weights);
        let (loss, means, range) = self.losses(state, &weights, steps, time, step);
        let gradients = loss.gradients_at(&weights.iter().collect::<Vec<_>>())?;
        let gradients: Vec<Tensor> = gradients.iter().zip(&weights).map(|(g, w)| clipped(g, w)).collect();
        let learned = state.learned.stepped(&ActorCritic::packed(&gradients), step, rate);
        let numbers = layout.numbers_from(self.network.critic_from);
        let from = layout.numbers_from(0) - numbers;
        let slow = &state.slow * (1.0 - SLOW) + learned.weights.narrow(1, from, numbers) * SLOW;
        Ok((DreamerState { learned, slow, range }, means))
    }

    /// The sum of all losses of all agents, what is told of them, and the range of returns afterwards.
    fn losses(
        &self,
        state: &DreamerState,
        weights: &[Tensor],
        steps: &Steps,
        time: usize,
        step: &Tensor,
    ) -> (Tensor, StepMeans, Tensor) {
        let DreamerStep { network, bins, .. } = self;
        let remembered = self.followed(weights, steps, time);
        let features = remembered.latent.features();
        // The world model.
        let prior = network.rssm.prior(weights, &remembered.latent.deter);
        let [divergence, told] = divergences(&remembered.posterior, &prior);
        let reconstruction = network.reconstruction(weights, &features, &steps.seen);
        let reward = bins.loss(&network.reward.apply(weights, &features), &[&steps.reward]);
        let going = network.going(weights, &features);
        // The cross-entropy of going on, from logits.
        let goes_on = (-&going).softplus() + &going * &steps.ended;
        // Actor and critic.
        let slow = self.slow(state, weights);
        let rows = steps.first.shape()[1] / time;
        let last = if self.imagine_last == 0 { time } else { self.imagine_last.clamp(2, time) };
        let (from, count) = ((time - last) * rows, last * rows);
        let imagined = self.imagined(weights, &remembered.latent.stopped().rows(from, count));
        let dream = self.behavior(&Critics { weights, slow: &slow }, &imagined, &state.range, step);
        let (known, lived) = (features.narrow(1, from, count), steps.rows(from, count));
        let critics = Critics { weights, slow: &slow };
        let critic = self.remembered_values(&critics, &known, &lived, &dream, last);
        let mean = |x: &Tensor| x.mean_axes([1]);
        let critic = mean(&dream.critic) + mean(&critic) * REMEMBERED;
        let model = &reconstruction + &reward + &goes_on + &divergence;
        let loss = mean(&model) + mean(&dream.actor) + &critic;
        let means = StepMeans {
            loss: loss.clone(),
            reconstruction: mean(&reconstruction),
            reward: mean(&reward),
            goes_on: mean(&goes_on),
            divergence: mean(&told),
            actor: mean(&dream.actor),
            critic,
            entropy: mean(&dream.entropy),
            imagined: mean(&dream.first),
        };
        (loss.sum(), means, dream.range)
    }

    /// Latent states along sequences. Memory begins anew where episodes do, and at the start of a sequence.
    pub fn followed(&self, weights: &[Tensor], steps: &Steps, time: usize) -> Remembered {
        let (agents, rows) = (steps.first.shape()[0], steps.first.shape()[1] / time);
        let actions = &steps.action;
        // The action before each step; there is none before the first.
        let none = actions.narrow(1, 0, rows).full_like(0.0);
        let before = Tensor::concat(&[&none, &actions.narrow(1, 0, (time - 1) * rows)], 1);
        let keep = (1.0 - &steps.first).reshape([agents, time * rows, 1]);
        let seen = self.network.encoded(weights, &steps.seen);
        let shape = [&[time], &self.network.rssm.noise_shape(agents, rows)[..]].concat();
        let noise = Tensor::rand(&shape[..], keep.device());
        self.network.rssm.follow(weights, &before, &seen, &keep, &noise)
    }

    /// The weights with those of the slow critic in place of the critic's.
    fn slow(&self, state: &DreamerState, weights: &[Tensor]) -> Vec<Tensor> {
        let from = self.network.critic_from;
        [&weights[..from], &self.network.layout.unpack_from(from, &state.slow)[..]].concat()
    }

    /// What follows latent states `[agents, rows, ..]` if the actor acts: one loop, through which no gradient flows.
    pub fn imagined(&self, weights: &[Tensor], start: &Latent) -> Imagined {
        let network = self.network;
        let (last, slices) = repeat(self.imagination, &[&start.deter, &start.stoch], |carry, _| {
            let latent = Latent { deter: carry[0].clone(), stoch: carry[1].clone() };
            let features = latent.features();
            let action = network.policy.drawn(&network.policy.said(weights, &features));
            let next = network.rssm.imagine(weights, &latent, &network.rssm.of_action(weights, &action));
            (vec![next.deter, next.stoch], vec![features, action])
        });
        let end = Latent { deter: last[0].clone(), stoch: last[1].clone() }.features();
        let features = Tensor::concat(&[&slices[0], &end.unsqueeze(0)], 0);
        // `[time, agents, rows, n]` as `[agents, time · rows, n]`.
        let by_agent = |x: &Tensor| {
            let [time, agents, rows, width] = [0, 1, 2, 3].map(|n| x.shape()[n]);
            x.permute(&[1, 0, 2, 3]).reshape([agents, time * rows, width]).stop_gradient()
        };
        Imagined { features: by_agent(&features), actions: by_agent(&slices[1]) }
    }

    /// The losses of actor and critic on imagined trajectories.
    fn behavior(&self, critics: &Critics, imagined: &Imagined, range: &Tensor, step: &Tensor) -> Dream {
        let DreamerStep { network, bins, imagination, .. } = *self;
        let (weights, features) = (critics.weights, &imagined.features);
        let agents = features.shape()[0];
        let rows = features.shape()[1] / (imagination + 1);
        let by_time = |x: &Tensor| x.reshape([agents, imagination + 1, rows]).permute(&[1, 0, 2]);
        let by_agent = |x: &Tensor| x.permute(&[1, 0, 2]).reshape([agents, imagination * rows]);
        let early = |x: &Tensor| x.narrow(1, 0, imagination * rows);
        let said = network.critic.apply(weights, features);
        let value = bins.mean(&said);
        let slow = bins.mean(&network.critic.apply(critics.slow, features));
        let reward = bins.mean(&network.reward.apply(weights, features));
        let going = network.going(weights, features).sigmoid().stop_gradient();
        let (reward, value_by_time) = (by_time(&reward), by_time(&value));
        let discount = by_time(&going) * self.discount;
        let course = Course {
            reward: &reward,
            discount: &discount,
            last: &discount.full_like(0.0),
            value: &value_by_time,
        };
        let returns = lambda_returns(&course, self.lambda);
        // How likely it is that a trajectory came so far.
        let reached = (discount.narrow(0, 0, imagination).cumprod(0)) * (1.0 / self.discount);
        let (reached, flat) = (by_agent(&reached).stop_gradient(), by_agent(&returns).stop_gradient());
        let range = moved_range(range, &flat);
        let advantage = ((&flat - early(&value)) / scale(&range, step)).stop_gradient();
        let policy = network.policy.said(weights, &early(features));
        let [likelihood, entropy] = network.policy.likelihood(&policy, &imagined.actions);
        let actor = -(likelihood * advantage + &entropy * self.entropy) * &reached;
        let said = said.narrow(1, 0, imagination * rows);
        let critic = bins.loss(&said, &[&flat, &early(&slow)]) * &reached;
        let first = flat.narrow(1, 0, rows);
        Dream { actor, critic, entropy, first, range }
    }

    /// The critic's loss on remembered sequences, `[agents, (time - 1) · rows]`: beyond a step stands what was imagined there.
    fn remembered_values(
        &self,
        critics: &Critics,
        features: &Tensor,
        steps: &Steps,
        dream: &Dream,
        time: usize,
    ) -> Tensor {
        let DreamerStep { network, bins, .. } = self;
        let (agents, all) = (features.shape()[0], features.shape()[1]);
        let rows = all / time;
        let by_time = |x: &Tensor| x.reshape([agents, time, rows]).permute(&[1, 0, 2]);
        let [reward, last, value] = [&steps.reward, &steps.last, &dream.first].map(by_time);
        let discount = by_time(&((1.0 - &steps.ended) * self.discount));
        let course = Course { reward: &reward, discount: &discount, last: &last, value: &value };
        let returns = lambda_returns(&course, self.lambda).permute(&[1, 0, 2]);
        let early = |x: &Tensor| x.narrow(1, 0, (time - 1) * rows);
        let features = early(features);
        let said = network.critic.apply(critics.weights, &features);
        let slow = bins.mean(&network.critic.apply(critics.slow, &features));
        let returns = returns.reshape([agents, (time - 1) * rows]).stop_gradient();
        bins.loss(&said, &[&returns, &slow]) * (1.0 - early(&steps.last))
    }
}

/// All weights, and all with the slow critic's.
struct Critics<'a> {
    weights: &'a [Tensor],
    slow: &'a [Tensor],
}

/// What imagination comes to: losses `[agents, horizon · rows]`, and returns at its start `[agents, rows]`.
struct Dream {
    actor: Tensor,
    critic: Tensor,
    entropy: Tensor,
    first: Tensor,
    range: Tensor,
}
