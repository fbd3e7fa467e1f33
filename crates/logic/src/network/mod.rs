//! Logic networks that classify: numbers become bits, bits go through layers of gates, and each class counts
//! its votes.
//!
//! Start at [`LogicNetwork`]. [`Thermometer`] encodes numbers as bits, by thresholds that are fixed, quantiles
//! or learned. A [`NetworkBlock`] is a layer of some kind: gates on fixed random wires, gates that learn their
//! wires (`choice`), trees over windows of pictures (`trees`), neurons with candidates (`neurons`), or a cell
//! with state. [`GroupSum`] is the head.
//!
//! Invariant: everything except the encoding is logic, so the hard network is a circuit. It gives every sample
//! the same class as [`LogicNetwork::to_netlist`], including ties. Values are feature-major inside
//! (`[features, batch]`), because every gate reads two whole rows.

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
pub use logic_network::{LogicNetwork, NetworkBlock};
pub use neurons::{CompactLayer, Reach, Review, Reviewed};
pub use recurrent::RecurrentLogic;
pub use trees::{TreeShape, Trees};
pub use wired_layer::WiredLayer;
