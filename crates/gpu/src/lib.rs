//! Runs programs on any GPU: wgpu and WGSL.
//!
//! The renderer ([`render`]) turns a kernel into WGSL text and a grid, and is pure. The rest is the runtime:
//! adapters, memory pools, pipelines cached by their WGSL, bind groups cached by the memory they bind,
//! schedules unrolled into launches, reads, error words and time stamps. Only this crate uses wgpu, and no
//! public signature shows it. Start at [`adapters`] and [`GpuDevice`], then [`GpuDevice::load`] and
//! [`GpuExecutable::run`].
//!
//! ```
//! use farad_gpu::{GpuDevice, MemoryRange, Options};
//!
//! let device = GpuDevice::open(0, Options { noop: true, ..Options::default() })?; // computes nothing
//! let memory = device.allocate(12)?;
//! device.write(&memory, 0, &[1, 2, 3, 4, 5])?;
//! assert_eq!(device.read_blocking(&[MemoryRange::new(memory, 1, 3)])?, [[2, 3, 4]]);
//! # Ok::<(), farad_gpu::Error>(())
//! ```
//!
//! # Rules for all of it
//!
//! - **Floats.** WGSL compilers may assume that NaN and infinities do not occur, and drivers fold `x − x`,
//!   `x · 0` and `x + 0`. So kernels test NaN by its bits. Infinities and zeros that matter are passed in the
//!   uniform. An op whose two operands are the same float has its own WGSL (`render/tape.rs`). Conditions are
//!   combined with `|` and `&`, because `||` and `&&` become branches.
//! - **f16** is stored packed, two per 32-bit word, and computed in f32, on all adapters. Only tensor-core
//!   products (`render/cooperative.rs`) compute in f16.
//! - **Runs are bit-identical.** The form of a kernel is a fixed rule on its sizes. No kernel adds floats
//!   with atomics. Only a table made by `farad tune` changes the choice of a tile, and checkpoints record which
//!   table was used.
//! - **Bad indices.** An index out of range is clamped and recorded in the error words of its site. The next
//!   read reports it with the source line of the op (`report.rs`).
//! - **Memory.** Every buffer is counted by purpose. A device stays below its `memory_limit`, and a failed
//!   allocation leaves it usable (`buffer.rs`). A device rejects memory of another device.
//! - **Loss.** A lost or closed device stays lost; opening the GPU again gives a new device.
//!
//! The measurements behind f16 products, tiles and submissions are in `docs/lab/f16-products.md` and
//! `docs/lab/gpu-runtime.md`.

mod error;
mod heuristics;

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
mod processors;
mod read;
mod report;

pub mod dispatch;
pub mod render;
mod routine;

mod group_loop;
mod load;
mod schedule;
mod tuning;

mod groups;
mod pipeline;

mod executable;
mod profile;
mod tune;

pub use adapter::{AdapterFeatures, AdapterInfo, AdapterKind, AdapterLimits, adapters};
pub use counters::GpuCounters;
pub use device::{GpuDevice, Options};
pub use error::Error;
pub use executable::GpuExecutable;
pub use farad_runtime::{Holdings, Memory, ProductShape, Tuned, Tuning, Variant, WeakMemory};
pub use read::{MemoryRange, ReadFuture};
pub use routine::{LaunchStage, Routine};
