//! Runs patterns through both netlists, gate by gate, without simplification.

use crate::gate::Gate;
use crate::graph::exhaustive_word;
use crate::netlist::{Netlist, Wire};
use crate::random::RandomStream;

/// Words that go through a cone at a time.
const BLOCK: usize = 16;
/// Most words times gates that all patterns of one cone may cost.
const MOST_WORK: usize = 1 << 30;

/// The answer of [`all_patterns`].
pub(super) enum All {
    Equal,
    Different(Vec<bool>),
    /// Too many inputs matter.
    TooMany,
}

/// The values of all wires for one word of patterns.
fn wires(netlist: &Netlist, sources: &[u64]) -> Vec<u64> {
    let mut values = sources.to_vec();
    for node in &netlist.gates {
        let value = |read: bool, wire: Wire| if read { values[wire.index()] } else { 0 };
        let (a, b) = (value(node.gate.reads_a(), node.a), value(node.gate.reads_b(), node.b));
        values.push(node.gate.word(a, b));
    }
    values
}

fn roots(netlist: &Netlist, sources: &[u64]) -> Vec<u64> {
    let values = wires(netlist, sources);
    netlist.roots().map(|wire| values[wire.index()]).collect()
}

/// Whether the two differ at a root for this input.
pub(super) fn differs(lhs: &Netlist, rhs: &Netlist, root: usize, inputs: &[bool]) -> bool {
    let sources: Vec<u64> = inputs.iter().map(|&bit| bit as u64).collect();
    (roots(lhs, &sources)[root] ^ roots(rhs, &sources)[root]) & 1 == 1
}

/// Inputs on which the two differ, by root, found by random patterns.
pub(super) fn random_differences(lhs: &Netlist, rhs: &Netlist, words: usize) -> Vec<(usize, Vec<bool>)> {
    let mut stream = RandomStream::new(0x5EED);
    let mut found = vec![None; lhs.roots().count()];
    for word in 0..words {
        let draw = |_| match word % 4 {
            1 => stream.word() & stream.word(),
            3 => stream.word() | stream.word(),
            _ => stream.word(),
        };
        let sources: Vec<u64> = (0..lhs.sources()).map(draw).collect();
        let pairs = roots(lhs, &sources).into_iter().zip(roots(rhs, &sources));
        for (root, (left, right)) in pairs.enumerate() {
            if left != right && found[root].is_none() {
                let pattern = (left ^ right).trailing_zeros();
                found[root] = Some(sources.iter().map(|word| word >> pattern & 1 == 1).collect());
            }
        }
    }
    found.into_iter().enumerate().filter_map(|(root, inputs)| Some((root, inputs?))).collect()
}

/// Tries all patterns of the inputs that a root depends on, on either side.
pub(super) fn all_patterns(lhs: &Netlist, rhs: &Netlist, root: usize, most_inputs: usize) -> All {
    let (left, right) = (Cone::of(lhs, root), Cone::of(rhs, root));
    let mut support: Vec<u32> = left.sources.iter().chain(&right.sources).copied().collect();
    support.sort_unstable();
    support.dedup();
    let words = 1usize << support.len().saturating_sub(6).min(40);
    if support.len() > most_inputs || words.saturating_mul(left.steps.len() + right.steps.len()) > MOST_WORK {
        return All::TooMany;
    }
    for first in (0..words).step_by(BLOCK) {
        let inputs = |source: u32| {
            let variable = support.binary_search(&source).expect("in the support");
            std::array::from_fn(|word| exhaustive_word(variable, first + word))
        };
        let (p, q) = (left.run(inputs), right.run(inputs));
        for word in 0..BLOCK.min(words) {
            if p[word] != q[word] {
                let pattern = (first + word) * 64 + (p[word] ^ q[word]).trailing_zeros() as usize;
                return All::Different(counterexample(lhs.sources(), &support, pattern));
            }
        }
    }
    All::Equal
}

fn counterexample(sources: usize, support: &[u32], pattern: usize) -> Vec<bool> {
    let mut inputs = vec![false; sources];
    for (variable, &source) in support.iter().enumerate() {
        inputs[source as usize] = pattern >> variable & 1 == 1;
    }
    inputs
}

/// The gates that one root needs, renumbered after the sources that it needs.
struct Cone {
    sources: Vec<u32>,
    steps: Vec<(Gate, usize, usize)>,
    root: usize,
}

impl Cone {
    fn of(netlist: &Netlist, root: usize) -> Cone {
        let root = netlist.roots().nth(root).expect("a root of both netlists");
        let needed = netlist.needed([root]);
        let sources: Vec<u32> =
            (0..netlist.sources() as u32).filter(|&source| needed[source as usize]).collect();
        let mut number = vec![usize::MAX; netlist.wires()];
        sources.iter().enumerate().for_each(|(n, &source)| number[source as usize] = n);
        let mut steps = vec![];
        for (gate, node) in netlist.gates.iter().enumerate() {
            let wire = netlist.sources() + gate;
            if needed[wire] {
                let place = |read: bool, wire: Wire| if read { number[wire.index()] } else { usize::MAX };
                steps.push((
                    node.gate,
                    place(node.gate.reads_a(), node.a),
                    place(node.gate.reads_b(), node.b),
                ));
                number[wire] = sources.len() + steps.len() - 1;
            }
        }
        Cone { sources, steps, root: number[root.index()] }
    }

    fn run(&self, inputs: impl Fn(u32) -> [u64; BLOCK]) -> [u64; BLOCK] {
        let mut values: Vec<[u64; BLOCK]> = self.sources.iter().map(|&source| inputs(source)).collect();
        for &(gate, a, b) in &self.steps {
            let value = |place: usize| values.get(place).copied().unwrap_or([0; BLOCK]);
            let (a, b) = (value(a), value(b));
            values.push(std::array::from_fn(|word| gate.word(a[word], b[word])));
        }
        values[self.root]
    }
}
