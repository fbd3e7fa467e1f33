//! Layers: what has parameters and turns a tensor into a tensor. One file a layer. Start at [`Module`].

mod activation;
mod attention;
mod cell;
mod conv;
mod linear;
mod module;
mod parameter;
mod parts;
mod pool;
mod recurrent;
mod sequential;
mod summary;
mod transformer;

pub use activation::{Gelu, Relu, Tanh};
pub use attention::{LearnedPositions, MultiHeadAttention, Rotary, SinusoidalPositions};
pub use cell::{Buffer, Mode};
pub use conv::{Conv, Conv1d, Conv2d, Conv3d, ConvTranspose, ConvTranspose1d, ConvTranspose2d};
pub use farad_derive::Module;
pub use linear::Linear;
pub use module::{Layer, Module, Visitor};
pub use parameter::Parameter;
pub use pool::{
    AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveMaxPool, AdaptiveMaxPool1d,
    AdaptiveMaxPool2d, AvgPool, AvgPool1d, AvgPool2d, MaxPool, MaxPool1d, MaxPool2d,
};
pub use recurrent::{
    Cell, Gru, GruCell, Lstm, LstmCell, LstmState, Recurrent, RecurrentWeights, Rnn, RnnCell, State,
};
pub use sequential::{Layers, Sequential};
pub use summary::{Summary, SummaryRow};
pub use transformer::{
    TransformerActivation, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
    TransformerEncoderLayer, TransformerOptions,
};
