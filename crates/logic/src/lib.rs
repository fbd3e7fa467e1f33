//! Soft logic: gates that learn which of the sixteen two-input functions to be, layers of them, and cellular
//! automata whose cells consist of them.
//!
//! A soft gate is a mixture of the sixteen functions of two bits. Each of them is `c0 + ca·a + cb·b + cab·a·b`,
//! so sixteen logits become four coefficients once per update ([`GateTable`]). Everything after that uses
//! coefficients. A gate costs three multiply-adds, its weight gradient is four sums, and its input gradient is
//! a gather over the gates that read it. Hard gates are soft gates with integer coefficients. So hard and soft
//! roll-outs are the same op, and hard values are exactly 0 and 1.
//!
//! ```
//! use farad::prelude::*;
//! use farad_logic::GateNetwork;
//! farad::seed(3);
//! let x = Tensor::from_vec(vec![0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0], [4, 2], &Device::cpu());
//! let y = Tensor::from_vec(vec![0.0, 1.0, 1.0, 0.0], [4, 1], &Device::cpu());
//! let network = GateNetwork::new(&[2, 16, 8, 1], 3);
//! let mut adam = AdamW::new(network.parameters()).learning_rate(0.1).weight_decay(0.0);
//! for _ in 0..200 {
//!     adam.step(&network.forward(&x).mean_squared_error(&y))?;
//! }
//! assert_eq!(network.hard(&x).to_vec::<f32>()?, [0.0, 1.0, 1.0, 0.0]);
//! let circuit = network.to_netlist("exclusive_or")?;
//! assert_eq!(circuit.gates.len(), 16 + 8 + 1);
//! # Ok::<(), farad::Error>(())
//! ```
//!
//! # What is where
//!
//! - [`Topology`], [`automaton`], [`recipe`], [`train`]: automata, from the structure of a cell to a run. The
//!   command is `farad train checkerboard`.
//! - [`GateLayer`], [`GateNetwork`], [`layer`]: gates as layers, for your own networks.
//! - [`network`], [`classify`]: networks that classify, and their circuits.
//! - `boolean`: Boolean functions, learned from truth tables.
//! - [`Wires`]: how gates are connected; [`SoftGates`]: their parameters; [`fn@harden`]: how they become hard.
//! - [`repair`]: a discrete search that makes nearly exact circuits exact.
//! - [`evaluate`], [`report`]: how good a circuit is; [`simulate`]: circuits as tensor ops.
//!
//! Automata, layers, learned wires, trees and neurons are custom ops: ordinary nodes of a step's graph. So the
//! softmax, loss, clipping and optimizer around them are compiled as usual, and a whole update is one
//! submission. Vector instructions on the CPU come through the pulp crate, without `unsafe`.
//!
//! The guide's chapters *A first automaton* and *Logic and circuits* (`docs/guide/src`) lead through them.

pub mod automaton;
pub mod boolean;
pub mod classify;
mod error;
pub mod evaluate;
mod gates;
mod harden;
mod histogram;
pub mod layer;
pub mod network;
pub mod recipe;
pub mod repair;
pub mod report;
mod row_grid;
mod settings;
pub mod simulate;
mod soft_gates;
pub mod train;
mod watched;
mod wires;

pub use automaton::{Policy, RollOut, Topology, Wiring};
pub use error::{Error, Result};
pub use gates::{GateTable, hard_gates, initial_logits};
pub use harden::harden;
pub use layer::{GateLayer, GateNetwork, LayerWiring, Pass, gates};
pub use network::{GroupSum, LogicLayer, LogicNetwork, Thermometer};
pub use recipe::Recipe;
pub use settings::{AutomatonSettings, Forward, FreezeOrder, Keep, Loss, States};
pub use soft_gates::{GateKind, Rounding, SoftGates, straight_through};
pub use watched::watched;
pub use wires::{Consumers, Wires};
