//! The passes in turn, until nothing gains.

use super::clock::Clock;
use super::library::Library;
use super::report::Stage;
use super::resubstitute::{Depth, resubstitute};
use super::rewrite::rewrite;
use super::taste::Taste;
use crate::graph::{Effort, Graph, Simulation};

/// Words of a sample that tells functions apart.
const WORDS: usize = 64;

/// Runs passes on a graph and notes what each came to.
pub(super) struct Script<'a> {
    pub(super) library: &'a Library,
    pub(super) clock: &'a Clock,
    pub(super) conflicts: u64,
    pub(super) stages: Vec<Stage>,
}

impl Script<'_> {
    /// The smallest circuit that the passes find.
    pub(super) fn run(&mut self, graph: Graph) -> Graph {
        let mut graph = self.sweep(graph);
        loop {
            let before = graph.gates();
            graph = self.round(graph, Taste::strict(), Taste::strict());
            if graph.gates() == before || self.clock.is_over() {
                break;
            }
        }
        self.shake(graph)
    }

    /// Rounds with moves that gain nothing, as many without success as the size allows.
    fn shake(&mut self, mut graph: Graph) -> Graph {
        let mut seed = 0;
        let mut failures = 0;
        while failures < patience(&graph) && graph.gates() > 0 && !self.clock.is_over() {
            let before = graph.gates();
            seed += 1;
            graph = self.round(
                graph,
                Taste::loose(seed),
                if seed % 2 == 0 { Taste::loose(seed) } else { Taste::strict() },
            );
            failures = if graph.gates() < before { 0 } else { failures + 1 };
        }
        graph
    }

    fn round(&mut self, mut graph: Graph, mut rewriting: Taste, mut expressing: Taste) -> Graph {
        rewrite(&mut graph, self.library, &mut rewriting, self.clock);
        self.note("rewrite", &graph);
        graph = graph.compacted();
        let mut simulation = simulate(&graph);
        let depth = self.depth(&graph, &simulation);
        resubstitute(&mut graph, &mut simulation, depth, &mut expressing, self.clock);
        self.note("resubstitute", &graph);
        self.sweep(graph)
    }

    fn sweep(&mut self, graph: Graph) -> Graph {
        let refutations = (20_000_000 / graph.limit()).clamp(50, 5_000);
        let effort = Effort { conflicts: self.conflicts, refutations, deadline: self.clock.deadline() };
        let graph = graph.swept(effort);
        self.note("sweep", &graph);
        graph
    }

    fn depth(&self, graph: &Graph, simulation: &Simulation) -> Depth {
        let small = graph.gates() * simulation.words() <= 2_000;
        let large = graph.gates() > 4_000;
        Depth {
            gates: if small { 3 } else { 2 },
            divisors: if large { 40 } else { 150 },
            dependents: if large { 60 } else { 1_000 },
            attempts: if large { 1 } else { 4 },
            scope: if large { 300 } else { usize::MAX },
            conflicts: if large { self.conflicts.min(50) } else { self.conflicts },
        }
    }

    fn note(&mut self, pass: &'static str, graph: &Graph) {
        let stage = Stage { pass, gates: graph.cost(), depth: graph.depth(), time: self.clock.elapsed() };
        tracing::debug!(pass, gates = stage.gates, depth = stage.depth, "simplify");
        self.stages.push(stage);
    }
}

fn simulate(graph: &Graph) -> Simulation {
    Simulation::exhaustive(graph).unwrap_or_else(|| Simulation::sample(graph, WORDS, 7))
}

/// Rounds without success before giving up: many for a circuit that is quick to work on.
fn patience(graph: &Graph) -> usize {
    let words = match graph.used_sources().len() {
        sources @ 0..=14 => 1 << sources.saturating_sub(6),
        _ => WORDS,
    };
    (150_000 / (graph.gates() * words).max(1)).clamp(1, 60)
}
