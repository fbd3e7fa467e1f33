//! The smallest circuits of every function of four bits, up to eight different ones for each.
//!
//! `library.txt` has one line per class of functions that differ only by order and negation of inputs and by
//! negation of the output. A line has a function as its truth table (bit `i` is the output where input `k` is
//! bit `k` of `i`), then circuits of it with the fewest possible gates. A circuit is written gate by gate: the
//! gate's number, then its operands, where `a` to `d` are the inputs and `e` onwards the gates before it. The
//! example `four_input_library` writes the file. Start at [`Library::get`].

use std::sync::OnceLock;

use crate::gate::Gate;
use crate::graph::Signal;

/// A circuit over four inputs: operands 0 to 3 are the inputs, 4 and up the earlier steps.
#[derive(Clone, Debug)]
pub(super) struct GateChain {
    pub(super) steps: Vec<(Gate, u8, u8)>,
}

/// How to get a function from its class's representative: input `k` of the circuit is leaf `order[k]`, negated
/// if bit `k` of `negations` is set.
#[derive(Clone, Copy)]
struct ClassEntry {
    class: u8,
    order: [u8; 4],
    negations: u8,
    negated: bool,
}

/// Circuits by function.
#[derive(Clone)]
pub(super) struct Library {
    classes: Vec<Vec<GateChain>>,
    entries: Vec<ClassEntry>,
}

/// The four inputs as truth tables.
pub(super) const INPUTS: [u16; 4] = [0xAAAA, 0xCCCC, 0xF0F0, 0xFF00];

/// The circuits of a function, and their inputs.
pub(super) struct ClassCircuits<'a> {
    pub(super) chains: &'a [GateChain],
    /// The signal for each input of the chains.
    pub(super) inputs: [Signal; 4],
    /// Whether the function is the negation of the chain's output.
    pub(super) negated: bool,
}

impl Library {
    /// The library, built on first use.
    pub(super) fn get() -> &'static Library {
        static LIBRARY: OnceLock<Library> = OnceLock::new();
        LIBRARY.get_or_init(|| Library::parse(include_str!("library.txt")))
    }

    /// The circuits of a function of up to four leaves.
    pub(super) fn circuits(&self, table: u16, leaves: [Signal; 4]) -> ClassCircuits<'_> {
        let entry = self.entries[table as usize];
        let leaves = if table == 0 || table == u16::MAX { [Signal::FALSE; 4] } else { leaves };
        let negates = |k: usize| entry.negations >> k & 1 == 1;
        let input = |k: usize| leaves[entry.order[k] as usize].negated_if(negates(k));
        ClassCircuits {
            chains: &self.classes[entry.class as usize],
            inputs: std::array::from_fn(input),
            negated: entry.negated,
        }
    }

    /// The library with a wrong last gate in every circuit of three gates, to test that this is detected.
    #[cfg(test)]
    pub(super) fn with_errors() -> Library {
        let mut library = Library::get().clone();
        for chain in library.classes.iter_mut().flatten().filter(|chain| chain.steps.len() == 3) {
            let last = chain.steps.last_mut().expect("three steps");
            last.0 = Gate::new(last.0.number() ^ 1).expect("one of sixteen");
        }
        library
    }

    fn parse(text: &str) -> Library {
        let unset = ClassEntry { class: u8::MAX, order: [0; 4], negations: 0, negated: false };
        let mut library = Library { classes: vec![], entries: vec![unset; 1 << 16] };
        for line in text.lines() {
            let mut fields = line.split_whitespace();
            let table = fields.next().expect("a line starts with a truth table");
            let table = u16::from_str_radix(table, 16).expect("a truth table is hexadecimal");
            library.enter(table, fields.map(GateChain::parse).collect());
        }
        library
    }

    fn enter(&mut self, table: u16, chains: Vec<GateChain>) {
        let class = self.classes.len() as u8;
        self.classes.push(chains);
        for order in orders() {
            for negations in 0..16u8 {
                let function = (0..16u16).fold(0u16, |function, i| {
                    let bit = |k: usize| (i >> order[k] & 1) ^ (negations >> k & 1) as u16;
                    let j = (0..4).fold(0, |j, k| j | bit(k) << k);
                    function | (table >> j & 1) << i
                });
                for negated in [false, true] {
                    let entry = &mut self.entries[(if negated { !function } else { function }) as usize];
                    if entry.class == u8::MAX {
                        *entry = ClassEntry { class, order, negations, negated };
                    }
                }
            }
        }
    }
}

impl GateChain {
    fn parse(text: &str) -> GateChain {
        let step = |step: &[u8]| {
            let gate = Gate::new(step[0] - b'0').expect("a gate's number has one digit");
            (gate, step[1] - b'a', step[2] - b'a')
        };
        // A lone `a` is the circuit without gates.
        GateChain { steps: text.as_bytes().chunks_exact(3).map(step).collect() }
    }
}

fn orders() -> Vec<[u8; 4]> {
    let mut orders = vec![];
    for code in 0..256u32 {
        let order: [u8; 4] = std::array::from_fn(|k| (code >> (2 * k) & 3) as u8);
        if (0..4).all(|k| order.contains(&k)) {
            orders.push(order);
        }
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(chain: &GateChain, inputs: [u16; 4]) -> u16 {
        let mut values = inputs.to_vec();
        for &(gate, a, b) in &chain.steps {
            values.push(gate.word(values[a as usize] as u64, values[b as usize] as u64) as u16);
        }
        values[if chain.steps.is_empty() { 0 } else { chain.steps.len() + 3 }]
    }

    #[test]
    fn every_circuit_is_the_function_it_is_listed_for() {
        let library = Library::get();
        for function in 0..=u16::MAX {
            let leaves = std::array::from_fn(|k| Signal::new(k as u32 + 1, false));
            let circuits = library.circuits(function, leaves);
            let input = |signal: Signal| {
                let table = [0, INPUTS[0], INPUTS[1], INPUTS[2], INPUTS[3]][signal.node() as usize];
                if signal.is_negated() { !table } else { table }
            };
            let inputs = circuits.inputs.map(input);
            for chain in circuits.chains {
                let computed = table(chain, inputs);
                assert_eq!(if circuits.negated { !computed } else { computed }, function);
            }
        }
    }

    #[test]
    fn as_many_classes_need_each_number_of_gates_as_an_exhaustive_search_finds() {
        let library = Library::get();
        let mut classes = [0; 8];
        for chains in &library.classes {
            assert!(chains.iter().all(|chain| chain.steps.len() == chains[0].steps.len()));
            classes[chains[0].steps.len()] += 1;
        }
        assert_eq!(classes, [2, 2, 5, 20, 34, 75, 72, 12]);
    }
}
