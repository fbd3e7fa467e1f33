//! Layers: what has parameters and turns a tensor into a tensor. One file a layer.

mod activation;
mod linear;
mod module;
mod parameter;
mod sequential;

pub use activation::{Gelu, Relu, Tanh};
pub use linear::Linear;
pub use module::Module;
pub use parameter::Parameter;
pub use sequential::{Layers, Sequential};
