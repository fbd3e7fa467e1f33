//! The GPU device as a [`farad_runtime::Backend`].

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use farad_compile::program::{Program, Target};
use farad_runtime::profile::Profiler;
use farad_runtime::{
    Backend, Counters, Fault, Holdings, Limits, Memory, MemorySize, PendingRead, ProductShape, Read, Result,
    Tuned, Tuner, Tuning,
};

use crate::adapter::AdapterKind;
use crate::device::GpuDevice;
use crate::error::Error;
use crate::executable::GpuExecutable;
use crate::read::{MemoryRange, ReadFuture};

impl From<Error> for farad_runtime::Error {
    fn from(error: Error) -> farad_runtime::Error {
        let short = matches!(error, Error::OutOfMemory { .. });
        farad_runtime::Error::new("gpu", if short { Fault::OutOfMemory } else { Fault::Other }, error)
    }
}

impl Backend for GpuDevice {
    fn target(&self) -> Target {
        self.target()
    }

    fn limits(&self) -> Limits {
        let info = self.info();
        let memory = match (self.memory_limit(), info.kind) {
            (Some(limit), _) => MemorySize::Own(Some(limit)),
            (None, AdapterKind::Software) => MemorySize::Machine,
            (None, _) => MemorySize::Own(info.memory),
        };
        Limits {
            gpu: true,
            multiplies_halves: info.features.cooperative_matrix,
            custom: Some(self.custom_limits()),
            largest_binding: Some(info.limits.binding_bytes),
            memory,
        }
    }

    fn hardware(&self) -> Option<&str> {
        Some(self.name())
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        Ok(self.allocate(bytes)?)
    }

    fn allocate_zeroed(&self, bytes: usize) -> Result<Memory> {
        Ok(self.allocate_zeroed(bytes)?)
    }

    fn write(&self, memory: &Memory, data: &[u8]) -> Result<()> {
        Ok(self.write(memory, 0, data)?)
    }

    fn read(&self, memory: &Memory, offset: usize, bytes: usize) -> Read {
        Read::Waiting(Box::new(OneRead(self.read(&[MemoryRange::new(memory.clone(), offset, bytes)]))))
    }

    fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<()> {
        Ok(self.copy((from, 0), (to, 0), bytes)?)
    }

    fn load(&self, program: Arc<Program>) -> Result<Box<dyn farad_runtime::Executable>> {
        Ok(Box::new(self.load(program)?))
    }

    fn wait(&self) -> Result<()> {
        Ok(self.wait()?)
    }

    fn is_lost(&self) -> bool {
        self.is_lost()
    }

    fn close(&self) {
        self.close();
    }

    fn counters(&self) -> Counters {
        let c = self.counters();
        Counters {
            runs: c.runs as usize,
            submissions: c.submissions as usize,
            dispatches: c.dispatches as usize,
            pipelines: c.pipelines as usize,
            pipelines_kept: self.pipelines_kept(),
            bind_groups: c.bind_groups as usize,
            allocations: c.allocations as usize,
            bytes_live: c.bytes_live as usize,
            bytes_peak: c.bytes_peak as usize,
            reads: c.reads as usize,
            uploads: c.uploads as usize,
            ..Counters::default()
        }
    }

    fn bytes_live(&self) -> usize {
        self.counters().bytes_live as usize
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

    fn time_passes(&self, on: bool) -> Result<bool> {
        Ok(self.time_passes(on)?)
    }

    fn pass_nanoseconds(&self) -> Result<Vec<u64>> {
        Ok(self.pass_nanoseconds()?)
    }

    fn shaders(&self, program: &Program) -> Vec<(String, Arc<str>)> {
        self.shaders(program)
    }

    fn tuner(&self) -> Option<&dyn Tuner> {
        Some(self)
    }
}

impl farad_runtime::Executable for GpuExecutable {
    fn run(&self, inputs: &[Memory], parameters: &[u32], outputs: &[Memory]) -> Result<()> {
        let inputs: Vec<_> = inputs.iter().map(|memory| (memory, 0)).collect();
        let outputs: Vec<_> = outputs.iter().collect();
        Ok(self.run(&inputs, parameters, &outputs)?)
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
        let outputs: Vec<_> = outputs.iter().collect();
        Ok(self.run_in_parts(&inputs, parameters, &outputs, cuts, reached)?)
    }
}

impl Tuner for GpuDevice {
    fn shapes(&self, program: &Program) -> Vec<ProductShape> {
        crate::tuning::shapes(program)
    }

    fn tune(&self, shapes: &[ProductShape], progress: &mut dyn FnMut(usize)) -> Result<Vec<Tuned>> {
        Ok(self.tune(shapes, progress)?)
    }

    fn tuning_of(&self, tuned: &[Tuned]) -> Tuning {
        self.tuning_of(tuned)
    }

    fn tuning(&self) -> Arc<Tuning> {
        self.tuning()
    }

    fn set_tuning(&self, tuning: Tuning) {
        self.set_tuning(tuning);
    }

    fn adapter_name(&self) -> String {
        self.adapter_name()
    }
}

/// A read of one range.
struct OneRead(ReadFuture);

fn only(mut ranges: Vec<Vec<u8>>) -> Vec<u8> {
    ranges.swap_remove(0)
}

impl Future for OneRead {
    type Output = Result<Vec<u8>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Vec<u8>>> {
        Pin::new(&mut self.0).poll(context).map(|ranges| Ok(only(ranges?)))
    }
}

impl PendingRead for OneRead {
    fn wait(self: Box<Self>) -> Result<Vec<u8>> {
        Ok(only(self.0.wait()?))
    }
}
