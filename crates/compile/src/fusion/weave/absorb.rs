//! Decides what a loop's kernel computes itself instead of reading it from memory.

use std::collections::HashSet;

use farad_ir::{Binary, Graph, NodeId, Op};

use crate::fusion::limits;

/// The nodes that the kernel computes to get an operand of its loop: constants, parameters, positions and
/// random bits with pointwise work on them. With `mixed`, also concatenated slices of memory (a shifted
/// sequence). Empty if the operand is loaded.
///
/// Arithmetic on values in memory stays outside: fused with the body's arithmetic, it would be rounded
/// differently. Permutations stay outside as well, because the loop would read memory with large strides.
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
