//! What most programs need: `use farad::prelude::*;`.

pub use crate::checkpoint::checkpoint;
pub use crate::data::{DataLoader, Dataset};
pub use crate::device::Device;
pub use crate::nn::{
    BatchNorm2d, Buffer, Conv2d, Dropout, Embedding, Flatten, Gelu, Layer, LayerNorm, Linear, MaxPool2d,
    Mode, Module, Parameter, Relu, Sequential,
};
pub use crate::nn::{Gru, GruCell, Lstm, LstmCell, LstmState, Rnn, RnnCell};
pub use crate::optim::{Adagrad, Adam, AdamW, Lion, Muon, Optimizer, RmsProp, Sgd};
pub use crate::precision::Precision;
pub use crate::tensor::{Part, Tensor, scan};
pub use crate::window::{ConvOptions, PoolOptions};
pub use farad_ir::{DType, Shape};
