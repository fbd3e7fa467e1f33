//! Resubstitution: a gate is expressed by existing ones, in a form that agrees wherever the difference could be
//! observed.
//!
//! For each gate, the patterns are found on which its value reaches a root; only there must the new form agree.
//! Agreement on all patterns is a proof. Agreement on a sample is proved by SAT, and a refuting pattern is
//! added to the sample. Start at [`resubstitute`].

use super::clock::Deadline;
use super::proposal::SmallCircuit;
use super::search::{Divisors, Expression, SearchTarget};
use super::taste::Taste;
use crate::gate::Gate;
use crate::graph::{LogicGraph, Prover, QuickMap, Signal, Simulation, SolverAnswer};
use crate::progress::WorkProgress;

/// How much to search.
#[derive(Clone, Copy)]
pub(super) struct SearchDepth {
    /// Most gates of an expression.
    pub(super) gates: usize,
    /// Most divisors of a gate.
    pub(super) divisors: usize,
    /// Most dependents of a gate; with more, its value counts on all patterns.
    pub(super) dependents: usize,
    /// Proofs attempted for a gate.
    pub(super) attempts: usize,
    /// Gates that a proof encodes.
    pub(super) scope: usize,
    /// Conflicts of the solver per proof.
    pub(super) conflicts: u64,
}

/// Searches that found nothing, by a hash of everything that they depend on.
pub(super) type Futile = QuickMap<u64, ()>;

/// Resubstitutes every gate once if that saves gates. Skips searches that were futile before.
pub(super) fn resubstitute(
    graph: &mut LogicGraph,
    simulation: &mut Simulation,
    depth: SearchDepth,
    taste: &mut Taste,
    futile: &mut Futile,
    (clock, progress): (&Deadline, &WorkProgress),
) {
    let order = graph.order();
    progress.begin("expressing", order.len(), Some(graph.gates()));
    let mut pass = ResubstitutionPass { graph, simulation, depth, taste, futile, clock };
    for node in order.into_iter().rev() {
        progress.step();
        for _ in 0..depth.attempts {
            if clock.is_over() {
                return;
            }
            if !pass.graph.is_gate(node) || pass.visit(node) != NodeVisit::Refuted {
                break;
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum NodeVisit {
    Done,
    Refuted,
}

struct ResubstitutionPass<'a> {
    graph: &'a mut LogicGraph,
    simulation: &'a mut Simulation,
    depth: SearchDepth,
    taste: &'a mut Taste,
    futile: &'a mut Futile,
    clock: &'a Deadline,
}

impl ResubstitutionPass<'_> {
    fn visit(&mut self, node: u32) -> NodeVisit {
        let dependents = self.graph.dependents(&[node], self.depth.dependents);
        let care = match &dependents {
            Some(dependents) => self.care(node, dependents),
            None => vec![!0; self.simulation.words()],
        };
        let Some(expression) = self.find(node, dependents.as_deref(), &care) else { return NodeVisit::Done };
        let proposal = SmallCircuit { inputs: &expression.inputs, steps: &expression.steps, negated: false };
        let limit = self.graph.limit();
        let signal = proposal.build(self.graph);
        match self.prove(node, signal, dependents.as_deref()) {
            SolverAnswer::Proved => {
                self.graph.replace(node, signal);
                self.refresh(limit, dependents.as_deref().unwrap_or_default());
                NodeVisit::Done
            }
            verdict => {
                self.graph.remove_if_unread(signal.node());
                self.graph.trim();
                let SolverAnswer::Refuted(pattern) = verdict else { return NodeVisit::Done };
                self.simulation.learn(self.graph, &pattern);
                self.simulation.run_learned(self.graph, &self.graph.order());
                NodeVisit::Refuted
            }
        }
    }

    /// The patterns on which a change of the node changes a root.
    fn care(&self, node: u32, dependents: &[u32]) -> Vec<u64> {
        let words = self.simulation.words();
        if self.graph.is_root(node) {
            return vec![!0; words];
        }
        let mut changed: QuickMap<u32, usize> = QuickMap::default();
        let mut values: Vec<u64> = self.simulation.of(node).iter().map(|word| !word).collect();
        changed.insert(node, 0);
        let mut care = vec![0; words];
        for (n, &dependent) in dependents.iter().enumerate() {
            let vertex = self.graph.vertex(dependent);
            let start = values.len();
            values.resize(start + words, 0);
            let (old, new) = values.split_at_mut(start);
            let operand = |node: u32| match changed.get(&node) {
                Some(&place) => &old[place * words..][..words],
                None => self.simulation.of(node),
            };
            let (a, b) = (operand(vertex.a), operand(vertex.b));
            new.iter_mut().zip(a.iter().zip(b)).for_each(|(new, (&a, &b))| *new = vertex.gate.word(a, b));
            changed.insert(dependent, n + 1);
            if self.graph.is_root(dependent) {
                let old = self.simulation.of(dependent);
                care.iter_mut().zip(old.iter().zip(new)).for_each(|(care, (old, new))| *care |= old ^ *new);
            }
        }
        care
    }

    /// An expression for the node that saves gates and is right on the patterns that count.
    fn find(&mut self, node: u32, dependents: Option<&[u32]>, care: &[u64]) -> Option<Expression> {
        let value = self.simulation.of(node);
        let target = SearchTarget {
            on: value.iter().zip(care).map(|(value, care)| value & care).collect(),
            off: value.iter().zip(care).map(|(value, care)| !value & care).collect(),
        };
        let divisors = self.divisors(node, dependents);
        let freed = self.graph.release(node);
        let gates = self.depth.gates.min(freed - self.taste.least_gain() as usize);
        let search = divisors.fingerprint(&target, self.taste.least_gain() as usize, gates);
        let mut found = None;
        if !self.futile.contains_key(&search) {
            let (graph, taste, mut promising) = (&mut *self.graph, &mut *self.taste, false);
            found = divisors.express(&target, gates, &mut |expression| {
                let proposal =
                    SmallCircuit { inputs: &expression.inputs, steps: &expression.steps, negated: false };
                let gain = proposal.added(graph, node).map_or(-1, |added| freed as isize - added as isize);
                promising |= gain >= taste.least_gain();
                taste.takes(gain, 6)
            });
            if !promising {
                self.futile.insert(search, ());
            }
        }
        self.graph.retain(node);
        found
    }

    /// Nodes near the gate that do not depend on it: its ancestors, and what these feed.
    fn divisors(&self, node: u32, dependents: Option<&[u32]>) -> Divisors {
        let mut excluded: QuickMap<u32, ()> = QuickMap::default();
        excluded.insert(node, ());
        excluded.extend(dependents.unwrap_or_default().iter().map(|&dependent| (dependent, ())));
        let mut divisors = Divisors::new(self.simulation.words());
        let mut near = std::collections::VecDeque::from([node]);
        while let Some(next) = near.pop_front() {
            let mut take = |node: u32| {
                if divisors.nodes.len() < self.depth.divisors
                    && node > 0
                    && excluded.insert(node, ()).is_none()
                {
                    divisors.push(node, self.simulation.of(node));
                    near.push_back(node);
                }
            };
            if self.graph.is_gate(next) {
                let vertex = self.graph.vertex(next);
                take(vertex.a);
                take(vertex.b);
            }
            // Without the list of dependents, only nodes before the gate are certain not to depend on it.
            if dependents.is_some() && next != node {
                self.graph.readers(next).iter().for_each(|&reader| take(reader));
            }
        }
        divisors
    }

    fn prove(&mut self, node: u32, signal: Signal, dependents: Option<&[u32]>) -> SolverAnswer {
        if self.simulation.is_exhaustive() {
            return SolverAnswer::Proved;
        }
        let limit = self.graph.limit();
        let prover = Prover::new(self.clock.deadline());
        let Some(dependents) = dependents else {
            let mut prover = prover.within(self.graph, &[node, signal.node()], self.depth.scope);
            return prover.equal(self.graph, Signal::new(node, false), signal, self.depth.conflicts);
        };
        self.graph.hold(signal.node());
        let difference = self.difference(node, signal, dependents);
        let mut prover = prover.within(self.graph, &[difference.node()], self.depth.scope);
        let verdict = prover.never(self.graph, difference, self.depth.conflicts);
        (limit..self.graph.limit()).rev().for_each(|node| self.graph.remove_if_unread(node as u32));
        self.graph.let_go(signal.node());
        verdict
    }

    /// A signal that is true where a root changes if `signal` replaces the node.
    fn difference(&mut self, node: u32, signal: Signal, dependents: &[u32]) -> Signal {
        let mut copies: QuickMap<u32, Signal> = QuickMap::default();
        copies.insert(node, signal);
        let mut difference = Signal::FALSE;
        for &dependent in std::iter::once(&node).chain(dependents) {
            if dependent != node {
                let vertex = self.graph.vertex(dependent);
                let copy = |node: u32| copies.get(&node).copied().unwrap_or(Signal::new(node, false));
                let copy = self.graph.gate(vertex.gate, copy(vertex.a), copy(vertex.b));
                copies.insert(dependent, copy);
            }
            if self.graph.is_root(dependent) {
                let changed = self.graph.gate(Gate::XOR, copies[&dependent], Signal::new(dependent, false));
                difference = self.graph.gate(Gate::OR, difference, changed);
            }
        }
        difference
    }

    /// Simulates the new gates and the node's dependents.
    fn refresh(&mut self, first_new: usize, dependents: &[u32]) {
        let new = first_new as u32..self.graph.limit() as u32;
        let touched: Vec<u32> = dependents.iter().copied().chain(new).collect();
        self.simulation.run(self.graph, &self.graph.sorted(&touched));
    }
}
