//! Wasteful circuits to simplify: the same function built in clumsy ways, mixed and spoiled further.

use farad_circuit::{Automaton, Edge, Gate, Netlist, Wire};

/// Random numbers for tests.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize * limit) >> 31
    }
}

/// The rule of life for a 3×3 neighborhood, bit 4 the cell itself.
pub fn life(bits: usize) -> bool {
    let neighbors = (bits & !16).count_ones();
    neighbors == 3 || (neighbors == 2 && bits & 16 != 0)
}

fn constant(netlist: &mut Netlist, value: bool) -> Wire {
    netlist.gate(if value { Gate::TRUE } else { Gate::FALSE }, Wire::NONE, Wire::NONE)
}

/// `if s then x else y`, in one of three forms.
fn choose(netlist: &mut Netlist, s: Wire, x: Wire, y: Wire, form: usize) -> Wire {
    match form {
        0 => {
            let (p, q) = (netlist.gate(Gate::AND, s, x), netlist.gate(Gate::NOT_A_AND_B, s, y));
            netlist.gate(Gate::OR, p, q)
        }
        1 => {
            let difference = netlist.gate(Gate::XOR, x, y);
            let chosen = netlist.gate(Gate::AND, difference, s);
            netlist.gate(Gate::XOR, chosen, y)
        }
        _ => {
            let not = netlist.gate(Gate::NOT_A, s, Wire::NONE);
            let (p, q) = (netlist.gate(Gate::NAND, s, x), netlist.gate(Gate::NAND, not, y));
            netlist.gate(Gate::NAND, p, q)
        }
    }
}

/// A function of nine inputs as a decision tree without sharing, with variables in random order.
pub fn decisions(
    netlist: &mut Netlist,
    rule: &dyn Fn(usize) -> bool,
    order: &[usize],
    random: &mut Random,
) -> Wire {
    fn grow(
        netlist: &mut Netlist,
        rule: &dyn Fn(usize) -> bool,
        order: &[usize],
        bits: usize,
        random: &mut Random,
    ) -> Wire {
        let Some((&variable, rest)) = order.split_first() else { return constant(netlist, rule(bits)) };
        let x = grow(netlist, rule, rest, bits | 1 << variable, random);
        let y = grow(netlist, rule, rest, bits, random);
        let form = random.below(3);
        choose(netlist, Wire(variable as u32), x, y, form)
    }
    grow(netlist, rule, order, 0, random)
}

/// Life by counting neighbors with ripple adders, one neighbor after another.
pub fn counted(netlist: &mut Netlist, order: &[usize]) -> Wire {
    let mut count: Vec<Wire> = (0..4).map(|_| constant(netlist, false)).collect();
    for &neighbor in order.iter().filter(|&&input| input != 4) {
        let mut carry = Wire(neighbor as u32);
        for bit in &mut count {
            let sum = netlist.gate(Gate::XOR, *bit, carry);
            carry = netlist.gate(Gate::AND, *bit, carry);
            *bit = sum;
        }
    }
    let is = |netlist: &mut Netlist, number: usize| {
        let digits: Vec<Wire> = (0..4)
            .map(|bit| {
                netlist.gate(
                    if number >> bit & 1 == 1 { Gate::A } else { Gate::NOT_A },
                    count[bit],
                    Wire::NONE,
                )
            })
            .collect();
        let (low, high) =
            (netlist.gate(Gate::AND, digits[0], digits[1]), netlist.gate(Gate::AND, digits[2], digits[3]));
        netlist.gate(Gate::AND, low, high)
    };
    let (three, two) = (is(netlist, 3), is(netlist, 2));
    let survives = netlist.gate(Gate::AND, two, Wire(4));
    netlist.gate(Gate::OR, three, survives)
}

/// Random order of nine inputs.
pub fn shuffled(random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..9).collect();
    (1..9).rev().for_each(|n| order.swap(n, random.below(n + 1)));
    order
}

/// Life in three ways, combined by a majority and spoiled.
pub fn wasteful_life(seed: u64, spoiled: usize) -> Netlist {
    let mut random = Random(seed);
    let mut netlist = Netlist::new("life");
    for input in 0..9 {
        netlist.input(format!("cell_{input}"));
    }
    let order = shuffled(&mut random);
    let first = decisions(&mut netlist, &life, &order, &mut random);
    let order = shuffled(&mut random);
    let second = counted(&mut netlist, &order);
    let order = shuffled(&mut random);
    let third = if seed.is_multiple_of(2) {
        counted(&mut netlist, &order)
    } else {
        decisions(&mut netlist, &life, &order, &mut random)
    };
    let both = netlist.gate(Gate::AND, first, second);
    let either = netlist.gate(Gate::OR, first, second);
    let third = netlist.gate(Gate::AND, either, third);
    let life = netlist.gate(Gate::OR, both, third);
    netlist.output("next", life);
    spoil(&netlist, spoiled, &mut random)
}

/// Expands gates at random without changing any function, until there are about `gates` more.
pub fn spoil(netlist: &Netlist, gates: usize, random: &mut Random) -> Netlist {
    let mut spoiled = Netlist { gates: vec![], ..netlist.clone() };
    let mut wires: Vec<Wire> = (0..netlist.sources() as u32).map(Wire).collect();
    let chance = (netlist.gates.len() * 3 / gates.max(1)).max(1);
    for node in &netlist.gates {
        let operand = |wire: Wire| wires.get(wire.index()).copied().unwrap_or(Wire::NONE);
        let (a, b) = (operand(node.a), operand(node.b));
        let reads_both = node.gate.reads_a() && node.gate.reads_b();
        let wire = match random.below(chance) {
            0 if reads_both => expand(&mut spoiled, node.gate, a, b, random),
            _ => spoiled.gate(node.gate, a, b),
        };
        wires.push(wire);
    }
    let place = |wire: Wire| wires[wire.index()];
    spoiled.outputs.iter_mut().for_each(|output| output.wire = place(output.wire));
    spoiled.registers.iter_mut().for_each(|register| register.next = place(register.next));
    spoiled
}

/// One gate as several.
fn expand(netlist: &mut Netlist, gate: Gate, a: Wire, b: Wire, random: &mut Random) -> Wire {
    match random.below(5) {
        0 => {
            let not = netlist.gate(gate.negated(), a, b);
            netlist.gate(Gate::NOT_B, Wire::NONE, not)
        }
        1 => {
            let (p, q) = (netlist.gate(Gate::NOT_A, a, Wire::NONE), netlist.gate(Gate::NOT_A, b, Wire::NONE));
            netlist.gate(gate.with_negated_a().with_negated_b(), p, q)
        }
        2 => {
            // The sum of its minterms.
            let mut sum = constant(netlist, false);
            for (p, q, minterm) in [
                (false, false, Gate::NOR),
                (false, true, Gate::NOT_A_AND_B),
                (true, false, Gate::A_AND_NOT_B),
                (true, true, Gate::AND),
            ] {
                if gate.output(p, q) {
                    let term = netlist.gate(minterm, a, b);
                    sum = netlist.gate(Gate::OR, sum, term);
                }
            }
            sum
        }
        3 => {
            // x or (x and y) is x.
            let x = netlist.gate(gate, a, b);
            let y = Wire(random.below(netlist.wires() - 1) as u32);
            let absorbed = netlist.gate(Gate::AND, x, y);
            netlist.gate(Gate::OR, absorbed, x)
        }
        _ => {
            // (x and y) or (x and not y).
            let x = netlist.gate(gate, a, b);
            let y = Wire(random.below(netlist.wires() - 1) as u32);
            let (with, without) = (netlist.gate(Gate::AND, x, y), netlist.gate(Gate::A_AND_NOT_B, x, y));
            netlist.gate(Gate::XOR, with, without)
        }
    }
}

/// Pairs in the wiring of the published layers: neighbors first, then pairs further apart, in random order.
fn unique_pairs(inputs: usize, outputs: usize, random: &mut Random) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = (0..inputs / 2).map(|n| (2 * n, 2 * n + 1)).collect();
    pairs.extend((0..inputs.saturating_sub(1) / 2).map(|n| (2 * n + 1, 2 * n + 2)));
    (2..inputs).for_each(|offset| pairs.extend((0..inputs - offset).map(|n| (n, n + offset))));
    pairs.truncate(outputs);
    (1..pairs.len()).rev().for_each(|n| pairs.swap(n, random.below(n + 1)));
    pairs
}

/// How a cell of an automaton is laid out before training.
pub struct Layout {
    pub channels: usize,
    pub kernels: usize,
    pub perception: &'static [usize],
    pub update: &'static [usize],
    /// How many of a thousand gates are active; the others pass their first operand through.
    pub active: usize,
}

/// A cell with the wiring of a learned automaton and random gates.
pub fn learned(layout: &Layout, seed: u64) -> Netlist {
    let mut random = Random(seed);
    let mut netlist = Netlist::new("cell");
    for input in 0..9 * layout.channels {
        netlist.input(format!("in_{}_{}", input / layout.channels, input % layout.channels));
    }
    let draw = |random: &mut Random| match random.below(1000) < layout.active {
        true => Gate::ALL.into_iter().filter(|gate| gate.is_active()).nth(random.below(12)).unwrap(),
        false => Gate::A,
    };
    let mut wirings: Vec<Vec<(usize, usize)>> =
        vec![vec![(0, 4), (1, 4), (2, 4), (3, 4), (5, 4), (6, 4), (7, 4), (8, 4)]];
    wirings.extend(layout.perception.windows(2).map(|sizes| unique_pairs(sizes[0], sizes[1], &mut random)));
    let kernels: Vec<Vec<Vec<Gate>>> = (0..layout.kernels)
        .map(|_| wirings.iter().map(|wiring| wiring.iter().map(|_| draw(&mut random)).collect()).collect())
        .collect();
    let mut layer: Vec<Wire> =
        (0..layout.channels).map(|channel| Wire((4 * layout.channels + channel) as u32)).collect();
    for channel in 0..layout.channels {
        let mut bits: Vec<Vec<Wire>> = vec![];
        for kernel in &kernels {
            let mut wires: Vec<Wire> =
                (0..9).map(|position| Wire((position * layout.channels + channel) as u32)).collect();
            for (wiring, gates) in wirings.iter().zip(kernel) {
                wires = wiring
                    .iter()
                    .zip(gates)
                    .map(|(&(a, b), &gate)| netlist.gate(gate, wires[a], wires[b]))
                    .collect();
            }
            bits.push(wires);
        }
        (0..bits[0].len()).for_each(|bit| layer.extend(bits.iter().map(|kernel| kernel[bit])));
    }
    for &size in layout.update {
        let pairs = unique_pairs(layer.len(), size, &mut random);
        layer = pairs.iter().map(|&(a, b)| netlist.gate(draw(&mut random), layer[a], layer[b])).collect();
    }
    layer.iter().enumerate().for_each(|(channel, &wire)| netlist.output(format!("next_{channel}"), wire));
    netlist
}

pub const LIZARD: Layout = Layout {
    channels: 128,
    kernels: 4,
    perception: &[8, 4, 2, 1],
    update: &[512, 512, 512, 512, 512, 512, 512, 512, 256, 128],
    active: 160,
};

/// Checkerboards on two of eight channels: `V' = M[NE] or not (M[NW] or M[SE])`, `M' = V[NE]`, with V channel 0
/// and M channel 5. The six other channels have random inputs, and everything is spoiled.
pub fn checkerboard(seed: u64) -> Automaton {
    let mut random = Random(seed);
    let mut cell = Netlist::new("checkerboard");
    for input in 0..72 {
        cell.input(format!("in_{}_{}", input / 8, input % 8));
    }
    let at = |position: usize, channel: usize| Wire((position * 8 + channel) as u32);
    for _ in 0..60 {
        let gate = Gate::ALL[random.below(16)];
        let (a, b) = (Wire(random.below(cell.wires()) as u32), Wire(random.below(cell.wires()) as u32));
        cell.gate(gate, a, b);
    }
    let junk = cell.wires();
    let blocked = cell.gate(Gate::OR, at(0, 5), at(8, 5));
    let shown = cell.gate(Gate::A_OR_NOT_B, at(2, 5), blocked);
    let moved = cell.gate(Gate::A, at(2, 0), Wire::NONE);
    for channel in 0..8 {
        let wire = match channel {
            0 => shown,
            5 => moved,
            _ => Wire(random.below(junk) as u32),
        };
        cell.output(format!("next_{channel}"), wire);
    }
    let cell = spoil(&spoil(&cell, 200, &mut random), 200, &mut random);
    Automaton { cell, channels: 8, visible: vec![0], edge: Edge::Zero, fire_rate: 1.0 }
}

/// The bits of the roots for one pattern of the sources.
pub fn evaluate(netlist: &Netlist, sources: &[bool]) -> Vec<bool> {
    let mut values = sources.to_vec();
    for node in &netlist.gates {
        let value = |wire: Wire| values.get(wire.index()).copied().unwrap_or(false);
        values.push(node.gate.output(value(node.a), value(node.b)));
    }
    netlist.roots().map(|wire| values[wire.index()]).collect()
}

/// Gates that are active.
pub fn active(netlist: &Netlist) -> usize {
    netlist.gates.iter().filter(|node| node.gate.is_active()).count()
}
