//! Updates of the networks from what was collected: all epochs and minibatches as one loop on the device.

use farad::{Device, Order, Result, Tensor, scan};

use super::settings::PpoSettings;
use crate::actor_critic::ActorCritic;

/// Decay rates of Adam's moments, and its epsilon.
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

/// Weights and Adam's moments: one row of numbers per seed each, so that updating all of them is one kernel.
pub(super) struct LearnedWeights {
    pub weights: Tensor,
    pub first: Tensor,
    pub second: Tensor,
}

/// Statistics of the updates, `[seeds]` each: means over all minibatches.
pub(super) struct UpdateMeans {
    pub loss: Tensor,
    pub entropy: Tensor,
    pub divergence: Tensor,
}

impl Samples {
    /// Minibatches of samples, shuffled in every epoch and for every seed:
    /// `[minibatches, seeds, samples, numbers]`.
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

/// The losses of a minibatch, for all seeds.
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

/// Learns from samples: `rates` is every seed's learning rate `[seeds]`, `steps` the number of Adam steps so
/// far.
pub(super) fn learn(
    network: &ActorCritic,
    learned: &LearnedWeights,
    samples: &Samples,
    rates: &Tensor,
    steps: u64,
    settings: &PpoSettings,
) -> Result<(LearnedWeights, UpdateMeans)> {
    let device = rates.device();
    let rows = samples.shuffled(settings, device);
    let parts = rows.shape()[0];
    // Adam's step numbers, starting at 1.
    let numbers =
        Tensor::arange(parts, device).cast(farad::DType::F32) + (&Tensor::number(steps as f64, device) + 1.0);
    let rates = rates.unsqueeze(1);
    let mut failed = None;
    let carries = [&learned.weights, &learned.first, &learned.second];
    let (last, course) = scan(&carries, &[&rows, &numbers], |carry, slice| {
        let weights = network.unpack(&carry[0]);
        let found = losses(network, &weights, &slice[0], settings);
        let gradients = found.loss.sum().gradients_at(&weights.iter().collect::<Vec<_>>());
        let gradients = gradients.unwrap_or_else(|error| {
            failed = Some(error);
            weights.to_vec()
        });
        let g = ActorCritic::packed(&gradients);
        let norm = g.square().sum_axes(farad::kept([1])).sqrt();
        let g = g * (settings.gradient_norm / (norm + 1e-8)).minimum(1.0);
        let correction = |beta: f64| 1.0 - (&slice[1] * beta.ln()).exp();
        let m = &carry[1] * BETAS[0] + &g * (1.0 - BETAS[0]);
        let v = &carry[2] * BETAS[1] + g.square() * (1.0 - BETAS[1]);
        let step = (&m / correction(BETAS[0])) / ((&v / correction(BETAS[1])).sqrt() + SMALL);
        let moved = &carry[0] - step * &rates;
        (vec![moved, m, v], vec![found.loss, found.entropy, found.divergence])
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let [weights, first, second] = [0, 1, 2].map(|n| last[n].clone());
    let mean = |n: usize| course[n].mean_axes([0]);
    Ok((
        LearnedWeights { weights, first, second },
        UpdateMeans { loss: mean(0), entropy: mean(1), divergence: mean(2) },
    ))
}
