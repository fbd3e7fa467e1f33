//! Layers of soft gates for networks: every gate reads two features of a sample.
//!
//! [`GateLayer`] is where to start; [`GateNetwork`] is a stack of them that becomes a netlist; `op`
//! defines the ops that both are made of, `reference` is their meaning in double precision, `cpu` and
//! `gpu` are how they run.

mod cpu;
mod extent;
mod gate_layer;
mod gpu;
mod network;
mod op;
mod reference;
mod wiring;

pub use gate_layer::{GateLayer, Pass};
pub use network::GateNetwork;
pub use op::gates;
pub use wiring::LayerWiring;
