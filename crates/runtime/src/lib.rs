//! What a backend is: one face for all that run Programs.
//!
//! A [`Backend`] owns memory and loads programs; a [`Memory`] is a counted handle to some of it, an [`Executable`] is a
//! program that is ready to run. [`Counters`] and [`Holdings`] say what a backend did and holds, [`Limits`] what it
//! can do, [`profile`] is where it notes phases and launches. What only some backends have is optional: a [`Tuner`],
//! time stamps around passes, the text of shaders.
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
