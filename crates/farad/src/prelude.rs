//! What most programs need: `use farad::prelude::*;`.

pub use crate::checkpoint::checkpoint;
pub use crate::data::{DataLoader, Dataset};
pub use crate::device::Device;
pub use crate::nn::{Buffer, Gelu, Layer, Linear, Mode, Module, Parameter, Relu, Sequential};
pub use crate::optim::{AdamW, Optimiser, Sgd};
pub use crate::precision::Precision;
pub use crate::tensor::{Part, Tensor, scan};
pub use farad_ir::{DType, Shape};
