//! The settings of PPO, one row each.

use farad::Result;
use farad::train::settings::{NumberRange, Takes};

use crate::error::RlError;

farad::train::settings! {
    /// The settings of PPO; the defaults are common values.
    pub struct PpoSettings {
        worlds: usize = 128, Takes::Whole(1, 1 << 20), "Parallel worlds per seed.";
        horizon: usize = 32, Takes::Whole(1, 1 << 16), "Steps per world between updates.";
        epochs: usize = 4, Takes::Whole(1, 1 << 10), "Passes over the collected samples, per update.";
        minibatches: usize = 8, Takes::Whole(1, 1 << 16), "Minibatches per pass.";
        hidden: Vec<i64> = vec![64, 64], Takes::Wholes(1, 1 << 14, 0), "Sizes of the hidden layers, of actor and critic alike.";
        learning_rate: f64 = 2.5e-3, Takes::Number(NumberRange::from(0.0)), "The learning rate at the start.";
        anneal: bool = true, Takes::Truth, "Whether the learning rate falls linearly to zero over all updates.";
        discount: f64 = 0.99, Takes::Number(NumberRange::from(0.0).to(1.0)), "Discount factor of rewards per step.";
        trace: f64 = 0.95, Takes::Number(NumberRange::from(0.0).to(1.0)), "How far advantages look ahead: lambda of GAE.";
        clip: f64 = 0.2, Takes::Number(NumberRange::above(0.0)), "Clip range of the likelihood ratio.";
        clip_value: bool = true, Takes::Truth, "Whether values are clipped like likelihoods.";
        entropy: f64 = 0.01, Takes::Number(NumberRange::from(0.0)), "Weight of the entropy.";
        value: f64 = 0.5, Takes::Number(NumberRange::from(0.0)), "Weight of the critic's loss.";
        gradient_norm: f64 = 0.5, Takes::Number(NumberRange::above(0.0)), "The largest norm of a seed's gradient; larger ones are scaled down.";
        normalize: bool = false, Takes::Truth, "Whether observations are normalized to mean 0 and deviation 1.";
        normalize_rewards: bool = false, Takes::Truth, "Whether rewards are divided by the standard deviation of discounted returns.";
        bootstrap: bool = false, Takes::Truth, "Whether the critic's value replaces the rewards after the time limit.";
    }
}

impl PpoSettings {
    /// Fails if the samples of an update do not split into minibatches.
    pub(crate) fn check_minibatches(&self, algorithm: &'static str) -> Result<()> {
        let (samples, parts) = (self.worlds * self.horizon, self.minibatches);
        match samples.is_multiple_of(parts) {
            true => Ok(()),
            false => Err(RlError::Minibatches { algorithm, samples, parts }.into()),
        }
    }
}
