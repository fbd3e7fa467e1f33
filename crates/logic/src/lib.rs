//! Soft logic: gates that learn which of the sixteen functions to be, layers of them, and cellular
//! automata whose cells are made of them.
//!
//! A soft gate is a mixture of the sixteen functions of two bits. Each of them is
//! `c0 + ca·a + cb·b + cab·a·b`, so sixteen logits become four coefficients once per update
//! ([`GateTable`]), and everything after that is in terms of coefficients. Hard gates are soft
//! gates with whole coefficients, so hard and soft roll-outs are the same op.
//!
//! Start at [`Topology`] for automata, at [`network`] and [`classify`] for networks and at [`Wires`] for how gates are
//! connected.

pub mod automaton;
pub mod classify;
mod error;
pub mod evaluate;
mod gates;
mod harden;
mod histogram;
pub mod layer;
pub mod network;
pub mod recipe;
pub mod report;
mod settings;
pub mod simulate;
mod soft_gates;
pub mod train;
mod wires;

pub use automaton::{Policy, RollOut, Topology, Wiring};
pub use error::{Error, Result};
pub use gates::{GateTable, hard_gates, initial_logits};
pub use harden::harden;
pub use layer::{GateLayer, GateNetwork, LayerWiring, Pass, gates};
pub use network::{GroupSum, LogicLayer, LogicNetwork, Thermometer};
pub use recipe::Recipe;
pub use settings::{Forward, FreezeOrder, Keep, Loss, Settings, States};
pub use soft_gates::{GateKind, Rounding, SoftGates, straight_through};
pub use wires::{Consumers, Wires};
