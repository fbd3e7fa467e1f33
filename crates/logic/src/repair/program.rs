//! A candidate in the kernel's format: rows of four words over numbered slots.
//!
//! Invariant: the first slots are the next values of the channels, and ops use those after them; a slot is free
//! again once nobody reads its value any more.

use farad_circuit::Gate;
use farad_circuit::repair::{CandidateChannels, Tape};

/// Marks an operand that is an input: then follow its position and its channel.
const INPUT: u32 = 1 << 31;
const POSITION: u32 = 16;
/// Marks a channel's next value that is negated, or a constant.
const NEGATED: u32 = 1;
const CONSTANT: u32 = 2;

/// A candidate in the kernel's format.
pub struct CandidateProgram {
    /// One row for each channel that matters, then one for each op.
    pub rows: Vec<[u32; 4]>,
    pub channels: usize,
    pub ops: usize,
    /// Slots that it needs.
    pub slots: usize,
}

impl CandidateProgram {
    pub fn new(tape: &Tape, shape: &CandidateChannels) -> CandidateProgram {
        let slots = Slots::new(tape, shape);
        let operand = |wire: usize| match wire.checked_sub(slots.inputs) {
            Some(op) => slots.places[op],
            None => {
                let (position, channel) = (wire / shape.channels, wire % shape.channels);
                INPUT | (position as u32) << POSITION | slots.dense[channel]
            }
        };
        let channel = |&(channel, literal): &(usize, farad_circuit::repair::Literal)| {
            let shown = shape.visible.iter().position(|&visible| visible == channel);
            let negated = if literal.is_negated() { NEGATED } else { 0 };
            let (value, how) = match literal.index() {
                Some(wire) => (operand(wire), negated),
                None => (0, negated | CONSTANT),
            };
            [channel as u32, shown.map_or(0, |n| n as u32 + 1), value, how]
        };
        let ops = tape.ops.iter().enumerate().map(|(n, op)| {
            let [a, b] = [op.a, op.b].map(|wire| operand(wire as usize));
            [polynomial(op.gate), a, b, slots.places[n]]
        });
        CandidateProgram {
            rows: tape.outputs.iter().map(channel).chain(ops).collect(),
            channels: tape.outputs.len(),
            ops: tape.ops.len(),
            slots: slots.count,
        }
    }
}

/// The slots of ops' values.
struct Slots {
    inputs: usize,
    /// The index of each channel among those that matter.
    dense: Vec<u32>,
    places: Vec<u32>,
    count: usize,
}

impl Slots {
    fn new(tape: &Tape, shape: &CandidateChannels) -> Slots {
        let inputs = 9 * shape.channels;
        let mut dense = vec![0; shape.channels];
        tape.outputs.iter().enumerate().for_each(|(n, &(channel, _))| dense[channel] = n as u32);
        // The last op that reads each op; values that outputs read stay.
        let mut last = vec![0; tape.ops.len()];
        let own = |wire: u32| (wire as usize).checked_sub(inputs);
        for (n, op) in tape.ops.iter().enumerate() {
            [op.a, op.b].into_iter().filter_map(own).for_each(|read| last[read] = n);
        }
        let shown = tape.outputs.iter().filter_map(|(_, literal)| literal.index()?.checked_sub(inputs));
        shown.for_each(|op| last[op] = usize::MAX);
        let (mut free, mut count, mut places) = (vec![], tape.outputs.len(), Vec::new());
        for (n, op) in tape.ops.iter().enumerate() {
            for read in [op.a, op.b].into_iter().filter_map(own).filter(|&read| last[read] == n) {
                free.push(places[read]);
            }
            places.push(free.pop().unwrap_or_else(|| {
                count += 1;
                count as u32 - 1
            }));
        }
        Slots { inputs, dense, places, count }
    }
}

/// The coefficients of a gate over bits are those over integers modulo 2.
fn polynomial(gate: Gate) -> u32 {
    gate.coefficients().iter().rev().fold(0, |bits, c| bits << 1 | u32::from(c % 2 != 0))
}
