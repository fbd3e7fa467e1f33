//! Pieces of work and how they hang together: what each reads and writes, and an order in which
//! producers come first.

use std::collections::HashSet;

use farad_ir::{Graph, NodeId, Op};

use crate::bundle::Sum;
use crate::draft::{Draft, resident};

/// What computes a materialised node.
#[derive(Clone, Debug)]
pub enum Work {
    /// A drafted kernel, fused or product.
    Draft(Box<Draft>),
    /// A scatter, scan or custom node, which has an archetype of its own.
    Node(NodeId),
    /// Small sums that go to one pack.
    Sums(Vec<Sum>),
}

/// The nodes that a piece of work reads from memory and those that it writes.
pub fn touches(graph: &Graph, materialised: &[bool], work: &Work) -> (Vec<NodeId>, Vec<NodeId>) {
    match work {
        Work::Draft(draft) => {
            let mut reads: Vec<NodeId> = draft.loads().into_iter().collect();
            if let Some(product) = draft.product {
                reads
                    .extend(graph.node(product).operands.iter().flat_map(|&o| below(graph, o, materialised)));
            }
            (reads, draft.results.iter().map(|r| r.node).collect())
        }
        Work::Node(id) => {
            let reads =
                graph.node(*id).operands.iter().filter_map(|&o| resident(graph, materialised, o)).collect();
            let picks = graph
                .ids()
                .filter(|p| matches!(graph.node(*p).op, Op::Pick(..)) && graph.node(*p).operands[0] == *id);
            (reads, std::iter::once(*id).chain(picks).collect())
        }
        Work::Sums(sums) => sums.iter().map(|sum| (sum.source, sum.result)).unzip(),
    }
}

/// The resident nodes that computing `id` loads.
pub fn below(graph: &Graph, id: NodeId, materialised: &[bool]) -> Vec<NodeId> {
    match resident(graph, materialised, id) {
        Some(base) => vec![base],
        None => graph.node(id).operands.iter().flat_map(|&o| below(graph, o, materialised)).collect(),
    }
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

/// Nodes computed along the way by kernels that wait for each other in a circle: each alone would
/// do, but one needs a result of the other and the other one of the first.
pub fn tangled(graph: &Graph, works: &[Work]) -> Vec<NodeId> {
    let owner = owners(graph, works);
    let before: Vec<Vec<usize>> = works
        .iter()
        .enumerate()
        .map(|(i, work)| {
            producers(graph, &owner, work).iter().map(|n| owner[n.index()]).filter(|&j| j != i).collect()
        })
        .collect();
    // What waits for nothing that is left, or is waited for by nothing that is left, is in no circle.
    let mut left = vec![true; works.len()];
    loop {
        let mut awaited = vec![false; works.len()];
        (0..works.len()).filter(|&i| left[i]).for_each(|i| before[i].iter().for_each(|&j| awaited[j] = true));
        let free = |i: &usize| left[*i] && (!awaited[*i] || !before[*i].iter().any(|&j| left[j]));
        let gone: Vec<usize> = (0..works.len()).filter(free).collect();
        if gone.is_empty() {
            break;
        }
        gone.into_iter().for_each(|i| left[i] = false);
    }
    let extra = |work: &Work| match work {
        Work::Draft(draft) => draft.results[1..].iter().map(|r| r.node).collect(),
        Work::Node(_) | Work::Sums(_) => vec![],
    };
    works.iter().zip(left).filter(|(_, left)| *left).flat_map(|(work, _)| extra(work)).collect()
}

/// Producers first; otherwise as the graph has them.
pub fn order(graph: &Graph, works: Vec<Work>) -> Vec<Work> {
    let latest = |work: &Work| match work {
        Work::Draft(draft) => draft.results.iter().map(|r| r.node).max().expect("a kernel writes something"),
        Work::Node(id) => *id,
        Work::Sums(sums) => {
            sums.iter().map(|sum| sum.result).max().expect("sums are joined by twos at least")
        }
    };
    let mut works = works;
    works.sort_by_key(latest);
    let owner = owners(graph, &works);
    let mut state = vec![0u8; works.len()];
    let mut sorted = Vec::with_capacity(works.len());
    for i in 0..works.len() {
        visit(graph, &works, &owner, &mut state, &mut sorted, i);
    }
    let mut slots: Vec<Option<Work>> = works.into_iter().map(Some).collect();
    sorted.into_iter().map(|i| slots[i].take().expect("visited once")).collect()
}

fn visit(
    graph: &Graph,
    works: &[Work],
    owner: &[usize],
    state: &mut [u8],
    sorted: &mut Vec<usize>,
    i: usize,
) {
    if state[i] != 0 {
        assert!(state[i] == 2, "kernels wait for each other");
        return;
    }
    state[i] = 1;
    for node in producers(graph, owner, &works[i]) {
        if owner[node.index()] != i {
            visit(graph, works, owner, state, sorted, owner[node.index()]);
        }
    }
    state[i] = 2;
    sorted.push(i);
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

/// Which nodes each node is computed from, as bit sets.
pub struct Ancestors {
    words: usize,
    bits: Vec<u64>,
}

impl Ancestors {
    /// For every node of the graph.
    pub fn of(graph: &Graph) -> Ancestors {
        let words = graph.nodes.len().div_ceil(64);
        let mut bits = vec![0u64; words * graph.nodes.len()];
        for id in graph.ids() {
            for &operand in &graph.node(id).operands {
                let (low, high) = bits.split_at_mut(words * id.index());
                let from = &low[words * operand.index()..][..words];
                high[..words].iter_mut().zip(from).for_each(|(a, b)| *a |= b);
                high[operand.index() / 64] |= 1 << (operand.index() % 64);
            }
        }
        Ancestors { words, bits }
    }

    /// Whether `id` is computed from `ancestor`, or is it.
    pub fn includes(&self, id: NodeId, ancestor: NodeId) -> bool {
        id == ancestor
            || self.bits[self.words * id.index() + ancestor.index() / 64] >> (ancestor.index() % 64) & 1 == 1
    }
}
