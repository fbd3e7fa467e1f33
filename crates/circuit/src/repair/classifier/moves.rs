//! Changes of a classifier, random or suggested by training.

use super::net::{Change, Net};
use crate::gate::Gate;
use crate::netlist::{GateNode, Wire};
use crate::repair::random::SplitMix;

/// A change that is likely to help, from someone who knows the circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The index of a gate.
    pub gate: usize,
    /// What it becomes.
    pub node: GateNode,
}

impl Suggestion {
    /// The same for renumbered gates.
    pub(super) fn moved(&self, place: &[usize], sources: usize) -> Suggestion {
        let wire = |wire: Wire| match wire.index().checked_sub(sources) {
            Some(gate) => Wire((sources + place[gate]) as u32),
            None => wire,
        };
        let GateNode { gate, a, b } = self.node;
        Suggestion { gate: place[self.gate], node: GateNode { gate, a: wire(a), b: wire(b) } }
    }
}

/// What changes are drawn from.
pub(super) struct MoveDraw<'a> {
    pub net: &'a Net,
    pub suggestions: &'a [Suggestion],
    /// Whether there should be fewer gates.
    pub shrink: bool,
}

impl MoveDraw<'_> {
    /// One change, or two at once.
    pub(super) fn change(&self, random: &mut SplitMix) -> Vec<Change> {
        match (self.shrink, random.below(12)) {
            (false, 0..=5) if !self.suggestions.is_empty() => vec![self.suggested(random)],
            (false, 0..=5) => vec![self.function(random)],
            (false, 6..=8) => vec![self.rewire(random)],
            (false, _) => vec![self.both(random)],
            (true, 0..=4) => vec![self.bypass(random)],
            (true, 5..=6) => vec![self.merge(random)],
            (true, 7) => vec![self.function(random)],
            (true, 8) => vec![self.rewire(random)],
            (true, 9) => vec![self.both(random)],
            (true, 10) => vec![self.bypass(random), self.both(random)],
            (true, _) => vec![self.bypass(random), self.bypass(random)],
        }
    }

    fn gate(&self, random: &mut SplitMix) -> usize {
        self.net.live[random.below(self.net.live.len())] as usize
    }

    /// The most likely suggestions come first, and are drawn most often.
    fn suggested(&self, random: &mut SplitMix) -> Change {
        let share = random.share();
        let place = (share * share * self.suggestions.len() as f64) as usize;
        let Suggestion { gate, node } = self.suggestions[place.min(self.suggestions.len() - 1)];
        Change { gate, node }
    }

    fn function(&self, random: &mut SplitMix) -> Change {
        let gate = self.gate(random);
        let node = self.net.nodes[gate];
        let function = Gate::ALL[(node.gate.number() as usize + 1 + random.below(15)) % 16];
        Change { gate, node: GateNode { gate: function, ..node } }
    }

    fn rewire(&self, random: &mut SplitMix) -> Change {
        let gate = self.gate(random);
        let node = self.net.nodes[gate];
        let wire = self.earlier(gate, random);
        let node = if random.one_in(2) { GateNode { a: wire, ..node } } else { GateNode { b: wire, ..node } };
        Change { gate, node }
    }

    /// Another function and another wire.
    fn both(&self, random: &mut SplitMix) -> Change {
        let Change { gate, node } = self.rewire(random);
        Change { gate, node: GateNode { gate: Gate::ALL[random.below(16)], ..node } }
    }

    /// Replaces a gate by a constant or one of its operands.
    fn bypass(&self, random: &mut SplitMix) -> Change {
        const SIMPLE: [Gate; 6] = [Gate::A, Gate::B, Gate::FALSE, Gate::TRUE, Gate::NOT_A, Gate::NOT_B];
        let gate = self.gate(random);
        Change { gate, node: GateNode { gate: SIMPLE[random.below(6)], ..self.net.nodes[gate] } }
    }

    /// Replaces a gate by another wire.
    fn merge(&self, random: &mut SplitMix) -> Change {
        let gate = self.gate(random);
        let wire = self.earlier(gate, random);
        Change { gate, node: GateNode { gate: Gate::A, a: wire, b: self.net.nodes[gate].b } }
    }

    /// A wire that a gate may read: a source, or any.
    fn earlier(&self, gate: usize, random: &mut SplitMix) -> Wire {
        let reach = self.net.reach(gate);
        let limit = if random.one_in(2) { self.net.sources.min(reach) } else { reach };
        Wire(random.below(limit) as u32)
    }
}
