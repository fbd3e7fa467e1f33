//! A loaded program, run step by step.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use farad_compile::costs::Costs;
use farad_compile::program::{BufferId, Kernel, Place, Program, ProgramStep};
use farad_ir::{DType, Scalar};
use farad_runtime::Memory;
use farad_runtime::profile::{KernelTally, Phase};

use crate::device::ReferenceDevice;
use crate::error::Error;
use crate::machine::{BufferPlace, Machine};
use crate::memory::{Contents, Held};
use crate::number::given;

/// A program that is ready to run. A device does one run at a time.
pub struct ReferenceExecutable {
    device: ReferenceDevice,
    program: Arc<Program>,
    /// The launches of one run, for profiles that only count.
    kernels: Arc<[KernelTally]>,
}

/// Who owns the numbers of a storage.
enum Owner<'a> {
    Memory(&'a Held, DType),
    Block,
}

impl ReferenceExecutable {
    pub(crate) fn load(device: &ReferenceDevice, program: Arc<Program>) -> ReferenceExecutable {
        let mut launches = Vec::new();
        list_launches(&program, &program.steps, &[], 1, &mut launches);
        let kernels = KernelTally::by_label(launches.iter().map(|(label, costs)| (label, *costs)));
        ReferenceExecutable { device: device.clone(), program, kernels }
    }

    /// Runs the program. `parameters` are register bits, `outputs` the memory to write. Where an output has a
    /// donor, its entry is ignored and the input's memory is written.
    ///
    /// A bad index does not stop the run; it is reported when all steps are done.
    pub fn run(&self, inputs: &[Memory], parameters: &[u32], outputs: &[Memory]) -> Result<(), Error> {
        let (program, state) = (&*self.program, &*self.device.0);
        count("inputs", inputs.len(), program.inputs.len())?;
        count("parameters", parameters.len(), program.parameters.len())?;
        count("outputs", outputs.len(), program.outputs.len())?;
        let _phase = state.profiler.enter(Phase::Computing);
        let _alone = state.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if state.profiler.is_open() && !state.profiler.times_launches() {
            state.profiler.ran(&self.kernels);
        }
        let number = |(n, &dtype): (usize, &DType)| {
            given(dtype.register(), Scalar::from_words(dtype.register(), parameters, n))
        };
        let numbers = program.parameters.iter().enumerate().map(number).collect();
        let (owners, bindings) = self.bind(inputs, outputs)?;
        let storages = owners.iter().map(|(owner, len)| match owner {
            Owner::Memory(held, dtype) => held.contents().take(*dtype),
            Owner::Block => vec![0.0; *len],
        });
        let mut machine = Machine::new(storages.collect(), bindings, numbers);
        self.steps(&mut machine, &program.steps, &[]);
        for (n, (owner, _)) in owners.iter().enumerate() {
            if let Owner::Memory(held, dtype) = owner {
                let mut contents = held.contents();
                // Memory that the host wrote and no kernel changed keeps its bytes.
                if machine.written[n] || matches!(*contents, Contents::Numbers(..)) {
                    *contents = Contents::Numbers(*dtype, std::mem::take(&mut machine.storages[n]));
                }
            }
        }
        state.runs.fetch_add(1, Ordering::Relaxed);
        match machine.first_fault() {
            None => Ok(()),
            Some((site, index)) => {
                let site = &program.sites[site];
                Err(Error::Index { op: site.op.clone(), index, size: site.size, location: site.location })
            }
        }
    }

    /// The storages of a run with their lengths, and the range of every buffer in them. A block has one storage
    /// per dtype. It holds one tensor at a time, so nothing is read as a dtype other than the one it was
    /// written as.
    fn bind<'a>(
        &self,
        inputs: &'a [Memory],
        outputs: &'a [Memory],
    ) -> Result<(Vec<(Owner<'a>, usize)>, Vec<BufferPlace>), Error> {
        let mut owners = Vec::new();
        let mut numbers: HashMap<(bool, u64, DType), usize> = HashMap::new();
        let mut bindings = Vec::with_capacity(self.program.buffers.len());
        for buffer in &self.program.buffers {
            let dtype = buffer.dtype;
            let (what, which, memory) = match buffer.place {
                Place::Input(n) => ("input", n, Some(&inputs[n])),
                Place::Output(n) => ("output", n, Some(&outputs[n])),
                Place::Block(n) => ("block", n, None),
            };
            let size = memory.map_or_else(|| self.program.blocks[which], Memory::bytes);
            let need = buffer.offset + buffer.len * dtype.size();
            if need > size {
                return Err(Error::TooSmall { what, which, got: size, need });
            }
            let key = (memory.is_some(), memory.map_or(which as u64, Memory::identity), dtype);
            let storage = match numbers.get(&key) {
                Some(&storage) => storage,
                None => {
                    let owner = match memory {
                        Some(memory) => Owner::Memory(self.device.held("run", memory, 0, 0)?, dtype),
                        None => Owner::Block,
                    };
                    owners.push((owner, size / dtype.size()));
                    numbers.insert(key, owners.len() - 1);
                    owners.len() - 1
                }
            };
            bindings.push(BufferPlace {
                storage,
                start: buffer.offset / dtype.size(),
                len: buffer.len,
                dtype,
            });
        }
        Ok((owners, bindings))
    }

    fn steps(&self, machine: &mut Machine, steps: &[ProgramStep], slots: &[(BufferId, usize)]) {
        let state = &*self.device.0;
        for step in steps {
            if let Kernel::Loop(of) = &step.kernel {
                machine.repeat(of, |machine, step| {
                    self.steps(machine, std::slice::from_ref(step), &of.slots);
                });
                continue;
            }
            state.kernels.fetch_add(1, Ordering::Relaxed);
            let started = Instant::now();
            machine.run(&step.kernel);
            if state.profiler.times_launches() {
                let nanoseconds = started.elapsed().as_nanos() as u64;
                let costs = Costs::of(&step.kernel, &self.program.buffers, slots);
                let start = state.profiler.at(started);
                state.profiler.launched(&step.label.as_str().into(), costs, start, nanoseconds);
            }
        }
    }
}

/// Every launch of a run, with its costs.
fn list_launches(
    program: &Program,
    steps: &[ProgramStep],
    slots: &[(BufferId, usize)],
    trips: usize,
    launches: &mut Vec<(Arc<str>, Costs)>,
) {
    for _ in 0..trips {
        for step in steps {
            match &step.kernel {
                Kernel::Loop(of) => list_launches(program, &of.steps, &of.slots, of.trips, launches),
                kernel => {
                    launches.push((step.label.as_str().into(), Costs::of(kernel, &program.buffers, slots)))
                }
            }
        }
    }
}

fn count(what: &'static str, got: usize, need: usize) -> Result<(), Error> {
    if got == need { Ok(()) } else { Err(Error::Count { what, got, need }) }
}
