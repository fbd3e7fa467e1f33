//! The CPU device as a [`farad_runtime::Backend`].

use std::sync::Arc;

use farad_compile::program::{Program, Target};
use farad_runtime::profile::Profiler;
use farad_runtime::{Backend, Counters, Fault, Holdings, Limits, Memory, MemorySize, Read, Result};

use crate::device::CpuDevice;
use crate::error::Error;
use crate::executable::CpuExecutable;
use crate::memory::block_pool::start;

impl From<Error> for farad_runtime::Error {
    fn from(error: Error) -> farad_runtime::Error {
        let short = matches!(error, Error::OutOfMemory { .. });
        farad_runtime::Error::new("cpu", if short { Fault::OutOfMemory } else { Fault::Other }, error)
    }
}

impl Backend for CpuDevice {
    fn target(&self) -> Target {
        CpuDevice::target()
    }

    fn limits(&self) -> Limits {
        Limits {
            gpu: false,
            multiplies_halves: false,
            custom: None,
            largest_binding: None,
            memory: MemorySize::Machine,
        }
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        Ok(self.allocate(bytes)?)
    }

    fn allocate_zeroed(&self, bytes: usize) -> Result<Memory> {
        let memory = self.allocate(bytes)?;
        self.write(&memory, 0, &vec![0; bytes]);
        Ok(memory)
    }

    fn write(&self, memory: &Memory, data: &[u8]) -> Result<()> {
        self.write(memory, 0, data);
        Ok(())
    }

    fn read(&self, memory: &Memory, offset: usize, bytes: usize) -> Read {
        Read::Done(self.read(memory, offset, bytes))
    }

    fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<()> {
        self.copy((from, 0), (to, 0), bytes);
        Ok(())
    }

    fn host_address(&self, memory: &Memory) -> Option<usize> {
        Some(start(memory) as usize)
    }

    fn load(&self, program: Arc<Program>) -> Result<Box<dyn farad_runtime::Executable>> {
        Ok(Box::new(self.load(program)?))
    }

    fn counters(&self) -> Counters {
        let c = self.counters();
        Counters {
            runs: c.runs,
            submissions: c.runs,
            dispatches: c.kernels,
            allocations: c.allocations,
            bytes_live: c.bytes_live,
            bytes_peak: c.bytes_peak,
            reads: c.reads,
            uploads: c.uploads,
            ..Counters::default()
        }
    }

    fn bytes_live(&self) -> usize {
        self.counters().bytes_live
    }

    fn holdings(&self) -> Holdings {
        self.holdings()
    }

    fn high_water(&self) -> Holdings {
        self.high_water()
    }

    fn profiler(&self) -> &Profiler {
        self.profiler()
    }
}

impl farad_runtime::Executable for CpuExecutable {
    fn run(&self, inputs: &[Memory], parameters: &[u32], outputs: &[Memory]) -> Result<()> {
        let inputs: Vec<_> = inputs.iter().map(|memory| (memory, 0)).collect();
        Ok(self.run(&inputs, parameters, outputs)?)
    }

    fn run_in_parts(
        &self,
        inputs: &[Memory],
        parameters: &[u32],
        outputs: &[Memory],
        cuts: &[usize],
        reached: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let inputs: Vec<_> = inputs.iter().map(|memory| (memory, 0)).collect();
        Ok(self.run_in_parts(&inputs, parameters, outputs, cuts, reached)?)
    }
}
