//! The two traits that make a backend: where programs are loaded, and what they become.

use std::sync::Arc;

use farad_compile::program::{Program, Target};

use crate::counters::{Counters, Holdings};
use crate::error::Result;
use crate::memory::Memory;
use crate::profile::Profiler;
use crate::read::Read;
use crate::tuning::Tuner;

/// What runs Programs. A backend is opened once and shared; every method may be called from any thread.
pub trait Backend: Send + Sync {
    /// What a compiler needs to know of it.
    fn target(&self) -> Target;

    /// What it can do.
    fn limits(&self) -> Limits;

    /// The hardware's name, where it has one of its own.
    fn hardware(&self) -> Option<&str> {
        None
    }

    /// Memory of at least `bytes`, of any content.
    fn allocate(&self, bytes: usize) -> Result<Memory>;

    /// Memory of at least `bytes`, all zero.
    fn allocate_zeroed(&self, bytes: usize) -> Result<Memory>;

    /// Copies `data` to the start of a memory.
    fn write(&self, memory: &Memory, data: &[u8]) -> Result<()>;

    /// Reads `bytes` bytes from `offset` on, after everything asked for so far.
    fn read(&self, memory: &Memory, offset: usize, bytes: usize) -> Read;

    /// Copies the first `bytes` bytes of a memory to another.
    fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<()>;

    /// Where a memory starts in the host's own address space, if it lies there and nothing is under way that writes to it.
    fn host_address(&self, _memory: &Memory) -> Option<usize> {
        None
    }

    /// Prepares a program to run.
    fn load(&self, program: Arc<Program>) -> Result<Box<dyn Executable>>;

    /// Waits until all work is done.
    fn wait(&self) -> Result<()> {
        Ok(())
    }

    /// Whether the hardware is gone.
    fn is_lost(&self) -> bool {
        false
    }

    /// Gives the hardware and all of its memory back, if it can be given back.
    fn close(&self) {}

    /// What was done so far. Of plans and moved operands a backend knows nothing.
    fn counters(&self) -> Counters;

    /// Bytes that handles hold: [`Counters::bytes_live`] alone, which is asked for often.
    fn bytes_live(&self) -> usize;

    /// Bytes that are held now, by purpose.
    fn holdings(&self) -> Holdings;

    /// What was held, by purpose, when it was most.
    fn high_water(&self) -> Holdings;

    /// Where it notes what it does while a profile is open.
    fn profiler(&self) -> &Profiler;

    /// Times whole passes instead of kernels while on; `false` if it cannot.
    fn time_passes(&self, _on: bool) -> Result<bool> {
        Ok(false)
    }

    /// Nanoseconds of the passes since timing was switched on.
    fn pass_nanoseconds(&self) -> Result<Vec<u64>> {
        Ok(vec![])
    }

    /// Label and text of every shader of a program; none where kernels are no texts.
    fn shaders(&self, _program: &Program) -> Vec<(String, Arc<str>)> {
        vec![]
    }

    /// What times forms of kernels, where there are several forms to choose from.
    fn tuner(&self) -> Option<&dyn Tuner> {
        None
    }
}

/// A program that is ready to run.
pub trait Executable: Send + Sync {
    /// Runs it. `parameters` are the registers' bits, `outputs` one memory for every output of the program; that of an
    /// output with a donor is not looked at, since its input is updated in place.
    fn run(&self, inputs: &[Memory], parameters: &[u32], outputs: &[Memory]) -> Result<()>;
}

/// What a backend can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Whether it is a GPU: work is submitted, and operands of other devices come to it.
    pub gpu: bool,
    /// Whether units of its own multiply matrices of halves.
    pub multiplies_halves: bool,
    /// Bytes of the largest tensor that a kernel can read; none where any fits that memory holds.
    pub largest_binding: Option<u64>,
    /// How much memory there is.
    pub memory: MemorySize,
}

/// Whose memory a backend uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySize {
    /// The machine's.
    Machine,
    /// Its own, or a part that it is held to; none where nobody tells.
    Own(Option<u64>),
}
