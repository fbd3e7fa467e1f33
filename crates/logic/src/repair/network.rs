//! A cell's circuit as a network that can be trained again: its gates in levels, and gates in between that pass
//! a value through.
//!
//! The network has the form of every automaton in training ([`Topology`]), so the same ops run it: eight
//! perception kernels pass one neighbor each, and the update circuit has one layer per level.
//!
//! Invariant: hardened before its first update, the network is the circuit that it was made from, bit for bit.

use farad_circuit::repair::CellCircuit;
use farad_circuit::{Automaton, Gate, GateNode, Wire};

use crate::automaton::Topology;
use crate::harden::harden;
use crate::wires::{Shuffler, Wires};

/// Unused channels that are kept available.
const SPARE: usize = 6;
/// Fewest layers of the update circuit.
const LEAST_LAYERS: usize = 4;
/// Additional gates in every layer except the last, to learn with.
const EXTRA: usize = 24;
/// Most inputs of a layer: wires are packed as 16-bit halves of a word.
const WIDEST: usize = 1 << 16;
/// Neighbors of a cell, each with a kernel that passes it through.
const NEIGHBORS: usize = 8;
/// The random stream of unneeded operands, far from those of wirings.
const STREAM: u64 = 1 << 20;

/// A circuit in the form of an automaton in training.
#[derive(Clone, Debug)]
pub struct CircuitNetwork {
    pub topology: Topology,
    /// As [`Topology::wire`] makes them.
    pub layers: Vec<Wires>,
    /// The present functions, in the order of the coefficients.
    pub gates: Vec<Gate>,
    name: String,
    visible: usize,
    fire_rate: f32,
}

impl CircuitNetwork {
    /// The part of an automaton that visible channels depend on. Operands that a gate does not need are drawn
    /// from the seed. `None` if the circuit is too wide, or if its visible channels are not the first ones.
    pub fn of(automaton: &Automaton, seed: u64) -> Option<CircuitNetwork> {
        let (cell, shell) = CellCircuit::of(automaton, SPARE);
        let visible = shell.visible.len();
        if !shell.visible.iter().copied().eq(0..visible) {
            return None;
        }
        let mut layers = selection();
        let mut gates: Vec<Gate> = (0..NEIGHBORS).flat_map(selecting).collect();
        let perception: Vec<usize> = [9].into_iter().chain(layers.iter().map(Wires::outputs)).collect();
        let mut levels = WireLevels::new(&cell, seed);
        let mut update = vec![levels.width];
        for number in 1..=levels.count {
            let (layer, own) = levels.layer(number);
            update.push(own.len());
            layers.push(layer);
            gates.extend(own);
        }
        let topology =
            Topology { channels: cell.channels, kernels: NEIGHBORS, perception, update, edge: shell.edge };
        let narrow = topology.update.iter().all(|&width| width <= WIDEST);
        let (name, fire_rate) = (shell.cell.name, shell.fire_rate);
        narrow.then_some(CircuitNetwork { topology, layers, gates, name, visible, fire_rate })
    }

    /// The automaton of these gates.
    pub fn harden(&self, gates: &[Gate]) -> Automaton {
        harden(&self.name, &self.topology, &self.layers, gates, self.visible, self.fire_rate)
    }
}

/// The wires of a kernel that passes one neighbor through: halves of the eight, quarters, one.
fn selection() -> Vec<Wires> {
    let layer = |inputs: usize, a: &[u32], b: &[u32]| Wires { inputs, a: a.to_vec(), b: b.to_vec() };
    vec![layer(9, &[0, 2, 5, 7], &[1, 3, 6, 8]), layer(4, &[0, 2], &[1, 3]), layer(2, &[0], &[1])]
}

/// The gates of the kernel that passes this one of the eight neighbors through.
fn selecting(neighbor: usize) -> impl Iterator<Item = Gate> {
    let counts = [4, 2, 1].into_iter().enumerate();
    counts.flat_map(move |(bit, count)| {
        let gate = if neighbor >> bit & 1 == 0 { Gate::A } else { Gate::B };
        std::iter::repeat_n(gate, count)
    })
}

/// Which wires of a cell exist at which level, layer by layer.
struct WireLevels<'a> {
    cell: &'a CellCircuit,
    /// The level of each wire; 0 for an input.
    made: Vec<usize>,
    /// The last level at which each wire is needed.
    last: Vec<usize>,
    /// Layers in all.
    count: usize,
    /// The index of each wire in the previous layer, if it is there.
    places: Vec<Option<u32>>,
    /// Gates, or inputs, of the previous layer.
    width: usize,
    random: Shuffler,
}

impl<'a> WireLevels<'a> {
    fn new(cell: &'a CellCircuit, seed: u64) -> WireLevels<'a> {
        let mut made = vec![0; cell.inputs()];
        for node in &cell.gates {
            let level = 1 + node.operands().map(|wire| made[wire.index()]).max().unwrap_or(0);
            made.push(level);
        }
        let deepest = made.iter().max().copied().unwrap_or(0);
        let count = (deepest + 1).max(LEAST_LAYERS);
        let mut last = vec![0; cell.wires()];
        for (n, node) in cell.gates.iter().enumerate() {
            let level = made[cell.inputs() + n];
            node.operands().for_each(|wire| last[wire.index()] = last[wire.index()].max(level - 1));
        }
        cell.outputs.iter().for_each(|wire| last[wire.index()] = count - 1);
        let inputs = (0..cell.inputs()).map(|input| Some(update_input(input, cell.channels)));
        let mut places: Vec<Option<u32>> = inputs.collect();
        places.resize(cell.wires(), None);
        let (width, random) = (cell.inputs(), Shuffler::new(seed, STREAM));
        WireLevels { cell, made, last, count, places, width, random }
    }

    /// The next layer: its wires and its gates.
    fn layer(&mut self, number: usize) -> (Wires, Vec<Gate>) {
        let mut layer = (Wires { inputs: self.width, a: vec![], b: vec![] }, vec![]);
        if number == self.count {
            let cell = self.cell;
            cell.outputs.iter().for_each(|&wire| self.pass(&mut layer, wire));
            return layer;
        }
        let mut places = vec![None; self.cell.wires()];
        for (wire, place) in places.iter_mut().enumerate() {
            let next = layer.1.len() as u32;
            if self.made[wire] == number {
                let GateNode { gate, a, b } = self.cell.gates[wire - self.cell.inputs()];
                self.add(&mut layer, gate, gate.reads_a().then_some(a), gate.reads_b().then_some(b));
            } else if self.made[wire] < number && number <= self.last[wire] {
                self.pass(&mut layer, Wire(wire as u32));
            } else {
                continue;
            }
            *place = Some(next);
        }
        (0..EXTRA).for_each(|_| self.add(&mut layer, Gate::A, None, None));
        (self.places, self.width) = (places, layer.1.len());
        layer
    }

    fn pass(&mut self, layer: &mut (Wires, Vec<Gate>), wire: Wire) {
        self.add(layer, Gate::A, Some(wire), None);
    }

    /// Adds a gate; operands that it does not need are drawn.
    fn add(&mut self, (wires, gates): &mut (Wires, Vec<Gate>), gate: Gate, a: Option<Wire>, b: Option<Wire>) {
        let mut place = |wire: Option<Wire>| match wire {
            Some(wire) => self.places[wire.index()].expect("a wire is passed on until its last reader"),
            None => self.random.below(self.width as u32),
        };
        let (a, b) = (place(a), place(b));
        wires.a.push(a);
        wires.b.push(b);
        gates.push(gate);
    }
}

/// The index of a cell's input among those of the update circuit: the center's channels come first, then the
/// neighbors, channel by channel.
fn update_input(input: usize, channels: usize) -> u32 {
    let (position, channel) = (input / channels, input % channels);
    let place = match position {
        4 => channel,
        _ => channels + channel * NEIGHBORS + position - usize::from(position > 4),
    };
    place as u32
}

#[cfg(test)]
mod tests {
    use farad_circuit::equivalence::{Budget, equivalent_automata};
    use farad_circuit::{Edge, Grid, Netlist};

    use super::*;

    /// Random, from a copy, from constants, and empty.
    fn automata() -> Vec<Automaton> {
        let automaton = |cell: Netlist, channels: usize, visible: usize, fire_rate: f32| Automaton {
            cell,
            channels,
            visible: (0..visible).collect(),
            edge: Edge::Wrap,
            fire_rate,
        };
        let random = |seed: u64, channels: usize, gates: usize| {
            automaton(Netlist::random(seed, 9 * channels, gates, channels), channels, 2, 0.7)
        };
        let mut plain = Netlist::new("plain");
        let inputs: Vec<Wire> = (0..18).map(|n| plain.input(format!("n{n}"))).collect();
        let constant = plain.gate(Gate::TRUE, Wire::NONE, Wire::NONE);
        plain.output("c0", constant);
        plain.output("c1", inputs[17]);
        vec![random(1, 5, 300), random(2, 3, 40), random(3, 4, 0), automaton(plain, 2, 2, 1.0)]
    }

    #[test]
    fn a_network_hardened_at_once_is_its_circuit() {
        for automaton in automata() {
            let network = CircuitNetwork::of(&automaton, 7).unwrap();
            network.topology.check().unwrap();
            let hard = network.harden(&network.gates);
            hard.check().unwrap();
            let (cell, shell) = CellCircuit::of(&automaton, SPARE);
            let wanted = cell.automaton(&shell);
            let kept: Vec<usize> = (0..wanted.channels).collect();
            let verdict = equivalent_automata(&wanted, &hard, &kept, &Budget::default()).unwrap();
            assert!(verdict.is_proved(), "{}", automaton.cell.name);
            let last = |automaton: &Automaton| {
                let mut grid = Grid::new(automaton, 11, 7).unwrap();
                (0..2).for_each(|channel| grid.set(channel, 5, 3, true));
                grid.steps(9);
                grid.pictures()
            };
            assert_eq!(last(&hard), last(&automaton), "{}", automaton.cell.name);
        }
    }

    #[test]
    fn seeds_draw_other_operands_and_nothing_else() {
        let automaton = &automata()[0];
        let [one, same, other] = [3, 3, 4].map(|seed| CircuitNetwork::of(automaton, seed).unwrap());
        assert_eq!(one.layers, same.layers);
        assert_ne!(one.layers, other.layers);
        assert_eq!((&one.gates, &one.topology), (&other.gates, &other.topology));
    }

    #[test]
    fn channels_in_another_order_are_left_alone() {
        let automaton = Automaton { visible: vec![1], ..automata().swap_remove(1) };
        assert!(CircuitNetwork::of(&automaton, 1).is_none());
    }
}
