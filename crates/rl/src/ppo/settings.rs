//! What PPO may be told, one row each.

use farad::train::settings::{NumberRange, Takes};

farad::train::settings! {
    /// What PPO is made of; the defaults are usual ones.
    pub struct PpoSettings {
        worlds: usize = 128, Takes::Whole(1, 1 << 20), "Worlds of a seed, side by side.";
        horizon: usize = 32, Takes::Whole(1, 1 << 16), "Steps of a world between updates.";
        epochs: usize = 4, Takes::Whole(1, 1 << 10), "Passes over what was collected, in every update.";
        minibatches: usize = 8, Takes::Whole(1, 1 << 16), "Parts that a pass is made in.";
        hidden: Vec<i64> = vec![64, 64], Takes::Wholes(1, 1 << 14, 0), "Sizes of the hidden layers, of actor and critic alike.";
        learning_rate: f64 = 2.5e-3, Takes::Number(NumberRange::from(0.0)), "The learning rate at the start.";
        anneal: bool = true, Takes::Truth, "Whether the learning rate falls to zero over all updates, in a line.";
        discount: f64 = 0.99, Takes::Number(NumberRange::from(0.0).to(1.0)), "What a reward is worth one step later.";
        trace: f64 = 0.95, Takes::Number(NumberRange::from(0.0).to(1.0)), "How far advantages look ahead: lambda of GAE.";
        clip: f64 = 0.2, Takes::Number(NumberRange::above(0.0)), "How far a likelihood may move from the old one, as a share.";
        clip_value: bool = true, Takes::Truth, "Whether values are clipped like likelihoods.";
        entropy: f64 = 0.01, Takes::Number(NumberRange::from(0.0)), "Weight of the entropy.";
        value: f64 = 0.5, Takes::Number(NumberRange::from(0.0)), "Weight of the critic's loss.";
        gradient_norm: f64 = 0.5, Takes::Number(NumberRange::above(0.0)), "The largest norm of a seed's gradient; larger ones are scaled down.";
        normalize: bool = false, Takes::Truth, "Whether observations are brought to mean 0 and deviation 1.";
        normalize_rewards: bool = false, Takes::Truth, "Whether rewards are divided by the deviation of discounted returns.";
        bootstrap: bool = false, Takes::Truth, "Whether the limit of time is no end: what would have come is taken from the critic.";
    }
}
