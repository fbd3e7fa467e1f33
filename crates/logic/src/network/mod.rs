//! Logic networks that classify: numbers become bits, bits go through layers of gates, and each class counts its own.
//!
//! Invariant: everything but the encoding is logic, so that the hard network is a circuit: what it says of a sample and
//! what [`LogicNetwork::to_netlist`] says are the same, class heads included. Values are feature-major inside
//! (`[features, batch]`), since every gate reads two whole rows. Start at [`LogicNetwork`]; [`Thermometer`] encodes, a
//! [`Block`] is a layer of some kind, [`GroupSum`] is the head.

pub mod choice;
mod encoding;
mod group_sum;
mod logic_layer;
mod logic_network;
pub mod neurons;
mod recurrent;
mod trees;
mod wired_layer;

pub use encoding::Thermometer;
pub use group_sum::GroupSum;
pub use logic_layer::{LogicLayer, WiringKind};
pub use logic_network::{Block, LogicNetwork};
pub use neurons::{CompactLayer, Reach, Review, Reviewed};
pub use recurrent::RecurrentLogic;
pub use trees::{TreeShape, Trees};
pub use wired_layer::WiredLayer;
