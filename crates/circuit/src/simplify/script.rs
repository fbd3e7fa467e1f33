//! Runs the passes in turn, until none gains.

use rayon::prelude::*;

use super::clock::Deadline;
use super::expand;
use super::library::Library;
use super::report::SimplifyStage;
use super::resubstitute::{Futile, SearchDepth, resubstitute};
use super::rewrite::rewrite;
use super::taste::Taste;
use crate::graph::{LogicGraph, Simulation, SweepEffort};
use crate::progress::WorkProgress;

/// Most rounds without success.
const MOST_PATIENCE: usize = 40;
/// Random variations that are tried for a small circuit.
const WAYS: u64 = 4;

/// Runs passes on a graph and records the size after each.
pub(super) struct Script<'a> {
    pub(super) library: &'a Library,
    pub(super) clock: &'a Deadline,
    pub(super) progress: WorkProgress,
    pub(super) conflicts: u64,
    pub(super) stages: Vec<SimplifyStage>,
    /// Patterns, including those that earlier passes added.
    pub(super) patterns: Option<Simulation>,
    pub(super) futile: Futile,
}

impl Script<'_> {
    /// The smallest circuit that the passes find, from the circuit itself and, if it is small, from its truth
    /// tables.
    pub(super) fn run(&mut self, graph: LogicGraph) -> LogicGraph {
        let settled = self.settle(graph);
        let best = self.shake(settled);
        let stages = self.stages.len();
        let starts = expand::starts(&best).into_iter().map(|start| self.settle_anew(start));
        let start = starts.collect::<Vec<_>>().into_iter().min_by_key(LogicGraph::cost);
        // A circuit that is still much larger will not become smaller by shaking.
        if let Some(start) =
            start.filter(|start| 2 * start.cost() <= 3 * best.cost() && !self.clock.is_over())
        {
            let other = self.shake(start);
            if (other.cost(), other.depth()) < (best.cost(), best.depth()) {
                return other;
            }
        }
        self.stages.truncate(stages);
        best
    }

    fn settle_anew(&mut self, start: LogicGraph) -> LogicGraph {
        (self.patterns, self.futile) = (None, Futile::default());
        self.note("expand", &start);
        self.settle(start)
    }

    /// Rounds that gain, until none does.
    fn settle(&mut self, graph: LogicGraph) -> LogicGraph {
        let mut graph = self.sweep(graph);
        loop {
            let before = graph.gates();
            graph = self.round(graph, Taste::strict(), Taste::strict());
            // For a large circuit, another round is not worth a few gates.
            if before - graph.gates() <= before / 500 || self.clock.is_over() {
                return graph;
            }
        }
    }

    /// Rounds that include moves without gain, in several variations if the circuit is small; returns the best.
    fn shake(&mut self, graph: LogicGraph) -> LogicGraph {
        let ways = if patience(&graph) == MOST_PATIENCE { WAYS } else { 1 };
        let shaken = (0..ways).into_par_iter().map(|way| {
            // The first one tells of itself for all.
            let progress = if way == 0 { self.progress.clone() } else { WorkProgress::default() };
            let (patterns, futile) = (None, Futile::default());
            let mut script = Script { stages: vec![], patterns, futile, progress, ..*self };
            let graph = script.shake_one_way(graph.clone(), way);
            (graph, script.stages)
        });
        let best =
            shaken.collect::<Vec<_>>().into_iter().min_by_key(|(graph, _)| (graph.cost(), graph.depth()));
        let (graph, stages) = best.expect("there is at least one way");
        self.stages.extend(stages);
        graph
    }

    /// As many rounds without success as the size allows.
    fn shake_one_way(&mut self, mut graph: LogicGraph, way: u64) -> LogicGraph {
        let (mut round, mut failures) = (0, 0);
        while failures < patience(&graph) && graph.gates() > 0 && !self.clock.is_over() {
            let before = graph.gates();
            round += 1;
            let seed = way << 32 | round;
            let expressing = if round % 2 == 0 { Taste::loose(seed) } else { Taste::strict() };
            let stages = self.stages.len();
            graph = self.round(graph, Taste::loose(seed), expressing);
            failures += 1;
            if graph.gates() < before {
                failures = 0;
            } else {
                self.stages.truncate(stages);
            }
        }
        graph
    }

    fn round(&mut self, mut graph: LogicGraph, mut rewriting: Taste, mut expressing: Taste) -> LogicGraph {
        rewrite(&mut graph, self.library, &mut rewriting, self.clock, &self.progress);
        self.note("rewrite", &graph);
        graph = graph.compacted();
        let mut simulation = self.patterns(&graph).run_all(&graph);
        let depth = self.depth(&graph, &simulation);
        let watch = (self.clock, &self.progress);
        resubstitute(&mut graph, &mut simulation, depth, &mut expressing, &mut self.futile, watch);
        self.note("resubstitute", &graph);
        self.patterns = Some(simulation);
        // In a large circuit, the equal nodes that the passes leave are not worth another search.
        if is_large(&graph) { graph.compacted() } else { self.sweep(graph) }
    }

    fn sweep(&mut self, graph: LogicGraph) -> LogicGraph {
        let refutations = (20_000_000 / graph.limit()).clamp(50, 5_000);
        let effort = SweepEffort { conflicts: self.conflicts, refutations, deadline: self.clock.deadline() };
        let (graph, patterns) = graph.swept(self.patterns(&graph), effort, &self.progress);
        self.patterns = Some(patterns);
        self.note("sweep", &graph);
        graph
    }

    fn patterns(&mut self, graph: &LogicGraph) -> Simulation {
        match self.patterns.take() {
            Some(sample) if !sample.is_exhaustive() && !Simulation::can_be_exhaustive(graph) => {
                sample.rebased(graph)
            }
            _ => Simulation::sources(graph),
        }
    }

    fn depth(&self, graph: &LogicGraph, simulation: &Simulation) -> SearchDepth {
        let small = graph.gates() * simulation.words() <= 2_000;
        let large = is_large(graph);
        SearchDepth {
            gates: if small { 3 } else { 2 },
            divisors: if large { 40 } else { 150 },
            dependents: if large { 60 } else { 1_000 },
            attempts: if large { 1 } else { 4 },
            scope: if large { 300 } else { usize::MAX },
            conflicts: if large { self.conflicts.min(50) } else { self.conflicts },
        }
    }

    fn note(&mut self, pass: &'static str, graph: &LogicGraph) {
        let stage =
            SimplifyStage { pass, gates: graph.cost(), depth: graph.depth(), time: self.clock.elapsed() };
        tracing::debug!(pass, gates = stage.gates, depth = stage.depth, "simplify");
        self.stages.push(stage);
    }
}

/// Whether passes may consider only nearby gates.
fn is_large(graph: &LogicGraph) -> bool {
    graph.gates() > 4_000
}

/// Rounds without success before giving up: many for a small circuit, whose rounds are fast.
fn patience(graph: &LogicGraph) -> usize {
    let words = Simulation::sources(graph).words();
    (150_000 / (graph.gates() * words).max(1)).min(MOST_PATIENCE)
}
