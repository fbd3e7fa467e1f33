//! The circuit of a cell during a search: gates and outputs that can be changed one by one.
//!
//! Invariant: every gate reads only earlier wires, so each change leaves a valid circuit.

use crate::automaton::Automaton;
use crate::gate::Gate;
use crate::graph::LogicGraph;
use crate::netlist::{GateNode, Wire};

/// A cell's gates and outputs. Inputs are those of an [`Automaton`]: `position·channels + channel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellCircuit {
    /// Bits of state.
    pub channels: usize,
    /// The gates; each reads only wires before its own.
    pub gates: Vec<GateNode>,
    /// The next value of each channel.
    pub outputs: Vec<Wire>,
}

impl CellCircuit {
    /// The part of an automaton's cell that visible channels depend on, without constants, copies and equal
    /// gates; and the automaton of the remaining channels. Up to `spare` of the other channels stay, without
    /// gates.
    pub fn of(automaton: &Automaton, spare: usize) -> (CellCircuit, Automaton) {
        CellCircuit::with(automaton, automaton.cone_of_influence(), spare)
    }

    /// The same with exactly `spare` unused channels: if there are too few, new ones are added.
    pub(super) fn roomy(automaton: &Automaton, spare: usize) -> (CellCircuit, Automaton) {
        let kept = automaton.cone_of_influence();
        let others = automaton.channels - kept.len();
        match spare.saturating_sub(others) {
            0 => CellCircuit::with(automaton, kept, spare),
            more => CellCircuit::with(&automaton.extended(more), kept, spare),
        }
    }

    fn with(automaton: &Automaton, mut kept: Vec<usize>, spare: usize) -> (CellCircuit, Automaton) {
        let others = (0..automaton.channels).filter(|channel| !kept.contains(channel));
        let spare: Vec<usize> = others.take(spare).collect();
        let mut shell = automaton.clone();
        for &channel in &spare {
            shell.cell.outputs[channel].wire = Wire((4 * automaton.channels + channel) as u32);
        }
        kept.extend(spare);
        kept.sort_unstable();
        let mut shell = shell.restricted(&kept);
        shell.cell = LogicGraph::of(&shell.cell).write(&shell.cell);
        (CellCircuit::plain(&shell), shell)
    }

    /// The same with every live gate unchanged; also returns the new index of each gate of the automaton.
    pub(super) fn as_learned(automaton: &Automaton) -> (CellCircuit, Automaton, Vec<Option<usize>>) {
        let kept = automaton.cone_of_influence();
        let shell = automaton.restricted(&kept);
        let (old, new) = (9 * automaton.channels, 9 * kept.len());
        let roots = kept.iter().map(|&channel| automaton.cell.outputs[channel].wire);
        let needed = automaton.cell.needed(roots.clone());
        let mut wires = vec![Wire::NONE; automaton.cell.wires()];
        for (n, &channel) in kept.iter().enumerate() {
            for position in 0..9 {
                wires[position * automaton.channels + channel] = Wire((position * kept.len() + n) as u32);
            }
        }
        let (mut gates, mut places) = (vec![], vec![]);
        for (n, node) in automaton.cell.gates.iter().enumerate() {
            places.push(needed[old + n].then_some(gates.len()));
            if needed[old + n] {
                wires[old + n] = Wire((new + gates.len()) as u32);
                let moved = |wire: Wire| wires.get(wire.index()).copied().unwrap_or(Wire::NONE);
                gates.push(GateNode { gate: node.gate, a: moved(node.a), b: moved(node.b) });
            }
        }
        let outputs = roots.map(|wire| wires[wire.index()]).collect();
        (CellCircuit { channels: kept.len(), gates, outputs }, shell, places)
    }

    /// A cell that does nothing: the visible channels and some others keep their values.
    pub(super) fn nothing(automaton: &Automaton, spare: usize) -> (CellCircuit, Automaton) {
        let mut empty = automaton.clone();
        for (channel, output) in empty.cell.outputs.iter_mut().enumerate() {
            output.wire = Wire((4 * automaton.channels + channel) as u32);
        }
        CellCircuit::of(&empty, spare)
    }

    /// The cell of an automaton, unchanged.
    pub fn plain(automaton: &Automaton) -> CellCircuit {
        CellCircuit {
            channels: automaton.channels,
            gates: automaton.cell.gates.clone(),
            outputs: automaton.cell.outputs.iter().map(|output| output.wire).collect(),
        }
    }

    /// The automaton with this cell. `shell` provides its names.
    pub fn automaton(&self, shell: &Automaton) -> Automaton {
        let mut automaton = shell.clone();
        automaton.cell.gates = self.gates.clone();
        automaton.cell.outputs.iter_mut().zip(&self.outputs).for_each(|(output, &wire)| output.wire = wire);
        automaton
    }

    /// How many inputs there are.
    pub fn inputs(&self) -> usize {
        9 * self.channels
    }

    /// How many wires there are.
    pub fn wires(&self) -> usize {
        self.inputs() + self.gates.len()
    }

    /// Appends a gate.
    pub fn gate(&mut self, gate: Gate, a: Wire, b: Wire) -> Wire {
        self.gates.push(GateNode { gate, a, b });
        Wire(self.wires() as u32 - 1)
    }

    /// Inserts a gate before gate `place` and renumbers later wires; returns the wire of the new gate.
    pub fn insert(&mut self, place: usize, node: GateNode) -> Wire {
        let wire = Wire((self.inputs() + place) as u32);
        let moved = |read: Wire| if read >= wire && read != Wire::NONE { Wire(read.0 + 1) } else { read };
        for node in &mut self.gates[place..] {
            (node.a, node.b) = (moved(node.a), moved(node.b));
        }
        self.outputs.iter_mut().for_each(|output| *output = moved(*output));
        self.gates.insert(place, node);
        wire
    }

    /// Makes all gates from `place` on, and the outputs, read `other` instead of `wire`.
    pub fn substitute(&mut self, place: usize, wire: Wire, other: Wire) {
        let read = |read: &mut Wire| *read = if *read == wire { other } else { *read };
        for node in &mut self.gates[place..] {
            read(&mut node.a);
            read(&mut node.b);
        }
        self.outputs.iter_mut().for_each(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automaton::Edge;
    use crate::netlist::Netlist;
    use crate::simulate::Grid;

    #[test]
    fn more_room_changes_nothing_that_is_seen() {
        let (channels, spare, size) = (4, 7, 9);
        let cell = Netlist::random(8, 9 * channels, 60, channels);
        let automaton = Automaton { cell, channels, visible: vec![0, 2], edge: Edge::Wrap, fire_rate: 1.0 };
        let (cell, shell) = CellCircuit::roomy(&automaton, spare);
        let roomy = cell.automaton(&shell);
        roomy.check().unwrap();
        assert_eq!(roomy.channels, automaton.cone_of_influence().len() + spare);
        let pictures = |automaton: &Automaton| {
            let mut grid = Grid::new(automaton, size, size).unwrap();
            (0..automaton.channels).for_each(|channel| grid.set(channel, 4, 4, true));
            grid.steps(6);
            grid.pictures()
        };
        assert_eq!(pictures(&roomy), pictures(&automaton));
    }
}
