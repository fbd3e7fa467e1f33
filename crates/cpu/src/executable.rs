//! A loaded program: kernels planned, blocks allocated, ready to run.

use std::borrow::Borrow;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use farad_compile::costs::Costs;
use farad_compile::program::{BufferId, Kernel, Loop, Place, Program, ProgramBuffer, ProgramStep};
use farad_runtime::Memory;
use farad_runtime::profile::{KernelTally, Phase};

use crate::contraction::matrix_product::{self, Temporaries};
use crate::contraction::sliced_product::{self, Sliced};
use crate::device::CpuDevice;
use crate::error::Error;
use crate::interpreter::nest::{Nest, Spec};
use crate::interpreter::recurrence_nest;
use crate::interpreter::tile_machine::{Faults, KernelContext};
use crate::memory::block_pool::{self, BlockPurpose};
use crate::memory::element_runs::Binding;
use crate::{custom_op, scatter, sort};

/// A program that is ready to run. Runs are synchronous; several threads may run it at once.
pub struct CpuExecutable {
    device: CpuDevice,
    program: Arc<Program>,
    steps: Vec<ReadyStep>,
    /// How many of `steps` are done after every step of the program, which may be several.
    ends: Vec<usize>,
    /// Specs of the program's buffers, then of temporaries.
    specs: Vec<Spec>,
    /// Byte offsets of temporaries in the last block of a set.
    temporaries: Vec<usize>,
    /// Bytes of a set's blocks.
    blocks: Vec<usize>,
    /// Sets of blocks that no run is using. Only zeros carry over from run to run.
    free: Mutex<Vec<Vec<Memory>>>,
    /// The launches of one run, for profiles that only count.
    kernels: Arc<[KernelTally]>,
}

/// A planned step.
struct ReadyStep {
    label: Arc<str>,
    plan: LoadedKernel,
    costs: Costs,
}

enum LoadedKernel {
    Nest(Box<Nest>),
    Product(Box<matrix_product::MatrixPlan>),
    Contraction(Sliced),
    Scatter(scatter::ScatterPlan),
    Sort(sort::SortPlan),
    Custom(custom_op::CustomPlan),
    Loop { of: Loop, steps: Vec<ReadyStep> },
}

impl CpuExecutable {
    /// Plans every kernel and allocates zeroed blocks.
    pub(crate) fn load(device: &CpuDevice, program: Arc<Program>) -> Result<CpuExecutable, Error> {
        let mut specs: Vec<Spec> =
            program.buffers.iter().map(|b| Spec { dtype: b.dtype, len: b.len }).collect();
        let (mut offsets, mut most) = (Vec::new(), 0);
        let steps = ready(&program.steps, &program.buffers, &[], &mut specs, &mut offsets, &mut most)?;
        let ends = ends(&program.steps);
        let mut launches = Vec::new();
        list_launches(&steps, 1, &mut launches);
        let kernels = KernelTally::by_label(launches.into_iter());
        let blocks: Vec<usize> = program.blocks.iter().copied().chain([most]).collect();
        let executable = CpuExecutable {
            device: device.clone(),
            program,
            steps,
            ends,
            specs,
            temporaries: offsets,
            blocks,
            free: Mutex::default(),
            kernels,
        };
        let set = executable.allocate_blocks()?;
        executable.free.lock().unwrap_or_else(|e| e.into_inner()).push(set);
        tracing::debug!(kernels = executable.steps.len(), "loaded a program");
        Ok(executable)
    }

    fn allocate_blocks(&self) -> Result<Vec<Memory>, Error> {
        self.blocks.iter().map(|&bytes| self.device.0.pool.allocate(bytes, BlockPurpose::Block)).collect()
    }

    /// Runs the program. `inputs` come with byte offsets, `parameters` are register bits, `outputs` is the
    /// memory to write. Where an output has a donor, its entry is ignored and the input's memory is written.
    ///
    /// A bad index does not stop the run; it is reported when all steps are done.
    pub fn run(
        &self,
        inputs: &[(impl Borrow<Memory>, usize)],
        parameters: &[u32],
        outputs: &[impl Borrow<Memory>],
    ) -> Result<(), Error> {
        self.run_in_parts(inputs, parameters, outputs, &[], &mut |_| {})
    }

    /// The same in parts: `reached` is called with `n` after the first `cuts[n]` steps of the program.
    pub fn run_in_parts(
        &self,
        inputs: &[(impl Borrow<Memory>, usize)],
        parameters: &[u32],
        outputs: &[impl Borrow<Memory>],
        cuts: &[usize],
        reached: &mut dyn FnMut(usize),
    ) -> Result<(), Error> {
        let program = &self.program;
        count("inputs", inputs.len(), program.inputs.len())?;
        count("parameters", parameters.len(), program.parameters.len())?;
        count("outputs", outputs.len(), program.outputs.len())?;
        let set = self.free.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let blocks = set.map_or_else(|| self.allocate_blocks(), Ok)?;
        let bound = self.bind(inputs, outputs, &blocks);
        let result = bound.and_then(|bindings| self.run_with(&bindings, parameters, cuts, reached));
        self.free.lock().unwrap_or_else(|e| e.into_inner()).push(blocks);
        result
    }

    fn run_with(
        &self,
        bindings: &[Binding],
        parameters: &[u32],
        cuts: &[usize],
        reached: &mut dyn FnMut(usize),
    ) -> Result<(), Error> {
        let faults = Faults::new(self.program.sites.len());
        let profiler = &self.device.0.profiler;
        let _phase = profiler.enter(Phase::Computing);
        if profiler.is_open() && !profiler.times_launches() {
            profiler.ran(&self.kernels);
        }
        let context = KernelContext { bindings, parameters, faults: &faults };
        let mut done = 0;
        for (n, &cut) in cuts.iter().enumerate() {
            let end = cut.checked_sub(1).map_or(0, |last| self.ends[last]);
            self.steps(&self.steps[done..end], context);
            done = end;
            reached(n);
        }
        self.steps(&self.steps[done..], context);
        self.device.0.runs.fetch_add(1, Ordering::Relaxed);
        match faults.first() {
            None => Ok(()),
            Some((site, index)) => {
                let site = &self.program.sites[site];
                Err(Error::Index { op: site.op.clone(), index, size: site.size, location: site.location })
            }
        }
    }

    /// The address of every buffer in this run.
    fn bind(
        &self,
        inputs: &[(impl Borrow<Memory>, usize)],
        outputs: &[impl Borrow<Memory>],
        blocks: &[Memory],
    ) -> Result<Vec<Binding>, Error> {
        let mut bindings = Vec::with_capacity(self.specs.len());
        for buffer in &self.program.buffers {
            let (what, which, memory, offset) = match buffer.place {
                Place::Input(i) => ("input", i, inputs[i].0.borrow(), inputs[i].1 + buffer.offset),
                Place::Output(i) => ("output", i, outputs[i].borrow(), buffer.offset),
                Place::Block(i) => ("block", i, &blocks[i], buffer.offset),
            };
            let need = offset + buffer.len * buffer.dtype.size();
            if need > memory.bytes() {
                return Err(Error::TooSmall { what, which, got: memory.bytes(), need });
            }
            if !offset.is_multiple_of(buffer.dtype.size()) {
                return Err(Error::Misaligned { what, which, offset, size: buffer.dtype.size() });
            }
            // SAFETY: the range lies inside the allocation.
            let start = unsafe { block_pool::start(memory).add(offset) };
            bindings.push(Binding { start, len: buffer.len, dtype: buffer.dtype });
        }
        let workspace = &blocks[blocks.len() - 1];
        for (spec, &offset) in self.specs[bindings.len()..].iter().zip(&self.temporaries) {
            // SAFETY: the workspace has room for every kernel's temporaries.
            let start = unsafe { block_pool::start(workspace).add(offset) };
            bindings.push(Binding { start, len: spec.len, dtype: spec.dtype });
        }
        Ok(bindings)
    }

    fn steps(&self, steps: &[ReadyStep], context: KernelContext) {
        let profiler = &self.device.0.profiler;
        let timed = profiler.times_launches();
        for step in steps {
            if let LoadedKernel::Loop { of, steps } = &step.plan {
                self.repeat(of, steps, context);
                continue;
            }
            self.device.0.kernels.fetch_add(1, Ordering::Relaxed);
            let started = timed.then(Instant::now);
            match &step.plan {
                LoadedKernel::Nest(nest) => nest.run(context),
                LoadedKernel::Product(plan) => plan.run(context),
                LoadedKernel::Contraction(sliced) => sliced.run(context),
                LoadedKernel::Scatter(plan) => plan.run(context),
                LoadedKernel::Sort(plan) => plan.run(context),
                LoadedKernel::Custom(plan) => plan.run(context),
                LoadedKernel::Loop { .. } => unreachable!("loops are handled above"),
            }
            if let Some(started) = started {
                let nanoseconds = started.elapsed().as_nanos() as u64;
                profiler.launched(&step.label, step.costs, profiler.at(started), nanoseconds);
            }
        }
    }

    /// Runs a loop's body, with slices advanced and carries swapped after every trip.
    fn repeat(&self, of: &Loop, steps: &[ReadyStep], context: KernelContext) {
        let mut bindings = context.bindings.to_vec();
        for trip in 0..of.trips {
            bindings.copy_from_slice(context.bindings);
            let position = if of.reverse { of.trips - 1 - trip } else { trip };
            for (id, stride) in &of.slots {
                let binding = &mut bindings[id.0 as usize];
                *binding = binding.moved(position * stride);
            }
            if trip % 2 == 1 {
                of.swaps.iter().for_each(|(a, b)| bindings.swap(a.0 as usize, b.0 as usize));
            }
            self.steps(steps, KernelContext { bindings: &bindings, ..context });
        }
    }
}

impl fmt::Debug for CpuExecutable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<&str> = self.steps.iter().map(|step| &*step.label).collect();
        write!(f, "Executable({labels:?})")
    }
}

/// Every launch of a run, with its costs.
fn list_launches<'a>(steps: &'a [ReadyStep], trips: usize, launches: &mut Vec<(&'a Arc<str>, Costs)>) {
    for _ in 0..trips {
        for step in steps {
            match &step.plan {
                LoadedKernel::Loop { of, steps } => list_launches(steps, of.trips, launches),
                _ => launches.push((&step.label, step.costs)),
            }
        }
    }
}

/// How many ready steps there are up to the end of every step of a program ([`ready`]).
fn ends(steps: &[ProgramStep]) -> Vec<usize> {
    let count = |step: &ProgramStep| match &step.kernel {
        Kernel::Sums(sums) => sums.apart().len(),
        _ => 1,
    };
    let mut end = 0;
    let mut ends = Vec::with_capacity(steps.len());
    for step in steps {
        end += count(step);
        ends.push(end);
    }
    ends
}

fn count(what: &'static str, got: usize, need: usize) -> Result<(), Error> {
    if got == need { Ok(()) } else { Err(Error::Count { what, got, need }) }
}

/// Plans steps. Temporaries of different kernels share memory; `most` is the largest size needed.
fn ready(
    steps: &[ProgramStep],
    buffers: &[ProgramBuffer],
    slots: &[(BufferId, usize)],
    specs: &mut Vec<Spec>,
    offsets: &mut Vec<usize>,
    most: &mut usize,
) -> Result<Vec<ReadyStep>, Error> {
    let mut list = Vec::with_capacity(steps.len());
    for step in steps {
        let plan = match &step.kernel {
            Kernel::Fused(fused) => {
                let mut temporaries = Temporaries { specs, offsets, bytes: 0 };
                let contraction = sliced_product::plan_fused(fused, &mut temporaries, &step.label)?;
                *most = (*most).max(temporaries.bytes);
                match contraction {
                    Some(sliced) => LoadedKernel::Contraction(sliced),
                    None => LoadedKernel::Nest(Box::new(Nest::new(fused, specs, &step.label)?)),
                }
            }
            Kernel::Product(product) => {
                let mut temporaries = Temporaries { specs, offsets, bytes: 0 };
                let plan = match sliced_product::plan(product, &mut temporaries, &step.label)? {
                    Some(sliced) => LoadedKernel::Contraction(sliced),
                    None => LoadedKernel::Product(Box::new(matrix_product::MatrixPlan::new(
                        product,
                        &mut temporaries,
                        &step.label,
                    )?)),
                };
                *most = (*most).max(temporaries.bytes);
                plan
            }
            Kernel::Scatter(scatter) => {
                let signed = scatter::is_signed(specs[scatter.index.0.0 as usize].dtype);
                LoadedKernel::Scatter(scatter::ScatterPlan::new(scatter, signed))
            }
            Kernel::Sums(sums) => {
                for fused in sums.apart() {
                    let costs = Costs::of(&Kernel::Fused(fused.clone()), buffers, slots);
                    let plan = LoadedKernel::Nest(Box::new(Nest::new(&fused, specs, &step.label)?));
                    list.push(ReadyStep { label: step.label.as_str().into(), plan, costs });
                }
                continue;
            }
            Kernel::Recurrence(recurrence) => {
                LoadedKernel::Nest(Box::new(recurrence_nest::plan(recurrence, specs, &step.label)?))
            }
            Kernel::Sort(sort) => LoadedKernel::Sort(sort::SortPlan::new(sort)),
            Kernel::Custom(custom) => {
                let wide = custom.operands.iter().chain(&custom.results).map(|id| specs[id.0 as usize].dtype);
                if let Some(dtype) = wide.into_iter().find(|dtype| dtype.is_wide()) {
                    return Err(Error::Register { op: custom.op.name().into(), dtype });
                }
                LoadedKernel::Custom(custom_op::CustomPlan::new(custom))
            }
            Kernel::Loop(of) => {
                // The body of a loop without trips may name empty buffers.
                let body = if of.trips == 0 { &[][..] } else { &of.steps[..] };
                LoadedKernel::Loop {
                    of: of.clone(),
                    steps: ready(body, buffers, &of.slots, specs, offsets, most)?,
                }
            }
        };
        let costs = Costs::of(&step.kernel, buffers, slots);
        list.push(ReadyStep { label: step.label.as_str().into(), plan, costs });
    }
    Ok(list)
}
