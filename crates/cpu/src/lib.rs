//! Runs programs on the CPU.
//!
//! A [`Device`] owns memory and loads [`Program`](farad_compile::program::Program)s into [`Executable`]s, which run
//! synchronously. Everything that does not change from run to run is decided when a program is loaded: how axes
//! collapse, how every view is read, which registers share scratch memory. A run then interprets compact tapes over
//! tiles that stay in cache, one tight vector loop an instruction, with the widest instructions that the machine has.
//!
//! Invariant: results depend on the program and its data only, never on the number of threads. Start at [`Device`],
//! then `nest` for how a fused kernel is planned and `sweep` for how it is run.

mod arithmetic;
mod backend;
mod bits;
mod block;
mod code;
mod contraction;
mod conversion;
mod custom;
mod dependence;
mod device;
mod dots;
mod emit;
mod error;
mod executable;
mod lanes;
mod machine;
mod mapping;
mod math;
mod matrix;
mod memory;
mod merge;
mod nest;
mod operand;
mod phases;
mod product;
mod recurrence;
mod reduction;
mod rows;
mod scatter;
mod scratch;
mod slices;
mod slots;
mod sort;
mod storage;
mod sweep;
mod tile;
mod values;
mod view;

pub use block::{Matrix, exp, multiply};
pub use device::{Counters, Device};
pub use error::Error;
pub use executable::Executable;
pub use farad_runtime::{Holdings, Memory, WeakMemory};
pub use mapping::MappedFile;
