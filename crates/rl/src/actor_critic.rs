//! The networks of many agents at once: an actor that chooses actions, and a critic that estimates the value of
//! a state.
//!
//! Invariant: the first axis of every weight is the agent. Agents share nothing: each agent's results depend
//! only on its own weights and observations. Actor and critic have the same hidden sizes and are stacked on the
//! second axis, so that a layer of both is one batched product.

use std::f64::consts::{PI, SQRT_2};

use farad::nn::init;
use farad::{DType, Device, Parameter, Result, Tensor};

use crate::environment::Actions;
use crate::ranks::WorldShare;

/// Factors on the initial orthogonal weights: hidden layers, the actor's last layer, the critic's last layer.
const GAINS: [f64; 3] = [SQRT_2, 0.01, 1.0];

/// The architecture of the networks, without weights ([`ActorCritic::init`] makes those).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActorCritic {
    /// The number of observations, then the sizes of the hidden layers.
    sizes: Vec<usize>,
    actions: Actions,
    /// 1 for an actor alone, 2 with its critic.
    towers: usize,
    /// Whether continuous actions are the tanh of what the actor says.
    squashed: bool,
}

impl ActorCritic {
    /// An actor and a critic with hidden layers of these sizes.
    pub fn new(observations: usize, hidden: &[usize], actions: Actions) -> ActorCritic {
        ActorCritic { sizes: [&[observations], hidden].concat(), actions, towers: 2, squashed: false }
    }

    /// An actor without a critic.
    pub fn actor(observations: usize, hidden: &[usize], actions: Actions) -> ActorCritic {
        ActorCritic { towers: 1, ..ActorCritic::new(observations, hidden, actions) }
    }

    /// The same with actions that are the tanh of what the actor says.
    pub fn squashed(self) -> ActorCritic {
        ActorCritic { squashed: true, ..self }
    }

    /// The actor's action space.
    pub fn actions(&self) -> Actions {
        self.actions
    }

    /// Shapes of an agent's weights: weight and bias of every layer, then the log standard deviations of
    /// continuous actions.
    pub fn shapes(&self) -> Vec<Vec<usize>> {
        let mut sizes = self.sizes.clone();
        sizes.push(self.actions.outputs());
        let layers = sizes.windows(2);
        let mut shapes: Vec<Vec<usize>> = layers
            .flat_map(|pair| [vec![self.towers, pair[0], pair[1]], vec![self.towers, 1, pair[1]]])
            .collect();
        if self.has_deviation() {
            shapes.push(vec![1, self.actions.outputs()]);
        }
        shapes
    }

    /// The number of parameters per agent.
    pub fn numbers(&self) -> usize {
        self.shapes().iter().map(|shape| shape.iter().product::<usize>()).sum()
    }

    /// The names of the weights, in the order of [`ActorCritic::shapes`].
    pub fn names(&self) -> Vec<String> {
        let layers = (0..self.sizes.len()).flat_map(|n| [format!("{n}.weight"), format!("{n}.bias")]);
        layers.chain(self.has_deviation().then(|| "log_deviation".to_string())).collect()
    }

    /// An actor without a critic is deterministic, so it has no deviation.
    fn has_deviation(&self) -> bool {
        self.towers == 2 && matches!(self.actions, Actions::Continuous(_))
    }

    /// Weights of this many agents: orthogonal matrices, biases of zero, standard deviations of one. They are
    /// drawn from the CPU's random numbers ([`farad::seed`]).
    pub fn init(&self, agents: usize, device: &Device) -> Result<Vec<Tensor>> {
        let last = self.sizes.len() - 1;
        let shapes = self.shapes();
        let mut weights: Vec<Vec<f32>> = vec![vec![]; shapes.len()];
        for _ in 0..agents {
            for (n, shape) in shapes.iter().enumerate() {
                if n % 2 == 1 || n > 2 * last + 1 {
                    weights[n].extend(std::iter::repeat_n(0.0, shape.iter().product()));
                    continue;
                }
                for tower in 0..self.towers {
                    let gain = if n / 2 < last { GAINS[0] } else { GAINS[1 + tower] };
                    weights[n].extend(self.matrix(shape[1], shape[2], gain, n / 2 == last && tower == 1)?);
                }
            }
        }
        let with_agents = |shape: &Vec<usize>| [&[agents], &shape[..]].concat();
        let all = weights.into_iter().zip(&shapes);
        Ok(all.map(|(numbers, shape)| Tensor::from_vec(numbers, &with_agents(shape)[..], device)).collect())
    }

    /// An orthogonal matrix `[inputs, outputs]`. The critic's last layer uses one output; the others are zero.
    fn matrix(&self, inputs: usize, outputs: usize, gain: f64, one: bool) -> Result<Vec<f32>> {
        let used = if one { 1 } else { outputs };
        let weight = Parameter::new(Tensor::zeros([inputs, used], &Device::cpu()));
        init::orthogonal(&weight, gain)?;
        let drawn = weight.value().to_vec::<f32>()?;
        let row = |row: &[f32]| [row, &vec![0.0; outputs - used]].concat();
        Ok(drawn.chunks(used).flat_map(row).collect())
    }

    /// Splits one row of numbers per agent, `[agents, numbers]`, into weights.
    pub fn unpack(&self, rows: &Tensor) -> Vec<Tensor> {
        let agents = rows.shape()[0];
        let mut from = 0;
        let mut next = |shape: Vec<usize>| {
            let len = shape.iter().product();
            let part = rows.narrow(1, from, len).reshape(&[&[agents], &shape[..]].concat()[..]);
            from += len;
            part
        };
        self.shapes().into_iter().map(&mut next).collect()
    }

    /// Joins weights into one row of numbers per agent, `[agents, numbers]`; the inverse of
    /// [`ActorCritic::unpack`].
    pub fn packed(weights: &[Tensor]) -> Tensor {
        let row = |w: &Tensor| w.reshape([w.shape()[0], w.numel() / w.shape()[0]]);
        let rows: Vec<Tensor> = weights.iter().map(row).collect();
        Tensor::concat(&rows.iter().collect::<Vec<_>>(), 1)
    }

    /// The outputs of both networks for observations `[agents, worlds, observations]`:
    /// `[agents, towers, worlds, outputs]`.
    pub(crate) fn said(&self, weights: &[Tensor], seen: &Tensor) -> Tensor {
        self.layers(weights, seen).pop().expect("there is a last layer")
    }

    /// The outputs of every layer of both networks; the last are what they say.
    fn layers(&self, weights: &[Tensor], seen: &Tensor) -> Vec<Tensor> {
        let last = self.sizes.len() - 1;
        let layers = (0..=last).scan(seen.unsqueeze(1), |x, layer| {
            let y = x.matmul(&weights[2 * layer]) + &weights[2 * layer + 1];
            *x = if layer < last { y.tanh() } else { y };
            Some(x.clone())
        });
        layers.collect()
    }

    /// The actor's weights.
    fn of_actor(&self, weights: &[Tensor]) -> Vec<Tensor> {
        match self.towers {
            1 => weights.to_vec(),
            _ => weights.iter().map(|w| if w.rank() == 4 { w.narrow(1, 0, 1) } else { w.clone() }).collect(),
        }
    }

    /// The actor without its critic, and its weights.
    pub fn actor_alone(&self, weights: &[Tensor]) -> (ActorCritic, Vec<Tensor>) {
        let layers = self.of_actor(&weights[..2 * self.sizes.len()]);
        (ActorCritic { towers: 1, ..self.clone() }, layers)
    }

    /// The outputs of every layer of the actor, `[agents, worlds, outputs]`; the last is what it says.
    pub fn actor_layers(&self, weights: &[Tensor], seen: &Tensor) -> Vec<Tensor> {
        self.layers(&self.of_actor(weights), seen).iter().map(|layer| layer.squeeze(1)).collect()
    }

    /// The actor's output, `[agents, worlds, outputs]`: one logit per choice, or the means of continuous
    /// actions.
    pub fn act(&self, weights: &[Tensor], seen: &Tensor) -> Tensor {
        self.said(&self.of_actor(weights), seen).squeeze(1)
    }

    /// The critic's values, `[agents, worlds]`.
    pub fn value(&self, weights: &[Tensor], seen: &Tensor) -> Tensor {
        let critic: Vec<Tensor> =
            weights.iter().map(|w| if w.rank() == 4 { w.narrow(1, 1, 1) } else { w.clone() }).collect();
        self.said(&critic, seen).narrow(3, 0, 1).squeeze(3).squeeze(1)
    }

    /// The actor's output and the critic's values.
    pub fn both(&self, weights: &[Tensor], seen: &Tensor) -> (Tensor, Tensor) {
        let said = self.said(weights, seen);
        (said.narrow(1, 0, 1).squeeze(1), said.narrow(1, 1, 1).narrow(3, 0, 1).squeeze(3).squeeze(1))
    }

    /// The best action: the most likely choice, or the means.
    pub fn best(&self, said: &Tensor) -> Tensor {
        match self.actions {
            Actions::Discrete(_) => said.argmax(-1).unsqueeze(-1).cast(DType::F32),
            Actions::Continuous(_) if self.squashed => said.tanh(),
            Actions::Continuous(_) => said.clone(),
        }
    }

    /// A sampled action `[agents, worlds, width]`, as numbers.
    pub fn draw(&self, weights: &[Tensor], said: &Tensor) -> Tensor {
        self.draw_of(weights, said, None)
    }

    /// The same for the worlds of a rank, as they would act among all worlds.
    pub(crate) fn draw_of(&self, weights: &[Tensor], said: &Tensor, share: Option<WorldShare>) -> Tensor {
        let shape = share.map_or(said.shape().to_vec(), |share| share.whole(&said.shape()));
        let own = |all: Tensor| share.map_or(all.clone(), |share| share.narrow(&all));
        match self.actions {
            Actions::Discrete(_) => {
                // The argmax of logits with Gumbel noise is a sample from their softmax.
                let uniform = own(Tensor::rand(shape, said.device())).maximum(1e-20);
                (said - (-uniform.log()).log()).argmax(-1).unsqueeze(-1).cast(DType::F32)
            }
            Actions::Continuous(_) => {
                said + own(Tensor::randn(shape, said.device())) * self.log_deviation(weights).exp()
            }
        }
    }

    /// The log-likelihood of actions `[agents, worlds, width]`, and the entropy, `[agents, worlds]` each.
    pub fn likelihood(&self, weights: &[Tensor], said: &Tensor, action: &Tensor) -> (Tensor, Tensor) {
        match self.actions {
            Actions::Discrete(choices) => {
                let logs = said.log_softmax(-1);
                let numbers = Tensor::arange(choices, said.device()).cast(DType::F32);
                let chosen = action.equal(&numbers);
                let of_chosen = chosen.select(&logs, &logs.full_like(0.0)).sum_axes([-1]);
                (of_chosen, -(logs.exp() * &logs).sum_axes([-1]))
            }
            Actions::Continuous(_) => {
                let log = self.log_deviation(weights).broadcast_to(said.shape());
                let half = 0.5 * (2.0 * PI).ln();
                let off = (action - said) * (-&log).exp();
                let likelihood = -(off.square() * 0.5 + &log + half).sum_axes([-1]);
                (likelihood, (log + (half + 0.5)).sum_axes([-1]))
            }
        }
    }

    fn log_deviation(&self, weights: &[Tensor]) -> Tensor {
        weights[weights.len() - 1].clone()
    }

    /// Actions in the environment's format, for the worlds of all agents, from `[agents, worlds, width]`.
    pub fn to_environment(&self, action: &Tensor) -> Tensor {
        match self.actions {
            Actions::Discrete(_) => action.reshape([action.numel()]).cast(DType::I32),
            Actions::Continuous(numbers) => {
                action.reshape([action.numel() / numbers, numbers]).clamp(-1.0, 1.0)
            }
        }
    }
}
