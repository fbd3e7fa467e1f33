//! Decides which nodes live in memory and which kernel computes what.
//!
//! Kernels are drafted from consumers to producers: a materialized node becomes the root of a
//! kernel unless a later one computes it along the way. Afterwards kernels over the same space are
//! merged, and what several kernels compute at some cost is materialized and drafting starts again.

pub mod access;
mod cut_long_chains;
pub mod draft;
mod merge_kernels;
pub mod product;
mod pull;
mod roots;
pub mod weave;
pub mod work;

use std::collections::{HashMap, HashSet};

use farad_ir::{Graph, NodeId, Op};

use crate::program::Target;
use cut_long_chains::{Cuts, WORTH_KEEPING_LONG, cut};
use draft::{Context, Draft, Part, Start, Trouble, resident, unshaped};
use merge_kernels::merge;
use product::Roles;
use roots::{Roots, roots};
use work::{Ancestors, Work, order, tangled};

/// The kernels of a graph and the nodes that live in memory.
pub struct Fused {
    /// In an order in which producers come first.
    pub works: Vec<Work>,
    /// Whether each node lives in memory between kernels.
    pub materialized: Vec<bool>,
}

/// Recomputing less than this (in the unit of [`cost`]) is cheaper than keeping.
const WORTH_KEEPING: usize = 24;

/// Groups the graph's nodes into kernels.
pub fn fuse(graph: &Graph, outputs: &[NodeId], target: &Target) -> Fused {
    let Roots { mut materialized, ends } = roots(graph, outputs, target);
    let Cuts { long, mut apart } = cut(graph, &mut materialized, &ends, target);
    let mut ancestors = Ancestors::of(graph);
    loop {
        let mut drafts = draft_all(graph, &mut materialized, &ends, &apart, &mut ancestors, target);
        let tangled = tangled(graph, &drafts);
        if !tangled.is_empty() {
            tangled.into_iter().for_each(|id| apart[id.index()] = true);
            continue;
        }
        merge(graph, outputs, &materialized, &mut drafts, target);
        let again = shared(graph, &drafts, &materialized, &long, target);
        if again.is_empty() {
            let works = order(graph, drafts);
            return Fused { works, materialized };
        }
        again.into_iter().for_each(|id| materialized[id.index()] = true);
    }
}

fn draft_all(
    graph: &Graph,
    materialized: &mut Vec<bool>,
    ends: &HashMap<NodeId, NodeId>,
    apart: &[bool],
    ancestors: &mut Ancestors,
    target: &Target,
) -> Vec<Work> {
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
            // Written by the scan or custom node, or laid into the pack's memory by its operands.
            Op::Pick(..) | Op::Pack(..) => {}
            _ => {
                let draft = draft(graph, id, materialized, &owned, ends, apart, ancestors, target);
                draft.results.iter().for_each(|r| owned[r.node.index()] = true);
                works.push(Work::Draft(Box::new(draft)));
            }
        }
    }
    works
}

/// Drafts the kernel of one root, mending its start until it holds.
fn draft(
    graph: &Graph,
    root: NodeId,
    materialized: &mut Vec<bool>,
    owned: &[bool],
    ends: &HashMap<NodeId, NodeId>,
    apart: &[bool],
    ancestors: &mut Ancestors,
    target: &Target,
) -> Draft {
    let mut product = product_below(graph, root, materialized, owned, apart, target);
    let parts = if target.fuse { Part::of(graph, materialized, root) } else { vec![] };
    let mut start = begin(graph, root, product);
    if product.is_none()
        && let Some(part) = parts.first()
    {
        start = Start { parts: parts.clone(), ..Start::over(&graph.shape(part.node)) };
    }
    let mut fuse = target.fuse;
    loop {
        let context = Context { graph, materialized, owned, ends, apart, fuse };
        let tried = Draft::of(root, &start, &context).and_then(|d| fits(graph, d, ancestors, target));
        let trouble = match tried {
            // The product turned out to be loaded: then this is no product kernel.
            Ok(draft) if draft.product.is_some() && !draft.multiplies() => {
                product = None;
                start = begin(graph, root, None);
                continue;
            }
            Ok(draft) => return draft,
            // In memory anyway, and not to be computed here: load it.
            Err(Trouble::Materialize(node)) if node != root && materialized[node.index()] => {
                Trouble::Load(node)
            }
            Err(trouble) => trouble,
        };
        if start.mend(&trouble) {
            continue;
        }
        match trouble {
            _ if !start.parts.is_empty() => {}
            // Before anything is cut off, load what is in memory anyway.
            Trouble::TooLarge if fuse => fuse = false,
            // An epilogue may hold what it loads and not what it computes along the way.
            _ if fuse && product.is_some_and(|p| p != root) => fuse = false,
            // Whatever a product's epilogue cannot hold ends the attempt to be one.
            _ if product.is_some_and(|p| p != root) => {
                let contraction = product.take().expect("just seen");
                materialized[contraction.index()] = true;
                fuse = target.fuse;
            }
            Trouble::Materialize(node) => {
                assert!(
                    node != root && !materialized[node.index()],
                    "kernel of {} {} cannot be built: {} {} is in the way",
                    graph.node(root).op.name(),
                    graph.shape(root),
                    graph.node(node).op.name(),
                    graph.shape(node)
                );
                materialized[node.index()] = true;
            }
            _ => {
                let node = heaviest(graph, root, materialized).expect("a kernel of one op fits");
                materialized[node.index()] = true;
            }
        }
        start = begin(graph, root, product);
    }
}

fn begin(graph: &Graph, root: NodeId, product: Option<NodeId>) -> Start {
    match product {
        Some(contraction) => Start::product(contraction, &graph.shape(contraction)),
        None => Start::over(&graph.shape(unshaped(graph, root))),
    }
}

/// Whether a draft keeps within the target's bindings and loads nothing that waits for its results.
fn fits(graph: &Graph, draft: Draft, ancestors: &mut Ancestors, target: &Target) -> Result<Draft, Trouble> {
    let loads = draft.loads();
    for result in &draft.results[1..] {
        let operands = draft.product.iter().flat_map(|p| graph.node(*p).operands.iter());
        let reads: Vec<NodeId> = loads.iter().chain(operands).copied().collect();
        if ancestors.include(graph, &reads, result.node) {
            return Err(Trouble::Load(result.node));
        }
    }
    let operands = if draft.product.is_some() { 2 } else { 0 };
    if loads.len() + draft.written() + operands > target.bindings {
        return match draft.written() {
            1 => Err(Trouble::TooLarge),
            _ => Err(Trouble::Load(draft.results[draft.results.len() - 1].node)),
        };
    }
    Ok(draft)
}

/// A contraction that the kernel of `root` could compute first: reached through pointwise and
/// movement ops, with as many elements, computed by no other kernel.
fn product_below(
    graph: &Graph,
    root: NodeId,
    materialized: &[bool],
    owned: &[bool],
    apart: &[bool],
    target: &Target,
) -> Option<NodeId> {
    let numel = graph.shape(root).numel();
    let mut stack = vec![root];
    let mut seen = HashSet::new();
    while let Some(id) = stack.pop() {
        let node = graph.node(id);
        let is_root = id == root;
        if !seen.insert(id) || (!is_root && (!target.fuse || owned[id.index()] || apart[id.index()])) {
            continue;
        }
        match &node.op {
            Op::Contract(contraction) if Roles::of(contraction).is_some() && node.shape.numel() == numel => {
                return Some(id);
            }
            op if op.is_pointwise() || op.is_movement() => stack.extend(node.operands.iter().filter(|o| {
                graph.shape(**o).numel() == numel
                    && !matches!(graph.node(**o).op, Op::Input(_))
                    && (!materialized[o.index()]
                        || matches!(graph.node(**o).op, Op::Contract(_))
                        || graph.node(**o).op.is_pointwise())
            })),
            _ => {}
        }
    }
    None
}

/// The node below `root` whose computing pulls in most loads: what to cut off when a kernel is too
/// large.
fn heaviest(graph: &Graph, root: NodeId, materialized: &[bool]) -> Option<NodeId> {
    let mut best = None;
    let mut stack: Vec<NodeId> = graph.node(root).operands.clone();
    let mut seen = HashSet::new();
    while let Some(id) = stack.pop() {
        if !seen.insert(id) || resident(graph, materialized, id).is_some() {
            continue;
        }
        let node = graph.node(id);
        let loads = leaves(graph, id, materialized);
        if !node.op.is_movement()
            && loads > 0
            && best.is_none_or(|(most, _)| loads > most)
            && !matches!(node.op, Op::Constant(_) | Op::Parameter(_))
        {
            best = Some((loads, id));
        }
        // Only a part of what the kernel does may be cut off, so do not stop at the first level.
        if node.op.is_movement() || node.operands.len() == 1 {
            stack.extend(&node.operands);
        }
    }
    best.map(|(_, id)| id)
}

fn leaves(graph: &Graph, id: NodeId, materialized: &[bool]) -> usize {
    let (mut stack, mut seen, mut found) = (vec![id], HashSet::new(), 0);
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        match resident(graph, materialized, id) {
            Some(base) if base != id || seen.len() > 1 => found += 1,
            _ => {
                found += 1;
                stack.extend(&graph.node(id).operands);
            }
        }
    }
    found
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

/// Nodes that several kernels compute and that are better kept: reductions first, then whatever is
/// dear enough.
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
    let worth = |id: &NodeId| if long[id.index()] { WORTH_KEEPING_LONG } else { WORTH_KEEPING };
    let dear: Vec<NodeId> = graph
        .ids()
        .filter(|id| twice(id) && weight(graph, *id, &count, materialized, worth(id)) >= worth(id))
        .collect();
    outermost(graph, dear, materialized)
}

/// Cost of everything below a node that is computed with it, counted until it is enough.
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

/// The outermost of these nodes: what they are made of need not be kept as well.
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
