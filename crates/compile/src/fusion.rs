//! Decides which nodes are materialized (stored in memory) and which kernel computes which node.
//!
//! Kernels are drafted from consumers to producers: a materialized node becomes the root of a kernel, unless a
//! later kernel computes it along the way. Then kernels over the same space are merged. If several kernels
//! compute the same costly node, that node is materialized and drafting starts again.
//!
//! Invariant: every materialized node is computed by exactly one kernel. Start at [`fuse`]; [`ladder`] drafts
//! one kernel.

pub mod access;
mod cut_long_chains;
pub mod draft;
mod ladder;
mod limits;
mod merge_kernels;
pub mod product;
mod pull;
mod roots;
pub mod weave;
pub mod work;

use std::collections::HashSet;

use farad_ir::{Graph, NodeId, Op};

use crate::program::Target;
use cut_long_chains::{Cuts, cut};
use ladder::{Surroundings, draft};
use merge_kernels::merge;
use roots::{Roots, roots};
use work::{Ancestors, Work, order, tangled};

/// The kernels of a graph and its materialized nodes.
pub struct FusedGraph {
    /// Kernels in topological order, producers first.
    pub works: Vec<Work>,
    /// Whether each node lives in memory between kernels.
    pub materialized: Vec<bool>,
}

/// Groups the graph's nodes into kernels.
pub fn fuse(graph: &Graph, outputs: &[NodeId], target: &Target) -> FusedGraph {
    let Roots { mut materialized, ends } = roots(graph, outputs, target);
    let Cuts { long, mut apart } = cut(graph, &mut materialized, &ends, target);
    let mut ancestors = Ancestors::of(graph);
    loop {
        let around = Surroundings { graph, owned: &[], ends: &ends, apart: &apart, target };
        let mut drafts = draft_all(&around, &mut materialized, &mut ancestors);
        let tangled = tangled(graph, &drafts);
        if !tangled.is_empty() {
            tangled.into_iter().for_each(|id| apart[id.index()] = true);
            continue;
        }
        merge(graph, outputs, &materialized, &mut drafts, target);
        let again = shared(graph, &drafts, &materialized, &long, target);
        if again.is_empty() {
            let works = order(graph, drafts);
            return FusedGraph { works, materialized };
        }
        again.into_iter().for_each(|id| materialized[id.index()] = true);
    }
}

fn draft_all(around: &Surroundings, materialized: &mut Vec<bool>, ancestors: &mut Ancestors) -> Vec<Work> {
    let graph = around.graph;
    let mut owned = vec![false; graph.nodes.len()];
    let mut works = Vec::new();
    for id in graph.ids().rev() {
        if !materialized[id.index()] || owned[id.index()] || graph.shape(id).numel() == 0 {
            continue;
        }
        owned[id.index()] = true;
        match graph.node(id).op {
            Op::ScatterAdd(..) | Op::Order(_) | Op::Top(..) | Op::Scan(_) | Op::Custom(_) => {
                works.push(Work::Node(id))
            }
            // Written by the scan or custom node, or by the operands of the pack, which lie in its memory.
            Op::Pick(..) | Op::Pack(..) => {}
            _ => {
                let draft = draft(&Surroundings { owned: &owned, ..*around }, id, materialized, ancestors);
                draft.results.iter().for_each(|r| owned[r.node.index()] = true);
                works.push(Work::Draft(Box::new(draft)));
            }
        }
    }
    works
}

/// Work of one element, roughly in floating-point operations.
fn cost(op: &Op) -> usize {
    match op {
        Op::Unary(u) => 1 + 7 * u.is_costly() as usize,
        Op::Binary(b) => 1 + 15 * b.is_costly() as usize,
        Op::Random(_) => 40,
        Op::Gather(_) => 4,
        Op::Select | Op::Cast(_) => 1,
        _ => 0,
    }
}

/// Nodes that several kernels compute and that should be materialized: reductions first, then other costly
/// nodes.
fn shared(
    graph: &Graph,
    works: &[Work],
    materialized: &[bool],
    long: &[bool],
    target: &Target,
) -> Vec<NodeId> {
    if !target.fuse {
        return vec![];
    }
    let mut count = vec![0; graph.nodes.len()];
    for work in works {
        if let Work::Draft(draft) = work {
            draft.computed.iter().for_each(|id| count[id.index()] += 1);
        }
    }
    let twice = |id: &NodeId| count[id.index()] > 1 && !materialized[id.index()];
    let reductions: Vec<NodeId> =
        graph.ids().filter(|id| matches!(graph.node(*id).op, Op::Reduce(..)) && twice(id)).collect();
    if !reductions.is_empty() {
        return reductions;
    }
    let worth =
        |id: &NodeId| if long[id.index()] { limits::WORTH_KEEPING_LONG } else { limits::WORTH_KEEPING };
    let dear: Vec<NodeId> = graph
        .ids()
        .filter(|id| twice(id) && weight(graph, *id, &count, materialized, worth(id)) >= worth(id))
        .collect();
    outermost(graph, dear, materialized)
}

/// Cost of computing a node with everything that is recomputed below it; stops counting at `enough`.
fn weight(graph: &Graph, id: NodeId, count: &[usize], materialized: &[bool], enough: usize) -> usize {
    let (mut stack, mut seen, mut sum) = (vec![id], HashSet::new(), 0);
    while let Some(id) = stack.pop().filter(|_| sum < enough) {
        if seen.insert(id) && count[id.index()] > 0 && !materialized[id.index()] {
            sum += cost(&graph.node(id).op);
            stack.extend(&graph.node(id).operands);
        }
    }
    sum
}

/// The outermost of these nodes. Nodes that only they are computed from need not be kept as well.
fn outermost(graph: &Graph, nodes: Vec<NodeId>, materialized: &[bool]) -> Vec<NodeId> {
    let Some(&least) = nodes.first() else { return nodes };
    let mut inside = vec![false; graph.nodes.len()];
    for &id in nodes.iter().rev() {
        let mut stack = graph.node(id).operands.clone();
        while let Some(next) = stack.pop() {
            if next >= least && !inside[next.index()] {
                inside[next.index()] = true;
                if !materialized[next.index()] {
                    stack.extend(&graph.node(next).operands);
                }
            }
        }
    }
    nodes.into_iter().filter(|id| !inside[id.index()]).collect()
}
