//! Copies the operands of convolutions so that the channels come last, where a device reads four neighbors at
//! once.
//!
//! Windows move along the axes of an image, so neighbors there are rarely aligned, and each needs its own
//! condition. Along the channels, four neighbors are always read or skipped together. The copies are cheap
//! compared with the product, and a cast to f16 is fused into them.

use std::collections::HashMap;

use farad_ir::{Contraction, DType, Graph, IndexMap, Node, NodeId, Op};

use crate::fusion::product::Roles;
use crate::passes::limits;
use crate::program::Target;

/// Rewrites the graph for the target; returns the new graph and outputs. `None` if no convolution gains by it.
pub fn channels_last(graph: &Graph, outputs: &[NodeId], target: &Target) -> Option<(Graph, Vec<NodeId>)> {
    let wanted =
        |node: &Node| matches!(&node.op, Op::Contract(c) if worth(c, graph.dtype(node.operands[0]), target));
    if !graph.nodes.iter().any(wanted) {
        return None;
    }
    let mut new = Graph::new();
    let mut copies = HashMap::new();
    let map = graph.rewrite(graph.ids(), |id, node| {
        let moved = match &node.op {
            Op::Contract(contraction) if wanted(graph.node(id)) => {
                rewrite(&mut new, contraction, &node.operands, &mut copies)
            }
            _ => None,
        };
        moved.unwrap_or_else(|| new.append(node))
    });
    let outputs = map.all(outputs);
    Some((new, outputs))
}

/// Whether a contraction is a convolution (or a gradient of one) that gains by it.
fn worth(contraction: &Contraction, dtype: DType, target: &Target) -> bool {
    let window = |map: &IndexMap| {
        let moving = map.terms.iter().filter(|term| contraction.sizes[term.0] > 1);
        map.divisor != 1 || moving.clone().count() > 1 || moving.clone().any(|term| term.1.abs() != 1)
    };
    let [lhs, rhs] = [&contraction.lhs, &contraction.rhs].map(|maps| maps.iter().any(window));
    let least =
        if dtype == DType::F16 { target.channels_last / limits::F16_SOONER } else { target.channels_last };
    lhs != rhs && contraction.sizes.iter().product::<usize>() >= least && Roles::of(contraction).is_some()
}

/// The convolution over copies of its operands with the channels last, if the number of channels is a multiple
/// of four.
fn rewrite(
    graph: &mut Graph,
    contraction: &Contraction,
    operands: &[NodeId],
    copies: &mut HashMap<(NodeId, usize), NodeId>,
) -> Option<NodeId> {
    let sides = [&contraction.lhs, &contraction.rhs];
    let image = usize::from(sides[0].iter().all(|map| map.plain().is_some()));
    let channel = sides[image].iter().rev().find_map(IndexMap::plain)?;
    // The other operand has the channels too; otherwise its own free axis goes last.
    let free = |map: &IndexMap| map.plain().filter(|axis| contraction.out.contains(axis));
    let reads = |axis: usize| sides[1 - image].iter().any(|map| map.plain() == Some(axis));
    let other = if reads(channel) { channel } else { sides[1 - image].iter().rev().find_map(free)? };
    if [channel, other].iter().any(|&axis| !contraction.sizes[axis].is_multiple_of(4)) {
        return None;
    }
    let mut new = contraction.clone();
    let mut moved = [operands[0], operands[1]];
    for (side, axis) in [(image, channel), (1 - image, other)] {
        let maps = if side == 0 { &mut new.lhs } else { &mut new.rhs };
        let dim = maps.iter().position(|map| map.plain() == Some(axis))?;
        let map = maps.remove(dim);
        maps.push(map);
        moved[side] =
            *copies.entry((operands[side], dim)).or_insert_with(|| last(graph, operands[side], dim));
    }
    let place = new.out.iter().position(|&axis| axis == channel);
    if let Some(place) = place {
        new.out.remove(place);
        new.out.push(channel);
    }
    let product = graph.contract(renumbered(new, channel), moved[0], moved[1]);
    let Some(place) = place else { return Some(product) };
    // Permutes the result back to the original axis order.
    let rank = contraction.out.len();
    let mut order: Vec<usize> = (0..rank - 1).collect();
    order.insert(place, rank - 1);
    Some(graph.push(Op::Permute(order), &[product]))
}

/// A copy of a node with an axis moved to the end.
fn last(graph: &mut Graph, id: NodeId, dim: usize) -> NodeId {
    let rank = graph.shape(id).rank();
    if dim + 1 == rank {
        return id;
    }
    // Work on many operands is done in their layout; only its result is permuted.
    let below = match graph.node(id).op {
        Op::Cast(_) => graph.node(id).operands[0],
        _ => id,
    };
    let computed = graph.node(below).op.is_pointwise();
    let source = if computed { graph.push(Op::Barrier(0), &[id]) } else { id };
    let order = (0..rank).filter(|&axis| axis != dim).chain([dim]).collect();
    let moved = graph.push(Op::Permute(order), &[source]);
    graph.push(Op::Barrier(0), &[moved])
}

/// The contraction with one axis renumbered as the last. Within rows, columns and terms, axes are ordered by
/// number.
fn renumbered(mut contraction: Contraction, axis: usize) -> Contraction {
    let last = contraction.sizes.len() - 1;
    let number = |a: &mut usize| {
        *a = match *a {
            a if a == axis => last,
            a if a > axis => a - 1,
            a => a,
        }
    };
    let size = contraction.sizes.remove(axis);
    contraction.sizes.push(size);
    contraction.out.iter_mut().for_each(number);
    let maps = contraction.lhs.iter_mut().chain(&mut contraction.rhs);
    maps.flat_map(|map| &mut map.terms).for_each(|term| number(&mut term.0));
    contraction
}
