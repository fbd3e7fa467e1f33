//! What must be materialized before any kernel is drafted, and where product kernels end.
//!
//! Invariant: everything that is read by a kernel other than Fused or Product lies in memory in row-major
//! order. Start at [`roots`].

use std::collections::{HashMap, HashSet};

use farad_ir::{Graph, NodeId, Op};

use super::{cost, limits};
use crate::fusion::draft::{resident, unshaped};
use crate::fusion::product::{Roles, missing};
use crate::fusion::weave::weave;
use crate::program::Target;

/// What is known before any kernel is drafted.
pub(super) struct Roots {
    /// Nodes that must be materialized in any case.
    pub(super) materialized: Vec<bool>,
    /// The last pointwise nodes of product kernels, with their contraction.
    pub(super) ends: HashMap<NodeId, NodeId>,
}

/// The nodes that a graph must materialize, and where its products end.
pub(super) fn roots(graph: &Graph, outputs: &[NodeId], target: &Target) -> Roots {
    let mut users: Vec<Vec<NodeId>> = vec![Vec::new(); graph.nodes.len()];
    let mut materialized = vec![false; graph.nodes.len()];
    outputs.iter().for_each(|id| materialized[id.index()] = true);
    for id in graph.ids() {
        let node = graph.node(id);
        for operand in &node.operands {
            // Users are visited in order, so a user that reads the node twice is the last entry.
            if users[operand.index()].last() != Some(&id) {
                users[operand.index()].push(id);
            }
        }
        match &node.op {
            Op::ScatterAdd(..) | Op::Order(_) | Op::Top(..) | Op::Custom(_) | Op::Scan(_) => {
                materialized[id.index()] = true;
                let woven = weave(graph, id, target);
                let reads = woven.as_ref().map_or(&node.operands, |woven| &woven.reads);
                reads.iter().for_each(|&operand| need(graph, operand, &mut materialized));
            }
            // A part of a pack lies in the pack's memory, so it must be materialized.
            Op::Pack(..) => {
                materialized[id.index()] = true;
                node.operands.iter().for_each(|operand| materialized[operand.index()] = true);
            }
            Op::Pick(..) => materialized[id.index()] = true,
            Op::Barrier(_) if node.operands.len() == 1 => materialized[id.index()] = true,
            Op::Barrier(_) => need(graph, node.operands[0], &mut materialized),
            Op::Contract(contraction) if Roles::of(contraction).is_none() => {
                materialized[id.index()] = true;
                node.operands.iter().for_each(|&operand| need(graph, operand, &mut materialized));
            }
            op if !target.fuse
                && (op.is_pointwise()
                    || matches!(op, Op::Reduce(..) | Op::Gather(_) | Op::Contract(_) | Op::Random(_))) =>
            {
                materialized[id.index()] = true;
            }
            _ => {}
        }
    }
    let mut ends = HashMap::new();
    let counts: Vec<usize> = users.iter().map(Vec::len).collect();
    let wanted: HashSet<NodeId> = outputs.iter().copied().collect();
    let readers = readers(graph, &users);
    for id in graph.ids().rev() {
        missing(graph, id, &materialized, &counts).into_iter().for_each(|id| materialized[id.index()] = true);
        let node = graph.node(id);
        if matches!(node.op, Op::Contract(_)) {
            let end = end_of_chain(graph, id, &users, &readers, &wanted, &materialized);
            materialized[end.index()] = true;
            ends.entry(end).or_insert(id);
        }
        // Leaves are already in memory, or need none.
        if matches!(node.op, Op::Input(_)) {
            materialized[id.index()] = false;
        }
    }
    // A parameter or a constant that must be in memory is written there by a kernel.
    outputs
        .iter()
        .filter(|id| !matches!(graph.node(**id).op, Op::Input(_)))
        .for_each(|id| materialized[id.index()] = true);
    Roots { materialized, ends }
}

/// Makes sure that a node's elements lie in memory in row-major order.
fn need(graph: &Graph, id: NodeId, materialized: &mut [bool]) {
    if resident(graph, materialized, id).is_none() {
        materialized[unshaped(graph, id).index()] = true;
    }
}

/// The last node of the pointwise chain after a contraction: what its kernel computes before it writes. An f16
/// product that is cast back to f32 and gets a bias is stored as f16 if it has few readers. Each reader then
/// repeats a little work but reads half the bytes.
fn end_of_chain(
    graph: &Graph,
    contraction: NodeId,
    users: &[Vec<NodeId>],
    readers: &[usize],
    outputs: &HashSet<NodeId>,
    materialized: &[bool],
) -> NodeId {
    let (mut end, mut last) = (contraction, contraction);
    let mut at = contraction;
    let numel = graph.shape(contraction).numel();
    while let [user] = users[at.index()][..] {
        let node = graph.node(user);
        let follows =
            (node.op.is_pointwise() || matches!(node.op, Op::Reshape(_))) && node.shape.numel() == numel;
        if !follows || outputs.contains(&at) {
            break;
        }
        if node.op.is_pointwise() {
            last = user;
            let wider = node.dtype.size() > graph.dtype(end).size();
            let slight = node.operands.iter().all(|&o| o == at || repeats(graph, o));
            if !(wider && slight && cost(&node.op) == 1) {
                end = user;
            }
        }
        if materialized[user.index()] {
            end = last;
        }
        at = user;
    }
    // If there are many readers, it is computed once.
    if readers[at.index()] > limits::MOST_READERS { last } else { end }
}

/// How many nodes read each node, directly or through movement ops.
fn readers(graph: &Graph, users: &[Vec<NodeId>]) -> Vec<usize> {
    let mut readers = vec![0; graph.nodes.len()];
    for id in graph.ids().rev() {
        let through = |user: &NodeId| match graph.node(*user).op.is_movement() {
            true => readers[user.index()],
            false => 1,
        };
        readers[id.index()] = users[id.index()].iter().map(through).sum();
    }
    readers
}

/// Whether a node is a broadcast of something smaller.
fn repeats(graph: &Graph, id: NodeId) -> bool {
    let mut at = id;
    while matches!(graph.node(at).op, Op::Reshape(_) | Op::Permute(_)) {
        at = graph.node(at).operands[0];
    }
    matches!(graph.node(at).op, Op::Expand(_) | Op::Constant(_) | Op::Parameter(_))
}
