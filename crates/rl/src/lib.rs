//! Reinforcement learning on any device: agents that learn by acting in worlds.
//!
//! An [`Environment`] is a batch of worlds, as tensors; implement it for your own world. [`Ppo`] trains agents
//! in it, entirely on the device and many seeds at once; [`Sac`] remembers what it saw. [`Es`] and [`Cma`] evolve populations of policies.
//! [`page`](fn@page) writes a page in which an agent acts. [`controller`] makes a policy that is a circuit. [`creatures`] evolves bodies together with what moves them.
//!
//! Invariant: nothing here prints, and results depend only on settings, seeds and the device. Start at
//! [`Environment`].

mod actor_critic;
pub mod controller;
pub mod creatures;
mod environment;
mod environments;
mod episodes;
mod error;
mod evolution;
mod film;
mod normalizer;
mod page;
mod ppo;
mod ranks;
mod raster;
mod sac;
pub mod train;

pub use actor_critic::ActorCritic;
pub use environment::{Actions, Environment, PortNames, Transition};
pub use environments::{CartPole, Locomotion, LocomotionTask, Pendulum};
pub use episodes::{Actor, Agents, EpisodeTotals, Trace, episodes, returns, trace};
pub use error::RlError;
pub use evolution::{Cma, Es, EvolutionSettings, GENERATION};
pub use film::{Film, film};
pub use normalizer::Normalizer;
pub use page::{PAGE_FILE, PageWords, page};
pub use ppo::{COURSE, Ppo, PpoSettings};
pub use raster::Raster;
pub use sac::{SAC_COURSE, Sac, SacSettings};
