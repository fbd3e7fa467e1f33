//! Copies the cones of wires of a netlist.

use crate::netlist::{GateNode, Netlist, Wire};

/// Copies what some wires need, given the new wires of the sources; returns the new wires.
pub(super) fn copy(from: &Netlist, wires: &[Wire], sources: &[Wire], to: &mut Netlist) -> Vec<Wire> {
    let needed = from.needed(wires.iter().copied());
    let mut places = sources.to_vec();
    for (n, &GateNode { gate, a, b }) in from.gates.iter().enumerate() {
        let place = |read: bool, wire: Wire| if read { places[wire.index()] } else { Wire::NONE };
        let wire = match needed[from.sources() + n] {
            true => to.gate(gate, place(gate.reads_a(), a), place(gate.reads_b(), b)),
            false => Wire::NONE,
        };
        places.push(wire);
    }
    wires.iter().map(|wire| places[wire.index()]).collect()
}
