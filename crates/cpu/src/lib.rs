//! Runs programs on the CPU.
//!
//! A [`Device`] owns memory and loads [`Program`](farad_compile::program::Program)s into [`Executable`]s, which run
//! synchronously. Everything that does not change from run to run is decided when a program is loaded: how axes
//! collapse, how every view is read, which registers share scratch memory. A run then interprets compact tapes over
//! tiles that stay in cache, one tight vector loop an instruction, with the widest instructions that the machine has.
//!
//! Invariant: results depend on the program and its data only, never on the number of threads. Start at [`Device`],
//! then `nest` for how a fused kernel is planned and `sweep` for how it is run.

mod error;
mod memory;
mod device;
mod executable;
mod code;
mod view;
mod storage;
mod math;
mod arithmetic;
mod reduction;
mod bits;
mod matrix;
mod lanes;
mod nest;
mod dependence;
mod conversion;
mod emit;
mod values;
mod slots;
mod scratch;
mod machine;
mod sweep;
mod product;
mod contraction;
mod scatter;
mod custom;

pub use device::{Counters, Device, KernelTime};
pub use error::Error;
pub use executable::Executable;
pub use memory::Memory;
