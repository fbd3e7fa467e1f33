//! Whole episodes of a deterministic policy, all of them in parallel in one loop.

use std::sync::Arc;

use farad::{DType, Device, Result, Tensor, repeat};

use crate::actor_critic::ActorCritic;
use crate::dreamer::DreamerNetwork;
use crate::environment::Environment;
use crate::explosion::{check_episodes, noted, unharmed};
use crate::normalizer::Normalizer;

/// Chooses actions from observations.
pub trait Actor {
    /// The number of agents that act in parallel; each has its own worlds.
    fn agents(&self) -> usize;

    /// The actions of all worlds in the environment's format, for observations
    /// `[agents · worlds, observations]`.
    fn act(&self, seen: &Tensor) -> Tensor;

    /// What it computes on the way to its actions, layer by layer and with names, for pages.
    fn layers(&self, _seen: &Tensor) -> Vec<(String, Tensor)> {
        vec![]
    }

    /// What it remembers of so many worlds per agent when their episodes begin, `[agents · worlds, ..]` each; most
    /// actors remember nothing.
    fn memory(&self, _worlds: usize, _device: &Device) -> Vec<Tensor> {
        vec![]
    }

    /// What pages call the tensors that it remembers, as many as are shown.
    fn memory_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// The actions, and what is remembered after them.
    fn act_and_remember(&self, _memory: &[Tensor], seen: &Tensor) -> (Tensor, Vec<Tensor>) {
        (self.act(seen), vec![])
    }
}

/// The architecture of agents.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentNetwork {
    /// Actions follow from what is seen now.
    Reactive(ActorCritic),
    /// Actions follow from a model of the world, which remembers.
    Dreaming(Arc<DreamerNetwork>),
}

impl From<ActorCritic> for AgentNetwork {
    fn from(network: ActorCritic) -> AgentNetwork {
        AgentNetwork::Reactive(network)
    }
}

impl From<DreamerNetwork> for AgentNetwork {
    fn from(network: DreamerNetwork) -> AgentNetwork {
        AgentNetwork::Dreaming(Arc::new(network))
    }
}

impl AgentNetwork {
    /// The number of weights per agent.
    pub fn numbers(&self) -> usize {
        match self {
            AgentNetwork::Reactive(network) => network.numbers(),
            AgentNetwork::Dreaming(network) => network.numbers(),
        }
    }

    /// The names of the weights.
    pub fn names(&self) -> Vec<String> {
        match self {
            AgentNetwork::Reactive(network) => network.names(),
            AgentNetwork::Dreaming(network) => network.names(),
        }
    }
}

/// Agents that take their best action: networks with their weights.
#[derive(Clone)]
pub struct Agents {
    /// Their architecture.
    pub network: AgentNetwork,
    /// Their weights; the first axis is the agent.
    pub weights: Vec<Tensor>,
    /// The normalizer of observations, if they are normalized.
    pub normalizer: Option<Normalizer>,
}

impl Actor for Agents {
    fn agents(&self) -> usize {
        self.weights[0].shape()[0]
    }

    fn act(&self, seen: &Tensor) -> Tensor {
        self.act_and_remember(&self.memory(seen.shape()[0] / self.agents(), seen.device()), seen).0
    }

    fn layers(&self, seen: &Tensor) -> Vec<(String, Tensor)> {
        let AgentNetwork::Reactive(network) = &self.network else { return vec![] };
        let scaled = self.scaled(seen);
        let layers = network.actor_layers(&self.weights, &scaled);
        let last = layers.len() - 1;
        let name = |n: usize| if n == last { "says".to_string() } else { format!("layer {}", n + 1) };
        let layers = layers.into_iter().enumerate().map(|(n, layer)| (name(n), layer));
        let scaled = self.normalizer.is_some().then(|| ("sees, scaled".to_string(), scaled));
        scaled.into_iter().chain(layers).collect()
    }

    fn memory(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        match &self.network {
            AgentNetwork::Reactive(_) => vec![],
            AgentNetwork::Dreaming(network) => network.memory(self.agents(), worlds, device),
        }
    }

    fn memory_names(&self) -> &'static [&'static str] {
        match &self.network {
            AgentNetwork::Reactive(_) => &[],
            // The action is shown anyway.
            AgentNetwork::Dreaming(_) => &["remembers", "believes"],
        }
    }

    fn act_and_remember(&self, memory: &[Tensor], seen: &Tensor) -> (Tensor, Vec<Tensor>) {
        match &self.network {
            AgentNetwork::Reactive(network) => {
                let said = network.act(&self.weights, &self.scaled(seen));
                (network.to_environment(&network.best(&said)), vec![])
            }
            AgentNetwork::Dreaming(network) => network.act(&self.weights, memory, seen),
        }
    }
}

impl Agents {
    /// Their tensors, in a fixed order.
    pub fn tensors(&self) -> Vec<&Tensor> {
        let scale = self.normalizer.iter().flat_map(|normalizer| normalizer.tensors());
        self.weights.iter().chain(scale).collect()
    }

    /// The names of [`Agents::tensors`].
    pub fn names(&self) -> Vec<String> {
        let scale = self.normalizer.iter().flat_map(|_| ["count", "mean", "variance"]);
        self.network.names().into_iter().chain(scale.map(|name| format!("seen.{name}"))).collect()
    }

    /// The same agents with other tensors, in the same order.
    pub fn with(&self, tensors: Vec<Tensor>) -> Agents {
        let (weights, scale) = tensors.split_at(self.weights.len());
        let normalizer = self.normalizer.as_ref().and(match scale {
            [count, mean, variance] => {
                Some(Normalizer { count: count.clone(), mean: mean.clone(), variance: variance.clone() })
            }
            _ => None,
        });
        Agents { network: self.network.clone(), weights: weights.to_vec(), normalizer }
    }

    /// Observations `[agents · worlds, observations]` as the networks see them, `[agents, worlds, observations]`.
    fn scaled(&self, seen: &Tensor) -> Tensor {
        let seen = seen.reshape([self.agents(), seen.shape()[0] / self.agents(), seen.shape()[1]]);
        self.normalizer.as_ref().map_or(seen.clone(), |normalizer| normalizer.apply(&seen))
    }

    /// The same agents without their critics, where those are networks of their own.
    pub fn actors(&self) -> Agents {
        let AgentNetwork::Reactive(network) = &self.network else { return self.clone() };
        let (network, weights) = network.actor_alone(&self.weights);
        Agents { network: network.into(), weights, normalizer: self.normalizer.clone() }
    }

    /// One of them.
    pub fn one(&self, agent: usize) -> Agents {
        self.with(self.tensors().into_iter().map(|tensor| tensor.narrow(0, agent, 1)).collect())
    }

    /// The tensors of `by` where the booleans `[agents]` are set, otherwise these.
    pub fn replaced(&self, by: &Agents, which: &Tensor) -> Agents {
        let pairs = self.tensors().into_iter().zip(by.tensors());
        let pick = |(old, new): (&Tensor, &Tensor)| {
            (1..old.rank()).fold(which.clone(), |mask, _| mask.unsqueeze(-1)).select(new, old)
        };
        self.with(pairs.map(pick).collect())
    }

    /// Their values without the recorded graph.
    pub fn detach(&self) -> Result<Agents> {
        Tensor::compute_all(&self.tensors())?;
        Ok(self.with(self.tensors().into_iter().map(Tensor::detach).collect::<Result<_>>()?))
    }
}

/// What episodes came to, `[agents, worlds]` each: one episode in each of an agent's worlds.
pub struct EpisodeTotals {
    /// Sums of rewards.
    pub returns: Tensor,
    /// Steps.
    pub lengths: Tensor,
    /// How far the worlds came, in body lengths ([`Environment::ahead`]).
    pub ahead: Option<Tensor>,
    /// Sums and sums of squares of what the actor saw, scaled, `[agents, worlds, observations]`; if a scale was given.
    pub seen: Option<[Tensor; 2]>,
    /// Explosions during the episodes, `[agents, worlds, 2]`: the number of the step from 1, or 0, and the part
    /// ([`Environment::broken`]).
    pub broken: Option<Tensor>,
}

impl EpisodeTotals {
    /// An error that names step and body, if a world exploded during its episode. Reads.
    pub fn check(&self, environment: &dyn Environment) -> Result<()> {
        self.broken.as_ref().map_or(Ok(()), |notes| check_episodes(environment, notes))
    }
}

/// Returns of one episode in each of `worlds` worlds per agent, `[agents, worlds]`, and their lengths in steps.
///
/// Everything is one loop on the device. A world goes on after its episode has ended, but that is not counted.
pub fn returns(
    environment: &dyn Environment,
    actor: &dyn Actor,
    worlds: usize,
    device: &Device,
) -> [Tensor; 2] {
    let EpisodeTotals { returns, lengths, .. } = episodes(environment, actor, worlds, None, device);
    [returns, lengths]
}

/// One episode in each of `worlds` worlds per agent. With a scale, one per agent, what is seen is added up.
///
/// Everything is one loop on the device. After the end of its episode a world goes on, and nobody counts it.
pub fn episodes(
    environment: &dyn Environment,
    actor: &dyn Actor,
    worlds: usize,
    scale: Option<&Normalizer>,
    device: &Device,
) -> EpisodeTotals {
    let (agents, state) = (actor.agents(), environment.begin(actor.agents() * worlds, device));
    let (count, width) = (state.len(), environment.observations());
    let alive = Tensor::ones([agents * worlds], device);
    let zero = alive.full_like(0.0);
    let none = Tensor::zeros([agents * worlds, width], device);
    let sums = if scale.is_some() { vec![&none, &none] } else { vec![] };
    let whole = unharmed(environment, &state);
    let memory = actor.memory(worlds, device);
    let own = count + 4 + sums.len();
    let carries = state.iter().chain([&alive, &zero, &zero, &zero]).chain(sums).chain(&memory).chain(&whole);
    let carries: Vec<&Tensor> = carries.collect();
    let (last, _) = repeat(environment.longest(), &carries, |carry, position| {
        let (state, [alive, total, length, way]) = (&carry[..count], [0, 1, 2, 3].map(|n| &carry[count + n]));
        let seen = environment.observe(state);
        let (action, memory) = actor.act_and_remember(&carry[own..own + memory.len()], &seen);
        let next = environment.step(state, &action);
        // What a world does after its end counts nothing, whatever it is.
        let going = alive.greater(0.0);
        let counted = |mask: Tensor, what: &Tensor| mask.select(what, &what.full_like(0.0));
        let (total, length) = (total + counted(going.clone(), &next.reward), length + alive);
        let moved = environment.ahead(&next.state).zip(environment.ahead(state)).map(|(to, from)| to - from);
        let way = moved.map_or(way.clone(), |moved| way + counted(&going & moved.is_finite(), &moved));
        let sums = scale.map_or(vec![], |scale| {
            let own = scaled(scale, &seen, agents);
            let own = counted(going.unsqueeze(1) & own.is_finite(), &own);
            vec![&carry[count + 4] + &own, &carry[count + 5] + own.square()]
        });
        let broken = whole.iter().map(|_| {
            let steps = [state, &next.state[..]];
            noted(environment, &carry[carry.len() - 1], steps, &action, position, Some(&going))
        });
        let broken = broken.collect();
        let alive = next.ended.select(&alive.full_like(0.0), alive);
        ([next.state, vec![alive, total, length, way], sums, memory, broken].concat(), vec![])
    });
    let [returns, lengths, ahead] = [1, 2, 3].map(|n| last[count + n].reshape([agents, worlds]));
    let seen = scale.map(|_| [4, 5].map(|n| last[count + n].reshape([agents, worlds, width])));
    let broken = whole.map(|_| last[last.len() - 1].reshape([agents, worlds, 2]));
    EpisodeTotals { ahead: environment.ahead(&state).map(|_| ahead), returns, lengths, seen, broken }
}

/// Observations `[agents · worlds, observations]` scaled for each agent.
fn scaled(scale: &Normalizer, seen: &Tensor, agents: usize) -> Tensor {
    let (rows, width) = (seen.shape()[0], seen.shape()[1]);
    scale.apply(&seen.reshape([agents, rows / agents, width])).reshape([rows, width])
}

/// Everything that happens in one world of an actor during an episode, for a film or a test.
pub struct Trace {
    /// The state before every step: the numbers of all its tensors, concatenated.
    pub states: Vec<Vec<f32>>,
    /// The action of every step.
    pub actions: Vec<Vec<f32>>,
    /// The reward of every step.
    pub rewards: Vec<f32>,
}

/// One episode of an actor (the first, if there are several) from a random start, step by step. An error if its world explodes.
pub fn trace(environment: &dyn Environment, actor: &dyn Actor, device: &Device) -> Result<Trace> {
    let state = environment.begin(actor.agents(), device);
    let longest = environment.longest();
    let (count, memory, whole) = (state.len(), actor.memory(1, device), unharmed(environment, &state));
    let carries: Vec<&Tensor> = state.iter().chain(&memory).chain(&whole).collect();
    let (last, seen) = repeat(longest, &carries, |carry, position| {
        let (state, rest) = carry.split_at(count);
        let (memory, broken) = rest.split_at(memory.len());
        let (action, memory) = actor.act_and_remember(memory, &environment.observe(state));
        let next = environment.step(state, &action);
        let first = |t: &Tensor| t.narrow(0, 0, 1).cast(DType::F32);
        let mut slices: Vec<Tensor> = state.iter().map(first).collect();
        slices.extend([first(&action), first(&next.reward), first(&next.ended)]);
        let steps = [state, &next.state[..]];
        let broken = broken.iter().map(|known| noted(environment, known, steps, &action, position, None));
        let broken = broken.collect();
        ([next.state, memory, broken].concat(), slices)
    });
    let broken = whole.map(|_| last[last.len() - 1].narrow(0, 0, 1).unsqueeze(0));
    let mut seen = seen.iter().map(|t| t.to_vec::<f32>()).collect::<Result<Vec<_>>>()?;
    let [ended, rewards, actions] = [(); 3].map(|()| seen.pop().unwrap_or_default());
    let steps = ended.iter().position(|&ended| ended != 0.0).map_or(longest, |at| at + 1);
    // What a world does after its end is not shown.
    if let Some(notes) = &broken
        && notes.to_vec::<f32>()?[0] <= steps as f32
    {
        check_episodes(environment, notes)?;
    }
    let of = |numbers: &[f32], step: usize| {
        let width = numbers.len() / longest;
        numbers[step * width..][..width].to_vec()
    };
    let state = |step: usize| seen.iter().flat_map(|numbers| of(numbers, step)).collect();
    Ok(Trace {
        states: (0..steps).map(state).collect(),
        actions: (0..steps).map(|step| of(&actions, step)).collect(),
        rewards: rewards[..steps].to_vec(),
    })
}
