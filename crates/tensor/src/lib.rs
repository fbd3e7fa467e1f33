//! Tensors on any device: [`Tensor`] and its ops, [`Device`], gradients, and the engine that records,
//! compiles and replays.
//!
//! A [`Tensor`] is lazy: ops record, and reading a result or an optimizer's `step` compiles everything
//! recorded into a few fused kernels and runs them (very long chains run earlier). A structure seen before
//! replays its plan without compiling anything.
//!
//! Programs use this through the crate `farad`. Start at [`Tensor`]; what runs a program, and how, is in
//! [`engine`].
//!
//! # What tensors mean
//!
//! Each of these statements has a test, in `crates/farad/tests/semantics.rs`, `counted.rs` or `handles.rs`.
//!
//! - **Tensors are values.** A [`Parameter`] is a cell that holds its current tensor. A clone taken before a
//!   step keeps the old numbers, and so does pending work that uses the old weight. An array that somebody
//!   still holds is copied before it is updated in place.
//! - **A read runs only what it needs**, and history stays. History that no tensor in hand can reach is
//!   dropped, so a running total over an epoch stays small. History beyond 65,536 ops is cut, and a gradient
//!   through the cut is an error.
//! - **A `step`** runs the loss, its gradients, the update, and every other tensor in hand that these
//!   compute. Tensors that depend on the parameters are leaves afterwards. A gradient through them is an
//!   error that says so. Tensors that no parameter made keep their history, since a second optimizer may need
//!   it.
//! - **Numbers that vary from step to step** are given with the run, never compiled in: the learning rate,
//!   the corrections of moments, random counters. A number in an expression is compiled in at first. When the
//!   same program comes with another number there, that number is given with the run from then on
//!   (`numbers.rs`). Products and quotients keep their bits.
//! - **Operands on different devices** meet on the device of the first GPU operand, through the host. The
//!   counters show such moves, and repeated moves are warned about once. Handles of one GPU with different
//!   numbers (`DeviceOptions::handle`) are different devices.
//! - **Random tensors** are a seed and counters (Philox). Bits, uniform numbers and masks are the same on
//!   every device; normal numbers agree within rounding. Computing a random tensor again draws nothing again.
//!   Counters of devices have their highest bit set, places of [`Tensor::rand_at`] do not.
//!
//! # What stands here and why
//!
//! Losses are methods of [`Tensor`] that are composed of other ops, so they are in this crate; `farad-nn`
//! shows them too. [`Parameter`] is here because `loss.gradients(&parameters)` is a method of [`Tensor`].

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
/// Math for custom ops that run on the host's memory.
pub mod host {
    pub use farad_cpu::{StoredMatrix, StoredNumbers, exp, multiply_stored};
}
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
pub use environment::{ENVIRONMENT, EnvironmentVariables};
pub use error::{Error, Result, disagreement};
#[cfg(feature = "gpu")]
pub use farad_gpu::{AdapterInfo, AdapterKind, adapters};
pub use farad_ir::philox;
pub use farad_ir::{
    Contraction, CustomKernel, CustomLimits, CustomOp, DType, IndexMap, OpError, Shape, Var, WgslText, Words,
};
pub use farad_runtime::{Counters, Holdings, ProductShape, Tuned, Tuning, Variant};
pub use live::{LiveTensor, MemoryReport};
pub use machine::use_threads;
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
