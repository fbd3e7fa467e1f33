//! Estimates how many lookup tables a circuit needs on an FPGA: gates are covered by tables of four or six
//! inputs.
//!
//! For every gate a few *cuts* are known: sets of wires from which one table can compute it. First the cuts
//! with the fewest levels are chosen; then, as far as no output comes later, those that share most with others
//! (area flow). Negations are free, because tables can have any function. Start at [`Netlist::lookup_tables`].

use crate::graph::LogicGraph;
use crate::netlist::Netlist;

/// Cuts kept per gate.
const CUTS: usize = 8;
/// How many times cuts are chosen by area, once levels are known.
const ROUNDS: usize = 3;

/// The approximate resources of a circuit on an FPGA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookupTables {
    /// Inputs of a table.
    pub inputs: usize,
    /// Number of tables.
    pub count: usize,
    /// Tables on the longest path.
    pub depth: usize,
}

impl Netlist {
    /// Covers the circuit with tables of this many inputs, at least two.
    ///
    /// ```
    /// use farad_circuit::{Gate, Netlist};
    /// let mut netlist = Netlist::new("parity");
    /// let x: Vec<_> = (0..6).map(|n| netlist.input(format!("x{n}"))).collect();
    /// let parity = x[1..].iter().fold(x[0], |sum, &x| netlist.gate(Gate::XOR, sum, x));
    /// netlist.output("y", parity);
    /// assert_eq!((netlist.lookup_tables(6).count, netlist.lookup_tables(4).count), (1, 2));
    /// ```
    pub fn lookup_tables(&self, inputs: usize) -> LookupTables {
        let graph = LogicGraph::of(self);
        let mut mapping = Mapping::new(&graph, inputs.max(2));
        mapping.choose(None);
        for _ in 0..ROUNDS {
            let required = mapping.required();
            mapping.choose(Some(&required));
        }
        let count = mapping.cover().into_iter().filter(|&used| used).count();
        // A root that is the negation of a source needs its own table.
        let mut inverted: Vec<u32> =
            graph.roots().iter().filter(|r| r.is_negated()).map(|r| r.node()).collect();
        inverted.retain(|&node| node > 0 && !graph.is_gate(node));
        inverted.sort_unstable();
        inverted.dedup();
        let depth = mapping.depth().max(usize::from(!inverted.is_empty()));
        LookupTables { inputs, count: count + inverted.len(), depth }
    }
}

/// Wires from which a gate can be computed, in ascending order.
#[derive(Clone)]
struct WireCut {
    leaves: Vec<u32>,
    /// Tables on the longest path.
    level: u32,
    /// Tables up to here, where each counts in shares for its readers.
    flow: f32,
}

struct Mapping<'a> {
    graph: &'a LogicGraph,
    inputs: usize,
    order: Vec<u32>,
    /// The cuts of each node, the chosen one first.
    cuts: Vec<Vec<WireCut>>,
    /// Readers of each node, actual or in the last cover.
    readers: Vec<f32>,
}

impl<'a> Mapping<'a> {
    fn new(graph: &'a LogicGraph, inputs: usize) -> Mapping<'a> {
        let readers = (0..graph.limit() as u32).map(|node| graph.references(node).max(1) as f32).collect();
        Mapping { graph, inputs, order: graph.order(), cuts: vec![vec![]; graph.limit()], readers }
    }

    /// Chooses the cut of every gate: by levels, or by area among those that are in time.
    fn choose(&mut self, required: Option<&[u32]>) {
        for node in self.order.clone() {
            let mut cuts = self.candidates(node);
            cuts.sort_by(|a, b| match required {
                None => {
                    (a.level, a.leaves.len()).cmp(&(b.level, b.leaves.len())).then(a.flow.total_cmp(&b.flow))
                }
                Some(required) => {
                    let late = |cut: &WireCut| cut.level.saturating_sub(required[node as usize]);
                    late(a).cmp(&late(b)).then(a.flow.total_cmp(&b.flow)).then(a.level.cmp(&b.level))
                }
            });
            cuts.dedup_by(|a, b| a.leaves == b.leaves);
            cuts.truncate(CUTS);
            self.cuts[node as usize] = cuts;
        }
    }

    /// Unions of the operands' cuts with few enough leaves.
    fn candidates(&self, node: u32) -> Vec<WireCut> {
        let vertex = self.graph.vertex(node);
        let of = |operand: u32| -> Vec<Vec<u32>> {
            let own = self.cuts[operand as usize].iter().map(|cut| cut.leaves.clone());
            own.chain([vec![operand]]).collect()
        };
        let (first, second) = (of(vertex.a), of(vertex.b));
        let mut cuts = vec![];
        for a in &first {
            for b in &second {
                if let Some(leaves) = union(a, b, self.inputs) {
                    cuts.push(self.cut(node, leaves));
                }
            }
        }
        cuts
    }

    fn cut(&self, node: u32, leaves: Vec<u32>) -> WireCut {
        let best = |leaf: &u32| self.cuts[*leaf as usize].first();
        let level = leaves.iter().filter_map(best).map(|cut| cut.level).max().unwrap_or(0) + 1;
        let below: f32 = leaves.iter().filter_map(best).map(|cut| cut.flow).sum();
        WireCut { leaves, level, flow: (1.0 + below) / self.readers[node as usize] }
    }

    /// The gates that become tables.
    fn cover(&self) -> Vec<bool> {
        let mut used = vec![false; self.graph.limit()];
        self.graph
            .roots()
            .iter()
            .for_each(|root| used[root.node() as usize] |= self.graph.is_gate(root.node()));
        for &node in self.order.iter().rev() {
            if used[node as usize] {
                let leaves = &self.cuts[node as usize][0].leaves;
                leaves.iter().for_each(|&leaf| used[leaf as usize] |= self.graph.is_gate(leaf));
            }
        }
        used
    }

    /// The latest level of each node for which the last output is not later; also counts the readers of the
    /// cover.
    fn required(&mut self) -> Vec<u32> {
        let (used, depth) = (self.cover(), self.depth() as u32);
        let mut required = vec![depth; self.graph.limit()];
        let mut readers = vec![0.0f32; self.graph.limit()];
        self.graph.roots().iter().for_each(|root| readers[root.node() as usize] += 1.0);
        for &node in self.order.iter().rev().filter(|&&node| used[node as usize]) {
            for &leaf in &self.cuts[node as usize][0].leaves {
                required[leaf as usize] = required[leaf as usize].min(required[node as usize] - 1);
                readers[leaf as usize] += 1.0;
            }
        }
        for (mean, now) in self.readers.iter_mut().zip(readers) {
            *mean = (0.5 * (*mean + now)).max(1.0);
        }
        // A node that no table reads now may be read again, as late as its own readers would need it.
        for &node in self.order.iter().rev().filter(|&&node| !used[node as usize]) {
            let vertex = self.graph.vertex(node);
            let own = required[node as usize];
            for read in [vertex.a, vertex.b] {
                required[read as usize] = required[read as usize].min(own);
            }
        }
        required
    }

    fn depth(&self) -> usize {
        let level = |node: u32| self.cuts[node as usize].first().map_or(0, |cut| cut.level);
        self.graph.roots().iter().map(|root| level(root.node()) as usize).max().unwrap_or(0)
    }
}

/// The union of two ascending lists, if it has at most `most` entries.
fn union(a: &[u32], b: &[u32], most: usize) -> Option<Vec<u32>> {
    let mut both = Vec::with_capacity(most);
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (None, None) => return Some(both),
            (Some(&&x), Some(&&y)) => x.min(y),
            (Some(&&x), None) => x,
            (None, Some(&&y)) => y,
        };
        a.next_if(|&&x| x == next);
        b.next_if(|&&y| y == next);
        if both.len() == most {
            return None;
        }
        both.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Gate;
    use crate::netlist::Wire;

    fn found(netlist: &Netlist, inputs: usize) -> (usize, usize) {
        let LookupTables { count, depth, .. } = netlist.lookup_tables(inputs);
        (count, depth)
    }

    #[test]
    fn known_circuits_take_known_tables() {
        let mut adder = Netlist::new("full_adder");
        let x: Vec<Wire> = (0..3).map(|n| adder.input(format!("x{n}"))).collect();
        let sum = adder.population_count(&x);
        sum.iter().for_each(|&wire| adder.output("s", wire));
        assert_eq!(found(&adder, 4), (2, 1));
        let mut copies = Netlist::new("copies");
        let (a, b) = (copies.input("a"), copies.input("b"));
        let not = copies.gate(Gate::NOT_A, a, Wire::NONE);
        [a, not, b, not].iter().for_each(|&wire| copies.output("y", wire));
        assert_eq!(found(&copies, 4), (1, 1));
        let life = crate::Automaton::life(crate::Edge::Wrap).cell;
        let (count, depth) = found(&life, 6);
        assert!(count <= 7 && depth <= 3, "{count} tables, {depth} deep");
    }

    #[test]
    fn tables_of_two_inputs_are_gates_and_more_inputs_take_fewer() {
        for seed in 0..10 {
            let netlist = Netlist::random(seed, 12, 300, 8);
            let gates = LogicGraph::of(&netlist).gates();
            let counts = [2, 3, 4, 6].map(|inputs| found(&netlist, inputs).0);
            assert!(counts[0] <= gates + 8 && counts[3] < gates / 2, "{counts:?}, {gates} gates");
            assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
        }
    }
}
