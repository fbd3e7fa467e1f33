//! Merging nodes of equal function: candidates come from simulation, proofs from all patterns or SAT.
//!
//! The graph is rebuilt gate by gate. A new gate that agrees with an old one on all patterns is either proved
//! equal to it and dropped, or distinguished by a pattern, which is added. Start at [`LogicGraph::swept`].

use std::time::Instant;

use super::{LogicGraph, Prover, QuickMap, Signal, Simulation, SolverAnswer};
use crate::progress::WorkProgress;

/// Gates with equal words that a new gate is compared with.
const CANDIDATES: usize = 6;

/// With more gates than this, a proof first considers only nearby ones.
const LARGE: usize = 3_000;
/// How many nearby gates a proof considers.
const SCOPE: usize = 200;

/// The budget of a sweep.
#[derive(Clone, Copy)]
pub(crate) struct SweepEffort {
    /// Conflicts of the solver per question.
    pub(crate) conflicts: u64,
    /// Most patterns to add; after that, gates that agree are left alone.
    pub(crate) refutations: usize,
    pub(crate) deadline: Option<Instant>,
}

impl LogicGraph {
    /// The same circuit with nodes of equal function merged. Also returns the patterns, including those added.
    pub(crate) fn swept(
        &self,
        simulation: Simulation,
        effort: SweepEffort,
        progress: &WorkProgress,
    ) -> (LogicGraph, Simulation) {
        let simulation = simulation.rebased(self);
        let graph = LogicGraph::new(self.sources());
        let prover = Prover::new(effort.deadline);
        let mut sweep = Sweep {
            graph,
            simulation,
            prover,
            effort,
            representatives: vec![],
            classes: QuickMap::default(),
            undecided: 0,
        };
        (0..=self.sources() as u32).for_each(|node| sweep.enter(node));
        let mut signals: Vec<Signal> =
            (0..self.limit() as u32).map(|node| Signal::new(node, false)).collect();
        let order = self.order();
        progress.begin("comparing", order.len(), Some(self.gates()));
        for node in order {
            progress.step();
            let vertex = self.vertex(node);
            let (a, b) = (signals[vertex.a as usize], signals[vertex.b as usize]);
            let signal = sweep.graph.gate(vertex.gate, a, b);
            signals[node as usize] = sweep.merged(signal);
        }
        for root in self.roots() {
            sweep.graph.add_root(signals[root.node() as usize].negated_if(root.is_negated()));
        }
        for node in (0..sweep.graph.limit() as u32).rev() {
            sweep.graph.remove_if_unread(node);
        }
        tracing::debug!(undecided = sweep.undecided, "sweep");
        let graph = sweep.graph.compacted();
        let simulation = sweep.simulation.rebased(&graph);
        (graph, simulation)
    }
}

struct Sweep {
    graph: LogicGraph,
    simulation: Simulation,
    prover: Prover,
    effort: SweepEffort,
    /// The oldest node known to be equal, by node.
    representatives: Vec<u32>,
    /// Nodes with equal words, oldest first, none of them proved equal to another.
    classes: QuickMap<u64, Vec<u32>>,
    /// Pairs that agree on all patterns and that the budget did not decide.
    undecided: usize,
}

impl Sweep {
    /// The oldest node that is known to equal this one.
    fn merged(&mut self, signal: Signal) -> Signal {
        let node = signal.node();
        if let Some(&representative) = self.representatives.get(node as usize) {
            return Signal::new(representative, signal.is_negated());
        }
        self.simulation.run(&self.graph, &[node]);
        let mut undecided: Vec<u32> = vec![];
        while let Some(candidate) = self.candidate(node, &undecided) {
            match self.compare(node, candidate) {
                SolverAnswer::Proved => {
                    self.representatives.push(candidate);
                    return Signal::new(candidate, signal.is_negated());
                }
                SolverAnswer::Refuted(pattern) => self.learn(&pattern),
                SolverAnswer::Unknown => undecided.push(candidate),
            }
        }
        self.undecided += undecided.len();
        self.enter(node);
        signal
    }

    /// A node with the same words, taken alternately from both ends of the class: the true partner is often old
    /// or new.
    fn candidate(&self, node: u32, undecided: &[u32]) -> Option<u32> {
        let class = self.classes.get(&self.simulation.key(node))?;
        let (old, new) = class.split_at(class.len().div_ceil(2));
        let ends = old.iter().zip(new.iter().rev().map(Some).chain(std::iter::once(None)));
        let mut equal = ends.flat_map(|(old, new)| std::iter::once(old).chain(new)).take(CANDIDATES).copied();
        equal.find(|candidate| {
            !undecided.contains(candidate) && self.simulation.of(*candidate) == self.simulation.of(node)
        })
    }

    fn compare(&mut self, node: u32, candidate: u32) -> SolverAnswer {
        if self.simulation.is_exhaustive() {
            return SolverAnswer::Proved;
        }
        if self.effort.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return SolverAnswer::Unknown;
        }
        let (x, y) = (Signal::new(node, false), Signal::new(candidate, false));
        if self.graph.gates() > LARGE {
            let mut near = Prover::new(self.effort.deadline).within(&self.graph, &[node, candidate], SCOPE);
            if near.equal(&self.graph, x, y, self.effort.conflicts) == SolverAnswer::Proved {
                return SolverAnswer::Proved;
            }
        }
        match self.effort.refutations {
            0 => SolverAnswer::Unknown,
            _ => self.prover.equal(&self.graph, x, y, self.effort.conflicts),
        }
    }

    fn learn(&mut self, pattern: &[bool]) {
        self.effort.refutations -= 1;
        self.simulation.learn(&self.graph, pattern);
        let gates: Vec<u32> = (self.graph.sources() as u32 + 1..self.graph.limit() as u32).collect();
        self.simulation.run_learned(&self.graph, &gates);
        let mut members: Vec<u32> = std::mem::take(&mut self.classes).into_values().flatten().collect();
        members.sort_unstable();
        for node in members {
            let key = self.simulation.key(node);
            self.classes.entry(key).or_default().push(node);
        }
    }

    fn enter(&mut self, node: u32) {
        debug_assert_eq!(self.representatives.len(), node as usize);
        self.representatives.push(node);
        let key = self.simulation.key(node);
        self.classes.entry(key).or_default().push(node);
    }
}
