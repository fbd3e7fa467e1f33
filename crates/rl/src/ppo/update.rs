//! Updates of the networks from what was collected: all epochs and minibatches as one loop on the device.

use std::ops::Range;

use farad::group::{Combine, Group, share};
use farad::{Device, Result, Tensor, scan};

use super::settings::PpoSettings;
use crate::actor_critic::ActorCritic;
use crate::samples::minibatches;

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
    /// Minibatches of samples: `[minibatches, seeds, samples, numbers]`.
    fn shuffled(&self, settings: &PpoSettings) -> Tensor {
        let column = |t: &Tensor| t.unsqueeze(2);
        let columns = [&self.likelihoods, &self.values, &self.advantages, &self.returns].map(column);
        let [a, b, c, d] = columns.each_ref();
        let rows = Tensor::concat(&[&self.seen, &self.actions, a, b, c, d], 2);
        minibatches(&rows, settings.epochs, settings.minibatches)
    }
}

/// The losses of a minibatch, for all seeds.
struct Losses {
    loss: Tensor,
    entropy: Tensor,
    divergence: Tensor,
}

/// PPO's loss of a minibatch `[seeds, samples, numbers]`, for each seed; with `own`, what these samples add to it.
fn losses(
    network: &ActorCritic,
    weights: &[Tensor],
    rows: &Tensor,
    own: Option<&Range<usize>>,
    settings: &PpoSettings,
) -> Losses {
    let (width, last) = (network.actions().width(), rows.shape()[2]);
    // Advantages are compared with those of the whole minibatch.
    let advantage = rows.narrow(2, last - 2, 1).squeeze(2);
    let mean = advantage.mean_axes(farad::kept([1]));
    let spread = (&advantage - &mean).square().mean_axes(farad::kept([1])).sqrt() + 1e-8;
    let advantage = (advantage - mean) / spread;
    let cut = |t: &Tensor| own.map_or(t.clone(), |own| t.narrow(1, own.start, own.len()));
    let (rows, advantage) = (&cut(rows), cut(&advantage));
    let seen = rows.narrow(2, 0, last - width - 4);
    let action = rows.narrow(2, last - width - 4, width);
    let [old, old_value, target] = [4, 3, 1].map(|n| rows.narrow(2, last - n, 1).squeeze(2));
    let (said, value) = network.both(weights, &seen);
    let (likelihood, entropy) = network.likelihood(weights, &said, &action);
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

/// Weights and moments after one step of Adam, number `number`.
fn moved(
    [weights, first, second]: [&Tensor; 3],
    g: Tensor,
    number: &Tensor,
    rates: &Tensor,
    settings: &PpoSettings,
) -> [Tensor; 3] {
    let norm = g.square().sum_axes(farad::kept([1])).sqrt();
    let g = g * (settings.gradient_norm / (norm + 1e-8)).minimum(1.0);
    let correction = |beta: f64| 1.0 - (number * beta.ln()).exp();
    let m = first * BETAS[0] + &g * (1.0 - BETAS[0]);
    let v = second * BETAS[1] + g.square() * (1.0 - BETAS[1]);
    let step = (&m / correction(BETAS[0])) / ((&v / correction(BETAS[1])).sqrt() + SMALL);
    [weights - step * rates, m, v]
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
    let rows = samples.shuffled(settings);
    let parts = rows.shape()[0];
    // Adam's step numbers, starting at 1.
    let numbers =
        Tensor::arange(parts, device).cast(farad::DType::F32) + (&Tensor::number(steps as f64, device) + 1.0);
    let rates = rates.unsqueeze(1);
    let mut failed = None;
    let carries = [&learned.weights, &learned.first, &learned.second];
    let (last, course) = scan(&carries, &[&rows, &numbers], |carry, slice| {
        let weights = network.unpack(&carry[0]);
        let found = losses(network, &weights, &slice[0], None, settings);
        let gradients = found.loss.sum().gradients_at(&weights.iter().collect::<Vec<_>>());
        let gradients = gradients.unwrap_or_else(|error| {
            failed = Some(error);
            weights.to_vec()
        });
        let g = ActorCritic::packed(&gradients);
        let [moved, m, v] = moved([&carry[0], &carry[1], &carry[2]], g, &slice[1], &rates, settings);
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

/// The same by several ranks that have the same samples: each takes its share of every minibatch, and gradients are added up.
pub(super) fn learn_together(
    group: &Group,
    network: &ActorCritic,
    learned: &LearnedWeights,
    samples: &Samples,
    rates: &Tensor,
    steps: u64,
    settings: &PpoSettings,
) -> Result<(LearnedWeights, UpdateMeans)> {
    let (device, rates) = (rates.device(), rates.unsqueeze(1));
    let rows = samples.shuffled(settings);
    let (parts, shape) = (rows.shape()[0], rows.shape()[1..].to_vec());
    let own = share(shape[1], group.size(), group.rank());
    // On the host, so that all minibatches run the same program.
    let rows = rows.to_vec::<f32>()?;
    let [mut weights, mut first, mut second] =
        [&learned.weights, &learned.first, &learned.second].map(Tensor::clone);
    let numbers = weights.numel();
    let mut course = vec![0.0; 3 * shape[0]];
    for (part, rows) in rows.chunks_exact(rows.len() / parts).enumerate() {
        let rows = Tensor::try_from_vec(rows, shape.clone(), device)?;
        let layers = network.unpack(&weights);
        let found = losses(network, &layers, &rows, Some(&own), settings);
        // Means over a rank's own samples count as much as these are of all.
        let part_of_all = own.len() as f64 / shape[1] as f64;
        let [loss, entropy, divergence] =
            [&found.loss, &found.entropy, &found.divergence].map(|mean| mean * part_of_all);
        let gradients = loss.sum().gradients_at(&layers.iter().collect::<Vec<_>>())?;
        let own = [&ActorCritic::packed(&gradients), &loss, &entropy, &divergence];
        let mut sums = summed(group, &own, device)?;
        let said = sums.split_off(numbers);
        course.iter_mut().zip(&said).for_each(|(sum, number)| *sum += number / parts as f32);
        let g = Tensor::try_from_vec(&sums, weights.shape().to_vec(), device)?;
        let number = Tensor::number(steps as f64 + part as f64 + 1.0, device);
        let next = moved([&weights, &first, &second], g, &number, &rates, settings);
        Tensor::compute_all(&next.each_ref())?;
        [weights, first, second] = [next[0].detach()?, next[1].detach()?, next[2].detach()?];
    }
    let mut course = course.chunks(shape[0]).map(|means| Tensor::try_from_vec(means, [shape[0]], device));
    let mut mean = || course.next().expect("three columns");
    let means = UpdateMeans { loss: mean()?, entropy: mean()?, divergence: mean()? };
    Ok((LearnedWeights { weights, first, second }, means))
}

/// The numbers of tensors, one after another, added up over all ranks.
fn summed(group: &Group, own: &[&Tensor], device: &Device) -> Result<Vec<f32>> {
    Tensor::compute_all(own)?;
    let numbers = own.iter().map(|tensor| tensor.to_vec::<f32>()).collect::<Result<Vec<_>>>()?;
    let mut sums = numbers.concat();
    device.waiting_for_others(|| group.all_reduce(&mut sums, Combine::Sum))?;
    Ok(sums)
}
