//! Tensors on any device: [`Tensor`] and its ops, [`Device`], gradients, and the engine that records, compiles and
//! replays.
//!
//! A [`Tensor`] is lazy: ops record, and reading a result or an optimizer's `step` compiles everything recorded into a
//! few fused kernels and runs them (very long chains run earlier). A structure seen before replays its plan without
//! compiling anything.
//!
//! Programs use this through the crate `farad`. Start at [`Tensor`]; what runs a program, and how, is in
//! [`engine`].

mod attention;
mod backend;
pub mod check;
mod checkpoint;
pub mod custom;
mod device;
pub mod engine;
mod environment;
mod error;
mod evaluate;
mod finite;
mod gradient;
mod hashing;
mod live;
pub mod loss;
mod machine;
mod nearest;
mod node;
mod numbers;
mod numpy;
mod parameter;
mod plan;
mod precision;
mod profile;
mod recording;
mod save;
mod tensor;
mod tuning;
mod unfinished;
mod whole;
mod window;

pub use attention::Attention;
pub use checkpoint::checkpoint;
pub use device::{Counters, Device, DeviceOptions, RandomState};
pub use environment::{ENVIRONMENT, Environment};
pub use error::{Error, Result, disagreement};
pub use farad_gpu::{AdapterInfo, AdapterKind, Holdings, ProductShape, Tuned, Tuning, Variant, adapters};
pub use farad_ir::philox;
pub use farad_ir::{
    Contraction, CustomKernel, CustomLimits, CustomOp, DType, IndexMap, OpError, Shape, Words,
};
pub use live::{LiveTensor, MemoryReport};
pub use nearest::nearest;
pub use numpy::{read_npy, read_npz, write_npy, write_npz};
pub use parameter::Parameter;
pub use precision::Precision;
pub use profile::{
    HostSpan, KernelTime, LaunchTime, OpenProfile, Peaks, PhaseTime, Profile, ProfileMode, ProfileOptions,
};
pub use save::{load, save};
pub use tensor::{Element, Part, Parts, Tensor, scan};
pub use tuning::{load_tuning, save_tuning};
pub use window::{ConvOptions, PerAxis, PoolOptions};
