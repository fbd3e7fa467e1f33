//! The parts of a netlist that are drawn: live gates, the inputs that they read, and outputs, connected by
//! nets.
//!
//! Invariant: the gates drawn are those that [`Statistics`](crate::Statistics) counts as active and live.
//! Copies are drawn as wires, and constants as digits where they are read.

use crate::gate::Gate;
use crate::netlist::Netlist;

/// Something that has a position in the drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnPart {
    /// An input or register, by its wire.
    Source(usize),
    /// A gate, by its index.
    Gate(usize),
    /// A root, by its index: first outputs, then the next values of registers.
    Root(usize),
}

/// What a wire carries, after following copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnSignal {
    /// The part with this index.
    Part(usize),
    /// A constant bit.
    Constant(bool),
}

/// A part, its level, and what it reads.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Which it is.
    pub part: DrawnPart,
    /// The longest path to it, in gates; roots are one level after the last gate.
    pub level: usize,
    /// What it reads, in the order of its operands.
    pub reads: Vec<DrawnSignal>,
}

/// All parts, each after those that it reads.
pub struct DrawnParts {
    /// Sources, then gates, then roots.
    pub all: Vec<Placed>,
    /// Gates among them.
    pub gates: usize,
    /// Gates on the longest path.
    pub depth: usize,
    /// Sources among them.
    pub sources: usize,
}

impl DrawnParts {
    /// Collects what is live.
    pub fn of(netlist: &Netlist) -> DrawnParts {
        let (live, levels, origins) = (netlist.live_wires(), netlist.levels(), origins(netlist));
        let mut read = vec![false; netlist.wires()];
        let live_gates = || {
            let gates = netlist.gates.iter().enumerate();
            gates.filter(|(n, node)| node.gate.is_active() && live[netlist.sources() + n])
        };
        let operands = live_gates().flat_map(|(_, node)| node.operands());
        for wire in operands.chain(netlist.roots()) {
            if let BitOrigin::Wire(wire) = origins[wire.index()] {
                read[wire] = true;
            }
        }
        let mut number = vec![usize::MAX; netlist.wires()];
        let mut all = Vec::new();
        for wire in (0..netlist.sources()).filter(|&wire| read[wire]) {
            number[wire] = all.len();
            all.push(Placed { part: DrawnPart::Source(wire), level: 0, reads: Vec::new() });
        }
        let sources = all.len();
        let signal = |origin: BitOrigin, number: &[usize]| match origin {
            BitOrigin::Wire(wire) => DrawnSignal::Part(number[wire]),
            BitOrigin::Constant(bit) => DrawnSignal::Constant(bit),
        };
        for (n, node) in live_gates() {
            let reads = node.operands().map(|wire| signal(origins[wire.index()], &number)).collect();
            let wire = netlist.sources() + n;
            number[wire] = all.len();
            all.push(Placed { part: DrawnPart::Gate(n), level: levels[wire] as usize, reads });
        }
        let gates = all.len() - sources;
        let depth = all.iter().map(|part| part.level).max().unwrap_or(0);
        for (n, wire) in netlist.roots().enumerate() {
            let reads = vec![signal(origins[wire.index()], &number)];
            all.push(Placed { part: DrawnPart::Root(n), level: depth + 1, reads });
        }
        DrawnParts { all, gates, depth, sources }
    }
}

/// Where a wire's bit comes from.
#[derive(Clone, Copy)]
enum BitOrigin {
    Wire(usize),
    Constant(bool),
}

/// For every wire, the origin of its bit, through any number of copies.
fn origins(netlist: &Netlist) -> Vec<BitOrigin> {
    let mut origins: Vec<BitOrigin> = (0..netlist.wires()).map(BitOrigin::Wire).collect();
    for (n, node) in netlist.gates.iter().enumerate() {
        origins[netlist.sources() + n] = match node.gate {
            Gate::A => origins[node.a.index()],
            Gate::B => origins[node.b.index()],
            Gate::FALSE => BitOrigin::Constant(false),
            Gate::TRUE => BitOrigin::Constant(true),
            _ => continue,
        };
    }
    origins
}
