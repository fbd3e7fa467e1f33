//! Decides which nodes live in memory and which kernel computes what.
//!
//! Kernels are drafted from consumers to producers: a materialised node becomes the root of a
//! kernel unless a later one computes it along the way. Afterwards kernels over the same space are
//! merged, and what several kernels compute at some cost is materialised and drafting starts again.

use std::collections::{HashMap, HashSet};

use farad_ir::{Graph, NodeId, Op};

use crate::draft::{Context, Draft, Part, Start, Trouble, resident, unshaped};
use crate::merge::merge;
use crate::product::{Roles, missing};
use crate::program::Target;
use crate::works::{Ancestors, Work, order, tangled};

/// The kernels of a graph and the nodes that live in memory.
pub struct Fused {
    /// In an order in which producers come first.
    pub works: Vec<Work>,
    /// Whether each node lives in memory between kernels.
    pub materialised: Vec<bool>,
}

/// Recomputing less than this (in the unit of [`cost`]) is cheaper than keeping.
const WORTH_KEEPING: usize = 24;

/// Readers up to which a product of halves is kept as it is, and what is little work computed again by each.
const MOST_READERS: usize = 2;

/// Groups the graph's nodes into kernels.
pub fn fuse(graph: &Graph, outputs: &[NodeId], target: &Target) -> Fused {
    let Roots { mut materialised, ends } = roots(graph, outputs, target);
    let mut apart = vec![false; graph.nodes.len()];
    let ancestors = Ancestors::of(graph);
    loop {
        let mut drafts = draft_all(graph, &mut materialised, &ends, &apart, &ancestors, target);
        let tangled = tangled(graph, &drafts);
        if !tangled.is_empty() {
            tangled.into_iter().for_each(|id| apart[id.index()] = true);
            continue;
        }
        merge(graph, outputs, &materialised, &mut drafts, target);
        let again = shared(graph, &drafts, &materialised, target);
        if again.is_empty() {
            let works = order(graph, drafts);
            return Fused { works, materialised };
        }
        again.into_iter().for_each(|id| materialised[id.index()] = true);
    }
}

/// What is known before any kernel is drafted.
struct Roots {
    /// Nodes that must live in memory whatever happens.
    materialised: Vec<bool>,
    /// The last pointwise nodes of product kernels, with their contraction.
    ends: HashMap<NodeId, NodeId>,
}

fn roots(graph: &Graph, outputs: &[NodeId], target: &Target) -> Roots {
    let mut users: Vec<Vec<NodeId>> = vec![Vec::new(); graph.nodes.len()];
    let mut materialised = vec![false; graph.nodes.len()];
    outputs.iter().for_each(|id| materialised[id.index()] = true);
    for id in graph.ids() {
        let node = graph.node(id);
        for operand in &node.operands {
            if !users[operand.index()].contains(&id) {
                users[operand.index()].push(id);
            }
        }
        match &node.op {
            Op::ScatterAdd(..) | Op::Order(_) | Op::Custom(_) | Op::Scan(_) => {
                materialised[id.index()] = true;
                node.operands.iter().for_each(|&operand| need(graph, operand, &mut materialised));
            }
            // A part of a pack lies in the pack's memory, so it is a place of its own.
            Op::Pack(..) => {
                materialised[id.index()] = true;
                node.operands.iter().for_each(|operand| materialised[operand.index()] = true);
            }
            Op::Pick(..) => materialised[id.index()] = true,
            Op::Barrier(_) if node.operands.len() == 1 => materialised[id.index()] = true,
            Op::Barrier(_) => need(graph, node.operands[0], &mut materialised),
            Op::Contract(contraction) if Roles::of(contraction).is_none() => {
                materialised[id.index()] = true;
                node.operands.iter().for_each(|&operand| need(graph, operand, &mut materialised));
            }
            op if !target.fuse
                && (op.is_pointwise()
                    || matches!(op, Op::Reduce(..) | Op::Gather(_) | Op::Contract(_) | Op::Random(_))) =>
            {
                materialised[id.index()] = true;
            }
            _ => {}
        }
    }
    let mut ends = HashMap::new();
    let counts: Vec<usize> = users.iter().map(Vec::len).collect();
    for id in graph.ids().rev() {
        missing(graph, id, &materialised, &counts).into_iter().for_each(|id| materialised[id.index()] = true);
        let node = graph.node(id);
        if matches!(node.op, Op::Contract(_)) {
            let end = end_of_chain(graph, id, &users, outputs, &materialised);
            materialised[end.index()] = true;
            ends.entry(end).or_insert(id);
        }
        // Leaves are in memory, or need none.
        if matches!(node.op, Op::Input(_)) {
            materialised[id.index()] = false;
        }
    }
    // A host number or a constant that must be in memory is written there by a kernel.
    outputs
        .iter()
        .filter(|id| !matches!(graph.node(**id).op, Op::Input(_)))
        .for_each(|id| materialised[id.index()] = true);
    Roots { materialised, ends }
}

/// Makes sure that a node's elements lie in memory in row-major order.
fn need(graph: &Graph, id: NodeId, materialised: &mut [bool]) {
    let node = graph.node(id);
    match node.op {
        _ if resident(graph, materialised, id).is_some() => {}
        Op::Reshape(_) => need(graph, node.operands[0], materialised),
        _ => materialised[id.index()] = true,
    }
}

/// The last of the pointwise nodes that follow a contraction one by one: what its kernel computes
/// before it writes. A product of halves that is cast back and shifted by a bias is kept as halves if few read it: what
/// follows is little work to do again from half the bytes.
fn end_of_chain(
    graph: &Graph,
    contraction: NodeId,
    users: &[Vec<NodeId>],
    outputs: &[NodeId],
    materialised: &[bool],
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
        if materialised[user.index()] {
            end = last;
        }
        at = user;
    }
    // What many read is computed once.
    if readers(graph, at, users) > MOST_READERS { last } else { end }
}

/// How many nodes read a node, itself or through movement.
fn readers(graph: &Graph, id: NodeId, users: &[Vec<NodeId>]) -> usize {
    let through = |user: &NodeId| match graph.node(*user).op.is_movement() {
        true => readers(graph, *user, users),
        false => 1,
    };
    users[id.index()].iter().map(through).sum()
}

/// Whether a node repeats something smaller.
fn repeats(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    match &node.op {
        Op::Expand(_) | Op::Constant(_) | Op::Parameter(_) => true,
        Op::Reshape(_) | Op::Permute(_) => repeats(graph, node.operands[0]),
        _ => false,
    }
}

fn draft_all(
    graph: &Graph,
    materialised: &mut Vec<bool>,
    ends: &HashMap<NodeId, NodeId>,
    apart: &[bool],
    ancestors: &Ancestors,
    target: &Target,
) -> Vec<Work> {
    let mut owned = vec![false; graph.nodes.len()];
    let mut works = Vec::new();
    for id in graph.ids().rev() {
        if !materialised[id.index()] || owned[id.index()] || graph.shape(id).numel() == 0 {
            continue;
        }
        owned[id.index()] = true;
        match graph.node(id).op {
            Op::ScatterAdd(..) | Op::Order(_) | Op::Scan(_) | Op::Custom(_) => works.push(Work::Node(id)),
            // Written by the scan or custom node, or laid into the pack's memory by its operands.
            Op::Pick(..) | Op::Pack(..) => {}
            _ => {
                let draft = draft(graph, id, materialised, &owned, ends, apart, ancestors, target);
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
    materialised: &mut Vec<bool>,
    owned: &[bool],
    ends: &HashMap<NodeId, NodeId>,
    apart: &[bool],
    ancestors: &Ancestors,
    target: &Target,
) -> Draft {
    let mut product = product_below(graph, root, materialised, owned, target);
    let parts = if target.fuse { Part::of(graph, materialised, root) } else { vec![] };
    let mut start = begin(graph, root, product);
    if product.is_none()
        && let Some(part) = parts.first()
    {
        start = Start { parts: parts.clone(), ..Start::over(&graph.shape(part.node)) };
    }
    let mut fuse = target.fuse;
    loop {
        let context = Context { graph, materialised, owned, ends, apart, fuse };
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
            Err(Trouble::Materialise(node)) if node != root && materialised[node.index()] => {
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
                materialised[contraction.index()] = true;
                fuse = target.fuse;
            }
            Trouble::Materialise(node) => {
                assert!(
                    node != root && !materialised[node.index()],
                    "kernel of {} {} cannot be built: {} {} is in the way",
                    graph.node(root).op.name(),
                    graph.shape(root),
                    graph.node(node).op.name(),
                    graph.shape(node)
                );
                materialised[node.index()] = true;
            }
            _ => {
                let node = heaviest(graph, root, materialised).expect("a kernel of one op fits");
                materialised[node.index()] = true;
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
fn fits(graph: &Graph, draft: Draft, ancestors: &Ancestors, target: &Target) -> Result<Draft, Trouble> {
    let loads = draft.loads();
    for result in &draft.results[1..] {
        let waits = |load: &NodeId| ancestors.includes(*load, result.node);
        if loads.iter().any(waits)
            || draft.product.is_some_and(|p| operand_waits(graph, p, result.node, ancestors))
        {
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

fn operand_waits(graph: &Graph, product: NodeId, result: NodeId, ancestors: &Ancestors) -> bool {
    graph
        .node(product)
        .operands
        .iter()
        .any(|operand| *operand == result || ancestors.includes(*operand, result))
}

/// A contraction that the kernel of `root` could compute first: reached through pointwise and
/// movement ops, with as many elements, computed by no other kernel.
fn product_below(
    graph: &Graph,
    root: NodeId,
    materialised: &[bool],
    owned: &[bool],
    target: &Target,
) -> Option<NodeId> {
    let numel = graph.shape(root).numel();
    let mut stack = vec![root];
    let mut seen = HashSet::new();
    while let Some(id) = stack.pop() {
        let node = graph.node(id);
        let is_root = id == root;
        if !seen.insert(id) || (!is_root && (!target.fuse || owned[id.index()])) {
            continue;
        }
        match &node.op {
            Op::Contract(contraction) if Roles::of(contraction).is_some() && node.shape.numel() == numel => {
                return Some(id);
            }
            op if op.is_pointwise() || op.is_movement() => stack.extend(node.operands.iter().filter(|o| {
                graph.shape(**o).numel() == numel
                    && !matches!(graph.node(**o).op, Op::Input(_))
                    && (!materialised[o.index()]
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
fn heaviest(graph: &Graph, root: NodeId, materialised: &[bool]) -> Option<NodeId> {
    let mut best = None;
    let mut stack: Vec<NodeId> = graph.node(root).operands.clone();
    let mut seen = HashSet::new();
    while let Some(id) = stack.pop() {
        if !seen.insert(id) || resident(graph, materialised, id).is_some() {
            continue;
        }
        let node = graph.node(id);
        let loads = leaves(graph, id, materialised);
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

fn leaves(graph: &Graph, id: NodeId, materialised: &[bool]) -> usize {
    let (mut stack, mut seen, mut found) = (vec![id], HashSet::new(), 0);
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        match resident(graph, materialised, id) {
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
fn shared(graph: &Graph, works: &[Work], materialised: &[bool], target: &Target) -> Vec<NodeId> {
    if !target.fuse {
        return vec![];
    }
    let mut count = vec![0; graph.nodes.len()];
    for work in works {
        if let Work::Draft(draft) = work {
            draft.computed.iter().for_each(|id| count[id.index()] += 1);
        }
    }
    let twice = |id: &NodeId| count[id.index()] > 1 && !materialised[id.index()];
    let reductions: Vec<NodeId> =
        graph.ids().filter(|id| matches!(graph.node(*id).op, Op::Reduce(..)) && twice(id)).collect();
    if !reductions.is_empty() {
        return reductions;
    }
    let dear: Vec<NodeId> = graph
        .ids()
        .filter(|id| twice(id) && weight(graph, *id, &count, materialised) >= WORTH_KEEPING)
        .collect();
    // Keep the outermost of a nest only: what it is made of need not be kept as well.
    dear.iter()
        .copied()
        .filter(|id| !dear.iter().any(|other| other != id && uses(graph, *other, *id, materialised)))
        .collect()
}

/// Cost of everything below a node that is computed with it.
fn weight(graph: &Graph, id: NodeId, count: &[usize], materialised: &[bool]) -> usize {
    let (mut stack, mut seen, mut sum) = (vec![id], HashSet::new(), 0);
    while let Some(id) = stack.pop() {
        if seen.insert(id) && count[id.index()] > 0 && !materialised[id.index()] {
            sum += cost(&graph.node(id).op);
            stack.extend(&graph.node(id).operands);
        }
    }
    sum
}

/// Whether computing `user` computes `id` on the way.
fn uses(graph: &Graph, user: NodeId, id: NodeId, materialised: &[bool]) -> bool {
    let (mut stack, mut seen) = (graph.node(user).operands.clone(), HashSet::new());
    while let Some(next) = stack.pop() {
        if next == id {
            return true;
        }
        if next > id && seen.insert(next) && !materialised[next.index()] {
            stack.extend(&graph.node(next).operands);
        }
    }
    false
}
