//! What a backend is: one interface for everything that runs Programs.
//!
//! A [`Backend`] owns memory and loads programs. It gives its target and limits, memory, transfers, counters,
//! holdings and its profiler. An [`Executable`] is a loaded program that is ready to `run`. A [`Memory`] is a
//! counted handle to some of a backend's memory. [`Counters`] and [`Holdings`] say what a backend did and
//! what it holds, [`Limits`] what it can do. [`profile`] is where it records phases and launches.
//!
//! A `Device` of `farad-tensor` holds an `Arc<dyn Backend>` and knows no backend by name. The table of
//! backends stands there, in `backend.rs`. A new backend is a crate that implements the two traits, and a row
//! of that table.
//!
//! A [`Memory`] is one counted pointer to whatever the backend keeps (`Allocation`). The backend gets its own
//! type back by a downcast, and refuses memory of another backend. So dynamic dispatch costs no extra host
//! allocations: a run allocates a list of inputs and one of outputs.
//!
//! What only some backends have is optional and has a default: a [`Tuner`] (tables of tiles), time stamps
//! around passes, the text of shaders. An error keeps the backend's own error, which `Error::downcast` gives
//! back, and says whether memory was short.
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
