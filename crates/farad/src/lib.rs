//! Farad trains neural networks on any GPU and on the CPU, in Rust.
//!
//! A [`Tensor`] is lazy: ops record, and reading a result or an optimizer's `step` compiles
//! everything recorded into a few fused kernels and runs them (very long chains run earlier). A structure seen before replays its
//! plan without compiling anything.
//!
//! ```
//! use farad::prelude::*;
//!
//! let device = Device::best();
//! device.seed(1);
//! let model = Sequential::new((Linear::new(2, 8), Relu, Linear::new(8, 1))).to_device(&device);
//! let mut sgd = Sgd::new(model.parameters()).learning_rate(0.1);
//! let x = Tensor::rand([16, 2], &device);
//! let y = x.sum_axes(&[1], true);
//! for _ in 0..10 {
//!     let loss = model.forward(&x).mean_squared_error(&y);
//!     sgd.step(&loss)?;
//! }
//! # Ok::<(), farad::Error>(())
//! ```
//!
//! # What is where
//!
//! - [`Tensor`] and its ops, [`Device`], [`DType`]: chapters *Tensors and laziness* and *Devices and performance* of the
//!   guide.
//! - [`Tensor::gradient`], [`checkpoint`](fn@checkpoint), [`check`] (gradients against differences, values against f64): *Gradients*.
//! - [`nn`]: layers, `#[derive(Module)]`, initial values; [`loss`]: losses with options; [`optim`]: optimizers, schedules,
//!   clipping, averages; [`Precision`]: halves: *A first network*.
//! - [`data`]: sets, transforms and the loader: *Data*.
//! - [`fit`]: supervised training as a run; [`run`]: folders with log, events, checkpoints and pictures; [`StateDict`], [`save`],
//!   [`read_npy`] and their like: files: *Checkpoints*.
//! - [`CustomOp`] and [`custom`]: ops of your own: *Custom ops*.
//! - [`Device::profile`], [`Device::counters`], [`Device::memory_report`]: where time and memory go.
//!
//! The guide is `docs/guide/src/SUMMARY.md` in the repository. Gates and automata are in `farad-logic`, circuits in `farad-circuit`, language
//! models in `farad-lm`.

// So that what `#[derive(Module)]` writes has one name for this crate, here and elsewhere.
extern crate self as farad;

mod attention;
mod backend;
pub mod check;
mod checkpoint;
pub mod custom;
pub mod data;
mod device;
mod environment;
mod error;
mod evaluate;
mod finite;
pub mod fit;
mod gradient;
mod hashing;
mod live;
pub mod loss;
mod nearest;
mod need;
pub mod nn;
mod node;
mod numbers;
mod numpy;
pub mod optim;
mod plan;
mod precision;
pub mod prelude;
mod profile;
mod recording;
pub mod run;
mod save;
mod state_dict;
mod tensor;
mod tuning;
mod unfinished;
mod whole;
mod window;

pub use attention::Attention;
pub use checkpoint::checkpoint;
pub use device::{Counters, Device, DeviceOptions, RandomState};
pub use environment::{ENVIRONMENT, Environment};
pub use error::{Error, Result};
pub use farad_gpu::{AdapterInfo, AdapterKind, Holdings, ProductShape, Tuned, Tuning, Variant, adapters};
pub use farad_ir::philox;
pub use farad_ir::{
    Contraction, CustomKernel, CustomLimits, CustomOp, DType, IndexMap, OpError, Shape, Words,
};
pub use live::{LiveTensor, MemoryReport};
pub use nearest::nearest;
pub use need::Need;
pub use numpy::{read_npy, read_npz, write_npy, write_npz};
pub use precision::Precision;
pub use profile::{
    HostSpan, KernelTime, LaunchTime, OpenProfile, Peaks, PhaseTime, Profile, ProfileMode, ProfileOptions,
};
pub use save::{load, save};
pub use state_dict::{Difference, Mismatch, StateDict};
pub use tensor::{Element, Part, Parts, Tensor, scan};
pub use tuning::{load_tuning, save_tuning};
pub use window::{ConvOptions, PerAxis, PoolOptions};

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;
