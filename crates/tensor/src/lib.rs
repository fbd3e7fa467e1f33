//! Tensors on any device: [`Tensor`] and its ops, [`Device`], gradients, and the engine that records, compiles and
//! replays.
//!
//! A [`Tensor`] is lazy: ops record, and reading a result or an optimizer's `step` compiles everything recorded into a
//! few fused kernels and runs them (very long chains run earlier). A structure seen before replays its plan without
//! compiling anything.
//!
//! Programs use this through the crate `farad`. Start at [`Tensor`]; what a training step does is in `evaluate` and
//! `plan`.

mod attention;
mod axes;
#[allow(missing_docs)] // what of it is public is for `engine`
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
#[allow(missing_docs)] // what of it is public is for `engine`
mod gradient;
#[allow(missing_docs)] // what of it is public is for `engine`
mod hashing;
mod inside;
#[allow(missing_docs)] // what of it is public is for `engine`
mod live;
pub mod loss;
mod machine;
mod nearest;
#[allow(missing_docs)] // what of it is public is for `engine`
mod node;
mod numbers;
mod numpy;
mod parameter;
#[allow(missing_docs)] // what of it is public is for `engine`
mod plan;
#[allow(missing_docs)] // what of it is public is for `engine`
mod precision;
mod profile;
#[allow(missing_docs)] // what of it is public is for `engine`
mod recording;
#[allow(missing_docs)] // what of it is public is for `engine`
mod save;
mod sizes;
mod tensor;
mod tuning;
#[allow(missing_docs)] // what of it is public is for `engine`
mod unfinished;
#[allow(missing_docs)] // what of it is public is for `engine`
mod whole;
mod window;

pub use attention::Attention;
pub use axes::{Axes, Kept, kept};
pub use backend::{BACKENDS, BackendRow, FoundDevice, device_names, device_names_sentence};
pub use checkpoint::checkpoint;
pub use device::{Device, DeviceOptions, RandomState};
pub use environment::{ENVIRONMENT, Environment};
pub use error::{Error, Result, disagreement};
#[cfg(feature = "gpu")]
pub use farad_gpu::{AdapterInfo, AdapterKind, adapters};
pub use farad_ir::philox;
pub use farad_ir::{
    Contraction, CustomKernel, CustomLimits, CustomOp, DType, IndexMap, OpError, Shape, Words,
};
pub use farad_runtime::{Counters, Holdings, ProductShape, Tuned, Tuning, Variant};
pub use live::{LiveTensor, MemoryReport};
pub use nearest::nearest;
pub use numpy::{read_npy, write_npy};
#[cfg(feature = "npz")]
pub use numpy::{read_npz, write_npz};
pub use parameter::Parameter;
pub use precision::Precision;
pub use profile::{
    HostSpan, KernelTime, LaunchTime, OpenProfile, Peaks, PhaseTime, Profile, ProfileMode, ProfileOptions,
};
pub use save::{load, save};
pub use sizes::{FREE, Sizes};
pub use tensor::{Corners, Element, Order, Part, Parts, Tensor, scan};
pub use tuning::{load_tuning, save_tuning};
pub use window::{ConvOptions, PerAxis, PoolOptions};
