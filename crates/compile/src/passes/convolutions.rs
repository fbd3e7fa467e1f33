//! Convolutions with less work: passes that a large device gains by.
//!
//! [`winograd`] multiplies transformed tiles. [`direct`] computes convolutions of few channels without a product.
//! [`phases`] splits gradients of strided convolutions, so that nothing is multiplied by zeros. The first that
//! gains takes a convolution. [`windows`] reads a contraction as a convolution for them; the costs that they compare
//! are those of [`super::tiles`].

pub mod direct;
mod matrices;
pub mod phases;
mod transform;
mod views;
mod windows;
pub mod winograd;

#[cfg(test)]
mod tests;

use farad_ir::{DType, Graph, NodeId, Op, Shape};

use crate::program::Target;
use windows::Windows;

/// The convolution that a node is, if it is one in f32 with enough work.
fn found(graph: &Graph, id: NodeId, target: &Target) -> Option<Windows> {
    let node = graph.node(id);
    let Op::Contract(contraction) = &node.op else { return None };
    let work: usize = contraction.sizes.iter().product();
    if node.dtype != DType::F32 || work < target.convolutions {
        return None;
    }
    let shapes = [graph.shape(node.operands[0]), graph.shape(node.operands[1])];
    Windows::of(contraction, [&shapes[0], &shapes[1]])
}

/// Writes the nodes that are `found` to a new graph, each with `write`: from its operands, in the shape that the result
/// has for its reader. `None` if there are none.
fn rewritten<T>(
    graph: &Graph,
    outputs: &[NodeId],
    found: impl Fn(NodeId) -> Option<T>,
    write: impl Fn(&T, &mut Graph, [NodeId; 2], Shape) -> NodeId,
) -> Option<(Graph, Vec<NodeId>)> {
    let found: Vec<Option<T>> = graph.ids().map(found).collect();
    if found.iter().all(Option::is_none) {
        return None;
    }
    let mut readers = vec![Vec::new(); graph.nodes.len()];
    for id in graph.ids() {
        graph.node(id).operands.iter().for_each(|operand| readers[operand.index()].push(id));
    }
    // A reshape of a custom op's result would be a copy.
    let shape = |id: NodeId| match readers[id.index()][..] {
        [reader] if !outputs.contains(&id) && matches!(graph.node(reader).op, Op::Reshape(_)) => {
            graph.shape(reader)
        }
        _ => graph.shape(id),
    };
    let mut new = Graph::new();
    let map = graph.rewrite(graph.ids(), |id, node| match (&found[id.index()], &node.op) {
        (Some(found), _) => write(found, &mut new, [node.operands[0], node.operands[1]], shape(id)),
        (_, Op::Reshape(shape)) if new.shape(node.operands[0]) == *shape => node.operands[0],
        _ => new.append(node),
    });
    let outputs = map.all(outputs);
    Some((new, outputs))
}
