//! A cell prepared to run: constants, copies and negations are folded, and only what visible channels depend on
//! is kept.
//!
//! [`Tape::gates`] is what a search counts: the remaining gates. Start at [`Tape::of`].

use super::cell::CellCircuit;
use crate::gate::Gate;
use crate::netlist::{GateNode, Wire};

/// A wire, perhaps negated, or a constant: 0 and 1 are false and true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Literal(u32);

impl Literal {
    const FALSE: Literal = Literal(0);

    fn wire(index: usize) -> Literal {
        Literal((index as u32 + 1) << 1)
    }

    /// The wire; `None` for a constant.
    pub fn index(self) -> Option<usize> {
        (self.0 as usize >> 1).checked_sub(1)
    }

    /// Whether it is negated; for a constant, whether it is true.
    pub fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    fn negated_if(self, condition: bool) -> Literal {
        Literal(self.0 ^ condition as u32)
    }
}

/// A gate that reads two different wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapeGate {
    /// Its function.
    pub gate: Gate,
    /// The first wire.
    pub a: u32,
    /// The second wire.
    pub b: u32,
}

/// The instructions to run. Wires are the inputs, as in a [`CellCircuit`], then the ops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tape {
    /// The gates; each reads only wires before its own.
    pub ops: Vec<TapeGate>,
    /// Channels that matter, and their next values. No op reads others.
    pub outputs: Vec<(usize, Literal)>,
    /// Remaining gates, including negations that outputs need.
    pub gates: usize,
}

impl Tape {
    /// The part of a cell that matters to these channels.
    pub fn of(cell: &CellCircuit, visible: &[usize]) -> Tape {
        FoldedCell::of(cell).needed(cell, visible)
    }
}

impl Tape {
    /// The same as a cell: the ops in order, then negations that outputs need. Channels that do not matter keep
    /// their values.
    pub fn cell(&self, channels: usize) -> CellCircuit {
        let own = |channel: usize| Wire((4 * channels + channel) as u32);
        let node = |op: &TapeGate| GateNode { gate: op.gate, a: Wire(op.a), b: Wire(op.b) };
        let mut cell = CellCircuit {
            channels,
            gates: self.ops.iter().map(node).collect(),
            outputs: (0..channels).map(own).collect(),
        };
        let mut negations: Vec<(Literal, Wire)> = vec![];
        for &(channel, literal) in &self.outputs {
            cell.outputs[channel] = match literal.index() {
                Some(wire) if !literal.is_negated() => Wire(wire as u32),
                index => {
                    let made = negations.iter().find(|(known, _)| *known == literal).map(|made| made.1);
                    made.unwrap_or_else(|| {
                        let (gate, a) = match index {
                            Some(wire) => (Gate::NOT_A, Wire(wire as u32)),
                            None if literal.is_negated() => (Gate::TRUE, Wire(0)),
                            None => (Gate::FALSE, Wire(0)),
                        };
                        let wire = cell.gate(gate, a, a);
                        negations.push((literal, wire));
                        wire
                    })
                }
            };
        }
        cell
    }
}

/// All gates of a cell, folded.
struct FoldedCell {
    ops: Vec<TapeGate>,
    literals: Vec<Literal>,
}

impl FoldedCell {
    fn of(cell: &CellCircuit) -> FoldedCell {
        let inputs = cell.inputs();
        let mut folded = FoldedCell {
            ops: Vec::with_capacity(cell.gates.len()),
            literals: (0..inputs).map(Literal::wire).collect(),
        };
        for node in &cell.gates {
            let operand = |wire: Wire| folded.literals.get(wire.index()).copied().unwrap_or(Literal::FALSE);
            let (a, b) = (operand(node.a), operand(node.b));
            let literal = folded.gate(node.gate, a, b, inputs);
            folded.literals.push(literal);
        }
        folded
    }

    fn gate(&mut self, gate: Gate, a: Literal, b: Literal, inputs: usize) -> Literal {
        let gate = if a.is_negated() { gate.with_negated_a() } else { gate };
        let gate = if b.is_negated() { gate.with_negated_b() } else { gate };
        let of_one = |wire: usize, off: bool, on: bool| match (off, on) {
            (false, false) => Literal::FALSE,
            (true, true) => Literal::FALSE.negated_if(true),
            (off, _) => Literal::wire(wire).negated_if(off),
        };
        match (a.index(), b.index()) {
            (None, None) => Literal::FALSE.negated_if(gate.output(false, false)),
            (Some(a), None) => of_one(a, gate.output(false, false), gate.output(true, false)),
            (None, Some(b)) => of_one(b, gate.output(false, false), gate.output(false, true)),
            (Some(a), Some(b)) if a == b => of_one(a, gate.output(false, false), gate.output(true, true)),
            (Some(a), Some(_)) if !gate.reads_b() => {
                of_one(a, gate.output(false, false), gate.output(true, false))
            }
            (Some(_), Some(b)) if !gate.reads_a() => {
                of_one(b, gate.output(false, false), gate.output(false, true))
            }
            (Some(a), Some(b)) => {
                self.ops.push(TapeGate { gate, a: a as u32, b: b as u32 });
                Literal::wire(inputs + self.ops.len() - 1)
            }
        }
    }

    /// Only what the visible channels depend on, now or later.
    fn needed(self, cell: &CellCircuit, visible: &[usize]) -> Tape {
        let (inputs, channels) = (cell.inputs(), cell.channels);
        let output = |channel: usize| self.literals[cell.outputs[channel].index()];
        let mut needed = vec![false; inputs + self.ops.len()];
        let mut kept = vec![false; channels];
        let mut new: Vec<usize> = visible.to_vec();
        while !new.is_empty() {
            for &channel in &new {
                kept[channel] = true;
                output(channel).index().into_iter().for_each(|wire| needed[wire] = true);
            }
            for (n, op) in self.ops.iter().enumerate().rev() {
                if needed[inputs + n] {
                    needed[op.a as usize] = true;
                    needed[op.b as usize] = true;
                }
            }
            let read = |channel: &usize| (0..9).any(|position| needed[position * channels + *channel]);
            new = (0..channels).filter(|&channel| !kept[channel]).filter(read).collect();
        }
        let mut place: Vec<u32> = (0..inputs as u32).collect();
        let mut ops = Vec::with_capacity(self.ops.len());
        for (n, op) in self.ops.iter().enumerate() {
            place.push((inputs + ops.len()) as u32);
            if needed[inputs + n] {
                ops.push(TapeGate { gate: op.gate, a: place[op.a as usize], b: place[op.b as usize] });
            }
        }
        let moved = |literal: Literal| match literal.index() {
            Some(wire) => Literal::wire(place[wire] as usize).negated_if(literal.is_negated()),
            None => literal,
        };
        let outputs: Vec<(usize, Literal)> = (0..channels)
            .filter(|&channel| kept[channel])
            .map(|channel| (channel, moved(output(channel))))
            .collect();
        let mut negated: Vec<Literal> = outputs
            .iter()
            .map(|&(_, literal)| literal)
            .filter(|literal| literal.is_negated() && literal.index().is_some())
            .collect();
        negated.sort_unstable();
        negated.dedup();
        Tape { gates: ops.len() + negated.len(), ops, outputs }
    }
}
