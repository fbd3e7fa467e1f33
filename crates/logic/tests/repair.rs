//! Repair: a device counts the same as the CPU, and leads a search to the same circuit.

mod devices;

use farad::devices::AdapterKind;
use farad::prelude::*;
use farad_circuit::repair::{
    CandidateScore, Circuits, EarlyStop, Evaluator, Job, Processor, RepairTask, Repaired, SearchOptions,
    StartingGrid, repair_with,
};
use farad_circuit::{Automaton, Edge, Grid, Netlist};
use farad_logic::repair::{DeviceEvaluator, device_after};

const CHAINS: usize = 4;
const BLOCK: usize = 3;

/// Evaluates on the device and on the CPU, and fails where they differ.
struct Both {
    device: DeviceEvaluator,
    processor: Processor,
    name: String,
}

impl Evaluator for Both {
    fn chains(&self) -> usize {
        CHAINS
    }

    fn block(&self) -> usize {
        BLOCK
    }

    fn score(&mut self, jobs: &[Job]) -> Vec<Vec<CandidateScore>> {
        let all: Vec<Job> = jobs.iter().map(|job| Job { stop: EarlyStop::Never, ..*job }).collect();
        let (found, wanted) = (self.device.score(&all), self.processor.score(&all));
        assert_eq!(found, wanted, "on {}", self.name);
        found
    }
}

fn automaton(seed: u64, channels: usize, edge: Edge, fire_rate: f32) -> Automaton {
    let cell = Netlist::random(seed, 9 * channels, 20 * channels, channels);
    Automaton { cell, channels, visible: vec![0, channels - 1], edge, fire_rate }
}

/// What an automaton shows when it grows from its center, except for some bits.
fn grown(automaton: &Automaton, (width, height): (usize, usize), steps: usize) -> RepairTask {
    let mut grid = Grid::new(automaton, width, height).unwrap();
    (0..automaton.channels).for_each(|channel| grid.set(channel, width / 2, height / 2, true));
    grid.steps(steps);
    let mut wanted = grid.pictures();
    wanted.iter_mut().step_by(31).for_each(|bit| *bit ^= true);
    let origin = StartingGrid::Center;
    RepairTask { width, height, steps, edge: automaton.edge, fire_rate: 1.0, origin, wanted, others: vec![] }
}

fn noise(automaton: &Automaton, (width, height): (usize, usize), steps: usize) -> RepairTask {
    RepairTask {
        width,
        height,
        steps,
        edge: automaton.edge,
        fire_rate: automaton.fire_rate,
        origin: StartingGrid::Random,
        wanted: (0..2 * width * height).map(|n| n % 3 == 0).collect(),
        others: vec![],
    }
}

fn search(
    automaton: &Automaton,
    task: &RepairTask,
    candidates: u64,
    evaluator: Box<dyn Evaluator>,
) -> Repaired {
    let circuits = Circuits { learned: automaton, proposals: &[], simplified: None };
    repair_with(
        &circuits,
        task,
        &SearchOptions { candidates, time: None, seed: 3, ..SearchOptions::default() },
        evaluator,
    )
    .unwrap()
}

fn check(device: &Device, automaton: &Automaton, task: &RepairTask, candidates: u64) {
    let evaluator = DeviceEvaluator::new(task, device).unwrap().with_shape(CHAINS, BLOCK);
    let tally = evaluator.tally();
    let processor = Processor::new(task, CHAINS, BLOCK);
    let both = Both { device: evaluator, processor, name: device.to_string() };
    let found = search(automaton, task, candidates, Box::new(both));
    let wanted = search(automaton, task, candidates, Box::new(Processor::new(task, CHAINS, BLOCK)));
    assert_eq!(found.automaton, wanted.automaton, "on {device}");
    assert_eq!((found.wrong, found.candidates), (wanted.wrong, wanted.candidates), "on {device}");
    let [there, here] = tally.counts();
    assert!(there > 0 && here == 0, "{there} on {device}, {here} on the cpu");
}

#[test]
fn pictures_that_grow_are_counted_alike() {
    for (n, (size, edge)) in
        [((20, 9), Edge::Wrap), ((33, 5), Edge::Zero), ((64, 3), Edge::Wrap)].into_iter().enumerate()
    {
        let automaton = automaton(n as u64, 5, edge, 1.0);
        let task = grown(&automaton, size, 5);
        devices::all().iter().for_each(|device| check(device, &automaton, &task, 120));
    }
}

#[test]
fn random_starts_are_counted_alike() {
    for (n, (edge, fire_rate)) in [(Edge::Zero, 0.6), (Edge::Wrap, 1.0)].into_iter().enumerate() {
        let automaton = automaton(10 + n as u64, 3, edge, fire_rate);
        let task = noise(&automaton, (6, 5), 5);
        devices::all().iter().for_each(|device| check(device, &automaton, &task, 60));
    }
}

#[test]
fn what_does_not_fit_a_workgroup_runs_on_the_cpu() {
    let automaton = automaton(4, 40, Edge::Wrap, 1.0);
    let task = grown(&automaton, (32, 250), 2);
    let evaluator = DeviceEvaluator::new(&task, &Device::cpu()).unwrap();
    let tally = evaluator.tally();
    let found = search(&automaton, &task, 20, Box::new(evaluator));
    assert!(found.wrong <= found.wrong_before);
    let [there, here] = tally.counts();
    assert!(here > 0, "{there} on the device, {here} on the cpu");
    // A grid with more words than a workgroup has invocations has no kernel.
    assert!(DeviceEvaluator::new(&grown(&automaton, (33, 200), 2), &Device::cpu()).is_none());
}

#[test]
fn a_gpu_in_software_is_not_searched_on_by_itself() {
    assert!(!device_after(&Device::cpu()).is_gpu());
    for device in devices::gpus() {
        let adapter = device.index().map(|index| farad::adapters()[index].kind);
        let software = adapter == Some(AdapterKind::Software);
        assert_eq!(device_after(&device).is_gpu(), !software, "{device}");
    }
}
