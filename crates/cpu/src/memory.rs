//! Memory of the device, and how kernels access it.
//!
//! From the bottom up: [`block_pool`] allocates device memory, [`thread_scratch`] holds the scratch memory of
//! threads, and [`mapped_file`] maps files into memory. When a program is loaded, [`view_access`] prepares
//! views for reading. In a run, [`element_runs`] moves stored elements to registers and back.
//!
//! Invariant: every run of elements is checked against its buffer before memory is touched. Start at
//! [`view_access::ViewAccess`].

pub mod block_pool;
pub mod mapped_file;
pub mod thread_scratch;

pub mod element_runs;
pub mod view_access;
