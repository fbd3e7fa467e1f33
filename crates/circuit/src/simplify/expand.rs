//! Restarting from the function of a small circuit instead of its gates.
//!
//! The passes move from circuit to circuit in small steps, and a learned circuit may be a local optimum that
//! they do not leave. With at most nine inputs, the truth tables of the roots are expanded input by input into
//! a new circuit, with equal parts shared. The passes restart from there. The result is proved like any other.
//! Start at [`starts`].

use crate::gate::Gate;
use crate::graph::{LogicGraph, QuickMap, Signal, Simulation};

/// Most inputs of a circuit that is expanded: 512 rows, eight words.
const MOST_INPUTS: usize = 9;
/// A start that is more than this many times larger than the circuit does not pay off in the time available.
const MOST_TIMES: usize = 5;

/// How a function is composed of its halves for an input of zero and of one.
#[derive(Clone, Copy, PartialEq)]
enum Expansion {
    /// A multiplexer of the halves.
    Choice,
    /// The first half, flipped where the input is one and the halves differ.
    Difference,
}

/// Circuits with the same roots over the same sources, made from truth tables; empty if there are too many
/// inputs or nothing would be gained.
pub(super) fn starts(graph: &LogicGraph) -> Vec<LogicGraph> {
    let used = graph.used_sources();
    if used.len() > MOST_INPUTS || graph.gates() < 2 * used.len() {
        return vec![];
    }
    let ways = [Expansion::Choice, Expansion::Difference];
    let made = ways.into_iter().map(|way| expanded(graph, &used, way));
    made.filter(|start| start.gates() <= MOST_TIMES * graph.gates()).collect()
}

/// The roots of a graph, expanded from the last source to the first.
fn expanded(graph: &LogicGraph, used: &[u32], way: Expansion) -> LogicGraph {
    let simulation = Simulation::sources(graph).run_all(graph);
    let mut tree = Tree { graph: LogicGraph::new(graph.sources()), made: QuickMap::default(), used, way };
    for root in graph.roots() {
        let words = simulation.of(root.node());
        let row = |row: usize| (words[row / 64] >> (row % 64) & 1 == 1) != root.is_negated();
        let rows: Vec<bool> = (0..1 << used.len()).map(row).collect();
        let signal = tree.build(&rows);
        tree.graph.add_root(signal);
    }
    let mut made = tree.graph;
    for node in (0..made.limit() as u32).rev() {
        made.remove_if_unread(node);
    }
    made.compacted()
}

struct Tree<'a> {
    graph: LogicGraph,
    /// The signal of each table; the length of a table gives the number of its sources.
    made: QuickMap<Vec<bool>, Signal>,
    used: &'a [u32],
    way: Expansion,
}

impl Tree<'_> {
    /// The signal of a table over the first sources.
    fn build(&mut self, rows: &[bool]) -> Signal {
        if rows.iter().all(|&row| row == rows[0]) {
            return Signal::FALSE.negated_if(rows[0]);
        }
        if let Some(&signal) = self.made.get(rows) {
            return signal;
        }
        let (zero, one) = rows.split_at(rows.len() / 2);
        let signal = match (self.way, zero == one) {
            (_, true) => self.build(zero),
            (Expansion::Choice, _) => self.choice(zero, one),
            (Expansion::Difference, _) => self.difference(zero, one),
        };
        self.made.insert(rows.to_vec(), signal);
        signal
    }

    fn input(&self, half: &[bool]) -> Signal {
        Signal::new(self.used[half.len().ilog2() as usize], false)
    }

    fn choice(&mut self, zero: &[bool], one: &[bool]) -> Signal {
        let input = self.input(zero);
        let (low, high) = (self.build(zero), self.build(one));
        if low == high.negated_if(true) {
            return self.graph.gate(Gate::XOR, input, low);
        }
        let low = self.graph.gate(Gate::NOT_A_AND_B, input, low);
        let high = self.graph.gate(Gate::AND, input, high);
        self.graph.gate(Gate::OR, low, high)
    }

    fn difference(&mut self, zero: &[bool], one: &[bool]) -> Signal {
        let input = self.input(zero);
        let differ: Vec<bool> = zero.iter().zip(one).map(|(a, b)| a != b).collect();
        let (low, differ) = (self.build(zero), self.build(&differ));
        let flips = self.graph.gate(Gate::AND, input, differ);
        self.graph.gate(Gate::XOR, low, flips)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equivalence::{Budget, equivalent};
    use crate::netlist::Netlist;

    #[test]
    fn expanded_circuits_compute_the_same() {
        for seed in 0..60 {
            let netlist = Netlist::random_with_registers(seed, 4, 2, 50, 3);
            let graph = LogicGraph::of(&netlist);
            for way in [Expansion::Choice, Expansion::Difference] {
                let made = expanded(&graph, &graph.used_sources(), way);
                made.check();
                let written = made.write(&netlist);
                let compared = equivalent(&netlist, &written, &Budget::default()).unwrap();
                assert!(compared.is_proved(), "seed {seed}");
            }
        }
    }
}
