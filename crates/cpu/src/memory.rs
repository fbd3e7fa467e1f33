//! Memory of the device, and how kernels reach what lies in it.
//!
//! The order of the work: [`block_pool`] allocates device memory, [`thread_scratch`] what threads compute in, and
//! [`mapped_file`] shows files as memory. When a program is loaded, [`view_access`] makes views ready to read. In a run,
//! [`element_runs`] moves stored elements to registers and back.
//!
//! Invariant: every run of elements is checked against its buffer before memory is touched. Start at
//! [`view_access::ViewAccess`].

pub mod block_pool;
pub mod mapped_file;
pub mod thread_scratch;

pub mod element_runs;
pub mod view_access;
