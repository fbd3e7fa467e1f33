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
//!   clipping, averages; [`Precision`]: f16 products: *A first network*.
//! - [`data`]: sets, transforms and the loader: *Data*.
//! - [`train`]: what a kind of training is, its settings, and the loop: *Training*.
//! - [`fit`]: supervised training as a run, and [`load_run`], what it learned in use; [`run`]: folders with log, events, checkpoints and pictures; [`StateDict`], [`save`],
//!   [`read_npy`] and their like: files: *Checkpoints*.
//! - [`group`]: ranks that train together, threads or processes: *Several devices and machines*.
//! - [`CustomOp`] and [`custom`]: ops of your own: *Custom ops*.
//! - [`Device::profile`], [`profile`], [`devices`]: where time and memory go, which devices there are.
//!
//! The guide is `docs/guide/src/SUMMARY.md` in the repository. Gates and automata are in `farad-logic`, circuits in `farad-circuit`, language
//! models in `farad-lm`.

pub mod prelude;

// Tensors.
#[doc(inline)]
pub use farad_tensor::{
    Axes, Corners, DType, Device, Element, Error, FREE, Kept, Order, Parameter, Part, Parts, Precision,
    Result, Shape, Sizes, Tensor, check, checkpoint, kept, repeat, scan, scan_along,
};

// Networks.
#[doc(inline)]
pub use farad_nn::{layers as nn, loss, optim, seed};
#[doc(inline)]
pub use farad_tensor::{Attention, ConvOptions, PerAxis, PoolOptions};

// Ranks that train together.
#[doc(inline)]
pub use farad_group as group;

// Data, runs, training.
#[cfg(feature = "data")]
#[doc(inline)]
pub use farad_data as data;
#[cfg(feature = "fit")]
#[doc(inline)]
pub use farad_supervised as fit;
#[cfg(feature = "fit")]
#[doc(inline)]
pub use farad_supervised::load_run;
#[cfg(feature = "train")]
#[doc(inline)]
pub use farad_train as train;
#[cfg(feature = "train")]
#[doc(inline)]
pub use farad_train::run;

// Files.
#[doc(inline)]
pub use farad_nn::StateDict;
#[doc(inline)]
pub use farad_tensor::{load, read_npy, save, write_npy};
#[cfg(feature = "npz")]
#[doc(inline)]
pub use farad_tensor::{read_npz, write_npz};

// Ops of your own.
#[doc(inline)]
pub use farad_tensor::{CustomOp, Var, custom};

/// Devices in detail: which there are, how they are opened, what they have done and hold, tables of tiles.
pub mod devices {
    #[cfg(feature = "gpu")]
    pub use farad_tensor::{AdapterInfo, AdapterKind, adapters};
    pub use farad_tensor::{
        BACKENDS, BackendRow, Counters, DeviceOptions, ENVIRONMENT, EnvironmentVariables, FoundDevice,
        Holdings, LiveTensor, MemoryReport, ProductShape, RandomState, Tuned, Tuning, Variant, device_names,
        device_names_sentence, load_tuning, save_tuning, use_threads,
    };
}

/// Where time goes: what [`Device::profile`] gives.
pub mod profile {
    pub use farad_tensor::{
        HostSpan, KernelTime, LaunchTime, OpenProfile, Peaks, PhaseTime, Profile, ProfileMode, ProfileOptions,
    };
}

/// What parts refuse; [`Error::part`] finds it in an [`Error`].
pub mod errors {
    #[cfg(feature = "data")]
    pub use farad_data::DataError;
    pub use farad_group::GroupError;
    pub use farad_nn::{Difference, Mismatch, NnError};
    #[cfg(feature = "fit")]
    pub use farad_supervised::FitError;
    pub use farad_tensor::OpError;
    #[cfg(feature = "train")]
    pub use farad_train::TrainError;
}

// Short names of what stands in the modules above.
#[doc(hidden)]
pub use devices::*;
#[doc(hidden)]
pub use errors::*;
#[doc(hidden)]
pub use farad_tensor::{Contraction, CustomKernel, CustomLimits, IndexMap, WgslText, Words, nearest, philox};
#[doc(hidden)]
pub use farad_tensor::{engine, host};
#[cfg(feature = "train")]
#[doc(hidden)]
pub use farad_train::Need;
#[doc(hidden)]
pub use profile::*;

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;
