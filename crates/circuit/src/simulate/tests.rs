use super::*;
use crate::random::RandomStream;
use crate::{Automaton, Edge, Gate, Netlist, Wire};

/// The reference evaluation of a netlist: gate after gate, one sample. Returns outputs, then next registers.
fn evaluate(netlist: &Netlist, sources: &[bool]) -> Vec<bool> {
    let mut wires = sources.to_vec();
    for node in &netlist.gates {
        let value = |read: bool, wire: Wire| read && wires[wire.index()];
        let output = node.gate.output(value(node.gate.reads_a(), node.a), value(node.gate.reads_b(), node.b));
        wires.push(output);
    }
    netlist.roots().map(|root| wires[root.index()]).collect()
}

fn bit(planes: &[Vec<u64>], sample: usize) -> Vec<bool> {
    planes.iter().map(|plane| plane[sample / 64] >> (sample % 64) & 1 == 1).collect()
}

fn random_planes(stream: &mut RandomStream, count: usize, words: usize) -> Vec<Vec<u64>> {
    (0..count).map(|_| stream.words(words)).collect()
}

fn slices(planes: &[Vec<u64>]) -> Vec<&[u64]> {
    planes.iter().map(Vec::as_slice).collect()
}

#[test]
fn every_gate_of_every_pair_of_wires_is_right() {
    let mut netlist = Netlist::new("all");
    let (a, b) = (netlist.input("a"), netlist.input("b"));
    let mut wires = vec![a, b];
    wires.push(netlist.gate(Gate::TRUE, Wire::NONE, Wire::NONE));
    wires.push(netlist.gate(Gate::NOT_A, a, Wire::NONE));
    wires.push(netlist.gate(Gate::NOR, a, b));
    for gate in Gate::ALL {
        for &x in &wires {
            for &y in &wires {
                let made = netlist.gate(gate, x, y);
                netlist.output("y", made);
            }
        }
    }
    let table = Simulator::new(&netlist).unwrap().truth_table();
    for sample in 0..4 {
        let wanted = evaluate(&netlist, &[sample & 1 == 1, sample >> 1 == 1]);
        assert_eq!(bit(&table, sample), wanted, "{sample}");
    }
    assert!(table.iter().all(|plane| plane[0] < 16));
}

#[test]
fn random_netlists_equal_gate_after_gate() {
    for seed in 0..30 {
        let mut stream = RandomStream::new(1000 + seed);
        let netlist = Netlist::random(seed, 1 + stream.below(12), 1 + stream.below(400), 1 + stream.below(9));
        let simulator = Simulator::new(&netlist).unwrap();
        let words = 1 + stream.below(80);
        let inputs = random_planes(&mut stream, netlist.inputs.len(), words);
        let outputs = simulator.run(&slices(&inputs));
        for sample in (0..64 * words).step_by(37) {
            assert_eq!(bit(&outputs, sample), evaluate(&netlist, &bit(&inputs, sample)), "seed {seed}");
        }
    }
}

#[test]
fn registers_carry_state_from_step_to_step() {
    for seed in 0..10 {
        let netlist = Netlist::random_with_registers(seed, 3, 5, 60, 4);
        let simulator = Simulator::new(&netlist).unwrap();
        let mut state = simulator.start(2);
        let mut plain: Vec<bool> = netlist.registers.iter().map(|register| register.initial).collect();
        let mut stream = RandomStream::new(seed);
        for _ in 0..20 {
            let inputs = random_planes(&mut stream, 3, 2);
            let outputs = simulator.step(&mut state, &slices(&inputs));
            let mut sources = bit(&inputs, 77);
            sources.extend(&plain);
            let mut wanted = evaluate(&netlist, &sources);
            plain = wanted.split_off(4);
            assert_eq!(bit(&outputs, 77), wanted);
            assert_eq!(bit(state.planes(), 77), plain);
        }
    }
}

#[test]
fn threads_do_not_change_bits() {
    let netlist = Netlist::random(5, 20, 3000, 16);
    let simulator = Simulator::new(&netlist).unwrap();
    let inputs = random_planes(&mut RandomStream::new(1), 20, 1000);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| simulator.run(&slices(&inputs)))
    };
    let one = run(1);
    assert!((2..5).all(|threads| run(threads) == one));
    let automaton = random_automaton(3, 4, 500, Edge::Wrap, 1.0);
    let steps = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut grid = Grid::new(&automaton, 700, 300).unwrap();
        grid.randomize(1);
        pool.install(|| grid.steps(5));
        grid.cells()
    };
    let one = steps(1);
    assert!((2..5).all(|threads| steps(threads) == one));
}

#[test]
fn folding_leaves_nothing_of_copies_constants_and_negations() {
    let mut netlist = Netlist::new("fold");
    let (a, b) = (netlist.input("a"), netlist.input("b"));
    let copy = netlist.gate(Gate::A, a, b);
    let one = netlist.gate(Gate::TRUE, a, b);
    let not = netlist.gate(Gate::NOT_A, copy, b);
    let same = netlist.gate(Gate::AND, not, one);
    let zero = netlist.gate(Gate::XOR, same, not);
    let sum = netlist.gate(Gate::XOR, same, b);
    netlist.gate(Gate::OR, sum, b);
    let shown = netlist.gate(Gate::OR, sum, zero);
    netlist.output("y", shown);
    netlist.output("zero", zero);
    let simulator = Simulator::new(&netlist).unwrap();
    assert_eq!(simulator.gates(), 1);
    assert_eq!(simulator.truth_table(), [[0b1001], [0]]);
}

fn random_automaton(seed: u64, channels: usize, gates: usize, edge: Edge, fire_rate: f32) -> Automaton {
    let cell = Netlist::random(seed, 9 * channels, gates, channels);
    Automaton { cell, channels, visible: vec![0], edge, fire_rate }
}

/// The reference evaluation of a step: cell by cell.
fn plain_step(automaton: &Automaton, grid: &Grid, fires: impl Fn(usize, usize) -> bool) -> Vec<bool> {
    let (width, height, channels) = (grid.width() as isize, grid.height() as isize, automaton.channels);
    let mut next = grid.cells();
    for y in 0..height {
        for x in 0..width {
            let mut sources = vec![];
            for position in 0..9 {
                let (u, v) = (x + position % 3 - 1, y + position / 3 - 1);
                let inside = (0..width).contains(&u) && (0..height).contains(&v);
                for channel in 0..channels {
                    let (u, v) = (u.rem_euclid(width) as usize, v.rem_euclid(height) as usize);
                    sources.push((inside || automaton.edge == Edge::Wrap) && grid.get(channel, u, v));
                }
            }
            if fires(x as usize, y as usize) {
                for (channel, value) in evaluate(&automaton.cell, &sources).into_iter().enumerate() {
                    next[(channel * height as usize + y as usize) * width as usize + x as usize] = value;
                }
            }
        }
    }
    next
}

#[test]
fn grids_of_all_sizes_equal_cell_after_cell() {
    let sizes = [(1, 1), (1, 5), (3, 3), (63, 4), (64, 3), (65, 7), (100, 33), (128, 5), (130, 2), (200, 70)];
    for (n, (width, height)) in sizes.into_iter().enumerate() {
        for edge in [Edge::Zero, Edge::Wrap] {
            let automaton = random_automaton(n as u64, 1 + n % 3, 120, edge, 1.0);
            let mut grid = Grid::new(&automaton, width, height).unwrap();
            grid.randomize(n as u64);
            for step in 0..3 {
                let wanted = plain_step(&automaton, &grid, |_, _| true);
                grid.step();
                assert_eq!(grid.cells(), wanted, "{width}x{height} {edge:?} step {step}");
            }
        }
    }
}

#[test]
fn cells_that_do_not_fire_keep_their_state() {
    let automaton = random_automaton(2, 2, 90, Edge::Zero, 0.6);
    let mut grid = Grid::new(&automaton, 70, 40).unwrap();
    grid.randomize(4);
    grid.set_seed(9);
    let mut fired = 0;
    for step in 0..10 {
        let fire = fire_mask(70, 40, 0.6, 9, step);
        fired += fire.iter().map(|word| word.count_ones()).sum::<u32>();
        let wanted = plain_step(&automaton, &grid, |x, y| fire[y * 2 + x / 64] >> (x % 64) & 1 == 1);
        let mut given = grid.clone();
        given.step_firing(&fire);
        grid.step();
        assert_eq!((grid.cells(), given.cells()), (wanted.clone(), wanted));
    }
    let rate = fired as f64 / (70.0 * 40.0 * 10.0);
    assert!((rate - 0.6).abs() < 0.02, "{rate}");
    // Bits beyond the width in a given mask have no effect.
    let (mut all, mut wide) = (grid.clone(), grid);
    all.step_firing(&fire_mask(70, 40, 1.0, 0, 0));
    wide.step_firing(&[!0; 80]);
    assert_eq!(all.cells(), wide.cells());
}

#[test]
fn blocks_are_damaged_and_clipped() {
    let automaton = random_automaton(2, 2, 90, Edge::Zero, 1.0);
    for (x, y, width, height) in
        [(0, 0, 150, 10), (60, 3, 10, 4), (64, 1, 64, 2), (140, 8, 20, 20), (5, 5, 0, 3), (200, 0, 5, 5)]
    {
        let mut grid = Grid::new(&automaton, 150, 10).unwrap();
        grid.set_cells(&vec![true; 2 * 1500]);
        grid.damage(x, y, width, height);
        for v in 0..10 {
            for u in 0..150 {
                let hit = (x..x + width).contains(&u) && (y..y + height).contains(&v);
                assert!(grid.get(0, u, v) != hit && grid.get(1, u, v) != hit, "({u}, {v})");
            }
        }
    }
}

#[test]
fn cells_and_planes_come_back() {
    let automaton = random_automaton(2, 2, 90, Edge::Zero, 1.0);
    let mut grid = Grid::new(&automaton, 67, 3).unwrap();
    let cells: Vec<bool> = (0..2 * 67 * 3).map(|n| n % 7 < 3).collect();
    grid.set_cells(&cells);
    assert_eq!(grid.cells(), cells);
    assert_eq!((grid.picture(), grid.pictures()), (cells[..201].to_vec(), cells[..201].to_vec()));
    grid.set_plane(1, &[!0; 6]);
    assert_eq!(grid.plane(1), [!0, 7, !0, 7, !0, 7]);
    grid.set(1, 66, 2, false);
    assert!(!grid.get(1, 66, 2) && grid.plane(1)[5] == 3);
    let large = Grid::new(&automaton, 1 << 20, 1 << 20).unwrap_err().to_string();
    assert!(
        large.starts_with("grid: 1048576x1048576 cells of 2 channels do not fit (2199023255552 vs at most")
    );
    assert!(Grid::new(&automaton, 0, 5).is_err());
}
