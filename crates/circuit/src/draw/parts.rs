//! What of a netlist is drawn: live gates, the inputs that they read, and outputs, joined by nets.
//!
//! Invariant: the gates drawn are those that [`Statistics`](crate::Statistics) counts as active and live. Copies are the wires that they
//! are; constants are no gates, they are written where they are read.

use crate::gate::Gate;
use crate::netlist::Netlist;

/// Something with a place in the drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnPart {
    /// An input or register, by its wire.
    Source(usize),
    /// A gate, by its number.
    Gate(usize),
    /// A root, by its number: first outputs, then what registers take over.
    Root(usize),
}

/// What a wire carries once copies are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnSignal {
    /// The part of this number.
    Part(usize),
    /// Always the same bit.
    Constant(bool),
}

/// A part, its level, and what it reads.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Which it is.
    pub part: DrawnPart,
    /// The longest way to it, in gates; roots stand one behind the last gate.
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
    /// Gates on the longest way.
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

/// For every wire, what it is a copy of, through any number of copies.
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
