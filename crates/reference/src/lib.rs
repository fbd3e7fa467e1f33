//! A backend that defines what programs mean, by running them in `f64`.
//!
//! It runs compiled Programs, not graphs. So an error in the compiler can be told apart from an error in a
//! backend. The tests of `farad-cpu` and `farad-gpu` compare their results with this backend, program by
//! program. `testkit/tests/reference.rs` compares this backend with `farad_ir::reference`, which evaluates
//! graphs. It is slow and meant for tests; `ReferenceDevice::best` never chooses it.
//!
//! A [`ReferenceDevice`] is a backend like the others: it owns memory and loads
//! [`Program`](farad_compile::program::Program)s into [`ReferenceExecutable`]s. Memory holds either bytes as the host
//! wrote them or numbers as a kernel wrote them. Registers and memory hold `f64`, whatever float dtype they
//! stand for. `f32` values stay `f64` between kernels and between programs, and are rounded when the host
//! reads them. `f16` values are rounded where they are stored or cast. Integers wrap as their dtype says. A
//! block has one storage for every dtype, since it serves one tensor at a time.
//!
//! Invariant: all reads of a kernel come before its writes, so that a kernel means the same whatever the
//! order of its positions. Start at [`Machine`], which runs one kernel and which tests of renderers use;
//! `tape` says what instructions mean.

mod backend;
mod device;
mod error;
mod executable;
mod machine;
mod memory;
mod number;
mod tape;
mod view;

pub use device::ReferenceDevice;
pub use error::Error;
pub use executable::ReferenceExecutable;
pub use machine::{BufferPlace, Machine};
pub use number::{decode, encode, stored};
