//! From a program to launch stages: renders kernels and prepares custom ops.
//!
//! The WGSL of a custom op knows no offsets. So inside a loop, its slices are bound at their start. A slice
//! that does not start at a valid binding offset is copied to separate memory and back.

use std::sync::Arc;

use farad_compile::costs::Costs;
use farad_compile::program::{BufferId, Custom, Kernel, Place, Program, ProgramBuffer, ProgramStep};
use farad_ir::CustomKernel;
use rayon::prelude::*;

use crate::adapter::AdapterKind;
use crate::device::GpuDevice;
use crate::dispatch::{Capabilities, Dispatch, StorageBinding, Word};
use crate::error::Error;
use crate::executable::GpuExecutable;
use crate::group_loop::{self, GroupLoop};
use crate::heuristics::group_loops::{MOST_KERNELS_SOFTWARE, MOST_WORK};
use crate::render::group_loop::FIRST_TRIP;
use crate::render::{render, render_group_loop};
use crate::routine::{LaunchStage, Routine};
use crate::transfer::WORD;
use farad_runtime::Tuning;

const SLICE: &str = include_str!("slice.wgsl");

/// Invocations per workgroup of [`SLICE`].
const SLICE_WIDTH: usize = 64;

impl GpuDevice {
    /// Prepares a program: renders its kernels and compiles those not seen before, both in parallel,
    /// and allocates its blocks.
    pub fn load(&self, program: Arc<Program>) -> Result<GpuExecutable, Error> {
        self.load_tuned(program, &self.tuning())
    }

    /// As [`GpuDevice::load`], with a table of tiles other than the device's.
    pub(crate) fn load_tuned(&self, program: Arc<Program>, tuning: &Tuning) -> Result<GpuExecutable, Error> {
        let started = std::time::Instant::now();
        let (program, grouped) = self.group_loops(program);
        let mut rendered =
            self.render_all(&program, &grouped, tuning).into_iter().map(|(_, dispatches)| dispatches);
        let mut loader = Loader { device: self, program: program.clone(), rendered: &mut rendered };
        let stages =
            program.steps.iter().zip(&grouped).map(|(step, plan)| loader.stage(step, plan.is_some()));
        let stages = stages.collect::<Result<Vec<_>, _>>()?;
        let executable = GpuExecutable::from_dispatches(self, loader.program, stages)?;
        tracing::debug!(
            dispatches = executable.dispatches(),
            block_bytes = executable.block_bytes(),
            milliseconds = started.elapsed().as_secs_f64() * 1e3,
            "program loaded"
        );
        Ok(executable)
    }
}

impl GpuDevice {
    /// The WGSL of every kernel of a program, with its label, for people to read.
    pub fn shaders(&self, program: &Program) -> Vec<(String, Arc<str>)> {
        let (program, grouped) = self.group_loops(Arc::new(program.clone()));
        let all = self.render_all(&program, &grouped, &self.tuning()).into_iter();
        let texts = all.flat_map(|(step, dispatches)| {
            dispatches.into_iter().map(|dispatch| (step.label.clone(), dispatch.wgsl))
        });
        texts.collect()
    }

    /// Every step, including those of loops, with its launches; custom ops have none yet.
    fn render_all<'a>(
        &self,
        program: &'a Program,
        grouped: &'a [Option<GroupLoop>],
        tuning: &Tuning,
    ) -> Vec<(&'a ProgramStep, Vec<Dispatch>)> {
        let capabilities = self.capabilities();
        let mut parts: Vec<(&ProgramStep, Option<&GroupLoop>, &[(BufferId, usize)])> = Vec::new();
        for (step, plan) in program.steps.iter().zip(grouped) {
            match &step.kernel {
                Kernel::Loop(l) if plan.is_none() => {
                    parts.extend(l.steps.iter().map(|step| (step, None, l.slots.as_slice())));
                }
                _ => parts.push((step, plan.as_ref(), &[])),
            }
        }
        let write = |(step, plan, slots): (&'a ProgramStep, Option<&GroupLoop>, &[(BufferId, usize)])| match (
            plan,
            &step.kernel,
        ) {
            (Some(plan), _) => (step, grouped_dispatches(step, plan, program, &capabilities)),
            (_, Kernel::Custom(_)) => (step, vec![]),
            (_, kernel) => (step, render(kernel, program, slots, &capabilities, tuning)),
        };
        parts.into_par_iter().map(write).collect()
    }

    /// Which loops are one launch, and the program with the memory that they need.
    fn group_loops(&self, program: Arc<Program>) -> (Arc<Program>, Vec<Option<GroupLoop>>) {
        if !program.steps.iter().any(|step| matches!(step.kernel, Kernel::Loop(_))) {
            let none = program.steps.iter().map(|_| None).collect();
            return (program, none);
        }
        let (capabilities, bindings) = (self.capabilities(), self.target().bindings);
        let software = self.info().kind == AdapterKind::Software;
        let most = if software { MOST_KERNELS_SOFTWARE } else { usize::MAX };
        let mut extended = (*program).clone();
        let plan = |step: &ProgramStep| match &step.kernel {
            Kernel::Loop(body) if body.steps.len() <= most => {
                group_loop::plan(&mut extended, body, &capabilities, bindings)
            }
            _ => None,
        };
        let grouped: Vec<Option<GroupLoop>> = program.steps.iter().map(plan).collect();
        for plan in grouped.iter().flatten() {
            let waits = plan.body.iter().filter(|phase| phase.waits).count();
            tracing::debug!(
                kernels = plan.body.len(),
                waits,
                places = plan.places,
                group = plan.group,
                threads = plan.threads,
                constants = plan.constants.len(),
                "a loop is one launch"
            );
        }
        (Arc::new(extended), grouped)
    }
}

struct Loader<'a> {
    device: &'a GpuDevice,
    /// Extended with memory for copied slices; cloned only if needed.
    program: Arc<Program>,
    /// The launches of every step, in order.
    rendered: &'a mut dyn Iterator<Item = Vec<Dispatch>>,
}

impl Loader<'_> {
    fn stage(&mut self, step: &ProgramStep, is_grouped: bool) -> Result<LaunchStage, Error> {
        let Kernel::Loop(l) = &step.kernel else { return Ok(LaunchStage::Once(self.routines(step, &[])?)) };
        if is_grouped {
            return Ok(LaunchStage::Once(self.routines(step, &[])?));
        }
        let mut body = Vec::new();
        for step in &l.steps {
            body.extend(self.routines(step, &l.slots)?);
        }
        Ok(LaunchStage::Loop {
            trips: l.trips,
            reverse: l.reverse,
            slots: l.slots.clone(),
            swaps: l.swaps.clone(),
            body,
        })
    }

    fn routines(&mut self, step: &ProgramStep, slots: &[(BufferId, usize)]) -> Result<Vec<Routine>, Error> {
        let dispatches = self.rendered.next().expect("every step was rendered");
        if let Kernel::Custom(custom) = &step.kernel {
            return self.custom(&step.label, custom, slots);
        }
        Ok(dispatches.into_iter().map(|dispatch| Routine::new(&step.label, dispatch)).collect())
    }

    fn custom(
        &mut self,
        label: &str,
        custom: &Custom,
        slots: &[(BufferId, usize)],
    ) -> Result<Vec<Routine>, Error> {
        let mut custom = custom.clone();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for operand in &mut custom.operands {
            if let Some((slice, words)) = self.copied_slice(label, *operand, slots)? {
                before.push(self.copy(label, (*operand, true), (slice, false), words));
                *operand = slice;
            }
        }
        for result in &mut custom.results {
            if let Some((slice, words)) = self.copied_slice(label, *result, slots)? {
                after.push(self.copy(label, (slice, false), (*result, true), words));
                *result = slice;
            }
        }
        let limits = self.device.custom_limits();
        let mut kernels = custom.op.wgsl(&custom.shapes, &limits);
        share_costs(custom.op.costs(&custom.shapes), &mut kernels);
        let kernels = kernels.into_iter();
        let buffers = &self.program.buffers;
        before.extend(kernels.map(|kernel| Routine::custom(label, kernel, &custom, buffers, slots)));
        before.extend(after);
        Ok(before)
    }

    /// Memory for a slice of a buffer that cannot be bound at its start, and its size in words.
    fn copied_slice(
        &mut self,
        label: &str,
        id: BufferId,
        slots: &[(BufferId, usize)],
    ) -> Result<Option<(BufferId, usize)>, Error> {
        let Some(&(_, stride)) = slots.iter().find(|(buffer, _)| *buffer == id) else { return Ok(None) };
        let dtype = self.program.buffers[id.0 as usize].dtype;
        let bytes = stride * dtype.size();
        let alignment = self.device.shared.limits.min_storage_buffer_offset_alignment as usize;
        if bytes.is_multiple_of(alignment) {
            return Ok(None);
        }
        if !bytes.is_multiple_of(WORD) {
            return Err(Error::Slice { label: label.to_string(), dtype: dtype.name(), bytes });
        }
        let slice = BufferId(self.program.buffers.len() as u32);
        let place = Place::Block(self.program.blocks.len());
        let program = Arc::make_mut(&mut self.program);
        program.blocks.push(bytes);
        program.buffers.push(ProgramBuffer { place, offset: 0, dtype, len: stride });
        Ok(Some((slice, bytes / WORD)))
    }

    /// A copy between a buffer that is in a slot and one that is not.
    fn copy(&self, label: &str, from: (BufferId, bool), to: (BufferId, bool), words: usize) -> Routine {
        let start = |(id, slotted): (BufferId, bool)| if slotted { Word::Slot(id) } else { Word::Fixed(0) };
        let width = self.program.buffers[from.0.0 as usize].dtype.size();
        let ends = [(from.0, start(from)), (to.0, start(to))];
        Routine::new(label, copied(ends, words, width, &self.device.capabilities()))
    }
}

/// Copies words from one buffer to another; both start at an element.
fn copied(ends: [(BufferId, Word); 2], words: usize, width: usize, capabilities: &Capabilities) -> Dispatch {
    let groups = words.div_ceil(SLICE_WIDTH);
    let x = groups.min(capabilities.workgroups as usize).max(1);
    let [(from, first), (to, second)] = ends;
    Dispatch {
        wgsl: SLICE.into(),
        entry: "main",
        bindings: vec![
            StorageBinding { buffer: from, write: false },
            StorageBinding { buffer: to, write: true },
        ],
        parameters: vec![Word::Fixed(words as u32), first, second, Word::Fixed(width as u32)],
        reports: false,
        workgroups: [x as u32, groups.div_ceil(x) as u32, 1],
        costs: Costs { bytes: 2 * (words * WORD) as u64, ..Costs::default() },
    }
}

/// The launches of a loop whose trips are in the kernel: copies of what it only reads, then as many launches as keep each
/// short.
fn grouped_dispatches(
    step: &ProgramStep,
    plan: &GroupLoop,
    program: &Program,
    capabilities: &Capabilities,
) -> Vec<Dispatch> {
    let copy = |&(from, to, at): &(BufferId, BufferId, usize)| {
        let words = program.buffers[from.0 as usize].len;
        copied([(from, Word::Fixed(0)), (to, Word::Fixed(at as u32))], words, WORD, capabilities)
    };
    let mut all: Vec<Dispatch> = plan.constants.iter().map(copy).collect();
    let whole = render_group_loop(plan, program, capabilities);
    let costs = Costs::of(&step.kernel, &program.buffers, &[]);
    let most = (MOST_WORK / plan.work_of_a_trip().max(1)).max(1) as usize;
    let mut first = 0;
    while first < plan.trips {
        let count = most.min(plan.trips - first);
        let mut part = whole.clone();
        part.parameters[FIRST_TRIP] = Word::Fixed(first as u32);
        part.parameters[FIRST_TRIP + 1] = Word::Fixed(count as u32);
        part.costs = if first == 0 { costs } else { Costs::default() };
        all.push(part);
        first += count;
    }
    all
}

/// If only the op states its costs, its launches share them equally.
fn share_costs(whole: Option<(u64, u64)>, kernels: &mut [CustomKernel]) {
    let Some((bytes, flops)) = whole.filter(|_| kernels.iter().all(|kernel| kernel.costs.is_none())) else {
        return;
    };
    let count = kernels.len() as u64;
    for (n, kernel) in kernels.iter_mut().enumerate() {
        let part = |whole: u64| whole / count + if n == 0 { whole % count } else { 0 };
        kernel.costs = Some((part(bytes), part(flops)));
    }
}
