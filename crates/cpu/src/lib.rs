//! Runs programs on the CPU.
//!
//! A [`CpuDevice`] owns memory and loads [`Program`](farad_compile::program::Program)s into [`CpuExecutable`]s, which
//! run synchronously. Everything that does not change from run to run is decided when a program is loaded: how
//! axes collapse, how every view is read, which registers share scratch memory. A run then interprets compact
//! tapes over tiles that stay in cache, with one tight vector loop per instruction, in the widest vectors that
//! the machine has.
//!
//! Invariant: results depend only on the program and its data, never on the number of threads. Start at
//! [`CpuDevice`], then `executable` for what a loaded program is. Fused kernels are in `interpreter`, products in
//! `contraction`; both read and write through `memory` and compute with `simd`.

mod backend;
mod device;
mod error;
mod executable;
mod heuristics;

mod contraction;
mod interpreter;
mod memory;
mod simd;

mod custom_op;
mod scatter;
mod slice_math;
mod sort;
mod stored_product;

pub use device::{CpuCounters, CpuDevice};
pub use error::Error;
pub use executable::CpuExecutable;
pub use farad_runtime::{Holdings, Memory, WeakMemory};
pub use memory::block_pool::lend;
pub use memory::mapped_file::MappedFile;
pub use slice_math::{MatrixSlice, exp, multiply};
pub use stored_product::{StoredMatrix, StoredNumbers, multiply_stored};
