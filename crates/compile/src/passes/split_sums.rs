//! Cuts long sums into parts when the device would otherwise idle: a reduction with few results
//! becomes two, and a product with few results and a long inner axis becomes a batch of products
//! and a sum.

use std::cmp::Reverse;

use farad_ir::{Contraction, DType, Graph, IndexMap, NodeId, Op, Reduce, Shape};

use crate::fusion::product::Roles;
use crate::passes::limits;
use crate::passes::tiles::{self, ProductSizes};
use crate::program::Target;

/// Rewrites the graph for the target; returns where the outputs went. `None` if the target is busy with one position.
pub fn split(graph: &Graph, outputs: &[NodeId], target: &Target) -> Option<(Graph, Vec<NodeId>)> {
    if target.parallel <= 1 {
        return None;
    }
    let mut new = Graph::new();
    let map = graph.rewrite(graph.ids(), |_, node| {
        let split = match &node.op {
            Op::Reduce(reduce, axes) if !reduce.is_index() => {
                split_reduce(&mut new, *reduce, axes, node.operands[0], target)
            }
            Op::Contract(contraction) => split_inner(&mut new, contraction, &node.operands, target),
            _ => None,
        };
        split.unwrap_or_else(|| new.append(node))
    });
    let outputs = map.all(outputs);
    Some((new, outputs))
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

/// Reduced axes cut in two: parts, and what is reduced within a part.
struct SumCut {
    /// All sizes, with one axis more if one was cut.
    sizes: Vec<usize>,
    /// Axes that say which part.
    parts: Vec<usize>,
    /// Axes within a part.
    inner: Vec<usize>,
}

impl SumCut {
    /// Takes whole axes, outermost first, while there are more parts wanted than they have, and a part of the next.
    fn of(shape: &Shape, axes: &[usize], wanted: usize) -> Option<SumCut> {
        let mut cut = SumCut { sizes: vec![], parts: vec![], inner: vec![] };
        let mut left = wanted;
        for (axis, &size) in shape.iter().enumerate() {
            let place = cut.sizes.len();
            cut.sizes.push(size);
            if !axes.contains(&axis) {
                continue;
            }
            match divisor(size, left).filter(|&count| count < size) {
                _ if size <= left => {
                    cut.parts.push(place);
                    left /= size.max(1);
                }
                Some(count) if left > 1 && shape.rank() < farad_ir::MAX_RANK => {
                    cut.sizes.splice(place.., [count, size / count]);
                    cut.parts.push(place);
                    cut.inner.push(place + 1);
                    left = 1;
                }
                _ => cut.inner.push(place),
            }
        }
        let count: usize = cut.parts.iter().map(|&axis| cut.sizes[axis]).product();
        (2 * count >= wanted && !cut.inner.is_empty()).then_some(cut)
    }
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
    let (lanes, least) = match rows {
        true => (limits::ROW_LANES, limits::ROW_TERMS),
        // Several threads share a column, so fewer parts do.
        false if shape.numel() < limits::SHARED_COLUMNS => (limits::COLUMN_LANES, limits::COLUMN_TERMS),
        false => (1, limits::COLUMN_TERMS),
    };
    if target.parallel <= 1 || length < limits::WORTH_PARTS * least || results * lanes >= target.parallel {
        return None;
    }
    let wanted = parts(length, results * lanes, least, target);
    if wanted <= 1 {
        return None;
    }
    // Parts of a sum are rounded once, at the end.
    let dtype = graph.dtype(x);
    let x = if dtype.is_half() && reduce.row().rounds { graph.cast(x, DType::F32) } else { x };
    if let Some(SumCut { sizes, parts, inner }) = SumCut::of(&shape, axes, wanted) {
        let cut = graph.reshape(x, Shape::new(&sizes));
        let partial = graph.reduce(reduce, cut, &inner);
        let left = |part: &usize| part - inner.iter().filter(|axis| *axis < part).count();
        let parts: Vec<usize> = parts.iter().map(left).collect();
        let whole = graph.reduce(reduce, partial, &parts);
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

/// How the sum of a product is cut.
pub struct TermCut {
    /// Into how many parts.
    count: usize,
    /// Over which axis.
    axis: usize,
}

/// How the sum of a product of this dtype is cut, if it is.
pub fn cuts(contraction: &Contraction, dtype: DType, target: &Target) -> Option<TermCut> {
    small_cuts(contraction, dtype, target).or_else(|| large_cuts(contraction, dtype, target))
}

/// Of products whose tiles are large, or of halves: as many parts as save time.
fn large_cuts(contraction: &Contraction, dtype: DType, target: &Target) -> Option<TermCut> {
    let plain = contraction.lhs.iter().chain(&contraction.rhs).all(|m| m.plain().is_some());
    let is_f16 = dtype == DType::F16;
    if target.parallel < limits::LARGE_DEVICE || !plain || !(is_f16 || dtype == DType::F32) {
        return None;
    }
    let roles = Roles::of(contraction)?;
    let len = |axes: &[usize]| axes.iter().map(|&axis| contraction.sizes[axis]).product::<usize>();
    let (batches, rows, columns) = (len(&roles.batch), len(&roles.rows), len(&roles.columns));
    let sizes = ProductSizes { batches, rows, columns, terms: len(&roles.inner) };
    if sizes.terms <= 2 * limits::WHOLE_TERMS {
        return None;
    }
    // The outermost axis: what is left of the terms stays one piece of memory.
    let &inner = roles.inner.iter().find(|&&axis| contraction.sizes[axis] > 1)?;
    let length = contraction.sizes[inner];
    let offered = (1..=6).map(|power| 1 << power).filter(|count| length.is_multiple_of(*count));
    let count = tiles::parts(sizes, is_f16, tiles::PROCESSORS, offered)?;
    Some(TermCut { count, axis: inner })
}

/// Of products that would leave most of the device idle.
fn small_cuts(contraction: &Contraction, dtype: DType, target: &Target) -> Option<TermCut> {
    let plain = contraction.lhs.iter().chain(&contraction.rhs).all(|m| m.plain().is_some());
    let reduced = contraction.reduced();
    let worth = if plain { dtype == DType::F32 } else { Roles::of(contraction).is_some() };
    if target.parallel <= 1 || !worth {
        return None;
    }
    let terms: usize = reduced.iter().map(|&axis| contraction.sizes[axis]).product();
    let results = contraction.output().numel();
    // Small tiles keep the device busy: what a split would save, adding up the parts costs.
    if results * 2 >= target.parallel && terms <= limits::WHOLE_TERMS {
        return None;
    }
    // A thread of the tiled kernel makes 64 results; below that many the tiles shrink.
    let wanted =
        parts(terms, results.div_ceil(limits::PRODUCT_RESULTS).max(1), limits::PRODUCT_TERMS, target)
            .min(limits::PRODUCT_PARTS);
    // Products of halves are quick, so that each part is soon done.
    let wanted = if dtype == DType::F16 && wanted > 1 { wanted.max(limits::HALF_PARTS) } else { wanted };
    if wanted <= 1 || results * 4 >= target.parallel * 16 {
        return None;
    }
    // An axis that both operands have as it is, if it is long enough, else the longest; of equals the first, which
    // lies furthest apart in memory.
    let is_plain = |axis: usize| {
        [&contraction.lhs, &contraction.rhs].iter().all(|maps| maps.iter().any(|m| m.plain() == Some(axis)))
    };
    let &inner = reduced.iter().max_by_key(|&&axis| {
        let length = contraction.sizes[axis];
        (is_plain(axis) && 2 * length >= wanted, length, Reverse(axis))
    })?;
    let length = contraction.sizes[inner];
    let count = divisor(length, wanted).or((reduced.len() > 1 && length <= wanted).then_some(length))?;
    Some(TermCut { count, axis: inner })
}

fn split_inner(
    graph: &mut Graph,
    contraction: &Contraction,
    operands: &[NodeId],
    target: &Target,
) -> Option<NodeId> {
    let dtype = graph.dtype(operands[0]);
    let TermCut { count, axis: inner } = cuts(contraction, dtype, target)?;
    let length = contraction.sizes[inner];
    let mut new = contraction.clone();
    let [mut lhs, mut rhs] = [operands[0], operands[1]];
    if count == length {
        new.out.insert(0, inner);
    } else {
        let part = contraction.sizes.len();
        new.sizes[inner] = length / count;
        new.sizes.push(count);
        new.out.insert(0, part);
        for (id, maps) in [(&mut lhs, &mut new.lhs), (&mut rhs, &mut new.rhs)] {
            cut(graph, id, maps, (inner, part), length / count)?;
        }
    }
    if new.out.len() > farad_ir::MAX_RANK {
        return None;
    }
    let partial = graph.contract(new, lhs, rhs);
    // Parts of a sum are rounded once, at the end.
    let partial = if dtype.is_half() { graph.cast(partial, DType::F32) } else { partial };
    let whole = graph.reduce(Reduce::Sum, partial, &[0]);
    Some(graph.cast(whole, dtype))
}

/// Lets maps read an axis that is now two, `part` with steps of `step` and `inner`. An operand's axis that is just this
/// one is cut in two itself, as long as there is room for one more.
fn cut(
    graph: &mut Graph,
    operand: &mut NodeId,
    maps: &mut Vec<IndexMap>,
    (inner, part): (usize, usize),
    step: usize,
) -> Option<()> {
    let mut sizes = graph.shape(*operand).to_vec();
    if let Some(dim) = maps.iter().position(|m| m.plain() == Some(inner))
        && sizes.len() < farad_ir::MAX_RANK
    {
        sizes.splice(dim..=dim, [sizes[dim] / step, step]);
        *operand = graph.reshape(*operand, Shape::new(&sizes));
        maps.insert(dim, IndexMap::axis(part));
        return Some(());
    }
    let map = maps.iter_mut().find(|m| m.terms.iter().any(|term| term.0 == inner))?;
    let factor = map.terms.iter().find(|term| term.0 == inner)?.1;
    map.terms.push((part, factor * step as i64));
    Some(())
}
