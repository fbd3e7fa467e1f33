//! Numbers that change from run to run are not compiled in.
//!
//! A number beside a tensor (`&x * 0.5`) is a constant of the program, which the compiler may use. When the same program
//! comes again with another number at some place, that number becomes a parameter of the run, and stays one. So a loop
//! over `&x * rate(n)` compiles two programs, however many rates there are. The second program computes the same. If
//! the compiler had folded the number into others, the last bits may differ.

use std::collections::HashMap;

use farad_ir::{DType, Graph, NodeId, Op, Scalar};

use crate::recording::Recording;

/// Programs whose numbers are remembered; the least recently used goes first.
const MOST_REMEMBERED: usize = 1024;

/// The numbers of programs, by their key without them.
#[derive(Default)]
pub struct Numbers {
    seen: HashMap<u128, Seen>,
    clock: u64,
}

/// The numbers of a program when it first came, and which have changed since.
struct Seen {
    numbers: Vec<Scalar>,
    varies: Vec<bool>,
    used: u64,
}

impl Numbers {
    /// Turns the numbers of a recording that have changed since its program first came into numbers that are given with
    /// the run; whether there are any. `key` is the key of the recording's program with a graph in place of its own.
    pub fn give(&mut self, recording: &mut Recording, key: impl Fn(&Graph) -> u128) -> bool {
        let numbers = constants(&recording.graph);
        if numbers.is_empty() {
            return false;
        }
        for &(id, number) in &numbers {
            recording.graph.nodes[id.index()].op = Op::Constant(Scalar::of(number.dtype, 0.0));
        }
        let without = key(&recording.graph);
        let varies = self.compare(without, &numbers);
        for (&(id, number), varies) in numbers.iter().zip(&varies) {
            recording.graph.nodes[id.index()].op = if *varies {
                let first = recording.words.len();
                recording.words.extend(number.words());
                Op::Parameter(first)
            } else {
                Op::Constant(number)
            };
        }
        varies.contains(&true)
    }

    /// Which numbers of a program have changed since it first came.
    fn compare(&mut self, key: u128, numbers: &[(NodeId, Scalar)]) -> Vec<bool> {
        self.clock += 1;
        if self.seen.len() >= MOST_REMEMBERED && !self.seen.contains_key(&key) {
            let oldest = self.seen.iter().min_by_key(|(_, seen)| seen.used).map(|(key, _)| *key);
            oldest.map(|key| self.seen.remove(&key));
        }
        let seen = self.seen.entry(key).or_insert_with(|| Seen {
            numbers: numbers.iter().map(|(_, number)| *number).collect(),
            varies: vec![false; numbers.len()],
            used: 0,
        });
        seen.used = self.clock;
        for (n, (_, number)) in numbers.iter().enumerate() {
            seen.varies[n] |= seen.numbers[n] != *number;
        }
        seen.varies.clone()
    }

    /// Forgets all numbers.
    pub fn clear(&mut self) {
        self.seen.clear();
    }
}

/// The constants of a graph that devices can be given with a run.
fn constants(graph: &Graph) -> Vec<(NodeId, Scalar)> {
    let constant = |id: NodeId| match graph.node(id).op {
        Op::Constant(scalar) if scalar.dtype.is_compute() && scalar.dtype != DType::Bool => {
            Some((id, scalar))
        }
        _ => None,
    };
    graph.ids().filter_map(constant).collect()
}
