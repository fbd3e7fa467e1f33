//! What a backend is: one interface for everything that runs Programs.
//!
//! A [`Backend`] owns memory and loads programs. It reports its target, limits, counters and memory usage, and
//! does transfers and profiling. An [`Executable`] is a loaded program that is ready to `run`. A [`Memory`] is
//! a reference-counted handle to some of a backend's memory. [`Counters`] says what a backend did, [`Holdings`]
//! how much memory it holds, and [`Limits`] what it can do. [`profile`] is where it records host phases and
//! kernel launches.
//!
//! A `Device` of `farad-tensor` holds an `Arc<dyn Backend>` and knows no backend by name. The table of backends
//! is in that crate's `backend.rs`. To add a backend, write a crate that implements the two traits and add a
//! row to that table.
//!
//! A [`Memory`] is one reference-counted pointer to the backend's own type (an `Allocation`). The backend gets
//! that type back by a downcast, and rejects memory of another backend. So dynamic dispatch needs no extra heap
//! allocations: a run allocates only its list of inputs and its list of outputs.
//!
//! Features of some backends only are optional methods with a default: a [`Tuner`] (tables of tile sizes), time
//! stamps around passes, the text of shaders. An error keeps the backend's own error, which `Error::downcast`
//! gives back, and tells whether memory ran out.
//!
//! Invariant: nothing here computes, and nothing names a backend. Start at [`Backend`].

mod backend;
mod counters;
mod error;
mod memory;
pub mod profile;
mod read;
mod tuning;

pub use backend::{Backend, Executable, Limits, MemorySize};
pub use counters::{Counters, Holdings};
pub use error::{Error, Fault, Result};
pub use memory::{Allocation, Memory, WeakMemory};
pub use read::{PendingRead, Read};
pub use tuning::{ProductShape, Tuned, Tuner, Tuning, Variant};
