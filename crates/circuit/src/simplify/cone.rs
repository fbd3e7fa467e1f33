//! What some wires of a netlist need.

use crate::netlist::{Netlist, Node, Wire};

/// For each wire whether some wires depend on it.
pub(super) fn needed(netlist: &Netlist, wires: &[Wire]) -> Vec<bool> {
    let mut needed = vec![false; netlist.wires()];
    wires.iter().for_each(|wire| needed[wire.index()] = true);
    for (n, node) in netlist.gates.iter().enumerate().rev() {
        if needed[netlist.sources() + n] {
            node.operands().for_each(|wire| needed[wire.index()] = true);
        }
    }
    needed
}

/// Copies what some wires need, given the places of the sources; where they are then.
pub(super) fn copy(from: &Netlist, wires: &[Wire], sources: &[Wire], to: &mut Netlist) -> Vec<Wire> {
    let needed = needed(from, wires);
    let mut places = sources.to_vec();
    for (n, &Node { gate, a, b }) in from.gates.iter().enumerate() {
        let place = |read: bool, wire: Wire| if read { places[wire.index()] } else { Wire::NONE };
        let wire = match needed[from.sources() + n] {
            true => to.gate(gate, place(gate.reads_a(), a), place(gate.reads_b(), b)),
            false => Wire::NONE,
        };
        places.push(wire);
    }
    wires.iter().map(|wire| places[wire.index()]).collect()
}
