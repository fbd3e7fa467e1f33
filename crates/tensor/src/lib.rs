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
mod axes;
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
mod inside;
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
mod sizes;
mod tensor;
mod traced;
mod tuning;
mod unfinished;
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
pub use tensor::{Corners, Element, Order, Part, Parts, Tensor, repeat, scan, scan_along};
pub use tuning::{load_tuning, save_tuning};
pub use window::{ConvOptions, PerAxis, PoolOptions};
