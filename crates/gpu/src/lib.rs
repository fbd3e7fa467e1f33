//! Runs programs on any GPU: wgpu and WGSL.
//!
//! The renderer ([`render`]) turns kernels into WGSL text and is pure; the rest is the runtime:
//! devices, memory, pipelines and replay. Only this crate names wgpu, and no public signature does.
//! Start at [`adapters`] and [`Device`], then [`Device::load`] and [`Executable::run`].
//!
//! ```
//! use farad_gpu::{Device, Options};
//!
//! let device = Device::open(0, Options { noop: true, ..Options::default() })?; // computes nothing
//! let memory = device.allocate(12)?;
//! device.write(&memory, 0, &[1, 2, 3, 4, 5])?;
//! assert_eq!(device.read_blocking(&[(memory, 1, 3)])?, [[2, 3, 4]]);
//! # Ok::<(), farad_gpu::Error>(())
//! ```

mod error;

mod adapter;
mod backend;
mod cache;
mod counters;
mod device;
mod instance;
mod rounding;

mod buffer;
mod memory;
mod submission;
mod transfer;

mod exit;
mod poller;
mod read;
mod report;

pub mod dispatch;
pub mod render;
mod routine;

mod load;
mod schedule;
mod tuning;

mod groups;
mod pipeline;

mod executable;
mod profile;
mod tune;

pub use adapter::{AdapterFeatures, AdapterInfo, AdapterKind, AdapterLimits, adapters};
pub use counters::Counters;
pub use device::{Device, Options};
pub use error::Error;
pub use executable::Executable;
pub use farad_runtime::{Holdings, Memory, ProductShape, Tuned, Tuning, Variant, WeakMemory};
pub use read::ReadFuture;
pub use routine::{Routine, Stage};
