//! What programs mean: a backend that runs them in `f64`.
//!
//! A [`Device`] is a backend like the others: it owns memory and loads [`Program`](farad_compile::program::Program)s
//! into [`Executable`]s. Registers and memory hold `f64`, whatever float they stand for: nothing is rounded between
//! kernels, nor between programs, but where a value is stored or cast as a half. Whole numbers wrap as their dtype says.
//! It is slow and meant for tests: other backends are compared with it, program by program.
//!
//! Invariant: all reads of a kernel come before its writes, so that a kernel means the same whatever the order of
//! its positions. Start at [`Machine`], which runs one kernel; `tape` is what instructions mean.

mod backend;
mod device;
mod error;
mod executable;
mod machine;
mod memory;
mod number;
mod tape;
mod view;

pub use device::Device;
pub use error::Error;
pub use executable::Executable;
pub use machine::{Binding, Machine};
pub use number::{decode, encode, stored};
