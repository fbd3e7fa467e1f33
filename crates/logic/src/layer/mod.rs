//! Layers of soft gates for networks: every gate reads two features of a sample.
//!
//! Start at [`GateLayer`]. [`GateNetwork`] is a stack of them that becomes a netlist. `op` defines the ops that
//! both use, `reference` defines these in double precision, `cpu` and `gpu` implement them.

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
