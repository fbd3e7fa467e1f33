//! Reinforcement learning on any device: agents that learn by acting in worlds.
//!
//! An [`Environment`] is a batch of worlds, as tensors; implement it for your own world. [`Ppo`] trains agents
//! in it, entirely on the device and many seeds at once; [`Sac`] remembers what it saw, [`Shac`] follows gradients
//! through the steps of worlds, and [`Dreamer`] learns a model of it to imagine what comes next. [`Es`] and [`Cma`] evolve populations of policies.
//! [`page`](fn@page) writes a page in which an agent acts. [`controller`] makes a policy that is a circuit. [`creatures`] evolves bodies together with what moves them.
//!
//! Invariant: nothing here prints, and results depend only on settings, seeds and the device. Start at
//! [`Environment`].

mod actor_critic;
pub mod controller;
pub mod creatures;
mod discounted;
mod dreamer;
mod environment;
mod environments;
mod episode_step;
mod episodes;
mod error;
mod evolution;
mod explosion;
mod film;
mod learned;
mod normalizer;
mod page;
mod ppo;
mod ranks;
mod raster;
mod sac;
mod samples;
mod shac;
pub mod train;

pub use actor_critic::ActorCritic;
pub use dreamer::{DREAMER_COURSE, DREAMER_SIZES, Dreamer, DreamerNetwork, DreamerSettings, DreamerSize};
pub use environment::{Actions, Environment, PortNames, Transition};
pub use environments::{CartPole, CartPoleSwingUp, Locomotion, LocomotionTask, Pendulum};
pub use episodes::{Actor, AgentNetwork, Agents, EpisodeTotals, Trace, episodes, returns, trace};
pub use error::RlError;
pub use evolution::{Cma, Es, EvolutionSettings, GENERATION};
pub use film::{Film, film};
pub use normalizer::Normalizer;
pub use page::{PAGE_FILE, PageWords, STEP_SEED, page};
pub use ppo::{COURSE, Ppo, PpoSettings};
pub use raster::Raster;
pub use sac::{SAC_COURSE, Sac, SacSettings};
pub use shac::{SHAC_COURSE, Shac, ShacSettings};
