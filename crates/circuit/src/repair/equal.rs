//! Wires that carry the same bit in all states that a circuit visits, although they are different functions.
//!
//! From a single start, a circuit visits few neighborhoods. Wires that agree in all of these, or always differ,
//! can replace each other: nothing changes from that start. Start at [`merged`].

use super::bench::Record;
use super::cell::CellCircuit;
use super::tape::Tape;
use crate::gate::Gate;
use crate::graph::QuickMap;
use crate::netlist::{GateNode, Wire};

/// What a wire can be replaced by: another wire, perhaps negated, or a constant.
#[derive(Clone, Copy)]
enum Stands {
    For(Wire, bool),
    Always(bool),
}

/// The tape as a cell in which every wire that always agreed with an earlier one is replaced by it. `records`
/// are of this tape; each comes with the mask of bits that are samples.
pub(super) fn merged(tape: &Tape, channels: usize, records: &[(&Record, &[u32])]) -> CellCircuit {
    let inputs = 9 * channels;
    let matters = |input: usize| tape.outputs.iter().any(|&(channel, _)| channel == input % channels);
    let mut stands: Vec<Stands> = (0..inputs).map(|wire| Stands::For(Wire(wire as u32), false)).collect();
    let mut known: QuickMap<u64, Vec<(u32, bool, Vec<u32>)>> = QuickMap::default();
    for wire in (0..inputs).filter(|&wire| matters(wire)).chain(inputs..inputs + tape.ops.len()) {
        let (flipped, samples) = samples(wire, records);
        let hash = samples.iter().fold(0u64, |hash, &word| {
            (hash.rotate_left(23) ^ u64::from(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        let places = known.entry(hash).or_default();
        let own = match places.iter().find(|(.., others)| *others == samples) {
            _ if samples.iter().all(|&word| word == 0) => Stands::Always(flipped),
            Some(&(other, other_flipped, _)) => Stands::For(Wire(other), flipped != other_flipped),
            None => {
                places.push((wire as u32, flipped, samples));
                Stands::For(Wire(wire as u32), false)
            }
        };
        match stands.get_mut(wire) {
            Some(stands) => *stands = own,
            None => stands.push(own),
        }
    }
    rewritten(tape.cell(channels), &stands)
}

/// The samples of a wire at all steps, negated if the first of them is one: so a wire and its negation look the
/// same.
fn samples(wire: usize, records: &[(&Record, &[u32])]) -> (bool, Vec<u32>) {
    let mut words = vec![];
    let mut flip = None;
    for (record, samples) in records {
        for step in 0..record.steps {
            for (value, &mask) in record.at(step, wire).iter().zip(*samples) {
                if flip.is_none() && mask != 0 {
                    flip = Some(if value >> mask.trailing_zeros() & 1 == 1 { !0 } else { 0 });
                }
                words.push((value ^ flip.unwrap_or(0)) & mask);
            }
        }
    }
    (flip == Some(!0), words)
}

/// Replaces wires.
fn rewritten(mut cell: CellCircuit, stands: &[Stands]) -> CellCircuit {
    let stands = |wire: Wire| stands.get(wire.index()).copied().unwrap_or(Stands::For(wire, false));
    for node in &mut cell.gates {
        let GateNode { gate, a, b } = *node;
        let (gate, a) = match stands(a) {
            Stands::For(wire, negated) => (if negated { gate.with_negated_a() } else { gate }, wire),
            Stands::Always(value) => (fixed(gate, value), b),
        };
        let (gate, b) = match stands(b) {
            Stands::For(wire, negated) => (if negated { gate.with_negated_b() } else { gate }, wire),
            Stands::Always(value) => (fixed(gate.swapped(), value).swapped(), a),
        };
        *node = GateNode { gate, a, b };
    }
    for channel in 0..cell.channels {
        cell.outputs[channel] = match stands(cell.outputs[channel]) {
            Stands::For(wire, false) => wire,
            Stands::For(wire, true) => cell.gate(Gate::NOT_A, wire, wire),
            Stands::Always(value) => {
                cell.gate(if value { Gate::TRUE } else { Gate::FALSE }, Wire(0), Wire(0))
            }
        };
    }
    cell
}

/// The gate that reads only `b` and does what this one does for a fixed `a`.
fn fixed(gate: Gate, a: bool) -> Gate {
    match (gate.output(a, false), gate.output(a, true)) {
        (false, false) => Gate::FALSE,
        (false, true) => Gate::B,
        (true, false) => Gate::NOT_B,
        (true, true) => Gate::TRUE,
    }
}
