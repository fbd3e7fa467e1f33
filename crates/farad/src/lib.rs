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
//! let y = x.sum_axes(kept([1]));
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
//! - [`train`]: what a kind of training is, its settings, and the loop: *Training*.
//! - [`fit`]: supervised training as a run; [`run`]: folders with log, events, checkpoints and pictures; [`StateDict`], [`save`],
//!   [`read_npy`] and their like: files: *Checkpoints*.
//! - [`CustomOp`] and [`custom`]: ops of your own: *Custom ops*.
//! - [`Device::profile`], [`Device::counters`], [`Device::memory_report`]: where time and memory go.
//!
//! The guide is `docs/guide/src/SUMMARY.md` in the repository. Gates and automata are in `farad-logic`, circuits in `farad-circuit`, language
//! models in `farad-lm`.

pub mod prelude;

#[cfg(feature = "data")]
pub use farad_data as data;
pub use farad_nn::{Difference, Mismatch, NnError, StateDict, layers as nn, loss, optim, seed};
#[cfg(feature = "fit")]
pub use farad_supervised as fit;
#[cfg(feature = "gpu")]
pub use farad_tensor::{AdapterInfo, AdapterKind, adapters};
pub use farad_tensor::{
    Attention, Axes, BACKENDS, BackendRow, Contraction, ConvOptions, Corners, Counters, CustomKernel,
    CustomLimits, CustomOp, DType, Device, DeviceOptions, ENVIRONMENT, Element, Environment, Error, FREE,
    FoundDevice, Holdings, HostSpan, IndexMap, Kept, KernelTime, LaunchTime, LiveTensor, MemoryReport,
    OpError, OpenProfile, Order, Part, Parts, Peaks, PerAxis, PhaseTime, PoolOptions, Precision,
    ProductShape, Profile, ProfileMode, ProfileOptions, RandomState, Result, Shape, Sizes, Tensor, Tuned,
    Tuning, Variant, Words, check, checkpoint, custom, device_names, device_names_sentence, kept, load,
    load_tuning, nearest, philox, read_npy, save, save_tuning, scan, write_npy,
};
#[cfg(feature = "npz")]
pub use farad_tensor::{read_npz, write_npz};
#[cfg(feature = "train")]
pub use farad_train as train;
#[cfg(feature = "train")]
pub use farad_train::{Need, TrainError, run};

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;
