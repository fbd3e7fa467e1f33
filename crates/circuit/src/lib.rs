//! Hard logic: circuits of two-input gates, and tools to simulate, simplify, prove, repair, draw and export
//! them.
//!
//! A [`Gate`] is a truth table; `gate.rs` has the project's only table of gates. A [`Netlist`] lists gates so
//! that each reads only earlier wires, with registers if it has state. An [`Automaton`] is the netlist of one
//! cell of a grid. This crate does not depend on tensors. Its vector instructions come through the pulp crate,
//! without `unsafe`.
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
//! - [`Gate`], [`Netlist`], [`Automaton`] define circuits; [`Circuit`] reads and writes their files;
//!   [`Statistics`] and [`Drawing`] describe them.
//! - [`simplify`](mod@simplify) makes them smaller, [`equivalence`] proves that nothing changed.
//! - `arithmetic` adds counters and comparators, `head` counts the votes of classes with them.
//! - `implied` uses knowledge about inputs, `pipeline` inserts registers between levels, `tables` counts the
//!   lookup tables of an FPGA, `rule` writes a small circuit as lines of text.
//! - [`WorkProgress`] shows another thread how far a simplification, a proof or a search is.
//! - `repair` searches for a circuit that does a task, starting from one that nearly does.
//! - [`Simulator`] (64 samples per word), [`WideSimulator`] (512), [`Grid`] (automata) run them.
//! - [`fn@export`] and [`Format`] write them in other languages: Verilog, BLIF, C, Rust, WGSL, HTML, …
//!
//! # Which simulation is for what
//!
//! - [`Simulator`] and [`Grid`] evaluate circuits on the CPU, where they are the fastest.
//! - `NetlistSimulation` and `AutomatonSimulation` of `farad-logic` are tensor ops, for GPUs and for circuits
//!   inside a graph.
//! - `graph::Simulation` and `equivalence::patterns` serve the simplification passes and the proofs; they have
//!   no grid.
//! - Exported programs are simulations in other languages.
//!
//! All of them draw the cells that fire from the same random counters, so all give the same bits.
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
mod progress;
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
pub use progress::{WorkPart, WorkProgress};
pub use simulate::{Grid, Line, RegisterStates, Simulator, WIDE_SAMPLES, WideSimulator, fire_mask};
pub use statistics::Statistics;
pub use tables::LookupTables;
