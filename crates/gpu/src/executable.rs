//! A loaded program: pipelines, blocks, uniform and bind groups, ready to be replayed.
//!
//! Invariant: a run with memory that it has seen before creates no objects on the device. It writes the
//! parameters that changed and encodes one pass; up to eight runs share a submission.

use std::sync::{Arc, Mutex};

use farad_compile::program::Program;
use farad_runtime::Memory;
use farad_runtime::profile::{KernelTally, Phase};

use crate::buffer::{BufferPurpose, Owned};
use crate::counters::LiveCounters;
use crate::device::{GpuDevice, lock};
use crate::error::Error;
use crate::groups::{Groups, Resources};
use crate::heuristics::submissions::HELD;
use crate::memory::OnGpu;
use crate::pipeline::Pipeline;
use crate::report::ErrorReport;
use crate::routine::{LaunchStage, Routine};
use crate::schedule::{GroupSpec, RunSchedule, ScheduledLaunch};
use crate::transfer::WORD;

/// A program on a device.
pub struct GpuExecutable {
    pub(crate) device: GpuDevice,
    program: Arc<Program>,
    pipelines: Vec<Arc<Pipeline>>,
    /// The index of the pipeline of every routine.
    which: Vec<u32>,
    pub(crate) routines: Vec<Routine>,
    pub(crate) launches: Vec<ScheduledLaunch>,
    /// How many launches there are up to the end of every stage, which is a step of the program.
    ends: Vec<usize>,
    specs: Vec<GroupSpec>,
    patches: Vec<(u32, u32)>,
    blocks: Vec<Memory>,
    uniform: Option<Owned>,
    ring: Ring,
    report: Option<Arc<ErrorReport>>,
    /// The launches of one run, for profiles that only count.
    kernels: Arc<[KernelTally]>,
    state: Mutex<RunState>,
}

/// What changes from run to run.
pub(crate) struct RunState {
    groups: Groups,
    /// The part of the uniform that holds parameters, as last uploaded.
    words: Vec<u32>,
    parameters: Vec<u32>,
    /// Which copy of the varying part the next run reads.
    slot: u32,
}

/// Copies of the varying part of the uniform, so that runs of one submission can differ.
#[derive(Clone, Copy)]
struct Ring {
    /// Bytes of the uniform itself.
    whole: u32,
    /// Bytes that hold parameters, at its start.
    varying: u32,
}

/// One more than the number of runs that can wait, because each writes at most one copy.
const SLOTS: u32 = HELD as u32 + 1;

impl Ring {
    /// The offset of a byte of the uniform in a slot.
    fn place(self, offset: u32, slot: u32) -> u32 {
        if slot == 0 || offset >= self.varying {
            offset
        } else {
            self.whole + (slot - 1) * self.varying + offset
        }
    }

    fn bytes(self) -> usize {
        (self.whole + (SLOTS - 1) * self.varying) as usize
    }
}

impl GpuExecutable {
    /// Loads stages whose kernels are already rendered; `program` describes their buffers.
    pub fn from_dispatches(
        device: &GpuDevice,
        program: Arc<Program>,
        stages: Vec<LaunchStage>,
    ) -> Result<GpuExecutable, Error> {
        device.check()?;
        let limits = &device.shared.limits;
        let alignment = (limits.min_uniform_buffer_offset_alignment as usize).max(4 * WORD);
        let binding_limit = device.info().limits.binding_bytes as usize;
        let schedule = RunSchedule::new(&program, &stages, binding_limit, alignment)?;
        let routines: Vec<Routine> = stages.into_iter().flat_map(LaunchStage::into_body).collect();
        let compiled = device.pipelines(&routines.iter().collect::<Vec<_>>())?;
        let (pipelines, which) = unique(compiled);
        let blocks = program.blocks.iter().map(|&bytes| device.allocate_block(bytes));
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        let bytes = |words: usize| (words * WORD).next_multiple_of(alignment) as u32;
        let varying = if schedule.patches.is_empty() { 0 } else { bytes(schedule.varying_words) };
        let ring = Ring { whole: bytes(schedule.words.len()), varying };
        let uniform = upload_uniform(device, &schedule.words, ring)?;
        let report = new_report(device, &program, &routines)?;
        let resources = Resources {
            inputs: &[],
            outputs: &[],
            blocks: &blocks,
            uniform: uniform.as_deref(),
            errors: report.as_ref().map(|report| &*report.words),
        };
        let groups = Groups::new(device, &schedule.groups, &resources, storage_alignment(device))?;
        device.check()?;
        let routine = |launch: &ScheduledLaunch| &routines[launch.routine as usize];
        let launches = schedule.launches.iter().map(|launch| (&routine(launch).label, routine(launch).costs));
        let kernels = KernelTally::by_label(launches);
        let parameters = vec![0; program.parameters.len()];
        let words = schedule.words[..schedule.varying_words].to_vec();
        Ok(GpuExecutable {
            device: device.clone(),
            program,
            pipelines,
            which,
            routines,
            launches: schedule.launches,
            ends: schedule.ends,
            specs: schedule.groups,
            patches: schedule.patches,
            blocks,
            uniform,
            ring,
            report,
            kernels,
            state: Mutex::new(RunState { groups, words, parameters, slot: 0 }),
        })
    }

    /// Dispatches of one run.
    pub fn dispatches(&self) -> usize {
        self.launches.len()
    }

    /// Bytes of the blocks that the program keeps between runs.
    pub fn block_bytes(&self) -> usize {
        self.blocks.iter().map(Memory::bytes).sum()
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Runs the program; returns when the work is submitted. `inputs` are memories with byte offsets,
    /// `parameters` are register bits, and `outputs` has one memory per output of the program. The memory of an
    /// output with a donor is ignored, because that input is updated in place.
    pub fn run(
        &self,
        inputs: &[(&Memory, usize)],
        parameters: &[u32],
        outputs: &[&Memory],
    ) -> Result<(), Error> {
        self.run_in_parts(inputs, parameters, outputs, &[], &mut |_| {})
    }

    /// The same in parts: `reached` is called with `n` when the first `cuts[n]` steps of the program are encoded, and before
    /// the next ones are.
    pub fn run_in_parts(
        &self,
        inputs: &[(&Memory, usize)],
        parameters: &[u32],
        outputs: &[&Memory],
        cuts: &[usize],
        reached: &mut dyn FnMut(usize),
    ) -> Result<(), Error> {
        let _phase = self.device.profiler().enter(Phase::Encoding);
        self.device.check()?;
        self.check_arguments(inputs, parameters, outputs)?;
        LiveCounters::add(&self.device.shared.tally.runs, 1);
        let mut state = lock(&self.state);
        let resources = Resources {
            inputs,
            outputs,
            blocks: &self.blocks,
            uniform: self.uniform.as_deref(),
            errors: self.report.as_ref().map(|report| &*report.words),
        };
        state.groups.select(&self.device, &self.specs, &resources, storage_alignment(&self.device))?;
        self.upload(&mut state, parameters);
        if self.launches.is_empty() {
            (0..cuts.len()).for_each(reached);
            return self.device.check();
        }
        let result = self.submit(&state, cuts, reached).and_then(|()| self.device.check());
        if result.is_err() {
            state.groups.forget();
            state.parameters.clear();
        }
        result
    }

    /// Encodes everything and submits once; the state stays locked, so that no other run of this program
    /// overwrites the uniform.
    fn submit(&self, state: &RunState, cuts: &[usize], reached: &mut dyn FnMut(usize)) -> Result<(), Error> {
        if let Some(report) = &self.report {
            lock(&self.device.shared.reports).ran(report);
        }
        LiveCounters::add(&self.device.shared.tally.dispatches, self.launches.len());
        let profiler = self.device.profiler();
        if profiler.times_launches() {
            self.run_profiled(state)?;
            (0..cuts.len()).for_each(reached);
            return Ok(());
        }
        if profiler.is_open() {
            profiler.ran(&self.kernels);
        }
        let Some(timed) = self.device.next_timed_pass() else {
            self.append_parts(state, cuts, reached);
            return Ok(());
        };
        let mut encoder = self.device.shared.encoder();
        let timestamp_writes = Some(timed.writes());
        let mut pass =
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
        self.encode(&mut pass, state, &self.launches);
        drop(pass);
        timed.resolve(&mut encoder);
        self.device.submit(encoder.finish());
        self.device.shared.poll(wgpu::PollType::Poll);
        (0..cuts.len()).for_each(reached);
        Ok(())
    }

    /// Appends the launches up to each cut and after the last one.
    fn append_parts(&self, state: &RunState, cuts: &[usize], reached: &mut dyn FnMut(usize)) {
        let mut done = 0;
        let mut append = |end: usize| {
            let part = &self.launches[done..end];
            if !part.is_empty() {
                self.device.append_run(part.len(), |pass| self.encode(pass, state, part));
            }
            done = end;
        };
        for (n, &cut) in cuts.iter().enumerate() {
            append(cut.checked_sub(1).map_or(0, |last| self.ends[last]));
            reached(n);
            // A read has looked at the reports of the launches so far; those to come are looked at by the next one.
            if let Some(report) = &self.report {
                lock(&self.device.shared.reports).ran(report);
            }
        }
        append(self.launches.len());
    }

    pub(crate) fn encode(
        &self,
        pass: &mut wgpu::ComputePass,
        state: &RunState,
        launches: &[ScheduledLaunch],
    ) {
        let (mut pipeline, mut bound) = (u32::MAX, (u32::MAX, u32::MAX));
        for launch in launches {
            let wanted = self.which[launch.routine as usize];
            if wanted != pipeline {
                pass.set_pipeline(&self.pipelines[wanted as usize].raw);
                pipeline = wanted;
            }
            if (launch.group, launch.offset) != bound {
                let place = [self.ring.place(launch.offset, state.slot)];
                let offsets: &[u32] = if launch.offset == u32::MAX { &[] } else { &place };
                pass.set_bind_group(0, state.groups.current[launch.group as usize].as_ref(), offsets);
                bound = (launch.group, launch.offset);
            }
            let [x, y, z] = launch.workgroups;
            pass.dispatch_workgroups(x, y, z);
        }
    }

    /// Uploads the parameters that changed.
    fn upload(&self, state: &mut RunState, parameters: &[u32]) {
        if state.parameters == parameters {
            return;
        }
        let mut changed = false;
        for &(word, parameter) in &self.patches {
            let (held, value) = (&mut state.words[word as usize], parameters[parameter as usize]);
            changed |= *held != value;
            *held = value;
        }
        // After a failed run, the device's copy is unknown.
        changed |= state.parameters.len() != parameters.len();
        state.parameters.clear();
        state.parameters.extend_from_slice(parameters);
        if let (true, Some(uniform)) = (changed && !self.patches.is_empty(), &self.uniform) {
            // The write takes effect before the whole next submission, and runs that wait for it read other
            // slots.
            state.slot = (state.slot + 1) % SLOTS;
            let bytes: &[u8] = bytemuck::cast_slice(&state.words);
            let at = self.ring.place(0, state.slot) as u64;
            let _phase = self.device.profiler().enter(Phase::Uploading);
            self.device.profiler().moved(Phase::Uploading, bytes.len());
            self.device.shared.queue.write_buffer(uniform, at, bytes);
            self.device.shared.tally.uploaded(bytes.len());
        }
    }

    fn check_arguments(
        &self,
        inputs: &[(&Memory, usize)],
        parameters: &[u32],
        outputs: &[&Memory],
    ) -> Result<(), Error> {
        let program = &self.program;
        let counts = [
            ("inputs", inputs.len(), program.inputs.len()),
            ("parameters", parameters.len(), program.parameters.len()),
            ("outputs", outputs.len(), program.outputs.len()),
        ];
        if let Some((what, got, wanted)) = counts.into_iter().find(|(_, got, wanted)| got != wanted) {
            return Err(Error::Arguments { what, got, wanted });
        }
        let mut memories = inputs.iter().map(|(memory, _)| memory).chain(outputs);
        memories.try_for_each(|memory| memory.check_home("run", &self.device))
    }
}

/// The alignment of binding offsets in bytes.
fn storage_alignment(device: &GpuDevice) -> usize {
    device.shared.limits.min_storage_buffer_offset_alignment as usize
}

/// Each distinct pipeline once, and the index for every routine.
fn unique(all: Vec<Arc<Pipeline>>) -> (Vec<Arc<Pipeline>>, Vec<u32>) {
    let mut pipelines: Vec<Arc<Pipeline>> = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    let mut which = Vec::with_capacity(all.len());
    for pipeline in all {
        let number = *numbers.entry(Arc::as_ptr(&pipeline)).or_insert(pipelines.len() as u32);
        if number as usize == pipelines.len() {
            pipelines.push(pipeline);
        }
        which.push(number);
    }
    (pipelines, which)
}

fn upload_uniform(device: &GpuDevice, words: &[u32], ring: Ring) -> Result<Option<Owned>, Error> {
    if words.is_empty() {
        return Ok(None);
    }
    let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let buffer = device.shared.create_buffer(ring.bytes(), usage, BufferPurpose::Parameter)?;
    let _phase = device.profiler().enter(Phase::Uploading);
    device.profiler().moved(Phase::Uploading, bytes.len());
    device.shared.queue.write_buffer(&buffer, 0, bytes);
    device.shared.tally.uploaded(bytes.len());
    Ok(Some(buffer))
}

fn new_report(
    device: &GpuDevice,
    program: &Arc<Program>,
    routines: &[Routine],
) -> Result<Option<Arc<ErrorReport>>, Error> {
    if !routines.iter().any(|routine| routine.reports) {
        return Ok(None);
    }
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let words =
        device.shared.create_buffer(ErrorReport::bytes_for(program), usage, BufferPurpose::Parameter)?;
    Ok(Some(ErrorReport::new(words, program.clone())))
}
