//! Copies values that would need two locations in memory, so that planning can give every node one.
//!
//! Parts of a pack share an allocation. A kernel that reads one part and writes another would read and write
//! one allocation, which GPUs do not allow. Such a part gets its own memory, and the pack gets a copy of it.

use std::collections::{HashMap, HashSet};

use farad_ir::{Graph, NodeId, Op};

use crate::fusion::FusedGraph;
use crate::fusion::weave::weave;
use crate::fusion::work::touches;
use crate::program::Target;

/// The parts of packs that a kernel reads while it writes another part of the same pack.
pub fn clashes(graph: &Graph, fused: &FusedGraph) -> HashSet<NodeId> {
    let packs = graph.ids().filter(|&id| matches!(graph.node(id).op, Op::Pack(..)));
    let pack_of: HashMap<NodeId, NodeId> =
        packs.flat_map(|id| graph.node(id).operands.iter().map(move |&part| (part, id))).collect();
    let mut found = HashSet::new();
    if pack_of.is_empty() {
        return found;
    }
    for work in &fused.works {
        let (reads, writes) = touches(graph, &fused.materialized, work);
        let written: HashSet<NodeId> = writes.iter().filter_map(|id| pack_of.get(id)).copied().collect();
        found.extend(
            reads.into_iter().filter(|id| pack_of.get(id).is_some_and(|pack| written.contains(pack))),
        );
    }
    found
}

/// Inserts a copy wherever one value would need two locations: for a leaf or a repeated node that is an output
/// or a part of a pack, and for the parts of packs listed in `apart`. Results of a woven loop need no copy: the
/// kernel writes them where they belong.
pub fn copies(
    graph: &Graph,
    outputs: &[NodeId],
    apart: &HashSet<NodeId>,
    target: &Target,
) -> (Graph, Vec<NodeId>) {
    let wanted: HashSet<NodeId> = outputs.iter().copied().collect();
    let mut placed = vec![false; graph.nodes.len()];
    let fixed = |id: NodeId| matches!(graph.node(id).op, Op::Input(_) | Op::Pack(..) | Op::Pick(..));
    let copy = |new: &mut Graph, id: NodeId| new.push(Op::Barrier(new.nodes.len()), &[id]);
    let mut new = Graph::new();
    let map = graph.rewrite(graph.ids(), |id, mut node| {
        if matches!(node.op, Op::Pack(..)) {
            for (operand, old) in node.operands.iter_mut().zip(&graph.node(id).operands) {
                let twice = placed[old.index()] || wanted.contains(old);
                if fixed(*old) || twice || apart.contains(old) {
                    *operand = copy(&mut new, *operand);
                }
                placed[old.index()] = true;
            }
        }
        new.append(node)
    });
    let mut seen = HashSet::new();
    // A product writes its result where the output is; as a node of its own, its reshape would be a copy.
    let product = |output: NodeId| {
        let mut at = output;
        while matches!(graph.node(at).op, Op::Reshape(_)) {
            at = graph.node(at).operands[0];
        }
        let free = !wanted.contains(&at) && !placed[at.index()];
        if free && matches!(graph.node(at).op, Op::Contract(_)) { at } else { output }
    };
    let place = |&output: &NodeId| {
        let output = product(output);
        let node = graph.node(output);
        let written = matches!(node.op, Op::Pick(..))
            && !placed[output.index()]
            && (matches!(graph.node(node.operands[0]).op, Op::Custom(_))
                || weave(graph, node.operands[0], target).is_some());
        let copied = !seen.insert(output) || (fixed(output) && !written);
        if copied { copy(&mut new, map.at(output)) } else { map.at(output) }
    };
    let outputs = outputs.iter().map(place).collect();
    (new, outputs)
}
