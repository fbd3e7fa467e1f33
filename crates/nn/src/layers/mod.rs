//! Layers: modules that turn a tensor into a tensor. One file per layer. Start at [`Module`].
//!
//! A [`Module`] shows its named parts to a [`Visitor`] and has no `forward`. A [`Layer`] is a module that
//! turns one tensor into one tensor. Everything else about modules is a visitor: parameters, saving, moving,
//! modes, freezing, the summary. The parts are cells: [`Parameter`] (trained unless frozen), [`Buffer`]
//! (kept, saved, moved) and [`Mode`] (training or in use). `#[derive(Module)]` visits fields by name, so
//! paths are the same as PyTorch's.
//!
//! The ops behind the layers are in `farad-tensor`, and their modules say how they work: `convolution`,
//! `pooling`, `resample`, `attention`. Norms subtract the mean before they square. Running statistics are
//! pending tensors in buffers, which the next step computes along with its own work.

mod activation;
mod attention;
mod bilinear;
mod cell;
mod conv;
mod dropout;
mod embedding;
mod flatten;
mod identity;
pub mod init;
mod linear;
mod module;
pub(crate) mod norm;
mod parts;
mod pixel_shuffle;
mod pool;
mod recurrent;
mod resnet;
mod sequential;
mod summary;
mod transformer;
mod upsample;

pub use activation::{
    Celu, Elu, GeGlu, Gelu, GeluTanh, Glu, HardSigmoid, HardSwish, HardTanh, LeakyRelu, LogSigmoid,
    LogSoftmax, Mish, PRelu, Relu, Relu6, Selu, Sigmoid, Silu, Softmax, Softplus, Softsign, SwiGlu, Tanh,
    TanhShrink,
};
pub use attention::{LearnedPositions, MultiHeadAttention, Rotary, SinusoidalPositions};
pub use bilinear::Bilinear;
pub use cell::{Buffer, Mode};
pub use conv::{Conv, Conv1d, Conv2d, Conv3d, ConvTranspose, ConvTranspose1d, ConvTranspose2d};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use farad_derive::Module;
pub use farad_tensor::Parameter;
pub use flatten::Flatten;
pub use identity::Identity;
pub use linear::Linear;
pub use module::{Layer, Module, Visitor};
pub use norm::{
    BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, InstanceNorm, InstanceNorm1d,
    InstanceNorm2d, InstanceNorm3d, LastAxes, LayerNorm, RmsNorm,
};
pub use pixel_shuffle::PixelShuffle;
pub use pool::{
    AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveMaxPool, AdaptiveMaxPool1d,
    AdaptiveMaxPool2d, AvgPool, AvgPool1d, AvgPool2d, MaxPool, MaxPool1d, MaxPool2d,
};
pub use recurrent::{
    Cell, Gru, GruCell, Lstm, LstmCell, LstmState, Recurrent, RecurrentWeights, Rnn, RnnCell, State,
};
pub use resnet::{ResNet, ResNetOptions};
pub use sequential::{Layers, Sequential};
pub use summary::{Summary, SummaryRow};
pub use transformer::{
    TransformerActivation, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
    TransformerEncoderLayer, TransformerOptions,
};
pub use upsample::Upsample;
