//! The settings of SAC, one row each. Worlds, horizon, hidden layers, learning rate and discount are those of PPO.

use farad::train::settings::{NumberRange, Takes};

farad::train::settings! {
    /// The settings of SAC beside those that it shares with PPO.
    pub struct SacSettings {
        replay: usize = 1 << 16, Takes::Whole(1, 1 << 24), "Samples that sac and dreamer remember, per seed.";
        batch: usize = 128, Takes::Whole(1, 1 << 20), "Samples of a gradient step of sac, sequences of one of dreamer.";
        gradients: usize = 32, Takes::Whole(1, 1 << 16), "Gradient steps of sac per update.";
        warm_up_samples: usize = 1000, Takes::Whole(0, 1 << 24), "Samples of random actions before sac or dreamer learns, per seed.";
        target_rate: f64 = 0.01, Takes::Number(NumberRange::above(0.0).to(1.0)), "How fast the target critics of sac follow, per gradient step.";
        reward_scale: f64 = 1.0, Takes::Number(NumberRange::above(0.0)), "What sac multiplies rewards by.";
        temperature: f64 = 0.2, Takes::Number(NumberRange::above(0.0)), "Weight of the entropy in sac at the start; it adapts.";
    }
}
