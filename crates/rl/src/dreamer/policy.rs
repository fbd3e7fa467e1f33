//! The actor: distributions of actions from features of latent states.

use std::f64::consts::PI;

use farad::{DType, Tensor};

use super::layers::{Head, WeightLayout};
use super::rssm::{mixed, one_hot_drawn};
use crate::environment::Actions;

/// Bounds of the deviation of continuous actions.
const DEVIATIONS: [f64; 2] = [0.1, 1.0];
/// Hidden layers, and the scale of the last layer's first weights.
const LAYERS: usize = 3;
const SCALE: f64 = 0.01;

/// The actor's architecture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Policy {
    actions: Actions,
    head: Head,
}

impl Policy {
    pub fn new(layout: &mut WeightLayout, features: usize, units: usize, actions: Actions) -> Policy {
        let outputs = match actions {
            Actions::Discrete(choices) => choices,
            Actions::Continuous(numbers) => 2 * numbers,
        };
        Policy { actions, head: Head::new(layout, "policy", [features, units, outputs], LAYERS, SCALE) }
    }

    /// What it says about features `[agents, rows, features]`.
    pub fn said(&self, weights: &[Tensor], features: &Tensor) -> Tensor {
        self.head.apply(weights, features)
    }

    /// Means and deviations of continuous actions.
    fn normal(&self, said: &Tensor, numbers: usize) -> [Tensor; 2] {
        let [low, high] = DEVIATIONS;
        let wide = (said.narrow(2, numbers, numbers) + 2.0).sigmoid();
        [said.narrow(2, 0, numbers).tanh(), wide * (high - low) + low]
    }

    /// A sampled action `[agents, rows, numbers]`; a choice is one-hot.
    pub fn drawn(&self, said: &Tensor) -> Tensor {
        match self.actions {
            Actions::Discrete(_) => one_hot_drawn(&mixed(said), &Tensor::rand(said.shape(), said.device())),
            Actions::Continuous(numbers) => {
                let [mean, deviation] = self.normal(said, numbers);
                &mean + Tensor::randn(mean.shape(), mean.device()) * deviation
            }
        }
    }

    /// An action that nothing decides, for as many rows.
    pub fn any(&self, said: &Tensor) -> Tensor {
        match self.actions {
            Actions::Discrete(_) => {
                one_hot_drawn(&said.full_like(1.0), &Tensor::rand(said.shape(), said.device()))
            }
            Actions::Continuous(numbers) => {
                let shape = said.narrow(2, 0, numbers).shape();
                Tensor::rand(shape, said.device()) * 2.0 - 1.0
            }
        }
    }

    /// The best action.
    pub fn best(&self, said: &Tensor) -> Tensor {
        match self.actions {
            Actions::Discrete(choices) => said.argmax(-1).one_hot(choices),
            Actions::Continuous(numbers) => said.narrow(2, 0, numbers).tanh(),
        }
    }

    /// The log-likelihood of actions, and the entropy: `[agents, rows]` each.
    pub fn likelihood(&self, said: &Tensor, action: &Tensor) -> [Tensor; 2] {
        match self.actions {
            Actions::Discrete(_) => {
                let logs = mixed(said).log();
                [(action * &logs).sum_axes([-1]), -(logs.exp() * &logs).sum_axes([-1])]
            }
            Actions::Continuous(numbers) => {
                let [mean, deviation] = self.normal(said, numbers);
                let (log, half) = (deviation.log(), 0.5 * (2.0 * PI).ln());
                let off = ((action - mean) / &deviation).square() * 0.5;
                [-(off + &log + half).sum_axes([-1]), (log + (half + 0.5)).sum_axes([-1])]
            }
        }
    }

    /// Actions in the environment's format, from rows `[worlds, numbers]`.
    pub fn to_environment(&self, action: &Tensor) -> Tensor {
        match self.actions {
            Actions::Discrete(_) => action.argmax(-1).cast(DType::I32),
            Actions::Continuous(_) => action.clamp(-1.0, 1.0),
        }
    }
}
