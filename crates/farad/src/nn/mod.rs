//! Layers: what has parameters and turns a tensor into a tensor. One file a layer. Start at [`Module`].

mod activation;
mod attention;
mod cell;
mod linear;
mod module;
mod parameter;
mod parts;
mod sequential;
mod summary;
mod transformer;

pub use activation::{Gelu, Relu, Tanh};
pub use attention::{LearnedPositions, MultiHeadAttention, Rotary, SinusoidalPositions};
pub use cell::{Buffer, Mode};
pub use farad_derive::Module;
pub use linear::Linear;
pub use module::{Layer, Module, Visitor};
pub use parameter::Parameter;
pub use sequential::{Layers, Sequential};
pub use summary::{Summary, SummaryRow};
pub use transformer::{
    TransformerActivation, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
    TransformerEncoderLayer, TransformerOptions,
};
