//! Running means and variances of observations, on the device.

use farad::{Device, Result, Tensor};

/// Observations are clamped to this many standard deviations.
const FAR: f64 = 10.0;
/// Added to variances before the square root.
const SMALL: f64 = 1e-8;

/// Means and variances of each agent's observations, `[agents, 1, observations]`, and how many were seen.
///
/// They change only between roll-outs, so that a policy acts on and learns from the same numbers.
#[derive(Clone)]
pub struct Normalizer {
    /// The number of observations so far, `[agents, 1, 1]`.
    pub count: Tensor,
    /// Their means.
    pub mean: Tensor,
    /// Their variances.
    pub variance: Tensor,
}

impl Normalizer {
    /// No observations yet: `apply` leaves them unchanged.
    pub fn new(agents: usize, observations: usize, device: &Device) -> Normalizer {
        let shape = [agents, 1, observations];
        Normalizer {
            count: Tensor::full(1e-4, [agents, 1, 1], device),
            mean: Tensor::zeros(shape, device),
            variance: Tensor::ones(shape, device),
        }
    }

    /// Observations `[agents, worlds, observations]` normalized to mean 0 and deviation 1, clamped to ten
    /// deviations.
    pub fn apply(&self, seen: &Tensor) -> Tensor {
        ((seen - &self.mean) / (&self.variance + SMALL).sqrt()).clamp(-FAR, FAR)
    }

    /// Updated with the observations `[agents, samples, observations]` of one more roll-out, by the rule of
    /// Chan and others for merging two sets.
    pub fn with(&self, seen: &Tensor) -> Normalizer {
        let samples = self.count.full_like(seen.shape()[1] as f64);
        let mean = seen.mean_axes(farad::kept([1]));
        let variance = (seen - &mean).square().mean_axes(farad::kept([1]));
        self.joined(&samples, &mean, &variance)
    }

    /// With so many observations more, `[agents, 1, 1]`, that this scale made these sums and sums of squares of.
    pub fn with_sums(&self, samples: &Tensor, sums: [&Tensor; 2]) -> Normalizer {
        let deviation = (&self.variance + SMALL).sqrt();
        let [mean, square] = sums.map(|sum| sum / samples.maximum(1.0));
        let variance = (square - mean.square()).relu() * deviation.square();
        self.joined(samples, &(mean * deviation + &self.mean), &variance)
    }

    /// With so many more of this mean and variance.
    fn joined(&self, samples: &Tensor, mean: &Tensor, variance: &Tensor) -> Normalizer {
        let count = &self.count + samples;
        let (off, share) = (mean - &self.mean, samples / &count);
        let spread = off.square() * &share * (&self.count / &count);
        Normalizer {
            mean: &self.mean + off * &share,
            variance: &self.variance * (&self.count / &count) + variance * &share + spread,
            count,
        }
    }

    /// As many of each agent's side by side: `[agents · each, 1, observations]`.
    pub fn repeated(&self, each: usize) -> Normalizer {
        let many = |t: &Tensor| {
            let (agents, width) = (t.shape()[0], t.shape()[2]);
            t.unsqueeze(1).broadcast_to([agents, each, 1, width]).reshape([agents * each, 1, width])
        };
        let [count, mean, variance] = self.tensors().map(many);
        Normalizer { count, mean, variance }
    }

    /// Its values without history.
    pub fn detach(&self) -> Result<Normalizer> {
        Ok(Normalizer {
            count: self.count.detach()?,
            mean: self.mean.detach()?,
            variance: self.variance.detach()?,
        })
    }

    /// Its tensors.
    pub fn tensors(&self) -> [&Tensor; 3] {
        [&self.count, &self.mean, &self.variance]
    }
}
