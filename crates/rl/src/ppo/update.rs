//! Updates of the networks from what was collected: all epochs and minibatches as one loop on the device.

use farad::{Device, Order, Result, Tensor, scan};

use super::settings::PpoSettings;
use crate::actor_critic::ActorCritic;

/// Decays of Adam's moments, and what is added to the root of the second.
const BETAS: [f64; 2] = [0.9, 0.999];
const SMALL: f64 = 1e-5;

/// Samples of all seeds, `[seeds, samples, ..]`.
pub(super) struct Samples {
    pub seen: Tensor,
    pub actions: Tensor,
    /// `[seeds, samples]`, and so are all below.
    pub likelihoods: Tensor,
    pub values: Tensor,
    pub advantages: Tensor,
    pub returns: Tensor,
}

/// Weights and Adam's moments.
pub(super) struct Learned {
    pub weights: Vec<Tensor>,
    pub first: Vec<Tensor>,
    pub second: Vec<Tensor>,
}

/// What the updates were like, `[seeds]` each: means over all minibatches.
pub(super) struct Course {
    pub loss: Tensor,
    pub entropy: Tensor,
    pub divergence: Tensor,
}

impl Samples {
    /// All of a minibatch after the other, drawn anew in every epoch and for every seed: `[minibatches, seeds, samples, numbers]`.
    fn shuffled(&self, settings: &PpoSettings, device: &Device) -> Tensor {
        let (seeds, samples) = (self.values.shape()[0], self.values.shape()[1]);
        let (epochs, parts) = (settings.epochs, settings.minibatches);
        let column = |t: &Tensor| t.unsqueeze(2);
        let columns = [&self.likelihoods, &self.values, &self.advantages, &self.returns].map(column);
        let [a, b, c, d] = columns.each_ref();
        let rows = Tensor::concat(&[&self.seen, &self.actions, a, b, c, d], 2);
        let width = rows.shape()[2];
        let keys = Tensor::rand([epochs, seeds, samples], device);
        let order = keys.argsort(-1, Order::Ascending);
        let from = Tensor::arange(seeds, device) * samples as f64;
        let order = (order + from.reshape([1, seeds, 1])).reshape([epochs, seeds, parts, samples / parts]);
        let order = order.permute(&[0, 2, 1, 3]).reshape([epochs * seeds * samples]);
        let rows = rows.reshape([seeds * samples, width]).index_select(0, &order);
        rows.reshape([epochs * parts, seeds, samples / parts, width])
    }
}

/// Everything that a minibatch of all seeds gives.
struct Losses {
    loss: Tensor,
    entropy: Tensor,
    divergence: Tensor,
}

/// PPO's loss of a minibatch `[seeds, samples, numbers]`, for each seed.
fn losses(network: &ActorCritic, weights: &[Tensor], rows: &Tensor, settings: &PpoSettings) -> Losses {
    let (width, last) = (network.actions().width(), rows.shape()[2]);
    let seen = rows.narrow(2, 0, last - width - 4);
    let action = rows.narrow(2, last - width - 4, width);
    let [old, old_value, advantage, target] = [4, 3, 2, 1].map(|n| rows.narrow(2, last - n, 1).squeeze(2));
    let (said, value) = network.both(weights, &seen);
    let (likelihood, entropy) = network.likelihood(weights, &said, &action);
    let mean = advantage.mean_axes(farad::kept([1]));
    let spread = (&advantage - &mean).square().mean_axes(farad::kept([1])).sqrt() + 1e-8;
    let advantage = (advantage - mean) / spread;
    let moved = likelihood - old;
    let ratio = moved.exp();
    let near = ratio.clamp(1.0 - settings.clip, 1.0 + settings.clip);
    let actor = -(&ratio * &advantage).minimum(near * &advantage).mean_axes([1]);
    let mut off = (&value - &target).square();
    if settings.clip_value {
        let near = &old_value + (&value - &old_value).clamp(-settings.clip, settings.clip);
        off = off.maximum((near - &target).square());
    }
    let critic = off.mean_axes([1]) * 0.5;
    let entropy = entropy.mean_axes([1]);
    let loss = actor + critic * settings.value - &entropy * settings.entropy;
    let divergence = (ratio - 1.0 - moved).mean_axes([1]);
    Losses { loss, entropy, divergence }
}

/// The factor `[seeds]` that brings every seed's gradient to at most this norm.
fn scales(gradients: &[Tensor], most: f64) -> Tensor {
    let seeds = gradients[0].shape()[0];
    let square = |g: &Tensor| g.reshape([seeds, g.numel() / seeds]).square().sum_axes([1]);
    let sum = gradients.iter().map(square).reduce(|a, b| a + b).expect("networks have weights");
    (most / (sum.sqrt() + 1e-8)).minimum(1.0)
}

/// A number per seed, `[seeds]`, that broadcasts to a seed's weights.
fn per_seed(numbers: &Tensor, like: &Tensor) -> Tensor {
    (1..like.rank()).fold(numbers.clone(), |t, _| t.unsqueeze(-1))
}

/// Learns from samples: `rates` is every seed's learning rate `[seeds]`, `steps` how many steps Adam has made.
pub(super) fn learn(
    network: &ActorCritic,
    learned: &Learned,
    samples: &Samples,
    rates: &Tensor,
    steps: u64,
    settings: &PpoSettings,
) -> Result<(Learned, Course)> {
    let device = rates.device();
    let count = learned.weights.len();
    let rows = samples.shuffled(settings, device);
    let parts = rows.shape()[0];
    // Adam's steps, from 1 on.
    let numbers =
        Tensor::arange(parts, device).cast(farad::DType::F32) + (&Tensor::number(steps as f64, device) + 1.0);
    let carries: Vec<&Tensor> = learned.weights.iter().chain(&learned.first).chain(&learned.second).collect();
    let mut failed = None;
    let (last, course) = scan(&carries, &[&rows, &numbers], |carry, slice| {
        let (weights, moments) = carry.split_at(count);
        let found = losses(network, weights, &slice[0], settings);
        let gradients = found.loss.sum().gradients_at(&weights.iter().collect::<Vec<_>>());
        let gradients = gradients.unwrap_or_else(|error| {
            failed = Some(error);
            weights.to_vec()
        });
        let scale = scales(&gradients, settings.gradient_norm);
        let correction = |beta: f64| 1.0 - (&slice[1] * beta.ln()).exp();
        let (first, second) = (correction(BETAS[0]), correction(BETAS[1]));
        let mut next: [Vec<Tensor>; 3] = [vec![], vec![], vec![]];
        for (n, g) in gradients.iter().enumerate() {
            let g = g * per_seed(&scale, g);
            let m = &moments[n] * BETAS[0] + &g * (1.0 - BETAS[0]);
            let v = &moments[count + n] * BETAS[1] + g.square() * (1.0 - BETAS[1]);
            let step = (&m / &first) / ((&v / &second).sqrt() + SMALL);
            next[0].push(&weights[n] - step * per_seed(rates, &m));
            next[1].push(m);
            next[2].push(v);
        }
        (next.concat(), vec![found.loss, found.entropy, found.divergence])
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let mut last = last.into_iter();
    let mut take = || last.by_ref().take(count).collect::<Vec<_>>();
    let learned = Learned { weights: take(), first: take(), second: take() };
    let mean = |n: usize| course[n].mean_axes([0]);
    Ok((learned, Course { loss: mean(0), entropy: mean(1), divergence: mean(2) }))
}
