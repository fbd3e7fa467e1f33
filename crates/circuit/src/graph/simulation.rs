//! The value of every node on many patterns of the sources, 64 patterns per word.
//!
//! A simulation is either *exhaustive*, so that equal words prove equal functions, or a sample. Pattern 0 of an
//! exhaustive one has all sources false. Start at [`Simulation::sources`].

use super::LogicGraph;
#[cfg(test)]
use super::Signal;
use crate::random::RandomStream;

/// Most sources for which all patterns are simulated: 2^14 are 256 words.
const EXHAUSTIVE_SOURCES: usize = 14;
/// Words of a sample.
const SAMPLE_WORDS: usize = 64;

/// The words of every node on all or some patterns.
pub(crate) struct Simulation {
    words: usize,
    values: Vec<u64>,
    exhaustive: bool,
    /// Where the next counterexample is stored; only a sample stores any.
    next: usize,
    stream: RandomStream,
}

/// Word `word` of variable `variable` when the patterns count up in binary.
pub(crate) fn exhaustive_word(variable: usize, word: usize) -> u64 {
    const LOW: [u64; 6] = [
        0xAAAA_AAAA_AAAA_AAAA,
        0xCCCC_CCCC_CCCC_CCCC,
        0xF0F0_F0F0_F0F0_F0F0,
        0xFF00_FF00_FF00_FF00,
        0xFFFF_0000_FFFF_0000,
        0xFFFF_FFFF_0000_0000,
    ];
    match variable {
        0..6 => LOW[variable],
        _ if word >> (variable - 6) & 1 == 1 => !0,
        _ => 0,
    }
}

impl Simulation {
    /// All patterns of the used sources, if these are few, otherwise a sample; no gate is evaluated yet.
    pub(crate) fn sources(graph: &LogicGraph) -> Simulation {
        Simulation::exhaustive(graph).unwrap_or_else(|| Simulation::sample(graph, SAMPLE_WORDS, 1))
    }

    /// Whether [`Simulation::sources`] uses all patterns.
    pub(crate) fn can_be_exhaustive(graph: &LogicGraph) -> bool {
        graph.used_sources().len() <= EXHAUSTIVE_SOURCES
    }

    /// All patterns of the used sources, if these are few.
    fn exhaustive(graph: &LogicGraph) -> Option<Simulation> {
        let used = graph.used_sources();
        if used.len() > EXHAUSTIVE_SOURCES {
            return None;
        }
        let words = 1 << used.len().saturating_sub(6);
        let mut simulation = Simulation::empty(graph, words, true);
        for (variable, &node) in used.iter().enumerate() {
            for word in 0..words {
                simulation.values[node as usize * words + word] = exhaustive_word(variable, word);
            }
        }
        Some(simulation)
    }

    /// Random patterns: in half of the words, sources are true with probability 1/2; in the others rarely or
    /// mostly.
    pub(crate) fn sample(graph: &LogicGraph, words: usize, seed: u64) -> Simulation {
        let mut simulation = Simulation::empty(graph, words, false);
        simulation.stream = RandomStream::new(seed);
        for node in 1..=graph.sources() {
            for word in 0..words {
                let mut draw = || simulation.stream.word();
                simulation.values[node * words + word] = match word % 8 {
                    1 => draw() & draw(),
                    3 => draw() | draw(),
                    5 => draw() & draw() & draw() & draw(),
                    7 => draw() | draw() | draw() | draw(),
                    _ => draw(),
                };
            }
        }
        simulation
    }

    /// Only the patterns of the sources, for another graph over the same sources.
    pub(crate) fn rebased(mut self, graph: &LogicGraph) -> Simulation {
        self.values.truncate((graph.sources() + 1) * self.words);
        self
    }

    fn empty(graph: &LogicGraph, words: usize, exhaustive: bool) -> Simulation {
        let values = vec![0; (graph.sources() + 1) * words];
        Simulation { words, values, exhaustive, next: 0, stream: RandomStream::new(0) }
    }

    /// Whether agreement on the patterns is a proof.
    pub(crate) fn is_exhaustive(&self) -> bool {
        self.exhaustive
    }

    pub(crate) fn words(&self) -> usize {
        self.words
    }

    pub(crate) fn of(&self, node: u32) -> &[u64] {
        &self.values[node as usize * self.words..][..self.words]
    }

    /// Evaluates all gates.
    pub(crate) fn run_all(mut self, graph: &LogicGraph) -> Simulation {
        self.run(graph, &graph.order());
        self
    }

    /// Evaluates some gates, each after its operands; new ones too.
    pub(crate) fn run(&mut self, graph: &LogicGraph, order: &[u32]) {
        self.values.resize(graph.limit() * self.words, 0);
        for &node in order {
            let vertex = graph.vertex(node);
            let (a, b) = (vertex.a as usize * self.words, vertex.b as usize * self.words);
            let target = node as usize * self.words;
            for word in 0..self.words {
                self.values[target + word] = vertex.gate.word(self.values[a + word], self.values[b + word]);
            }
        }
    }

    /// A hash of the words of a node.
    pub(crate) fn key(&self, node: u32) -> u64 {
        let mix = |key: u64, &word: &u64| (key.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.of(node).iter().fold(0, mix)
    }

    /// Adds a pattern on which two functions differ, with 63 neighbors of it, in place of the oldest patterns.
    /// [`Simulation::run_learned`] must follow.
    pub(crate) fn learn(&mut self, graph: &LogicGraph, pattern: &[bool]) {
        let word = self.next % self.words;
        self.next += 1;
        for (source, &bit) in pattern.iter().enumerate() {
            self.values[(source + 1) * self.words + word] = if bit { !0 } else { 0 };
        }
        let used = graph.used_sources();
        for neighbor in 1..64 {
            let node = used[self.stream.below(used.len())] as usize;
            self.values[node * self.words + word] ^= 1 << neighbor;
        }
    }

    /// Evaluates some gates, each after its operands, on the patterns that were learned last.
    pub(crate) fn run_learned(&mut self, graph: &LogicGraph, order: &[u32]) {
        let word = (self.next + self.words - 1) % self.words;
        for &node in order {
            let vertex = graph.vertex(node);
            let value = |node: u32| self.values[node as usize * self.words + word];
            self.values[node as usize * self.words + word] =
                vertex.gate.word(value(vertex.a), value(vertex.b));
        }
    }

    /// The words of the roots.
    #[cfg(test)]
    pub(crate) fn roots(&self, graph: &LogicGraph) -> Vec<Vec<u64>> {
        graph.roots().iter().map(|&root| self.signal(root)).collect()
    }

    #[cfg(test)]
    fn signal(&self, signal: Signal) -> Vec<u64> {
        let flip = if signal.is_negated() { !0 } else { 0 };
        self.of(signal.node()).iter().map(|word| word ^ flip).collect()
    }

    /// The words of the roots if `old` were replaced by `new`.
    #[cfg(test)]
    pub(crate) fn with(mut self, graph: &LogicGraph, old: u32, new: Signal) -> Vec<Vec<u64>> {
        let words = self.signal(new);
        self.values[old as usize * self.words..][..words.len()].copy_from_slice(&words);
        self.run(graph, &graph.dependents(&[old], usize::MAX).expect("no limit"));
        self.roots(graph)
    }
}
