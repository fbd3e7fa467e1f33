//! Conversion from netlists and back.

use super::{LogicGraph, Signal};
use crate::gate::Gate;
use crate::netlist::{GateNode, Netlist, Wire};

impl LogicGraph {
    /// Reads a netlist: its inputs and registers are the sources, its [roots](Netlist::roots) the roots. This
    /// removes constants, copies, negations, and equal and dead gates.
    pub(crate) fn of(netlist: &Netlist) -> LogicGraph {
        let mut graph = LogicGraph::new(netlist.sources());
        let signals = graph.absorb(netlist);
        let roots: Vec<Signal> = netlist.roots().map(|wire| signals[wire.index()]).collect();
        roots.into_iter().for_each(|root| graph.add_root(root));
        for node in (0..graph.limit() as u32).rev() {
            graph.remove_if_unread(node);
        }
        graph
    }

    /// Adds the gates of a netlist over the sources of this graph; returns the signal of each of its wires.
    pub(crate) fn absorb(&mut self, netlist: &Netlist) -> Vec<Signal> {
        let mut signals: Vec<Signal> = (0..netlist.sources()).map(|source| self.source(source)).collect();
        for node in &netlist.gates {
            let operand = |read: bool, wire: Wire| if read { signals[wire.index()] } else { Signal::FALSE };
            let (a, b) = (operand(node.gate.reads_a(), node.a), operand(node.gate.reads_b(), node.b));
            let signal = self.gate(node.gate, a, b);
            signals.push(signal);
        }
        signals
    }

    /// Active gates that [`LogicGraph::write`] makes: the gates, and negations that no gate can absorb.
    pub(crate) fn cost(&self) -> usize {
        let mut roots: Vec<Signal> = self.roots().to_vec();
        roots.sort_unstable();
        roots.dedup();
        let is_negation = |&(n, root): &(usize, &Signal)| {
            let needs_both = n > 0 && roots[n - 1].node() == root.node();
            root.is_negated() && root.node() > 0 && (!self.is_gate(root.node()) || needs_both)
        };
        self.gates() + roots.iter().enumerate().filter(is_negation).count()
    }

    /// Writes the graph with the names, inputs and registers of the netlist that it came from.
    pub(crate) fn write(&self, shell: &Netlist) -> Netlist {
        let mut writer = NetlistWriter::new(self, shell);
        for node in self.order() {
            writer.gate(node);
        }
        let wires: Vec<Wire> = self.roots().iter().map(|&root| writer.root(root)).collect();
        let mut netlist = writer.netlist;
        let outputs = shell.outputs.len();
        netlist.outputs = shell.outputs.clone();
        for (output, &wire) in netlist.outputs.iter_mut().zip(&wires) {
            output.wire = wire;
        }
        for (register, &wire) in netlist.registers.iter_mut().zip(&wires[outputs..]) {
            register.next = wire;
        }
        netlist
    }
}

struct NetlistWriter<'a> {
    graph: &'a LogicGraph,
    netlist: Netlist,
    /// The wire of each node, and whether that wire carries the negation.
    made: Vec<(Wire, bool)>,
    /// The wires of negations made for a root, and of the constants.
    extra: super::QuickMap<Signal, Wire>,
    /// Nodes whose negation is all that roots read: these are made negated.
    negated: Vec<bool>,
}

impl NetlistWriter<'_> {
    fn new<'a>(graph: &'a LogicGraph, shell: &Netlist) -> NetlistWriter<'a> {
        let mut netlist = Netlist::new(shell.name.clone());
        netlist.inputs = shell.inputs.clone();
        netlist.registers = shell.registers.clone();
        netlist.meta = shell.meta.clone();
        // The gates have changed, so it is unknown which part they belong to.
        netlist = netlist.without_parts();
        let mut made = vec![(Wire::NONE, false); graph.limit()];
        for source in 0..graph.sources() {
            made[source + 1].0 = Wire(source as u32);
        }
        let mut negated = vec![false; graph.limit()];
        graph.roots().iter().for_each(|root| negated[root.node() as usize] |= root.is_negated());
        graph.roots().iter().for_each(|root| negated[root.node() as usize] &= root.is_negated());
        NetlistWriter { graph, netlist, made, extra: Default::default(), negated }
    }

    fn gate(&mut self, node: u32) {
        let vertex = self.graph.vertex(node);
        let ((a, a_negated), (b, b_negated)) = (self.made[vertex.a as usize], self.made[vertex.b as usize]);
        let gate = if a_negated { vertex.gate.with_negated_a() } else { vertex.gate };
        let gate = if b_negated { gate.with_negated_b() } else { gate };
        let negated = self.negated[node as usize];
        let gate = if negated { gate.negated() } else { gate };
        let (gate, a, b) = if a <= b { (gate, a, b) } else { (gate.swapped(), b, a) };
        self.made[node as usize] = (self.netlist.gate(gate, a, b), negated);
    }

    fn root(&mut self, root: Signal) -> Wire {
        let (wire, negated) = self.made[root.node() as usize];
        if root.node() > 0 && negated == root.is_negated() {
            return wire;
        }
        let node = match (root.node(), root.is_negated()) {
            (0, false) => GateNode { gate: Gate::FALSE, a: Wire::NONE, b: Wire::NONE },
            (0, true) => GateNode { gate: Gate::TRUE, a: Wire::NONE, b: Wire::NONE },
            _ => GateNode { gate: Gate::NOT_A, a: wire, b: Wire::NONE },
        };
        let netlist = &mut self.netlist;
        *self.extra.entry(root).or_insert_with(|| netlist.gate(node.gate, node.a, node.b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_and_writing_keeps_every_function() {
        for seed in 0..300 {
            let netlist = Netlist::random_with_registers(seed, 4, 2, 40, 5);
            let graph = LogicGraph::of(&netlist);
            graph.check();
            let written = graph.write(&netlist);
            written.check().unwrap();
            for bits in 0..64 {
                let sources: Vec<u64> = (0..6).map(|n| (bits >> n & 1) * u64::MAX).collect();
                assert_eq!(words(&netlist, &sources), words(&written, &sources), "seed {seed}");
            }
            let active = written.gates.iter().filter(|node| node.gate.is_active()).count();
            assert_eq!(active, graph.cost());
        }
    }

    fn words(netlist: &Netlist, sources: &[u64]) -> Vec<u64> {
        let mut values = sources.to_vec();
        for node in &netlist.gates {
            let value = |wire: Wire| values.get(wire.index()).copied().unwrap_or(0);
            values.push(node.gate.word(value(node.a), value(node.b)));
        }
        netlist.roots().map(|wire| values[wire.index()]).collect()
    }
}
