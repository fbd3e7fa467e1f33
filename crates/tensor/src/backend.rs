//! The two runtimes behind one face: memory, transfers and executables of the CPU and of GPUs.

use std::sync::Arc;

use farad_compile::program::Program;
use farad_gpu::Holdings;
use farad_runtime::profile::Profiler;

use crate::device::Counters;
use crate::error::Result;

/// A runtime.
#[derive(Clone)]
pub enum Backend {
    Cpu(farad_cpu::Device),
    Gpu(farad_gpu::Device),
}

/// Memory of a runtime; a cheap handle.
#[derive(Clone)]
pub enum Memory {
    Cpu(farad_cpu::Memory),
    Gpu(farad_gpu::Memory),
}

/// A program loaded into a runtime.
pub enum Executable {
    Cpu(farad_cpu::Executable),
    Gpu(Box<farad_gpu::Executable>),
}

const FOREIGN: &str = "memory belongs to another device";

/// Word of memory that keeps nothing.
#[derive(Clone)]
pub enum WeakMemory {
    Cpu(farad_cpu::WeakMemory),
    Gpu(farad_gpu::WeakMemory),
}

impl WeakMemory {
    /// Bytes of the memory; `None` once the last handle is gone.
    pub fn bytes(&self) -> Option<usize> {
        match self {
            WeakMemory::Cpu(m) => m.bytes(),
            WeakMemory::Gpu(m) => m.bytes(),
        }
    }
}

impl Memory {
    /// Word of the memory that does not keep it.
    pub fn downgrade(&self) -> WeakMemory {
        match self {
            Memory::Cpu(m) => WeakMemory::Cpu(m.downgrade()),
            Memory::Gpu(m) => WeakMemory::Gpu(m.downgrade()),
        }
    }

    /// How many handles there are.
    pub fn handles(&self) -> usize {
        match self {
            Memory::Cpu(m) => m.handles(),
            Memory::Gpu(m) => m.handles(),
        }
    }

    /// Whether two handles are the same memory.
    pub fn identity(&self) -> u64 {
        match self {
            Memory::Cpu(m) => m.identity(),
            Memory::Gpu(m) => m.identity(),
        }
    }

    fn cpu(&self) -> &farad_cpu::Memory {
        match self {
            Memory::Cpu(m) => m,
            Memory::Gpu(_) => panic!("{FOREIGN}"),
        }
    }

    fn gpu(&self) -> &farad_gpu::Memory {
        match self {
            Memory::Gpu(m) => m,
            Memory::Cpu(_) => panic!("{FOREIGN}"),
        }
    }
}

impl Backend {
    pub fn allocate(&self, bytes: usize) -> Result<Memory> {
        Ok(match self {
            Backend::Cpu(d) => Memory::Cpu(d.allocate(bytes)?),
            Backend::Gpu(d) => Memory::Gpu(d.allocate(bytes)?),
        })
    }

    pub fn allocate_zeroed(&self, bytes: usize) -> Result<Memory> {
        match self {
            Backend::Cpu(d) => {
                let memory = d.allocate(bytes)?;
                d.write(&memory, 0, &vec![0; bytes]);
                Ok(Memory::Cpu(memory))
            }
            Backend::Gpu(d) => Ok(Memory::Gpu(d.allocate_zeroed(bytes)?)),
        }
    }

    pub fn write(&self, memory: &Memory, data: &[u8]) -> Result<()> {
        match self {
            Backend::Cpu(d) => d.write(memory.cpu(), 0, data),
            Backend::Gpu(d) => d.write(memory.gpu(), 0, data)?,
        }
        Ok(())
    }

    pub fn read(&self, memory: &Memory, offset: usize, bytes: usize) -> Read {
        match self {
            Backend::Cpu(d) => Read::Done(d.read(memory.cpu(), offset, bytes)),
            Backend::Gpu(d) => Read::Waiting(d.read(&[(memory.gpu().clone(), offset, bytes)])),
        }
    }

    pub fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<()> {
        match self {
            Backend::Cpu(d) => d.copy((from.cpu(), 0), (to.cpu(), 0), bytes),
            Backend::Gpu(d) => d.copy((from.gpu(), 0), (to.gpu(), 0), bytes)?,
        }
        Ok(())
    }

    pub fn load(&self, program: Arc<Program>) -> Result<Executable> {
        Ok(match self {
            Backend::Cpu(d) => Executable::Cpu(d.load(program)?),
            Backend::Gpu(d) => Executable::Gpu(Box::new(d.load(program)?)),
        })
    }

    pub fn is_lost(&self) -> bool {
        match self {
            Backend::Cpu(_) => false,
            Backend::Gpu(d) => d.is_lost(),
        }
    }

    pub fn close(&self) {
        if let Backend::Gpu(d) = self {
            d.close();
        }
    }

    pub fn holdings(&self) -> Holdings {
        match self {
            Backend::Cpu(d) => from_cpu(d.holdings()),
            Backend::Gpu(d) => d.holdings(),
        }
    }

    pub fn wait(&self) -> Result<()> {
        match self {
            Backend::Cpu(_) => Ok(()),
            Backend::Gpu(d) => Ok(d.wait()?),
        }
    }

    pub fn counters(&self, own: Counters) -> Counters {
        match self {
            Backend::Cpu(d) => {
                let c = d.counters();
                Counters {
                    runs: c.runs,
                    submissions: c.runs,
                    dispatches: c.kernels,
                    allocations: c.allocations,
                    bytes_live: c.bytes_live,
                    bytes_peak: c.bytes_peak,
                    reads: c.reads,
                    uploads: c.uploads,
                    ..own
                }
            }
            Backend::Gpu(d) => {
                let c = d.counters();
                Counters {
                    runs: own.plans_compiled + own.plans_replayed,
                    submissions: c.submissions as usize,
                    dispatches: c.dispatches as usize,
                    pipelines: c.pipelines as usize,
                    pipelines_kept: d.pipelines_kept(),
                    bind_groups: c.bind_groups as usize,
                    allocations: c.allocations as usize,
                    bytes_live: c.bytes_live as usize,
                    bytes_peak: c.bytes_peak as usize,
                    reads: c.reads as usize,
                    uploads: c.uploads as usize,
                    ..own
                }
            }
        }
    }

    pub fn profiler(&self) -> &Profiler {
        match self {
            Backend::Cpu(d) => d.profiler(),
            Backend::Gpu(d) => d.profiler(),
        }
    }

    /// What was held, by purpose, when it was most.
    pub fn high_water(&self) -> Holdings {
        match self {
            Backend::Cpu(d) => from_cpu(d.high_water()),
            Backend::Gpu(d) => d.high_water(),
        }
    }

    pub fn bytes_live(&self) -> usize {
        match self {
            Backend::Cpu(d) => d.counters().bytes_live,
            Backend::Gpu(d) => d.counters().bytes_live as usize,
        }
    }

    /// Whether units of their own multiply matrices of halves.
    pub fn multiplies_halves(&self) -> bool {
        match self {
            Backend::Cpu(_) => false,
            Backend::Gpu(d) => d.info().features.cooperative_matrix,
        }
    }

    pub fn time_passes(&self, on: bool) -> Result<bool> {
        match self {
            Backend::Cpu(_) => Ok(false),
            Backend::Gpu(d) => Ok(d.time_passes(on)?),
        }
    }

    pub fn pass_nanoseconds(&self) -> Result<Vec<u64>> {
        match self {
            Backend::Cpu(_) => Ok(vec![]),
            Backend::Gpu(d) => Ok(d.pass_nanoseconds()?),
        }
    }
}

fn from_cpu(holdings: farad_cpu::Holdings) -> Holdings {
    let farad_cpu::Holdings { tensors, blocks, pool } = holdings;
    let (tensors, blocks, pool) = (tensors as u64, blocks as u64, pool as u64);
    Holdings { tensors, blocks, pool, ..Holdings::default() }
}

impl Executable {
    pub fn run(&self, inputs: &[Memory], parameters: &[u32], outputs: &[Memory]) -> Result<()> {
        match self {
            Executable::Cpu(e) => {
                let inputs: Vec<_> = inputs.iter().map(|m| (m.cpu(), 0)).collect();
                let outputs: Vec<_> = outputs.iter().map(Memory::cpu).collect();
                e.run(&inputs, parameters, &outputs)?;
            }
            Executable::Gpu(e) => {
                let inputs: Vec<_> = inputs.iter().map(|m| (m.gpu(), 0)).collect();
                let outputs: Vec<_> = outputs.iter().map(Memory::gpu).collect();
                e.run(&inputs, parameters, &outputs)?;
            }
        }
        Ok(())
    }
}

/// A read under way.
pub enum Read {
    /// Already there.
    Done(Vec<u8>),
    /// Waiting for the device.
    Waiting(farad_gpu::ReadFuture),
}

impl Read {
    /// Blocks until the bytes are there.
    pub fn wait(self) -> Result<Vec<u8>> {
        match self {
            Read::Done(bytes) => Ok(bytes),
            Read::Waiting(future) => Ok(future.wait()?.swap_remove(0)),
        }
    }

    /// The bytes, without blocking the thread.
    pub async fn get(self) -> Result<Vec<u8>> {
        match self {
            Read::Done(bytes) => Ok(bytes),
            Read::Waiting(future) => Ok(future.await?.swap_remove(0)),
        }
    }
}
