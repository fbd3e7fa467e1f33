//! The reference device as a [`farad_runtime::Backend`].

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use farad_compile::program::{Program, Target};
use farad_runtime::profile::Profiler;
use farad_runtime::{Backend, Counters, Fault, Holdings, Limits, Memory, MemorySize, Read, Result};

use crate::device::ReferenceDevice;
use crate::error::Error;
use crate::executable::ReferenceExecutable;

impl From<Error> for farad_runtime::Error {
    fn from(error: Error) -> farad_runtime::Error {
        let short = matches!(error, Error::OutOfMemory { .. });
        farad_runtime::Error::new("reference", if short { Fault::OutOfMemory } else { Fault::Other }, error)
    }
}

fn number(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::Relaxed)
}

impl Backend for ReferenceDevice {
    fn target(&self) -> Target {
        Target::cpu()
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
        Ok(self.allocate(bytes)?)
    }

    fn write(&self, memory: &Memory, data: &[u8]) -> Result<()> {
        Ok(self.write(memory, data)?)
    }

    fn read(&self, memory: &Memory, offset: usize, bytes: usize) -> Read {
        match self.read(memory, offset, bytes) {
            Ok(bytes) => Read::Done(bytes),
            Err(error) => Read::Failed(error.into()),
        }
    }

    fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<()> {
        Ok(self.copy(from, to, bytes)?)
    }

    fn load(&self, program: Arc<Program>) -> Result<Box<dyn farad_runtime::Executable>> {
        Ok(Box::new(self.load(program)))
    }

    fn counters(&self) -> Counters {
        let state = &*self.0;
        Counters {
            runs: number(&state.runs),
            submissions: number(&state.runs),
            dispatches: number(&state.kernels),
            allocations: number(&state.allocations),
            bytes_live: number(&state.live),
            bytes_peak: number(&state.peak),
            reads: number(&state.reads),
            uploads: number(&state.uploads),
            ..Counters::default()
        }
    }

    fn bytes_live(&self) -> usize {
        number(&self.0.live)
    }

    fn holdings(&self) -> Holdings {
        Holdings { tensors: number(&self.0.live) as u64, ..Holdings::default() }
    }

    fn high_water(&self) -> Holdings {
        Holdings { tensors: number(&self.0.peak) as u64, ..Holdings::default() }
    }

    fn profiler(&self) -> &Profiler {
        &self.0.profiler
    }
}

impl farad_runtime::Executable for ReferenceExecutable {
    fn run(&self, inputs: &[Memory], parameters: &[u32], outputs: &[Memory]) -> Result<()> {
        Ok(self.run(inputs, parameters, outputs)?)
    }
}
