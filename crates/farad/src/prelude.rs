//! What most programs need: `use farad::prelude::*;`.

pub use crate::Device;
pub use crate::Precision;
pub use crate::checkpoint;
#[cfg(feature = "data")]
pub use crate::data::{DataLoader, Dataset};
pub use crate::nn::{
    BatchNorm2d, Buffer, Conv2d, Dropout, Embedding, Flatten, Gelu, Layer, LayerNorm, Linear, MaxPool2d,
    Mode, Module, Parameter, Relu, Sequential,
};
pub use crate::nn::{Gru, GruCell, Lstm, LstmCell, LstmState, Rnn, RnnCell};
pub use crate::optim::{Optimizer, types::*};
pub use crate::{ConvOptions, PoolOptions};
pub use crate::{DType, Shape};
pub use crate::{FREE, Order, kept};
pub use crate::{Part, Tensor, repeat, scan};
