//! Hard logic: circuits of two-input gates, and everything that is done with them.
//!
//! A [`Gate`] is its truth table, a [`Netlist`] is gates in an order in which each reads only what
//! came before, with registers if it has state, and an [`Automaton`] is the netlist of one cell of a
//! grid. This crate knows nothing of tensors. Start at [`Netlist`].

mod arithmetic;
mod automaton;
mod draw;
pub mod equivalence;
mod error;
mod export;
mod file;
mod gate;
mod graph;
mod life;
mod netlist;
mod random;
pub mod simplify;
mod simulate;
mod statistics;

pub use automaton::{Automaton, Edge};
pub use draw::Drawing;
pub use error::{Error, Result};
pub use export::{Format, export};
pub use file::Circuit;
pub use gate::Gate;
pub use netlist::{Meta, Netlist, Node, Output, Register, Wire};
pub use simulate::{Grid, Line, Simulator, State, WIDE_SAMPLES, WideSimulator, fire_mask};
pub use statistics::Statistics;
