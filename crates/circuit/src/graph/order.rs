//! Orders and sets of nodes: ancestors, dependents, depth.

use super::{LogicGraph, Signal};

impl LogicGraph {
    /// The gates that roots need, each after its operands; deterministic.
    pub(crate) fn order(&self) -> Vec<u32> {
        self.cone(&self.roots.iter().map(|root| root.node()).collect::<Vec<_>>())
    }

    /// The gates that some nodes need, including themselves, each after its operands.
    pub(crate) fn cone(&self, nodes: &[u32]) -> Vec<u32> {
        let mut seen = vec![false; self.limit()];
        let mut order = vec![];
        let mut pending: Vec<(u32, bool)> = vec![];
        for &node in nodes {
            pending.push((node, false));
            while let Some((node, operands_done)) = pending.pop() {
                if operands_done {
                    order.push(node);
                } else if self.is_gate(node) && !std::mem::replace(&mut seen[node as usize], true) {
                    let vertex = self.vertex(node);
                    pending.extend([(node, true), (vertex.b, false), (vertex.a, false)]);
                }
            }
        }
        order
    }

    /// The gates that depend on some nodes, each after its operands; `None` if they are more than `limit`.
    pub(crate) fn dependents(&self, nodes: &[u32], limit: usize) -> Option<Vec<u32>> {
        let mut seen = super::QuickMap::<u32, ()>::default();
        let mut order = vec![];
        let mut pending: Vec<(u32, bool)> = nodes.iter().map(|&node| (node, false)).collect();
        while let Some((node, readers_done)) = pending.pop() {
            if readers_done {
                order.push(node);
            } else if seen.insert(node, ()).is_none() {
                if seen.len() > limit.saturating_add(nodes.len()) {
                    return None;
                }
                pending.push((node, true));
                pending.extend(self.readers(node).iter().map(|&reader| (reader, false)));
            }
        }
        order.retain(|node| !nodes.contains(node));
        order.reverse();
        Some(order)
    }

    /// The living gates among some nodes, each after its operands.
    pub(crate) fn sorted(&self, nodes: &[u32]) -> Vec<u32> {
        let mut unsorted: super::QuickMap<u32, ()> = nodes.iter().map(|&node| (node, ())).collect();
        let mut order = vec![];
        let mut pending: Vec<(u32, bool)> = vec![];
        for &node in nodes {
            pending.push((node, false));
            while let Some((node, operands_done)) = pending.pop() {
                if operands_done {
                    order.push(node);
                } else if unsorted.remove(&node).is_some() && self.is_gate(node) {
                    let vertex = self.vertex(node);
                    pending.extend([(node, true), (vertex.b, false), (vertex.a, false)]);
                }
            }
        }
        order
    }

    /// The longest path from a source to a root, in gates.
    pub(crate) fn depth(&self) -> usize {
        let mut level = vec![0usize; self.limit()];
        for node in self.order() {
            let vertex = self.vertex(node);
            level[node as usize] = 1 + level[vertex.a as usize].max(level[vertex.b as usize]);
        }
        self.roots.iter().map(|root| level[root.node() as usize]).max().unwrap_or(0)
    }

    /// The same circuit without dead nodes, numbered in [`LogicGraph::order`].
    pub(crate) fn compacted(&self) -> LogicGraph {
        let mut graph = LogicGraph::new(self.sources);
        let mut signals: Vec<Signal> =
            (0..self.limit() as u32).map(|node| Signal::new(node, false)).collect();
        for node in self.order() {
            let vertex = self.vertex(node);
            let (a, b) = (signals[vertex.a as usize], signals[vertex.b as usize]);
            signals[node as usize] = graph.gate(vertex.gate, a, b);
        }
        for root in &self.roots {
            graph.add_root(signals[root.node() as usize].negated_if(root.is_negated()));
        }
        graph
    }

    /// Sources that some root depends on, in order.
    pub(crate) fn used_sources(&self) -> Vec<u32> {
        (1..=self.sources as u32).filter(|&node| self.references(node) > 0).collect()
    }

    /// Checks all invariants of the module.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let mut references = vec![0u32; self.limit()];
        let (mut living, mut keys) = (0, std::collections::BTreeSet::new());
        for node in (0..self.limit() as u32).filter(|&node| self.is_gate(node)) {
            let vertex = self.vertex(node);
            living += 1;
            assert!(vertex.a < vertex.b && self.is_alive(vertex.a) && self.is_alive(vertex.b));
            assert!(!vertex.gate.output(false, false) && self.references(node) > 0);
            assert!(keys.insert(super::key(vertex)), "two equal gates");
            assert_eq!(self.index.get(&super::key(vertex)), Some(&node));
            for operand in [vertex.a, vertex.b] {
                references[operand as usize] += 1;
                assert!(self.readers(operand).contains(&node));
            }
        }
        self.roots.iter().for_each(|root| references[root.node() as usize] += 1);
        assert_eq!((references, living), (self.references.clone(), self.living));
        let order = self.order();
        assert_eq!((order.len(), self.index.len()), (living, living));
        let place: std::collections::HashMap<u32, usize> = order.iter().copied().zip(0..).collect();
        for node in order {
            let vertex = self.vertex(node);
            for operand in [vertex.a, vertex.b].into_iter().filter(|&operand| self.is_gate(operand)) {
                assert!(place[&operand] < place[&node], "a cycle through {node}");
            }
        }
    }
}
