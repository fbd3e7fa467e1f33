//! Small random changes of a cell.
//!
//! Invariant: whatever is drawn, the result is a valid cell: gates read only earlier wires.

use super::cell::CellCircuit;
use super::random::SplitMix;
use crate::gate::Gate;
use crate::netlist::{GateNode, Wire};

/// A change that is likely to help: these gates become this function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The gates, by their index in the cell.
    pub gates: Vec<usize>,
    /// What they become.
    pub gate: Gate,
}

impl Proposal {
    /// Applies the change to a cell.
    pub(super) fn apply(&self, cell: &mut CellCircuit) {
        for &gate in &self.gates {
            if let Some(node) = cell.gates.get_mut(gate) {
                node.gate = self.gate;
            }
        }
    }
}

/// Makes one to three changes.
pub(super) fn change(cell: &mut CellCircuit, proposals: &[Proposal], random: &mut SplitMix) {
    let times = 1 + random.one_in(3) as usize + random.one_in(9) as usize;
    for _ in 0..times {
        match random.below(20) {
            0..=2 if !proposals.is_empty() => propose(cell, proposals, random),
            0..=8 => function(cell, random),
            9..=15 => rewire(cell, random),
            16..=17 => output(cell, random),
            _ => insert(cell, random),
        }
    }
}

/// Removes something, or at least adds nothing.
pub(super) fn shrink(cell: &mut CellCircuit, random: &mut SplitMix) {
    match random.below(12) {
        0..=3 => bypass(cell, random),
        4..=6 => merge(cell, random),
        7..=8 => function(cell, random),
        9 => {
            rewire(cell, random);
            bypass(cell, random);
        }
        10 => output(cell, random),
        _ => {
            bypass(cell, random);
            function(cell, random);
        }
    }
}

/// The most likely proposals come first, and are drawn most often.
fn propose(cell: &mut CellCircuit, proposals: &[Proposal], random: &mut SplitMix) {
    let share = random.share();
    let place = ((share * share * share) * proposals.len() as f64) as usize;
    proposals[place.min(proposals.len() - 1)].apply(cell);
}

fn function(cell: &mut CellCircuit, random: &mut SplitMix) {
    if cell.gates.is_empty() {
        return insert(cell, random);
    }
    let node = random.below(cell.gates.len());
    let node = &mut cell.gates[node];
    let gate = Gate::ALL[(node.gate.number() as usize + 1 + random.below(15)) % 16];
    *node = GateNode { gate, a: known(node.a, node.b), b: known(node.b, node.a) };
}

/// An operand, or `other` if it is unset because nobody reads it.
fn known(wire: Wire, other: Wire) -> Wire {
    match (wire, other) {
        (Wire::NONE, Wire::NONE) => Wire(0),
        (Wire::NONE, other) => other,
        (wire, _) => wire,
    }
}

fn rewire(cell: &mut CellCircuit, random: &mut SplitMix) {
    if cell.gates.is_empty() {
        return output(cell, random);
    }
    let gate = random.below(cell.gates.len());
    let wire = earlier(cell, cell.inputs() + gate, random);
    let node = &mut cell.gates[gate];
    if random.one_in(2) {
        node.a = wire
    } else {
        node.b = wire
    }
    (node.a, node.b) = (known(node.a, node.b), known(node.b, node.a));
    if random.one_in(3) {
        node.gate = Gate::ALL[random.below(16)];
    }
}

/// A wire before this one: an input, or any.
fn earlier(cell: &CellCircuit, wire: usize, random: &mut SplitMix) -> Wire {
    let limit = if random.one_in(2) { cell.inputs() } else { wire };
    Wire(random.below(limit) as u32)
}

fn output(cell: &mut CellCircuit, random: &mut SplitMix) {
    let channel = random.below(cell.channels);
    cell.outputs[channel] = earlier(cell, cell.wires(), random);
}

/// Inserts a new gate between a wire and its readers.
fn insert(cell: &mut CellCircuit, random: &mut SplitMix) {
    let inputs = cell.inputs();
    let gate = Gate::ALL[random.below(16)];
    if random.one_in(2) || cell.gates.is_empty() {
        let channel = random.below(cell.channels);
        let other = earlier(cell, cell.wires(), random);
        cell.outputs[channel] = cell.gate(gate, cell.outputs[channel], other);
        return;
    }
    // Before a gate, on one of its operands.
    let place = random.below(cell.gates.len());
    let reader = cell.gates[place];
    let read = known(reader.a, reader.b);
    let other = earlier(cell, inputs + place, random);
    let wire = cell.insert(place, GateNode { gate, a: read, b: other });
    cell.gates[place + 1].a = wire;
}

/// Makes the readers of a gate read one of its operands or a constant instead.
fn bypass(cell: &mut CellCircuit, random: &mut SplitMix) {
    if cell.gates.is_empty() {
        return;
    }
    let gate = random.below(cell.gates.len());
    cell.gates[gate].gate =
        [Gate::A, Gate::B, Gate::FALSE, Gate::TRUE, Gate::NOT_A, Gate::NOT_B][random.below(6)];
    let node = &mut cell.gates[gate];
    (node.a, node.b) = (known(node.a, node.b), known(node.b, node.a));
}

/// Makes the readers of a gate read another wire instead.
fn merge(cell: &mut CellCircuit, random: &mut SplitMix) {
    if cell.gates.is_empty() {
        return;
    }
    let gate = random.below(cell.gates.len());
    let wire = earlier(cell, cell.inputs() + gate, random);
    cell.gates[gate] = GateNode { gate: Gate::A, a: wire, b: wire };
}
