//! Circuits on devices: equal to the reference simulation and to the circuit crate's own simulator.

mod devices;
mod numbers;

use farad::check;
use farad::prelude::*;
use farad_circuit::{Automaton, Edge, Gate, Grid, Netlist, Simulator, Wire, fire_mask};
use farad_logic::simulate::{AutomatonSimulation, NetlistSimulation, fire_masks, pack, unpack};
use numbers::Draw;

/// All sixteen gates, mostly on recent wires, so that most gates matter; wires that a gate does not read are
/// invalid.
fn random_netlist(draw: &mut Draw, inputs: usize, registers: usize, gates: usize, outputs: usize) -> Netlist {
    let mut netlist = Netlist::new("random");
    for n in 0..inputs {
        netlist.input(format!("x{n}"));
    }
    for n in 0..registers {
        netlist.register(format!("r{n}"), n % 2 == 1);
    }
    for _ in 0..gates {
        let (gate, wires) = (Gate::ALL[draw.below(16)], netlist.wires());
        let mut wire = |reads: bool| match reads {
            true if draw.below(8) > 0 => Wire((wires - 1 - draw.below(wires.min(40))) as u32),
            true => Wire(draw.below(wires) as u32),
            false => Wire::NONE,
        };
        let (a, b) = (wire(gate.reads_a()), wire(gate.reads_b()));
        netlist.gate(gate, a, b);
    }
    let wires = netlist.wires();
    let mut late = || Wire((wires - 1 - draw.below(wires.min(40))) as u32);
    let shown: Vec<Wire> = (0..outputs + registers).map(|_| late()).collect();
    shown[..outputs].iter().enumerate().for_each(|(n, &wire)| netlist.output(format!("y{n}"), wire));
    shown[outputs..].iter().enumerate().for_each(|(n, &wire)| netlist.set_next(n, wire));
    netlist
}

fn whole(words: &[u32]) -> Vec<i64> {
    words.iter().map(|&word| word as i64).collect()
}

#[test]
fn netlists_are_what_they_mean() {
    let mut draw = Draw(1);
    for (inputs, registers, gates, outputs, steps, words) in [
        (3, 0, 5, 2, 1, 1),
        (20, 0, 300, 10, 1, 70),
        (8, 6, 200, 5, 7, 3),
        (30, 9, 4000, 12, 3, 5),
        (1, 1, 0, 1, 4, 2),
    ] {
        let netlist = random_netlist(&mut draw, inputs, registers, gates, outputs);
        let numbers = draw.words(steps * inputs * words);
        for device in devices::all() {
            let x = Tensor::from_vec(numbers.clone(), [steps, inputs, words], &device);
            let y = NetlistSimulation::new(&netlist, &device).unwrap().run(&x);
            let wanted = check::reference(std::slice::from_ref(&y)).unwrap().remove(0).to_f64();
            let found = whole(&y.to_vec::<u32>().unwrap());
            let wanted: Vec<i64> = wanted.into_iter().map(|word| word as i64).collect();
            assert_eq!(found, wanted, "{gates} gates, {registers} registers on {device}");
        }
    }
}

#[test]
fn netlists_agree_with_the_simulator_of_circuits() {
    let mut draw = Draw(2);
    for gates in [500, 5000] {
        let netlist = random_netlist(&mut draw, 25, 0, gates, 20);
        let planes: Vec<Vec<u64>> = (0..25)
            .map(|_| draw.words(6).chunks(2).map(|pair| pair[0] as u64 | (pair[1] as u64) << 32).collect())
            .collect();
        let halves = |planes: &[Vec<u64>]| -> Vec<u32> {
            planes.concat().into_iter().flat_map(|word| [word as u32, (word >> 32) as u32]).collect()
        };
        let slices: Vec<&[u64]> = planes.iter().map(Vec::as_slice).collect();
        let wanted = halves(&Simulator::new(&netlist).unwrap().run(&slices));
        for device in devices::all() {
            let x = Tensor::from_vec(halves(&planes), [1, 25, 6], &device);
            let y = NetlistSimulation::new(&netlist, &device).unwrap().run(&x);
            assert_eq!(y.to_vec::<u32>().unwrap(), wanted, "{gates} gates on {device}");
        }
    }
}

/// Compares all devices with the reference simulation.
fn agrees(automaton: &Automaton, [grids, height, width]: [usize; 3], steps: usize, seed: u64) {
    let (mut draw, words) = (Draw(seed), width.div_ceil(32));
    let bits = draw.bits(grids * automaton.channels * height * width);
    let masks = (automaton.fire_rate < 1.0).then(|| pack(&draw.bits(steps * height * width), width));
    for device in devices::all() {
        let shape = [grids, automaton.channels, height, words];
        let states = Tensor::from_vec(pack(&bits, width), shape, &device);
        let fired = masks.clone().map(|masks| Tensor::from_vec(masks, [steps, height, words], &device));
        let simulation = AutomatonSimulation::new(automaton, &device).unwrap();
        let after = simulation.run(&states, width, steps, fired.as_ref());
        let wanted = check::reference(std::slice::from_ref(&after)).unwrap().remove(0).to_f64();
        let wanted: Vec<i64> = wanted.into_iter().map(|word| word as i64).collect();
        let sizes = (grids, height, width, automaton.edge);
        assert_eq!(whole(&after.to_vec::<u32>().unwrap()), wanted, "{sizes:?} on {device}");
    }
}

fn random_automaton(channels: usize, gates: usize, edge: Edge, fire_rate: f32) -> Automaton {
    let cell = random_netlist(&mut Draw(9), 9 * channels, 0, gates, channels);
    Automaton { cell, channels, visible: vec![0], edge, fire_rate }
}

#[test]
fn automata_are_what_they_mean() {
    for edge in [Edge::Zero, Edge::Wrap] {
        for (n, width) in [1, 2, 31, 32, 33, 64, 75].into_iter().enumerate() {
            agrees(&random_automaton(2, 60, edge, 1.0), [2, 1 + n, width], 1 + n % 3, n as u64);
        }
        agrees(&random_automaton(3, 4000, edge, 1.0), [1, 9, 40], 2, 5);
        agrees(&random_automaton(2, 100, edge, 0.6), [2, 8, 50], 3, 6);
    }
}

#[test]
fn life_goes_on() {
    for device in devices::all() {
        let life = Automaton::life(Edge::Wrap);
        let simulation = AutomatonSimulation::new(&life, &device).unwrap();
        let mut glider = vec![false; 40 * 40];
        [(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)].iter().for_each(|(x, y)| glider[y * 40 + x] = true);
        let states = Tensor::from_vec(pack(&glider, 40), [1, 1, 40, 2], &device);
        let after = simulation.run(&states, 40, 4 * 40, None);
        assert_eq!(unpack(&after.to_vec::<u32>().unwrap(), 40), glider, "once around on {device}");
        let after = simulation.run(&states, 40, 4, None);
        let moved: Vec<bool> = (0..1600).map(|n| glider[(n / 40 + 39) % 40 * 40 + (n + 39) % 40]).collect();
        assert_eq!(unpack(&after.to_vec::<u32>().unwrap(), 40), moved, "one cell on {device}");
    }
}

#[test]
fn cells_fire_where_random_tensors_are_below_the_rate() {
    for (width, height, rate, seed, counter) in
        [(1, 1, 0.5, 0, 0), (70, 9, 0.6, 8, 3), (64, 33, 0.3, u64::MAX - 5, 1 << 40), (333, 21, 0.999, 7, 12)]
    {
        let mask = fire_mask(width, height, rate, seed, counter);
        let bit = |y: usize, x: usize| mask[y * width.div_ceil(64) + x / 64] >> (x % 64) & 1 == 1;
        let fired: Vec<bool> = (0..height * width).map(|n| bit(n / width, n % width)).collect();
        let masks = fire_masks((width, height), rate, seed, counter, 1);
        assert_eq!(unpack(&masks, width), fired, "packed otherwise");
        for device in devices::all() {
            let drawn = Tensor::rand_at(seed, counter, [height, width], &device).less(rate as f64);
            assert_eq!(drawn.to_vec::<bool>().unwrap(), fired, "{width}x{height} on {device}");
        }
    }
}

#[test]
fn grids_and_devices_fire_the_same_cells() {
    let automaton = random_automaton(2, 80, Edge::Zero, 0.6);
    let (width, height, seed) = (70, 12, 5);
    let mut grid = Grid::new(&automaton, width, height).unwrap();
    grid.set_seed(seed);
    grid.randomize(seed);
    let first = pack(&grid.cells(), width);
    grid.steps(7);
    for device in devices::all() {
        let simulation = AutomatonSimulation::new(&automaton, &device).unwrap();
        let mut states = Tensor::from_vec(first.clone(), [1, 2, height, 3], &device);
        for (taken, steps) in [(0, 3), (3, 4)] {
            let masks = fire_masks((width, height), automaton.fire_rate, seed, taken, steps);
            let masks = Tensor::from_vec(masks, [steps, height, 3], &device);
            states = simulation.run(&states, width, steps, Some(&masks));
        }
        assert_eq!(unpack(&states.to_vec::<u32>().unwrap(), width), grid.cells(), "{device}");
    }
}

#[test]
#[should_panic(
    expected = "simulate: wrong number of words per row for 65 cells: states [1, 1, 4, 2] (2 vs 3)"
)]
fn rows_of_the_wrong_length_are_refused() {
    let device = Device::cpu();
    let states = Tensor::from_vec(vec![0u32; 8], [1, 1, 4, 2], &device);
    AutomatonSimulation::new(&Automaton::life(Edge::Zero), &device).unwrap().run(&states, 65, 1, None);
}
