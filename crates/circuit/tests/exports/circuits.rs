//! The circuits that exports are tested on, and the simulator's results for them.

use farad_circuit::{Automaton, Circuit, Edge, Gate, Grid, Netlist, Simulator, Wire, fire_mask};

/// Every kind of gate, and names that are difficult in other languages.
pub fn every_gate() -> Netlist {
    let mut netlist = Netlist::new("while");
    let (a, b) = (netlist.input("module"), netlist.input("w7"));
    let c = netlist.input("a b; */ //");
    let mut last = c;
    for gate in Gate::ALL {
        let made = netlist.gate(gate, a, b);
        last = netlist.gate(Gate::XOR, last, made);
        netlist.output("while", made);
    }
    netlist.output("größe", last);
    netlist.output("a b; */ //", a);
    netlist.output("", c);
    netlist
}

/// Combinational circuits: small, wide, and in several pieces.
pub fn combinational() -> Vec<Netlist> {
    vec![
        every_gate(),
        Netlist::random(1, 8, 60, 5),
        Netlist::random(2, 70, 400, 9),
        Netlist::random(3, 90, 3500, 40),
    ]
}

/// Circuits with registers: one in several pieces, one that only swaps values.
pub fn sequential() -> Vec<Netlist> {
    let mut exchange = Netlist::new("exchange");
    exchange.input("unused");
    let (p, q) = (exchange.register("p", true), exchange.register("q", false));
    exchange.set_next(0, q);
    exchange.set_next(1, p);
    exchange.output("shown", p);
    let mut pieces = Netlist::random_with_registers(5, 20, 30, 2500, 10);
    pieces.name = "clk".into();
    vec![exchange, Netlist::random_with_registers(4, 3, 6, 80, 4), pieces]
}

/// Automata: with both edges, synchronous and not.
pub fn automata() -> Vec<Automaton> {
    let random = |seed: u64, channels: usize, edge: Edge, fire_rate: f32| {
        let cell = Netlist::random(seed, 9 * channels, 80, channels);
        Automaton { cell, channels, visible: vec![0], edge, fire_rate }
    };
    vec![
        Automaton::life(Edge::Wrap),
        Automaton::life(Edge::Zero),
        random(1, 3, Edge::Wrap, 1.0),
        random(2, 2, Edge::Zero, 0.6),
        random(4, 2, Edge::Wrap, 0.5),
    ]
}

/// Pseudo-random words, the same every time.
pub fn words(seed: u64, count: usize) -> Vec<u64> {
    let mut state = seed.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    (0..count).map(|_| word()).collect()
}

/// Planes of inputs: all combinations if there are few, otherwise 102,400 random ones.
pub fn planes(netlist: &Netlist) -> Vec<Vec<u64>> {
    let inputs = netlist.inputs.len();
    if inputs <= 12 {
        let words = (1usize << inputs).div_ceil(64);
        let word = |input: usize, n: usize| {
            (0..64).fold(0, |word, bit| word | ((n * 64 + bit) as u64 >> input & 1) << bit)
        };
        (0..inputs).map(|input| (0..words).map(|n| word(input, n)).collect()).collect()
    } else {
        (0..inputs).map(|input| words(input as u64, 1600)).collect()
    }
}

/// The simulator's results, plane by plane.
pub fn outputs(netlist: &Netlist, inputs: &[Vec<u64>]) -> Vec<Vec<u64>> {
    Simulator::new(netlist).unwrap().run(&slices(inputs))
}

pub fn slices(planes: &[Vec<u64>]) -> Vec<&[u64]> {
    planes.iter().map(Vec::as_slice).collect()
}

/// Words in the order of a program that reads one word of each input at a time.
pub fn frames(planes: &[Vec<u64>]) -> Vec<u64> {
    let words = planes.first().map_or(0, Vec::len);
    (0..words).flat_map(|n| planes.iter().map(move |plane| plane[n])).collect()
}

/// The simulator's results step by step, given one frame of inputs per step.
pub fn in_sequence(netlist: &Netlist, frames: &[u64]) -> Vec<u64> {
    let simulator = Simulator::new(netlist).unwrap();
    let mut state = simulator.start(1);
    let step = |frame: &[u64]| {
        let inputs: Vec<&[u64]> = frame.chunks(1).collect();
        simulator.step(&mut state, &inputs).concat()
    };
    frames.chunks(netlist.inputs.len()).flat_map(step).collect()
}

/// A run on a grid: the initial cells, which cells fire at each step, and the final cells.
pub struct Game {
    pub width: usize,
    pub height: usize,
    pub start: Vec<bool>,
    /// Packed rows of 64-bit words, step by step; empty if all fire.
    pub fires: Vec<Vec<u64>>,
    pub steps: usize,
    pub end: Vec<bool>,
}

impl Game {
    pub fn play(automaton: &Automaton, width: usize, height: usize, steps: usize) -> Game {
        let mut grid = Grid::new(automaton, width, height).unwrap();
        grid.randomize(7);
        let start = grid.cells();
        let fire = |step: usize| fire_mask(width, height, automaton.fire_rate, 3, step as u64);
        let fires: Vec<Vec<u64>> =
            if automaton.fire_rate < 1.0 { (0..steps).map(fire).collect() } else { vec![] };
        for step in 0..steps {
            match fires.get(step) {
                Some(fire) => grid.step_firing(fire),
                None => grid.step(),
            }
        }
        Game { width, height, start, fires, steps, end: grid.cells() }
    }

    /// The cells that fire at a step, one by one.
    pub fn fire_cells(&self, step: usize) -> Vec<bool> {
        let row_words = self.width.div_ceil(64);
        let bit = |cell: usize| {
            let (x, y) = (cell % self.width, cell / self.width);
            self.fires[step][y * row_words + x / 64] >> (x % 64) & 1 == 1
        };
        (0..self.width * self.height).map(bit).collect()
    }
}

/// A circuit with one changed gate, so that at least one output differs.
pub fn with_a_wrong_gate(netlist: &Netlist) -> Netlist {
    let inputs = planes(netlist);
    let right = outputs(netlist, &inputs);
    let wrong = (0..netlist.gates.len()).map(|n| {
        let mut wrong = netlist.clone();
        wrong.gates[n].gate = wrong.gates[n].gate.negated();
        wrong
    });
    wrong.into_iter().find(|wrong| outputs(wrong, &inputs) != right).expect("some gate matters")
}

/// An export as files.
pub fn exported(circuit: impl Into<Circuit>, format: &str) -> Vec<(String, String)> {
    farad_circuit::export(&circuit.into(), farad_circuit::Format::named(format).unwrap()).unwrap()
}

/// A netlist with an input as output.
pub fn straight_through() -> Netlist {
    let mut netlist = Netlist::new("straight");
    let a = netlist.input("a");
    netlist.output("y", a);
    let one = netlist.gate(Gate::TRUE, Wire::NONE, Wire::NONE);
    netlist.output("one", one);
    netlist
}
