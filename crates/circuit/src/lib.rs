//! Hard logic: circuits of two-input gates, and everything that is done with them.
//!
//! A [`Gate`] is its truth table, and the table in `gate.rs` is the only one in the project. A [`Netlist`]
//! lists gates so that each reads only what came before, with registers if it has state. An [`Automaton`] is
//! the netlist of one cell of a grid. This crate knows nothing of tensors. Its vector instructions come
//! through the pulp crate, without `unsafe`.
//!
//! ```
//! use farad_circuit::simplify::{SimplifyOptions, simplify};
//! use farad_circuit::{Circuit, Format, Gate, Netlist, Simulator, export};
//! let mut netlist = Netlist::new("same");
//! let (a, b) = (netlist.input("a"), netlist.input("b"));
//! let differ = netlist.gate(Gate::XOR, a, b);
//! let same = netlist.gate(Gate::NOT_A, differ, a);
//! netlist.output("y", same);
//! assert_eq!(Simulator::new(&netlist)?.truth_table()[0][0] & 0b1111, 0b1001);
//!
//! let simple = simplify(&netlist, &SimplifyOptions::default())?;
//! assert_eq!(simple.netlist.gates.len(), 1);
//! assert!(simple.report.equivalence.is_proved());
//! let files = export(&Circuit::from(simple.netlist), Format::named("c")?)?;
//! assert_eq!(files[0].0, "same.c");
//! # Ok::<(), farad_circuit::Error>(())
//! ```
//!
//! # What is where
//!
//! - [`Gate`], [`Netlist`], [`Automaton`]: what circuits are; [`Circuit`]: their files; [`Statistics`] and
//!   [`Drawing`]: what they look like.
//! - [`simplify`](mod@simplify) makes them smaller, [`equivalence`] proves that nothing changed.
//! - `arithmetic` adds counters and comparators, `head` counts the votes of classes with them.
//! - `implied` uses knowledge about inputs, `pipeline` puts registers between levels, `tables` counts lookup
//!   tables of an FPGA, `rule` writes a small circuit as lines of text.
//! - `repair` searches for a circuit that does a task, from one that nearly does.
//! - [`Simulator`] (64 samples per word), [`WideSimulator`] (512), [`Grid`] (automata) run them.
//! - [`fn@export`] and [`Format`] take them elsewhere: Verilog, BLIF, C, Rust, WGSL, HTML, …
//!
//! # Which simulation is for what
//!
//! - [`Simulator`] and [`Grid`] judge circuits on the CPU, and are the fastest there.
//! - `NetlistSimulation` and `AutomatonSimulation` of `farad-logic` are ops on tensors, for GPUs and for
//!   circuits inside a graph.
//! - `graph::Simulation` and `equivalence::patterns` serve the passes and the proofs, and know no grid.
//! - Exported programs are simulations by other tools.
//!
//! All of them draw the cells that fire from the same counters, so all give the same bits.
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
pub use netlist::{GateNode, Meta, Netlist, Output, Register, Wire};
pub use simulate::{Grid, Line, RegisterStates, Simulator, WIDE_SAMPLES, WideSimulator, fire_mask};
pub use statistics::Statistics;
pub use tables::LookupTables;
