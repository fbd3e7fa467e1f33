//! The gates of a classifier during a search: their readers and their cost.
//!
//! Invariant: a gate reads only sources and gates of a lower level. So the order of gates is a valid order of
//! evaluation, and the circuit never becomes deeper than it was. Every output has its own gate, which initially
//! passes its signal through.

use crate::gate::Gate;
use crate::netlist::{GateNode, Netlist, Wire};

/// One gate becomes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub gate: usize,
    pub node: GateNode,
}

/// Gates with their readers.
#[derive(Clone, Debug)]
pub(super) struct Net {
    pub sources: usize,
    pub nodes: Vec<GateNode>,
    /// Per gate: how many wires it may read, counted from the first.
    reach: Vec<u32>,
    /// Per wire: the gates that actually read it.
    pub readers: Vec<Vec<u32>>,
    /// Per wire: the number of live readers, including outputs.
    uses: Vec<u32>,
    /// The first output gate; output gates come last.
    pub first_output: usize,
    /// The cost of an output that is not constant.
    output_cost: i64,
    /// Gates that some output depends on, in order.
    pub live: Vec<u32>,
}

/// Which wires a gate may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandReach {
    /// Only those of lower levels, so that the circuit does not become deeper.
    Held,
    /// All earlier ones.
    Free,
}

impl Net {
    /// From a netlist without registers; also returns the new index of each of its gates.
    pub(super) fn of(netlist: &Netlist, depth: OperandReach, output_cost: i64) -> (Net, Vec<usize>) {
        let sources = netlist.sources();
        let levels = match depth {
            OperandReach::Free => (1..=netlist.gates.len() as u32).collect(),
            OperandReach::Held => levels(netlist),
        };
        let mut order: Vec<usize> = (0..netlist.gates.len()).collect();
        order.sort_by_key(|&gate| levels[gate]);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(n, &gate)| place[gate] = n);
        let moved = |wire: Wire| match wire.index().checked_sub(sources) {
            Some(gate) => Wire((sources + place[gate]) as u32),
            None => wire,
        };
        let of = |&gate: &usize| {
            let GateNode { gate, a, b } = whole(netlist.gates[gate]);
            GateNode { gate, a: moved(a), b: moved(b) }
        };
        let mut nodes: Vec<GateNode> = order.iter().map(of).collect();
        let mut reach: Vec<u32> = vec![];
        for (n, &gate) in order.iter().enumerate() {
            let same = n > 0 && levels[order[n - 1]] == levels[gate];
            reach.push(if same { reach[n - 1] } else { (sources + n) as u32 });
        }
        let first_output = nodes.len();
        for output in &netlist.outputs {
            let wire = moved(output.wire);
            nodes.push(GateNode { gate: Gate::A, a: wire, b: wire });
            reach.push((sources + first_output) as u32);
        }
        let wires = sources + nodes.len();
        let (readers, uses, live) = (vec![vec![]; wires], vec![0; wires], vec![]);
        let mut net = Net { sources, nodes, reach, readers, uses, first_output, output_cost, live };
        for gate in 0..net.nodes.len() {
            let node = net.nodes[gate];
            net.add_reader(gate, node);
        }
        net.count_uses();
        (net, place)
    }

    /// These gates as a netlist with the names of another.
    pub(super) fn netlist(&self, nodes: Vec<GateNode>, shell: &Netlist) -> Netlist {
        let mut netlist = Netlist { gates: nodes, ..shell.clone() };
        for (n, output) in netlist.outputs.iter_mut().enumerate() {
            output.wire = Wire((self.sources + self.first_output + n) as u32);
        }
        netlist
    }

    /// The wire that a gate makes.
    pub(super) fn wire(&self, gate: usize) -> Wire {
        Wire((self.sources + gate) as u32)
    }

    /// How many wires a gate may read, counted from the first: sources and gates of lower levels.
    pub(super) fn reach(&self, gate: usize) -> usize {
        self.reach[gate] as usize
    }

    /// The cost of the circuit: live active gates, and outputs that are not constant.
    pub(super) fn cost(&self) -> i64 {
        self.live.iter().map(|&gate| self.cost_of(gate as usize, self.nodes[gate as usize].gate)).sum()
    }

    fn cost_of(&self, gate: usize, function: Gate) -> i64 {
        let is_constant = matches!(function, Gate::FALSE | Gate::TRUE);
        let output = gate >= self.first_output && !is_constant;
        i64::from(function.is_active()) + if output { self.output_cost } else { 0 }
    }

    /// The change in cost after a change.
    pub(super) fn cost_after(&self, change: &[Change], tally: &mut ReaderTally) -> i64 {
        tally.uses.clear();
        let mut cost = 0;
        for (n, &Change { gate, node }) in change.iter().enumerate() {
            let before = change[..n].iter().rev().find(|other| other.gate == gate);
            let old = before.map_or(self.nodes[gate], |other| other.node);
            let at = |gate: usize| {
                let changed = change[..n].iter().rev().find(|other| other.gate == gate);
                changed.map_or(self.nodes[gate], |other| other.node)
            };
            if self.uses_of(self.wire(gate), tally) == 0 {
                continue;
            }
            cost += self.cost_of(gate, node.gate) - self.cost_of(gate, old.gate);
            node.operands().for_each(|wire| cost += self.take(wire, tally, &at));
            old.operands().for_each(|wire| cost += self.release(wire, tally, &at));
        }
        cost
    }

    fn uses_of(&self, wire: Wire, tally: &ReaderTally) -> i64 {
        i64::from(self.uses[wire.index()]) + tally.of(wire)
    }

    /// Adds a reader; returns the change in cost.
    fn take(&self, wire: Wire, tally: &mut ReaderTally, at: &dyn Fn(usize) -> GateNode) -> i64 {
        let fresh = self.uses_of(wire, tally) == 0;
        tally.add(wire, 1);
        match wire.index().checked_sub(self.sources) {
            Some(gate) if fresh => {
                let node = at(gate);
                let own: i64 = node.operands().map(|wire| self.take(wire, tally, at)).sum();
                own + self.cost_of(gate, node.gate)
            }
            _ => 0,
        }
    }

    /// Removes a reader; returns the change in cost.
    fn release(&self, wire: Wire, tally: &mut ReaderTally, at: &dyn Fn(usize) -> GateNode) -> i64 {
        tally.add(wire, -1);
        let dead = self.uses_of(wire, tally) == 0;
        match wire.index().checked_sub(self.sources) {
            Some(gate) if dead => {
                let node = at(gate);
                let own: i64 = node.operands().map(|wire| self.release(wire, tally, at)).sum();
                own - self.cost_of(gate, node.gate)
            }
            _ => 0,
        }
    }

    /// Changes gates permanently.
    pub(super) fn apply(&mut self, change: &[Change]) {
        for &Change { gate, node } in change {
            for wire in self.nodes[gate].operands() {
                self.readers[wire.index()].retain(|&reader| reader as usize != gate);
            }
            self.add_reader(gate, node);
            self.nodes[gate] = node;
        }
        self.count_uses();
    }

    fn add_reader(&mut self, gate: usize, node: GateNode) {
        let reads = [node.gate.reads_a().then_some(node.a), node.gate.reads_b().then_some(node.b)];
        // Both operands may be the same wire, which then has one reader.
        let twice = reads[0] == reads[1];
        for wire in reads.into_iter().skip(usize::from(twice)).flatten() {
            self.readers[wire.index()].push(gate as u32);
        }
    }

    fn count_uses(&mut self) {
        self.uses.fill(0);
        self.live.clear();
        (self.first_output..self.nodes.len()).for_each(|gate| self.uses[self.sources + gate] = 1);
        for gate in (0..self.nodes.len()).rev() {
            if self.uses[self.sources + gate] > 0 {
                self.live.push(gate as u32);
                self.nodes[gate].operands().for_each(|wire| self.uses[wire.index()] += 1);
            }
        }
        self.live.reverse();
    }
}

/// A gate in which all operands are wires, even those that it does not read: another function may.
fn whole(node: GateNode) -> GateNode {
    let known = |wire: Wire, other: Wire| match (wire, other) {
        (Wire::NONE, Wire::NONE) => Wire(0),
        (Wire::NONE, other) => other,
        (wire, _) => wire,
    };
    GateNode { gate: node.gate, a: known(node.a, node.b), b: known(node.b, node.a) }
}

/// For every gate one more than the highest level of its possible operands.
fn levels(netlist: &Netlist) -> Vec<u32> {
    let mut levels: Vec<u32> = vec![];
    for &node in &netlist.gates {
        let GateNode { a, b, .. } = whole(node);
        let level = |wire: Wire| wire.index().checked_sub(netlist.sources()).map_or(0, |n| levels[n]);
        levels.push(level(a).max(level(b)) + 1);
    }
    levels
}

/// Changes in reader counts while a change is evaluated.
#[derive(Clone, Debug, Default)]
pub(super) struct ReaderTally {
    uses: Vec<(Wire, i64)>,
}

impl ReaderTally {
    fn of(&self, wire: Wire) -> i64 {
        self.uses.iter().find(|(other, _)| *other == wire).map_or(0, |(_, uses)| *uses)
    }

    fn add(&mut self, wire: Wire, by: i64) {
        match self.uses.iter_mut().find(|(other, _)| *other == wire) {
            Some((_, uses)) => *uses += by,
            None => self.uses.push((wire, by)),
        }
    }
}
