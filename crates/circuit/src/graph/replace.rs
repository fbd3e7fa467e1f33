//! Replacing a node by a signal, everywhere.

use super::{LogicGraph, NormalForm, QuickMap, Signal, Vertex, key, normal_form};

impl LogicGraph {
    /// Makes all readers of `old` read `new` instead, and removes what nobody reads any more. Readers that
    /// become equal to another gate, or reduce to less than a gate, are replaced in turn.
    ///
    /// `new` must not depend on `old`. The caller must ensure that the functions are equal.
    pub(crate) fn replace(&mut self, old: u32, new: Signal) {
        let mut replaced: QuickMap<u32, Signal> = QuickMap::default();
        let mut doubtful = vec![];
        let mut pending = vec![(old, new)];
        while let Some((old, new)) = pending.pop() {
            let new = latest(&replaced, new);
            if replaced.contains_key(&old) {
                continue;
            }
            if old == new.node() {
                // What it was to be replaced by now depends on it: so it stays, and its operands are updated.
                self.reread(old, &replaced, &mut pending);
                continue;
            }
            self.forget(old, self.vertex(old));
            replaced.insert(old, new);
            for reader in self.readers[old as usize].clone() {
                if !replaced.contains_key(&reader) {
                    self.reread(reader, &replaced, &mut pending);
                }
            }
            self.move_roots(old, new);
            doubtful.extend([old, new.node()]);
        }
        // Not earlier: a gate that nobody reads at the moment may be the replacement of another.
        for node in doubtful {
            self.remove_if_unread(node);
        }
    }

    /// Updates the operands of one gate, or records what the gate itself is replaced by.
    fn reread(&mut self, reader: u32, replaced: &QuickMap<u32, Signal>, pending: &mut Vec<(u32, Signal)>) {
        let vertex = self.vertex(reader);
        let operand = |node: u32| latest(replaced, Signal::new(node, false));
        self.forget(reader, vertex);
        match normal_form(vertex.gate, operand(vertex.a), operand(vertex.b)) {
            NormalForm::Signal(signal) => pending.push((reader, signal)),
            NormalForm::Gate(form, negated) => match self.index.get(&key(form)) {
                Some(&node) => pending.push((reader, Signal::new(node, negated))),
                None if negated => {
                    let node = self.push(form);
                    pending.push((reader, Signal::new(node, true)));
                }
                None => self.settle(reader, vertex, form),
            },
        }
    }

    fn settle(&mut self, node: u32, before: Vertex, after: Vertex) {
        for operand in [before.a, before.b] {
            self.detach(operand, node);
        }
        for operand in [after.a, after.b] {
            self.references[operand as usize] += 1;
            self.readers[operand as usize].push(node);
        }
        self.vertices[node as usize] = after;
        self.index.insert(key(after), node);
    }

    fn move_roots(&mut self, old: u32, new: Signal) {
        let moved = self.roots_of.remove(&old).unwrap_or_default();
        self.references[old as usize] -= moved.len() as u32;
        self.references[new.node() as usize] += moved.len() as u32;
        for &root in &moved {
            let negated = self.roots[root as usize].is_negated();
            self.roots[root as usize] = new.negated_if(negated);
        }
        self.roots_of.entry(new.node()).or_default().extend(moved);
    }
}

/// Follows replacements to the current signal.
fn latest(replaced: &QuickMap<u32, Signal>, mut signal: Signal) -> Signal {
    while let Some(next) = replaced.get(&signal.node()) {
        signal = next.negated_if(signal.is_negated());
    }
    signal
}

#[cfg(test)]
mod tests {
    use crate::graph::{LogicGraph, Signal, Simulation};
    use crate::random::RandomStream;

    #[test]
    fn replacing_at_random_keeps_the_invariants_and_the_functions() {
        for seed in 0..200 {
            let mut stream = RandomStream::new(seed);
            let mut graph = LogicGraph::of(&crate::Netlist::random(seed, 6, 60, 4));
            for _ in 0..12 {
                let gates: Vec<u32> = graph.order();
                let Some(&old) = gates.get(stream.below(gates.len().max(1))) else { break };
                let later = graph.dependents(&[old], usize::MAX).expect("no limit");
                let before: Vec<u32> = (0..graph.limit() as u32)
                    .filter(|&node| graph.is_alive(node) && node != old && !later.contains(&node))
                    .collect();
                let new = Signal::new(before[stream.below(before.len())], stream.below(2) == 1);
                let expected = Simulation::sample(&graph, 4, 9).run_all(&graph).with(&graph, old, new);
                graph.replace(old, new);
                graph.check();
                assert_eq!(
                    expected,
                    Simulation::sample(&graph, 4, 9).run_all(&graph).roots(&graph),
                    "seed {seed}"
                );
            }
        }
    }
}
