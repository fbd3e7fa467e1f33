//! Hard logic: circuits of two-input gates, and everything that is done with them.
//!
//! A [`Gate`] is its truth table, a [`Netlist`] is gates in an order in which each reads only what
//! came before, with registers if it has state, and an [`Automaton`] is the netlist of one cell of a
//! grid. This crate knows nothing of tensors.
//!
//! ```
//! use farad_circuit::simplify::{Options, simplify};
//! use farad_circuit::{Circuit, Format, Gate, Netlist, Simulator, export};
//! let mut netlist = Netlist::new("same");
//! let (a, b) = (netlist.input("a"), netlist.input("b"));
//! let differ = netlist.gate(Gate::XOR, a, b);
//! let same = netlist.gate(Gate::NOT_A, differ, a);
//! netlist.output("y", same);
//! assert_eq!(Simulator::new(&netlist)?.truth_table()[0][0] & 0b1111, 0b1001);
//!
//! let simple = simplify(&netlist, &Options::default())?;
//! assert_eq!(simple.netlist.gates.len(), 1);
//! assert!(simple.report.equivalence.is_proved());
//! let files = export(&Circuit::from(simple.netlist), Format::named("c")?)?;
//! assert_eq!(files[0].0, "same.c");
//! # Ok::<(), farad_circuit::Error>(())
//! ```
//!
//! # What is where
//!
//! - [`Gate`], [`Netlist`], [`Automaton`]: what circuits are; [`Circuit`]: their files; [`Statistics`] and [`Drawing`]: what they look like.
//! - [`simplify`](mod@simplify) makes them smaller, [`equivalence`] proves that nothing changed.
//! - [`Simulator`] (64 samples a word), [`WideSimulator`] (512), [`Grid`] (automata) run them.
//! - [`fn@export`] and [`Format`] take them elsewhere: Verilog, BLIF, C, Rust, WGSL, HTML, …
//!
//! The guide's chapter *Logic and circuits* (`docs/guide/src/logic.md`) leads through them.

mod arithmetic;
mod automaton;
mod draw;
pub mod equivalence;
mod error;
mod export;
mod file;
mod gate;
mod graph;
mod head;
mod implied;
mod life;
mod netlist;
mod pipeline;
mod random;
pub mod repair;
mod rule;
pub mod simplify;
mod simulate;
mod statistics;
mod tables;

pub use automaton::{Automaton, Edge};
pub use draw::Drawing;
pub use error::{Error, Result};
pub use export::{Format, export};
pub use file::Circuit;
pub use gate::Gate;
pub use head::Elected;
pub use netlist::{Meta, Netlist, Node, Output, Register, Wire};
pub use simulate::{Grid, Line, Simulator, State, WIDE_SAMPLES, WideSimulator, fire_mask};
pub use statistics::Statistics;
pub use tables::LookupTables;
