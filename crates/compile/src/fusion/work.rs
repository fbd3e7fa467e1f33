//! Pieces of work and their dependencies: what each reads and writes, and a topological order.

use std::collections::HashSet;

use farad_ir::{Graph, NodeId, Op};

use crate::fusion::draft::{Draft, resident};
use crate::planning::bundle_sums::Sum;

/// What computes a materialized node.
#[derive(Clone, Debug)]
pub enum Work {
    /// A drafted kernel, fused or product.
    Draft(Box<Draft>),
    /// A scatter, scan or custom node, which has its own form of kernel.
    Node(NodeId),
    /// Small sums that go to one pack.
    Sums(Vec<Sum>),
}

/// The nodes that a piece of work reads from memory and those that it writes.
pub fn touches(graph: &Graph, materialized: &[bool], work: &Work) -> (Vec<NodeId>, Vec<NodeId>) {
    match work {
        Work::Draft(draft) => {
            let mut reads: Vec<NodeId> = draft.loads().into_iter().collect();
            if let Some(product) = draft.product {
                reads
                    .extend(graph.node(product).operands.iter().flat_map(|&o| below(graph, o, materialized)));
            }
            (reads, draft.results.iter().map(|r| r.node).collect())
        }
        Work::Node(id) => {
            // Work computes by itself what is not materialized, from what is.
            let reads =
                graph.node(*id).operands.iter().flat_map(|&o| below(graph, o, materialized)).collect();
            let picks = graph
                .ids()
                .filter(|p| matches!(graph.node(*p).op, Op::Pick(..)) && graph.node(*p).operands[0] == *id);
            (reads, std::iter::once(*id).chain(picks).collect())
        }
        Work::Sums(sums) => sums.iter().map(|sum| (sum.source, sum.result)).unzip(),
    }
}

/// The resident nodes that computing `id` loads, each once.
pub fn below(graph: &Graph, id: NodeId, materialized: &[bool]) -> Vec<NodeId> {
    let (mut found, mut stack, mut seen) = (Vec::new(), vec![id], HashSet::new());
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        match resident(graph, materialized, id) {
            Some(base) => found.push(base),
            None => stack.extend(graph.node(id).operands.iter().rev()),
        }
    }
    found
}

/// Which piece of work writes each node; `usize::MAX` where none does.
fn owners(graph: &Graph, works: &[Work]) -> Vec<usize> {
    let mut owner = vec![usize::MAX; graph.nodes.len()];
    for (i, work) in works.iter().enumerate() {
        match work {
            Work::Draft(draft) => draft.results.iter().for_each(|r| owner[r.node.index()] = i),
            Work::Node(id) => owner[id.index()] = i,
            Work::Sums(sums) => sums.iter().for_each(|sum| owner[sum.result.index()] = i),
        }
    }
    owner
}

/// Nodes computed along the way by kernels that depend on each other in a cycle. Each node would be fine alone,
/// but the first kernel needs a result of the second, and the second needs one of the first.
pub fn tangled(graph: &Graph, works: &[Work]) -> Vec<NodeId> {
    let owner = owners(graph, works);
    let before: Vec<Vec<usize>> = works
        .iter()
        .enumerate()
        .map(|(i, work)| {
            producers(graph, &owner, work).iter().map(|n| owner[n.index()]).filter(|&j| j != i).collect()
        })
        .collect();
    // Work without remaining predecessors or without remaining successors is in no cycle.
    let mut after = vec![Vec::new(); works.len()];
    before.iter().enumerate().for_each(|(i, list)| list.iter().for_each(|&j| after[j].push(i)));
    let mut left = vec![true; works.len()];
    peel(&before, &after, &mut left);
    peel(&after, &before, &mut left);
    let extra = |work: &Work| match work {
        Work::Draft(draft) => draft.results[1..].iter().map(|r| r.node).collect(),
        Work::Node(_) | Work::Sums(_) => vec![],
    };
    works.iter().zip(left).filter(|(_, left)| *left).flat_map(|(work, _)| extra(work)).collect()
}

/// Repeatedly removes work without remaining predecessors.
fn peel(before: &[Vec<usize>], after: &[Vec<usize>], left: &mut [bool]) {
    let mut waits: Vec<usize> = before.iter().map(|list| list.iter().filter(|&&j| left[j]).count()).collect();
    let mut free: Vec<usize> = (0..left.len()).filter(|&i| left[i] && waits[i] == 0).collect();
    while let Some(i) = free.pop() {
        left[i] = false;
        for &j in after[i].iter().filter(|&&j| left[j]) {
            waits[j] -= 1;
            if waits[j] == 0 {
                free.push(j);
            }
        }
    }
}

/// Topological order, producers first; ties are broken by graph order.
pub fn order(graph: &Graph, works: Vec<Work>) -> Vec<Work> {
    let latest = |work: &Work| match work {
        Work::Draft(draft) => draft.results.iter().map(|r| r.node).max().expect("a kernel writes something"),
        Work::Node(id) => *id,
        Work::Sums(sums) => sums.iter().map(|sum| sum.result).max().expect("at least two sums are joined"),
    };
    let mut works = works;
    works.sort_by_key(latest);
    let owner = owners(graph, &works);
    let before = |i: usize| {
        let found = producers(graph, &owner, &works[i]);
        found.into_iter().map(|node| owner[node.index()]).filter(|&j| j != i).collect::<Vec<usize>>()
    };
    let mut state = vec![Visit::New; works.len()];
    let mut sorted = Vec::with_capacity(works.len());
    for first in 0..works.len() {
        // Each entry is a piece of work and its producers still to be visited, the next one last.
        let mut stack: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut next = Some(first);
        loop {
            if let Some(i) = next.take().filter(|&i| state[i] != Visit::Done) {
                assert!(state[i] == Visit::New, "kernels depend on each other in a cycle");
                state[i] = Visit::Open;
                let mut waits = before(i);
                waits.reverse();
                stack.push((i, waits));
            }
            let Some((i, waits)) = stack.last_mut() else { break };
            next = waits.pop();
            if next.is_none() {
                state[*i] = Visit::Done;
                sorted.push(*i);
                stack.pop();
            }
        }
    }
    let mut slots: Vec<Option<Work>> = works.into_iter().map(Some).collect();
    sorted.into_iter().map(|i| slots[i].take().expect("visited once")).collect()
}

/// Progress of the depth-first search at a piece of work.
#[derive(Clone, Copy, PartialEq)]
enum Visit {
    New,
    Open,
    Done,
}

/// The nearest nodes above a piece of work that other work computes.
fn producers(graph: &Graph, owner: &[usize], work: &Work) -> Vec<NodeId> {
    let mut stack: Vec<NodeId> = match work {
        Work::Draft(draft) => {
            let mut from: Vec<NodeId> = draft.loads().into_iter().collect();
            from.extend(draft.product.iter().flat_map(|p| graph.node(*p).operands.iter().copied()));
            from
        }
        Work::Node(id) => graph.node(*id).operands.clone(),
        Work::Sums(sums) => sums.iter().map(|sum| sum.source).collect(),
    };
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        if owner[id.index()] != usize::MAX { found.push(id) } else { stack.extend(&graph.node(id).operands) }
    }
    found.sort_unstable();
    found
}

/// Ancestor queries: a search that reuses its marks.
pub struct Ancestors {
    /// The number of the last search that met each node.
    met: Vec<u32>,
    search: u32,
}

impl Ancestors {
    /// For the nodes of a graph.
    pub fn of(graph: &Graph) -> Ancestors {
        Ancestors { met: vec![0; graph.nodes.len()], search: 0 }
    }

    /// Whether any of these nodes is `ancestor` or is computed from it.
    pub fn include(&mut self, graph: &Graph, nodes: &[NodeId], ancestor: NodeId) -> bool {
        self.search += 1;
        let mut stack = nodes.to_vec();
        while let Some(id) = stack.pop() {
            if id == ancestor {
                return true;
            }
            // Operands come before their users, so nodes before the ancestor cannot lead to it.
            if id > ancestor && self.met[id.index()] != self.search {
                self.met[id.index()] = self.search;
                stack.extend(&graph.node(id).operands);
            }
        }
        false
    }
}
