//! Compiled programs by structure: a known graph replays, a new one is compiled.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use farad_compile::PassResult;
use farad_compile::program::{Program, Target};
use farad_ir::{Graph, NodeId};
use farad_runtime::profile::Phase;
use farad_runtime::{Executable, Memory};

use crate::device::Device;
use crate::environment::ENVIRONMENT;
use crate::error::{Error, Result};
use crate::live::{Maker, PieceOrigin};
use crate::numbers::Numbers;
use crate::profile::{ProfileMode, ProfileOptions, kernel_table};
use crate::recording::Recording;

/// Most plans that a device keeps; the least recently used goes first.
const MOST_PLANS: usize = 256;

/// Replays in which debug builds write a program again, to compare it with the one that is replayed.
const BUILT_AGAIN: usize = 4;

/// What is compiled: a graph, what of it is wanted, and which inputs may be overwritten.
pub struct Request {
    pub graph: Graph,
    pub outputs: Vec<NodeId>,
    /// `(output, input)` pairs.
    pub donations: Vec<(usize, usize)>,
}

/// A compiled program, loaded.
pub struct Plan {
    executable: Box<dyn Executable>,
    pub program: Arc<Program>,
    /// What each output is, for errors.
    results: Arc<[Maker]>,
    /// Which input every result replaces: `(output, input)` pairs.
    donations: Vec<(usize, usize)>,
    /// What the key stood for; compared in debug builds.
    structure: Option<Structure>,
    replays: AtomicUsize,
    /// A program's blocks serve one run at a time.
    running: Mutex<()>,
}

/// What a plan was compiled from.
struct Structure {
    recorded: Graph,
    built: Graph,
    outputs: Vec<NodeId>,
}

impl Plan {
    /// The input that a result replaces.
    pub fn replaced(&self, output: usize) -> Option<usize> {
        self.donations.iter().find(|(o, _)| *o == output).map(|(_, input)| *input)
    }

    /// Whether a run writes to this input.
    pub fn takes_over(&self, input: usize) -> bool {
        self.program.outputs.iter().any(|output| output.donor == Some(input))
    }

    /// Fails if the plan was compiled from something else. What is recorded is compared in every replay, what is built
    /// from it in the first few and then ever more rarely.
    fn compare(&self, key: u128, recorded: &Graph, build: impl FnOnce() -> Result<Request>) -> Result<()> {
        let Some(structure) = &self.structure else { return Ok(()) };
        let same = structure.recorded == *recorded;
        assert!(same, "plan key: two structures have the hash {key:032x}");
        let replays = self.replays.fetch_add(1, Ordering::Relaxed);
        if replays < BUILT_AGAIN || replays.is_power_of_two() {
            let Request { graph, outputs, donations } = build()?;
            let same =
                graph == structure.built && outputs == structure.outputs && donations == self.donations;
            assert!(
                same,
                "plan key: two programs have the hash {key:032x}: what decides them is not all hashed"
            );
        }
        Ok(())
    }
}

/// Who asks for the memory of a result.
fn maker(graph: &Graph, id: NodeId) -> Maker {
    let node = graph.node(id);
    Maker { op: node.op.name().into(), shape: node.shape, dtype: node.dtype, location: node.location }
}

/// If memory was short, the error with the first op that needed it.
fn lacking(askers: &[Maker], what: &'static str, error: Error) -> Error {
    match askers.first() {
        Some(asker) if error.is_out_of_memory() => {
            let Maker { op, shape, dtype, location } = asker.clone();
            Error::NoMemory { op: op.into(), what, shape, dtype, location, source: Box::new(error) }
        }
        _ => error,
    }
}

/// The plans of a device.
#[derive(Default)]
pub struct PlanCache {
    plans: HashMap<u128, (u64, Arc<Plan>)>,
    clock: u64,
    numbers: Numbers,
}

impl PlanCache {
    fn get(&mut self, key: u128) -> Option<Arc<Plan>> {
        self.clock += 1;
        let (used, plan) = self.plans.get_mut(&key)?;
        *used = self.clock;
        Some(plan.clone())
    }

    /// The programs of all plans.
    pub fn programs(&self) -> Vec<Arc<Program>> {
        self.plans.values().map(|(_, plan)| plan.program.clone()).collect()
    }

    /// Forgets all plans.
    pub fn clear(&mut self) {
        self.plans.clear();
        self.numbers.clear();
    }

    /// Forgets the plans that nobody runs; whether there were any.
    fn forget_idle(&mut self) -> bool {
        let before = self.plans.len();
        self.plans.retain(|_, (_, plan)| Arc::strong_count(plan) > 1);
        self.plans.len() < before
    }

    fn insert(&mut self, key: u128, plan: Arc<Plan>) {
        if self.plans.len() >= MOST_PLANS {
            let oldest = self.plans.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| *key);
            oldest.map(|key| self.plans.remove(&key));
        }
        self.plans.insert(key, (self.clock, plan));
    }
}

impl Device {
    /// The key of a recording's program, by `key` of its graph. Numbers that have changed since the program first came
    /// become numbers that are given with the run.
    pub(crate) fn key(&self, recording: &mut Recording, key: impl Fn(&Graph) -> u128) -> u128 {
        let _phase = self.profiler().enter(Phase::Lookup);
        let exact = key(&recording.graph);
        let mut cache = self.0.plans.lock().expect("no panic with the cache held");
        // The search for values that are not finite looks at given numbers too, and these were not given.
        if cache.plans.contains_key(&exact) || self.finds_not_finite() {
            return exact;
        }
        if cache.numbers.give(recording, &key) { key(&recording.graph) } else { exact }
    }

    /// The plan for a recorded graph, compiled by what `build` makes of it if there is none yet.
    pub(crate) fn plan(
        &self,
        key: u128,
        recorded: &Graph,
        build: impl FnOnce() -> Result<Request>,
    ) -> Result<Arc<Plan>> {
        let lookup = self.profiler().enter(Phase::Lookup);
        let known = self.0.plans.lock().expect("no panic with the cache held").get(key);
        if let Some(plan) = known {
            plan.compare(key, recorded, build)?;
            self.0.replayed.fetch_add(1, Ordering::Relaxed);
            return Ok(plan);
        }
        drop(lookup);
        let _phase = self.profiler().enter(Phase::Compiling);
        let mut plan = self.compile(build()?, &self.0.target)?;
        if let Some(structure) = &mut plan.structure {
            structure.recorded = recorded.clone();
        }
        let plan = Arc::new(plan);
        self.0.compiled.fetch_add(1, Ordering::Relaxed);
        self.0.plans.lock().expect("no panic with the cache held").insert(key, plan.clone());
        Ok(plan)
    }

    /// Compiles and loads a program.
    pub(crate) fn compile(&self, request: Request, target: &Target) -> Result<Plan> {
        let Request { graph, outputs, donations } = request;
        let mut show = |result: &PassResult| {
            if ENVIRONMENT.passes {
                tracing::info!(target: "farad::passes", "{result}");
            }
        };
        let program = farad_compile::compile_watched(&graph, &outputs, &donations, target, &mut show);
        let program = Arc::new(program);
        self.show(&program);
        let results: Arc<[Maker]> = outputs.iter().map(|&id| maker(&graph, id)).collect();
        let executable = self
            .with_room(|| self.0.backend.load(program.clone()))
            .map_err(|e| lacking(&results, "work space", e))?;
        let structure =
            cfg!(debug_assertions).then(|| Structure { recorded: Graph::new(), built: graph, outputs });
        let (replays, running) = (AtomicUsize::new(0), Mutex::new(()));
        Ok(Plan { executable, program, results, donations, structure, replays, running })
    }

    /// Does what takes memory; if there is too little, once more without the plans that nobody runs,
    /// whose blocks are memory too.
    pub(crate) fn with_room<T, E: Into<Error>>(
        &self,
        take: impl Fn() -> std::result::Result<T, E>,
    ) -> Result<T> {
        match take().map_err(E::into) {
            Err(error) if error.is_out_of_memory() => {
                let freed = self.0.plans.lock().expect("no panic with the cache held").forget_idle();
                tracing::debug!(freed, "out of memory: idle plans forgotten");
                if freed { take().map_err(E::into) } else { Err(error) }
            }
            result => result,
        }
    }

    fn show(&self, program: &Program) {
        if ENVIRONMENT.plan {
            tracing::info!(target: "farad::plan", "\n{program}");
        }
        if ENVIRONMENT.wgsl {
            for (label, wgsl) in self.0.backend.shaders(program) {
                tracing::info!(target: "farad::wgsl", "\n// {label}\n{wgsl}");
            }
        }
    }

    /// Runs a plan: outputs that take an input's memory over get it, the others get new memory.
    pub(crate) fn run(&self, plan: &Plan, inputs: &[Memory], words: &[u32]) -> Result<Vec<Memory>> {
        self.run_in_parts(plan, inputs, words, &[], &mut |_, _| {})
    }

    /// The same in parts: `written` gets each of the `watched` outputs and its memory, in order, as soon as what writes it is
    /// requested. A read of it from there does not wait for the rest of the program.
    pub(crate) fn run_in_parts(
        &self,
        plan: &Plan,
        inputs: &[Memory],
        words: &[u32],
        watched: &[usize],
        written: &mut dyn FnMut(usize, &Memory),
    ) -> Result<Vec<Memory>> {
        let mut outputs = Vec::with_capacity(plan.program.outputs.len());
        for (n, output) in plan.program.outputs.iter().enumerate() {
            let bytes = (output.spec.len * output.spec.dtype.size()).max(4);
            if let Some(input) = output.donor {
                outputs.push(inputs[input].clone());
                continue;
            }
            let memory = self
                .allocate(bytes)
                .map_err(|e| lacking(plan.results.get(n..).unwrap_or_default(), "result", e))?;
            if n < plan.results.len() {
                self.hold(&memory, PieceOrigin(plan.results.clone(), n));
            }
            outputs.push(memory);
        }
        // Inputs that the program does not use were dropped from its end.
        let inputs = &inputs[..plan.program.inputs.len()];
        let words = &words[..plan.program.parameters.len()];
        let _one_at_a_time = plan.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let options = ProfileOptions { mode: ProfileMode::Kernels, peaks: false };
        let profile = ENVIRONMENT.time.then(|| self.open_profile(options));
        let ran = match watched {
            [] => plan.executable.run(inputs, words, &outputs),
            _ => {
                let mut reached = |n: usize| written(watched[n], &outputs[watched[n]]);
                let cuts = plan.program.cuts(watched);
                plan.executable.run_in_parts(inputs, words, &outputs, &cuts, &mut reached)
            }
        };
        ran.map_err(|error| lacking(&plan.results, "work space", error.into()))?;
        if let Some(profile) = profile {
            let table = kernel_table(&profile.finish().kernels, None);
            tracing::info!(target: "farad::time", "\n{table}");
        }
        Ok(outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad_ir::{DType, Scalar, Shape};

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "plan key: two structures have the hash 00000000000000000000000000000007")]
    fn debug_builds_compare_structures() {
        let device = Device::cpu_with(Default::default());
        let request = |value: f32| {
            let mut graph = Graph::new();
            let x = graph.input(0, Shape::new(&[2]), DType::F32);
            let constant = graph.fill(Scalar::f32(value), Shape::new(&[2]));
            let sum = graph.add(x, constant);
            Request { graph, outputs: vec![sum], donations: vec![] }
        };
        for value in [1.0, 1.0, 2.0] {
            let graph = request(value).graph;
            device.plan(7, &graph, || Ok(request(value))).unwrap();
        }
    }
    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "plan key: two programs have the hash 00000000000000000000000000000008")]
    fn debug_builds_compare_programs() {
        let device = Device::cpu_with(Default::default());
        let mut recorded = Graph::new();
        let x = recorded.input(0, Shape::new(&[2]), DType::F32);
        for factor in [1.0, 1.0, 2.0] {
            let mut graph = recorded.clone();
            let outputs = vec![graph.scale(x, factor)];
            device.plan(8, &recorded, || Ok(Request { graph, outputs, donations: vec![] })).unwrap();
        }
    }
}
