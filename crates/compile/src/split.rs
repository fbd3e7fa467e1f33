//! Cuts long sums into parts when the device would otherwise idle: a reduction with few results
//! becomes two, and a product with few results and a long inner axis becomes a batch of products
//! and a sum.

use farad_ir::{Contraction, DType, Graph, IndexMap, Node, NodeId, Op, Reduce, Shape};

use crate::program::Target;

/// Terms up to which a product stays whole that has a result for every other position that keeps the device busy.
const SHORT: usize = 512;

/// Rewrites the graph for the target; returns where the outputs went.
pub fn split(graph: &Graph, outputs: &[NodeId], target: &Target) -> (Graph, Vec<NodeId>) {
    let mut new = Graph::new();
    let mut map: Vec<NodeId> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let operands: Vec<NodeId> = node.operands.iter().map(|o| map[o.index()]).collect();
        let id = match &node.op {
            Op::Reduce(reduce, axes) if !reduce.is_index() => {
                split_reduce(&mut new, *reduce, axes, operands[0], target)
            }
            Op::Contract(contraction) => split_inner(&mut new, contraction, &operands, target),
            _ => None,
        };
        map.push(id.unwrap_or_else(|| new.append(Node { operands, ..node.clone() })));
    }
    (new, outputs.iter().map(|o| map[o.index()]).collect())
}

/// Parts to cut `length` terms into when there are `results` sums: about enough to fill the device,
/// each at least `least` long.
fn parts(length: usize, results: usize, least: usize, target: &Target) -> usize {
    let wanted = target.parallel.div_ceil(results.max(1));
    wanted.min(length / least.max(1)).max(1).next_power_of_two()
}

/// A divisor of `length` near `wanted`: exact parts need no masks.
fn divisor(length: usize, wanted: usize) -> Option<usize> {
    (wanted / 2..=wanted * 2).rev().filter(|d| *d > 1).find(|d| length.is_multiple_of(*d))
}

fn split_reduce(
    graph: &mut Graph,
    reduce: Reduce,
    axes: &[usize],
    x: NodeId,
    target: &Target,
) -> Option<NodeId> {
    let shape = graph.shape(x);
    let length: usize = axes.iter().map(|&a| shape[a]).product();
    let results = shape.numel() / length.max(1);
    // Whether the reduced axes are the innermost: then a workgroup takes a row, else a thread takes
    // a column and more parts pay.
    let rows = axes.contains(&(shape.rank() - 1));
    let (lanes, least) = if rows { (256, 4096) } else { (1, 64) };
    if target.parallel <= 1 || length < 4 * least || results * lanes >= target.parallel {
        return None;
    }
    let wanted = parts(length, results * lanes, least, target);
    if wanted <= 1 {
        return None;
    }
    // Parts of a sum are rounded once, at the end.
    let dtype = graph.dtype(x);
    let x = if dtype == DType::F16 && reduce.row().rounds { graph.cast(x, DType::F32) } else { x };
    // The outermost reduced axis that can be cut alone; else fold all of them into one.
    let &axis = axes.iter().min()?;
    if let Some(count) = divisor(shape[axis], wanted).filter(|_| shape.rank() < farad_ir::MAX_RANK) {
        let mut sizes = shape.to_vec();
        sizes.splice(axis..=axis, [count, shape[axis] / count]);
        let cut = graph.reshape(x, Shape::new(&sizes));
        let inner: Vec<usize> = axes.iter().map(|&a| a + 1).collect();
        let partial = graph.reduce(reduce, cut, &inner);
        let whole = graph.reduce(reduce, partial, &[axis]);
        return Some(graph.cast(whole, dtype));
    }
    let all = axes.len() == shape.rank() && reduce == Reduce::Sum;
    if !all {
        return None;
    }
    // A whole sum of awkward length: pad with zeros to whole parts.
    let chunk = length.div_ceil(wanted);
    let flat = graph.reshape(x, Shape::new(&[length]));
    let padded = graph.push(Op::Pad(vec![(0, chunk * wanted - length)]), &[flat]);
    let cut = graph.reshape(padded, Shape::new(&[wanted, chunk]));
    let partial = graph.reduce(reduce, cut, &[1]);
    let whole = graph.reduce(reduce, partial, &[0]);
    Some(graph.cast(whole, dtype))
}

/// How many parts the sum of a product of this dtype is cut into, and over which axis.
pub fn cuts(contraction: &Contraction, dtype: DType, target: &Target) -> Option<(usize, usize)> {
    let plain = contraction.lhs.iter().chain(&contraction.rhs).all(|m| m.plain().is_some());
    let reduced = contraction.reduced();
    let [inner] = reduced[..] else { return None };
    if !plain || target.parallel <= 1 || dtype != DType::F32 {
        return None;
    }
    let (length, results) = (contraction.sizes[inner], contraction.output().numel());
    // Small tiles keep the device busy: what a split would save, adding up the parts costs.
    if results * 2 >= target.parallel && length <= SHORT {
        return None;
    }
    // A thread of the tiled kernel makes 64 results; below that many the tiles shrink.
    let wanted = parts(length, results.div_ceil(16).max(1), 256, target).min(64);
    let count = divisor(length, wanted).filter(|_| wanted > 1 && results * 4 < target.parallel * 16)?;
    Some((count, inner))
}

fn split_inner(
    graph: &mut Graph,
    contraction: &Contraction,
    operands: &[NodeId],
    target: &Target,
) -> Option<NodeId> {
    let (count, inner) = cuts(contraction, graph.dtype(operands[0]), target)?;
    let length = contraction.sizes[inner];
    let cut = |graph: &mut Graph, id: NodeId, maps: &[IndexMap]| {
        let shape = graph.shape(id);
        let dim = maps.iter().position(|m| m.plain() == Some(inner)).expect("the inner axis is read by both");
        let mut sizes = shape.to_vec();
        sizes.splice(dim..=dim, [count, length / count]);
        (sizes.len() <= farad_ir::MAX_RANK).then(|| (graph.reshape(id, Shape::new(&sizes)), dim))
    };
    let (lhs, ldim) = cut(graph, operands[0], &contraction.lhs)?;
    let (rhs, rdim) = cut(graph, operands[1], &contraction.rhs)?;
    let part = contraction.sizes.len();
    let mut new = contraction.clone();
    new.sizes[inner] = length / count;
    new.sizes.push(count);
    new.out.insert(0, part);
    new.lhs.insert(ldim, IndexMap::axis(part));
    new.rhs.insert(rdim, IndexMap::axis(part));
    let partial = graph.contract(new, lhs, rhs);
    Some(graph.reduce(Reduce::Sum, partial, &[0]))
}
