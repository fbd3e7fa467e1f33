//! What a loop's kernel computes itself instead of reading it from memory.

use std::collections::HashSet;

use farad_ir::{Binary, Graph, NodeId, Op};

use crate::fusion::limits;

/// The nodes that a kernel computes to have an operand of its loop: numbers, positions and random bits with what is made
/// of them and, if `mixed`, slices of memory side by side (a sequence that was shifted). Nothing, if it is loaded.
///
/// Arithmetic on what is in memory stays outside: it would be fused with the body's, and rounded otherwise. So do
/// permutations, which would have the loop read across memory.
pub(super) fn absorb(graph: &Graph, operand: NodeId, mixed: bool) -> HashSet<NodeId> {
    let (mut inside, mut leaves, mut stack) = (HashSet::new(), HashSet::new(), vec![operand]);
    let mut slight = true;
    while let Some(id) = stack.pop() {
        let node = graph.node(id);
        if inside.contains(&id) || leaves.contains(&id) {
            continue;
        }
        let joins = match &node.op {
            Op::Constant(_) | Op::Parameter(_) | Op::Iota(_) => true,
            Op::Pad(_) | Op::Slice(_) | Op::Expand(_) | Op::Reshape(_) | Op::Flip(_) => true,
            Op::Binary(Binary::Add | Binary::Or | Binary::Join) => true,
            Op::Permute(_) | Op::Random(_) | Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Cast(_) => {
                slight = false;
                true
            }
            _ => false,
        };
        if joins {
            inside.insert(id);
            stack.extend(&node.operands);
        } else {
            leaves.insert(id);
        }
        if inside.len() > limits::ABSORBED_NODES {
            return HashSet::new();
        }
    }
    let fits = leaves.is_empty() || (mixed && slight && leaves.len() <= limits::ABSORBED_LEAVES);
    if fits { inside } else { HashSet::new() }
}
