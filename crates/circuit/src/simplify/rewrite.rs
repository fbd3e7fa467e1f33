//! Cut rewriting: a gate is recomputed from a cut of four leaves by the smallest circuit of that function.
//!
//! What counts is the number of gates afterwards: gates that only the old form used are removed, and gates that
//! the new form shares with the rest are free. Start at [`rewrite`].

use super::clock::Deadline;
use super::cuts;
use super::library::Library;
use super::proposal::SmallCircuit;
use super::taste::Taste;
use crate::graph::{LogicGraph, Signal};
use crate::progress::WorkProgress;

/// Cuts tried per gate.
const CUTS: usize = 24;

/// Rewrites every gate once if that saves gates.
pub(super) fn rewrite(
    graph: &mut LogicGraph,
    library: &Library,
    taste: &mut Taste,
    clock: &Deadline,
    progress: &WorkProgress,
) {
    let order = graph.order();
    progress.begin("rewriting", order.len(), Some(graph.gates()));
    for node in order {
        if clock.is_over() {
            return;
        }
        progress.step();
        if !graph.is_gate(node) {
            continue;
        }
        if let Some(choice) = best(graph, library, node, taste) {
            let signal = choice.with(library, |proposal| proposal.build(graph));
            graph.replace(node, signal);
        }
    }
}

/// A circuit of the library for a cut.
struct LibraryChoice {
    leaves: [Signal; 4],
    table: u16,
    chain: usize,
}

impl LibraryChoice {
    fn with<T>(&self, library: &Library, work: impl FnOnce(SmallCircuit) -> T) -> T {
        let circuits = library.circuits(self.table, self.leaves);
        let steps = &circuits.chains[self.chain].steps;
        work(SmallCircuit { inputs: &circuits.inputs, steps, negated: circuits.negated })
    }
}

/// The circuit that saves the most gates in place of a gate.
fn best(graph: &mut LogicGraph, library: &Library, node: u32, taste: &mut Taste) -> Option<LibraryChoice> {
    let cuts = cuts::cuts(graph, node, 4, CUTS);
    let freed = graph.release(node) as isize;
    let mut best = None;
    let mut best_gain = taste.least_gain();
    for cut in cuts {
        let table = cuts::table(graph, node, &cut);
        let leaves =
            std::array::from_fn(|k| cut.get(k).map_or(Signal::FALSE, |&leaf| Signal::new(leaf, false)));
        for chain in 0..library.circuits(table, leaves).chains.len() {
            let choice = LibraryChoice { leaves, table, chain };
            let added = choice.with(library, |proposal| proposal.added(graph, node));
            let Some(gain) = added.map(|added| freed - added as isize) else { continue };
            // Among equal gains, a later one is taken now and then, so that rounds differ.
            if gain > best_gain
                || (gain == best_gain && (best.is_none() || taste.takes(0, 3)) && taste.takes(gain, 2))
            {
                best_gain = gain;
                best = Some(choice);
            }
        }
    }
    graph.retain(node);
    best
}
