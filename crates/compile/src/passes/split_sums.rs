//! Splits long sums when the device would otherwise idle. A reduction with few results becomes two reductions.
//! A product with few results and a long inner axis becomes a batch of products and a sum.

use std::cmp::Reverse;

use farad_ir::{Contraction, DType, Graph, IndexMap, NodeId, Op, Reduce, Shape};

use crate::fusion::product::Roles;
use crate::passes::align_rows;
use crate::passes::limits;
use crate::passes::tiles::{self, ProductSizes};
use crate::program::Target;

/// Rewrites the graph for the target; returns the new graph and outputs. `None` if one position keeps the
/// target busy.
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

/// Into how many parts to split `length` terms when there are `results` sums: about enough to fill the device,
/// each with at least `least` terms.
fn parts(length: usize, results: usize, least: usize, target: &Target) -> usize {
    let wanted = target.parallel.div_ceil(results.max(1));
    wanted.min(length / least.max(1)).max(1).next_power_of_two()
}

/// A divisor of `length` near `wanted`: parts of equal length need no masks.
fn divisor(length: usize, wanted: usize) -> Option<usize> {
    (wanted / 2..=wanted * 2).rev().filter(|d| *d > 1).find(|d| length.is_multiple_of(*d))
}

/// Reduced axes split in two: an index of the part, and the axes reduced within a part.
struct SumCut {
    /// All sizes, with one more axis if one was split.
    sizes: Vec<usize>,
    /// Axes that index the parts.
    parts: Vec<usize>,
    /// Axes within a part.
    inner: Vec<usize>,
}

impl SumCut {
    /// Takes whole axes as parts, outermost first, until there are enough parts, splitting the last axis if
    /// needed.
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
    // If the reduced axes are the innermost, a workgroup takes a row. Otherwise a thread takes a column, and
    // more parts pay off.
    let rows = axes.contains(&(shape.rank() - 1));
    let (lanes, least) = match rows {
        true => (limits::ROW_LANES, limits::ROW_TERMS),
        // Several threads share a column, so fewer parts are enough.
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
    // Parts are summed in f32 and rounded once, at the end.
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
    // No divisor fits: pad with zeros to a multiple of the part length.
    let chunk = length.div_ceil(wanted);
    let flat = graph.reshape(x, Shape::new(&[length]));
    let padded = graph.push(Op::Pad(vec![(0, chunk * wanted - length)]), &[flat]);
    let cut = graph.reshape(padded, Shape::new(&[wanted, chunk]));
    let partial = graph.reduce(reduce, cut, &[1]);
    let whole = graph.reduce(reduce, partial, &[0]);
    Some(graph.cast(whole, dtype))
}

/// How the terms of a product are split.
pub struct TermCut {
    /// Into how many parts.
    count: usize,
    /// Along which axis.
    axis: usize,
}

/// How to split the terms of a product of this dtype; `None` to leave it whole.
pub fn cuts(contraction: &Contraction, dtype: DType, target: &Target) -> Option<TermCut> {
    let large = large_cuts(contraction, dtype, target);
    let modeled = contraction.sizes.iter().product::<usize>() >= limits::MODELED_WORK;
    if modeled && large.is_some() {
        return large;
    }
    small_cuts(contraction, dtype, target).or(large)
}

/// For f16 products and products with large tiles: the number of parts that saves the most time.
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
    // Split the outermost axis: then the terms of a part stay contiguous in memory.
    let &inner = roles.inner.iter().find(|&&axis| contraction.sizes[axis] > 1)?;
    let length = contraction.sizes[inner];
    // Every part should start at a whole group of elements.
    let group = align_rows::group(dtype).filter(|group| length.is_multiple_of(*group)).unwrap_or(1);
    let offered = (2..=tiles::MOST_PARTS)
        .filter(|&count| length.is_multiple_of(count) && (length / count).is_multiple_of(group));
    let count = tiles::parts(sizes, is_f16, target.processors, offered)?;
    Some(TermCut { count, axis: inner })
}

/// For products that would leave most of the device idle.
fn small_cuts(contraction: &Contraction, dtype: DType, target: &Target) -> Option<TermCut> {
    let plain = contraction.lhs.iter().chain(&contraction.rhs).all(|m| m.plain().is_some());
    let reduced = contraction.reduced();
    let worth = if plain { dtype == DType::F32 } else { Roles::of(contraction).is_some() };
    if target.parallel <= 1 || !worth {
        return None;
    }
    let terms: usize = reduced.iter().map(|&axis| contraction.sizes[axis]).product();
    let results = contraction.output().numel();
    // Small tiles keep the device busy: adding up the parts would cost what the split saves.
    if results * 2 >= target.parallel && terms <= limits::WHOLE_TERMS {
        return None;
    }
    // A thread of the tiled kernel computes 64 results; with fewer results, the tiles shrink.
    let wanted =
        parts(terms, results.div_ceil(limits::PRODUCT_RESULTS).max(1), limits::PRODUCT_TERMS, target)
            .min(limits::PRODUCT_PARTS);
    // f16 products are fast, so each part finishes soon.
    let wanted = if dtype == DType::F16 && wanted > 1 { wanted.max(limits::HALF_PARTS) } else { wanted };
    if wanted <= 1 || results * 4 >= target.parallel * 16 {
        return None;
    }
    // An axis that both operands index directly, if it is long enough; otherwise the longest. Among equals the
    // first, which has the largest stride.
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
    // Parts are summed in f32 and rounded once, at the end.
    let partial = if dtype.is_half() { graph.cast(partial, DType::F32) } else { partial };
    let whole = graph.reduce(Reduce::Sum, partial, &[0]);
    Some(graph.cast(whole, dtype))
}

/// Rewrites the index maps for an axis that was split in two: `part` with stride `step`, and `inner`. An
/// operand's axis that is exactly the split axis is itself split in two, if the rank allows one more.
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
