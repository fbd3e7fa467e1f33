//! The two traits that a backend implements: [`Backend`] loads programs, and [`Executable`] is a loaded
//! program.

use std::sync::Arc;

use farad_compile::program::{CustomLimits, Program, Target};

use crate::counters::{Counters, Holdings};
use crate::error::Result;
use crate::memory::Memory;
use crate::profile::Profiler;
use crate::read::Read;
use crate::tuning::Tuner;

/// Runs Programs. A backend is opened once and shared; every method may be called from any thread.
pub trait Backend: Send + Sync {
    /// What the compiler needs to know about the device.
    fn target(&self) -> Target;

    /// What the device can do.
    fn limits(&self) -> Limits;

    /// The hardware's name, where it has one of its own.
    fn hardware(&self) -> Option<&str> {
        None
    }

    /// At least `bytes` bytes of memory, with unspecified contents.
    fn allocate(&self, bytes: usize) -> Result<Memory>;

    /// At least `bytes` bytes of memory, all zero.
    fn allocate_zeroed(&self, bytes: usize) -> Result<Memory>;

    /// Copies `data` to the start of `memory`.
    fn write(&self, memory: &Memory, data: &[u8]) -> Result<()>;

    /// Reads `bytes` bytes starting at `offset`, after all work requested so far.
    fn read(&self, memory: &Memory, offset: usize, bytes: usize) -> Read;

    /// Copies the first `bytes` bytes of one memory to another.
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

    /// Whether the device was lost.
    fn is_lost(&self) -> bool {
        false
    }

    /// Releases the device and all of its memory, where the backend supports that.
    fn close(&self) {}

    /// What was done so far. A backend leaves the counts of plans and of moved operands at zero: it does not
    /// know them.
    fn counters(&self) -> Counters;

    /// Bytes held through handles: [`Counters::bytes_live`] alone, because it is read often.
    fn bytes_live(&self) -> usize;

    /// Bytes that are held now, by purpose.
    fn holdings(&self) -> Holdings;

    /// The holdings at the moment when their total was highest.
    fn high_water(&self) -> Holdings;

    /// Records what the backend does while a profile is open.
    fn profiler(&self) -> &Profiler;

    /// While on, times whole passes instead of kernels. Returns `false` if the backend cannot.
    fn time_passes(&self, _on: bool) -> Result<bool> {
        Ok(false)
    }

    /// Nanoseconds of each pass since timing was switched on.
    fn pass_nanoseconds(&self) -> Result<Vec<u64>> {
        Ok(vec![])
    }

    /// Label and source of every shader of a program; empty where kernels have no source text.
    fn shaders(&self, _program: &Program) -> Vec<(String, Arc<str>)> {
        vec![]
    }

    /// The tuner, where a kernel has several forms to choose from.
    fn tuner(&self) -> Option<&dyn Tuner> {
        None
    }
}

/// A program that is ready to run.
pub trait Executable: Send + Sync {
    /// Runs the program. `parameters` are the registers' bits. `outputs` has one memory per output of the
    /// program. The memory of an output with a donor is ignored, because that input is updated in place.
    fn run(&self, inputs: &[Memory], parameters: &[u32], outputs: &[Memory]) -> Result<()>;

    /// The same in parts. `cuts` are numbers of steps, none smaller than the one before ([`Program::cuts`]). Once the first
    /// `cuts[n]` steps are requested, and before the next ones are, `reached` is called with `n`: a read from there sees
    /// what these steps wrote, and does not wait for the others.
    fn run_in_parts(
        &self,
        inputs: &[Memory],
        parameters: &[u32],
        outputs: &[Memory],
        cuts: &[usize],
        reached: &mut dyn FnMut(usize),
    ) -> Result<()> {
        self.run(inputs, parameters, outputs)?;
        (0..cuts.len()).for_each(reached);
        Ok(())
    }
}

/// What a backend can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Whether it is a GPU: work is submitted to a queue, and operands on other devices are moved to it.
    pub gpu: bool,
    /// Whether it has tensor cores that multiply f16 matrices.
    pub multiplies_halves: bool,
    /// What kernels of custom ops may use, if it runs such.
    pub custom: Option<CustomLimits>,
    /// Bytes of the largest tensor that a kernel can read; `None` if memory is the only limit.
    pub largest_binding: Option<u64>,
    /// How much memory there is.
    pub memory: MemorySize,
}

/// Whose memory a backend allocates from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySize {
    /// The host's.
    Machine,
    /// The device's own memory or a configured limit, in bytes; `None` if the size is unknown.
    Own(Option<u64>),
}
