//! Repair: a right circuit that was damaged becomes right again, and nothing gets worse.

use std::time::Duration;

use farad_circuit::repair::{
    Beginning, Circuits, Proposal, RepairTask, Repaired, SearchOptions, StartingGrid, gates_of, repair,
};
use farad_circuit::{Automaton, Edge, Gate, Grid, Netlist};

fn options(candidates: u64) -> SearchOptions {
    SearchOptions { candidates, time: None, seed: 7, ..SearchOptions::default() }
}

fn search(automaton: &Automaton, task: &RepairTask, options: &SearchOptions) -> Repaired {
    let circuits = Circuits { learned: automaton, proposals: &[], simplified: None };
    repair(&circuits, task, options).unwrap()
}

fn all_neighborhoods_of_life() -> RepairTask {
    let lives = |number: u32| {
        let around = (number & !16).count_ones();
        around == 3 || number & 16 != 0 && around == 2
    };
    RepairTask {
        width: 3,
        height: 3,
        steps: 1,
        edge: Edge::Wrap,
        fire_rate: 1.0,
        origin: StartingGrid::Neighborhoods,
        wanted: (0..512).map(lives).collect(),
        others: vec![],
    }
}

/// Random gates over the neighborhoods of a few channels, two of which are visible.
fn automaton(seed: u64, edge: Edge) -> Automaton {
    let channels = 4;
    let mut cell = Netlist::random(seed, 9 * channels, 60, channels);
    cell.name = "random".into();
    Automaton { cell, channels, visible: vec![0, 2], edge, fire_rate: 1.0 }
}

/// What an automaton shows after this many steps, as a task.
fn as_it_is(
    automaton: &Automaton,
    (width, height): (usize, usize),
    steps: usize,
    origin: StartingGrid,
) -> RepairTask {
    let mut grid = Grid::new(automaton, width, height).unwrap();
    if origin == StartingGrid::Center {
        (0..automaton.channels).for_each(|channel| grid.set(channel, width / 2, height / 2, true));
    }
    grid.steps(steps);
    let (edge, wanted) = (automaton.edge, grid.pictures());
    RepairTask { width, height, steps, edge, fire_rate: 1.0, origin, wanted, others: vec![] }
}

#[test]
fn candidates_run_as_on_a_grid() {
    let sizes = [(5, 4), (16, 16), (20, 20), (29, 7), (30, 3), (31, 5), (40, 12), (65, 9), (1, 6)];
    for (n, &size) in sizes.iter().enumerate() {
        for edge in Edge::ALL {
            let automaton = automaton(n as u64, edge);
            for origin in [StartingGrid::Center, StartingGrid::Zeros] {
                let task = as_it_is(&automaton, size, 7, origin);
                let seen = search(&automaton, &task, &options(0));
                assert_eq!(seen.wrong, 0, "{size:?} {edge:?} {origin:?}");
                assert_eq!(seen.of, task.wanted.len() as u64);
                // Changing one wanted bit makes one wrong bit.
                let mut other = task.clone();
                other.wanted[size.0 * size.1 - 1] ^= true;
                assert_eq!(search(&automaton, &other, &options(0)).wrong, 1, "{size:?} {edge:?} {origin:?}");
            }
        }
    }
}

#[test]
fn a_damaged_game_of_life_is_right_again_and_the_same_every_time() {
    let task = all_neighborhoods_of_life();
    let mut life = Automaton::life(Edge::Wrap);
    assert_eq!(search(&life, &task, &options(0)).wrong, 0);
    life.cell.gates[3].gate = Gate::OR;
    life.cell.gates[18].gate = Gate::NAND;
    let options = options(6_000);
    let repaired = search(&life, &task, &options);
    assert!(repaired.wrong_before > 0 && repaired.wrong == 0, "{repaired:?}");
    assert!(repaired.candidates <= options.candidates && !repaired.cut);
    assert_eq!(repaired.gates, gates_of(&repaired.automaton));
    let again = search(&life, &task, &options);
    assert_eq!((again.automaton, again.candidates), (repaired.automaton, repaired.candidates));
}

#[test]
fn a_picture_with_other_bits_grows_too() {
    let automaton = automaton(8, Edge::Wrap);
    let mut task = as_it_is(&automaton, (12, 12), 6, StartingGrid::Center);
    [5 * 12 + 4, 7 * 12 + 7, 144 + 4 * 12 + 6].into_iter().for_each(|bit| task.wanted[bit] ^= true);
    let repaired = search(&automaton, &task, &options(20_000));
    assert_eq!((repaired.wrong_before, repaired.wrong), (3, 0));
    // The search's count equals what a grid shows.
    let mut grid = Grid::new(&repaired.automaton, 12, 12).unwrap();
    (0..repaired.automaton.channels).for_each(|channel| grid.set(channel, 6, 6, true));
    grid.steps(6);
    assert_eq!(grid.pictures(), task.wanted);
}

#[test]
fn noise_becomes_stripes_from_nothing() {
    // Every other row is one, whatever the start: a row differs from the one above, and beyond the edge is
    // zero.
    let mut keep = Netlist::new("keep");
    let inputs: Vec<_> = (0..9).map(|n| keep.input(format!("n{n}"))).collect();
    keep.output("c0", inputs[4]);
    let keep = Automaton { cell: keep, channels: 1, visible: vec![0], edge: Edge::Zero, fire_rate: 1.0 };
    let wanted = (0..64).map(|cell| cell / 8 % 2 == 0).collect();
    let mut task = RepairTask {
        width: 8,
        height: 8,
        steps: 10,
        edge: Edge::Zero,
        fire_rate: 1.0,
        origin: StartingGrid::Random,
        wanted,
        others: vec![],
    };
    let repaired = search(&keep, &task, &options(2_000));
    assert!(repaired.wrong == 0 && repaired.gates == 1, "{repaired:?}");
    // The same although cells fire at random, given enough time.
    (task.fire_rate, task.steps) = (0.6, 60);
    let slow = search(&repaired.automaton, &task, &options(0));
    assert_eq!((slow.wrong, slow.of), (0, 64 * 16_384));
}

#[test]
fn what_is_cut_says_so_and_is_not_worse() {
    let mut life = Automaton::life(Edge::Wrap);
    life.cell.gates[7].gate = Gate::TRUE;
    let task = all_neighborhoods_of_life();
    let cut = search(&life, &task, &SearchOptions { time: Some(Duration::ZERO), ..options(1_000_000) });
    assert!(cut.cut && cut.candidates == 0);
    assert_eq!(cut.wrong, cut.wrong_before);
}

#[test]
fn a_likely_change_is_tried() {
    let task = all_neighborhoods_of_life();
    let mut life = Automaton::life(Edge::Wrap);
    // Too much for random search, but training may suggest it.
    let gates = vec![0, 1, 5, 6, 12, 17];
    for &gate in &gates {
        assert_eq!(life.cell.gates[gate].gate, Gate::XOR);
        life.cell.gates[gate].gate = Gate::FALSE;
    }
    let proposals = [Proposal { gates, gate: Gate::XOR }];
    let circuits = Circuits { learned: &life, proposals: &proposals, simplified: None };
    let repaired = repair(&circuits, &task, &options(400)).unwrap();
    assert_eq!(repaired.wrong, 0);
    assert_eq!(repaired.from, Beginning::Learned);
}
