//! The settings of SHAC, one row each. All others are those of PPO.

use farad::train::settings::{NumberRange, Takes};

farad::train::settings! {
    /// The settings of SHAC beside those that it shares with PPO.
    pub struct ShacSettings {
        critic_rate: f64 = 2e-3, Takes::Number(NumberRange::from(0.0)), "The learning rate of the critic of shac at the start.";
        slow_critic: f64 = 0.5, Takes::Number(NumberRange::above(0.0).to(1.0)), "How fast the slow critic of shac follows the other, per update.";
        deviation: f64 = 0.4, Takes::Number(NumberRange::above(0.0)), "Standard deviation of the actions of shac at the start, before tanh.";
        reward_gain: f64 = 1.0, Takes::Number(NumberRange::above(0.0)), "What shac multiplies rewards by.";
    }
}
