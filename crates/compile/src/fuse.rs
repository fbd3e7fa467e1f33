//! Decides which nodes live in memory and which kernel computes what.
//!
//! Kernels are drafted from consumers to producers: a materialised node becomes the root of a
//! kernel unless a later one computes it along the way. Afterwards kernels over the same space are
//! merged, and what several kernels compute at some cost is materialised and drafting starts again.

use std::collections::{HashMap, HashSet};

use farad_ir::{Graph, NodeId, Op};

use crate::draft::{Context, Draft, Start, Trouble, resident, unshaped};
use crate::merge::merge;
use crate::product::{Shape3, missing};
use crate::program::Target;

/// What computes a materialised node.
#[derive(Clone, Debug)]
pub enum Work {
    /// A drafted kernel, fused or product.
    Draft(Box<Draft>),
    /// A scatter, scan or custom node, which has an archetype of its own.
    Node(NodeId),
}

/// The kernels of a graph and the nodes that live in memory.
pub struct Fused {
    /// In an order in which producers come first.
    pub works: Vec<Work>,
    /// Whether each node lives in memory between kernels.
    pub materialised: Vec<bool>,
}

/// Recomputing less than this (in the unit of [`cost`]) is cheaper than keeping.
const WORTH_KEEPING: usize = 24;

/// Groups the graph's nodes into kernels.
pub fn fuse(graph: &Graph, outputs: &[NodeId], target: &Target) -> Fused {
    let Roots { mut materialised, ends } = roots(graph, outputs, target);
    let mut apart = vec![false; graph.nodes.len()];
    loop {
        let mut drafts = draft_all(graph, &mut materialised, &ends, &apart, target);
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
            Op::ScatterAdd(..) | Op::Custom(_) | Op::Scan(_) => {
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
            Op::Contract(contraction) if Shape3::of(contraction).is_none() => {
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
            let end = end_of_chain(graph, id, &users, outputs);
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
/// before it writes.
fn end_of_chain(graph: &Graph, contraction: NodeId, users: &[Vec<NodeId>], outputs: &[NodeId]) -> NodeId {
    let mut end = contraction;
    let mut at = contraction;
    let numel = graph.shape(contraction).numel();
    while let [user] = users[at.index()][..] {
        let node = graph.node(user);
        let follows =
            (node.op.is_pointwise() || matches!(node.op, Op::Reshape(_))) && node.shape.numel() == numel;
        if !follows || outputs.contains(&at) {
            break;
        }
        at = user;
        if node.op.is_pointwise() {
            end = user;
        }
    }
    end
}

fn draft_all(
    graph: &Graph,
    materialised: &mut Vec<bool>,
    ends: &HashMap<NodeId, NodeId>,
    apart: &[bool],
    target: &Target,
) -> Vec<Work> {
    let mut owned = vec![false; graph.nodes.len()];
    let mut works = Vec::new();
    let ancestors = Ancestors::of(graph);
    for id in graph.ids().rev() {
        if !materialised[id.index()] || owned[id.index()] || graph.shape(id).numel() == 0 {
            continue;
        }
        owned[id.index()] = true;
        match graph.node(id).op {
            Op::ScatterAdd(..) | Op::Scan(_) | Op::Custom(_) => works.push(Work::Node(id)),
            // Written by the scan or custom node, or laid into the pack's memory by its operands.
            Op::Pick(..) | Op::Pack(..) => {}
            _ => {
                let draft = draft(graph, id, materialised, &owned, ends, apart, &ancestors, target);
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
    let mut start = begin(graph, root, product);
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
            // Before anything is cut off, load what is in memory anyway.
            Trouble::TooLarge if fuse => fuse = false,
            // Whatever a product's epilogue cannot hold ends the attempt to be one.
            _ if product.is_some_and(|p| p != root) => {
                let contraction = product.take().expect("just seen");
                materialised[contraction.index()] = true;
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
    if loads.len() + draft.results.len() + operands > target.bindings {
        return match draft.results.len() {
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
            Op::Contract(contraction) if Shape3::of(contraction).is_some() && node.shape.numel() == numel => {
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

/// The nodes that a piece of work reads from memory and those that it writes.
pub fn touches(graph: &Graph, materialised: &[bool], work: &Work) -> (Vec<NodeId>, Vec<NodeId>) {
    match work {
        Work::Draft(draft) => {
            let mut reads: Vec<NodeId> = draft.loads().into_iter().collect();
            if let Some(product) = draft.product {
                reads
                    .extend(graph.node(product).operands.iter().flat_map(|&o| below(graph, o, materialised)));
            }
            (reads, draft.results.iter().map(|r| r.node).collect())
        }
        Work::Node(id) => {
            let reads =
                graph.node(*id).operands.iter().filter_map(|&o| resident(graph, materialised, o)).collect();
            let picks = graph
                .ids()
                .filter(|p| matches!(graph.node(*p).op, Op::Pick(..)) && graph.node(*p).operands[0] == *id);
            (reads, std::iter::once(*id).chain(picks).collect())
        }
    }
}

/// The resident nodes that computing `id` loads.
pub fn below(graph: &Graph, id: NodeId, materialised: &[bool]) -> Vec<NodeId> {
    match resident(graph, materialised, id) {
        Some(base) => vec![base],
        None => graph.node(id).operands.iter().flat_map(|&o| below(graph, o, materialised)).collect(),
    }
}

/// Which piece of work writes each node; `usize::MAX` where none does.
fn owners(graph: &Graph, works: &[Work]) -> Vec<usize> {
    let mut owner = vec![usize::MAX; graph.nodes.len()];
    for (i, work) in works.iter().enumerate() {
        match work {
            Work::Draft(draft) => draft.results.iter().for_each(|r| owner[r.node.index()] = i),
            Work::Node(id) => owner[id.index()] = i,
        }
    }
    owner
}

/// Nodes computed along the way by kernels that wait for each other in a circle: each alone would
/// do, but one needs a result of the other and the other one of the first.
fn tangled(graph: &Graph, works: &[Work]) -> Vec<NodeId> {
    let owner = owners(graph, works);
    let before: Vec<Vec<usize>> = works
        .iter()
        .enumerate()
        .map(|(i, work)| {
            producers(graph, &owner, work).iter().map(|n| owner[n.index()]).filter(|&j| j != i).collect()
        })
        .collect();
    // What waits for nothing that is left, or is waited for by nothing that is left, is in no circle.
    let mut left = vec![true; works.len()];
    loop {
        let mut awaited = vec![false; works.len()];
        (0..works.len()).filter(|&i| left[i]).for_each(|i| before[i].iter().for_each(|&j| awaited[j] = true));
        let free = |i: &usize| left[*i] && (!awaited[*i] || !before[*i].iter().any(|&j| left[j]));
        let gone: Vec<usize> = (0..works.len()).filter(free).collect();
        if gone.is_empty() {
            break;
        }
        gone.into_iter().for_each(|i| left[i] = false);
    }
    let extra = |work: &Work| match work {
        Work::Draft(draft) => draft.results[1..].iter().map(|r| r.node).collect(),
        Work::Node(_) => vec![],
    };
    works.iter().zip(left).filter(|(_, left)| *left).flat_map(|(work, _)| extra(work)).collect()
}

/// Producers first; otherwise as the graph has them.
fn order(graph: &Graph, works: Vec<Work>) -> Vec<Work> {
    let latest = |work: &Work| match work {
        Work::Draft(draft) => draft.results.iter().map(|r| r.node).max().expect("a kernel writes something"),
        Work::Node(id) => *id,
    };
    let mut works = works;
    works.sort_by_key(latest);
    let owner = owners(graph, &works);
    let mut state = vec![0u8; works.len()];
    let mut sorted = Vec::with_capacity(works.len());
    for i in 0..works.len() {
        visit(graph, &works, &owner, &mut state, &mut sorted, i);
    }
    let mut slots: Vec<Option<Work>> = works.into_iter().map(Some).collect();
    sorted.into_iter().map(|i| slots[i].take().expect("visited once")).collect()
}

fn visit(
    graph: &Graph,
    works: &[Work],
    owner: &[usize],
    state: &mut [u8],
    sorted: &mut Vec<usize>,
    i: usize,
) {
    if state[i] != 0 {
        assert!(state[i] == 2, "kernels wait for each other");
        return;
    }
    state[i] = 1;
    for node in producers(graph, owner, &works[i]) {
        if owner[node.index()] != i {
            visit(graph, works, owner, state, sorted, owner[node.index()]);
        }
    }
    state[i] = 2;
    sorted.push(i);
}

/// The nearest nodes above a piece of work that other work computes.
fn producers(graph: &Graph, owner: &[usize], work: &Work) -> Vec<NodeId> {
    let mut stack: Vec<NodeId> = match work {
        Work::Draft(draft) => {
            let mut from: Vec<NodeId> = draft.loads().into_iter().collect();
            from.extend(draft.product.iter().flat_map(|p| graph.node(*p).operands.iter().copied()));
            from
        }
        Work::Node(id) => graph.node(*id).operands.clone(),
    };
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        if owner[id.index()] != usize::MAX { found.push(id) } else { stack.extend(&graph.node(id).operands) }
    }
    found.sort_unstable();
    found
}

/// Which nodes each node is computed from, as bit sets.
pub struct Ancestors {
    words: usize,
    bits: Vec<u64>,
}

impl Ancestors {
    /// For every node of the graph.
    pub fn of(graph: &Graph) -> Ancestors {
        let words = graph.nodes.len().div_ceil(64);
        let mut bits = vec![0u64; words * graph.nodes.len()];
        for id in graph.ids() {
            for &operand in &graph.node(id).operands {
                let (low, high) = bits.split_at_mut(words * id.index());
                let from = &low[words * operand.index()..][..words];
                high[..words].iter_mut().zip(from).for_each(|(a, b)| *a |= b);
                high[operand.index() / 64] |= 1 << (operand.index() % 64);
            }
        }
        Ancestors { words, bits }
    }

    /// Whether `id` is computed from `ancestor`, or is it.
    pub fn includes(&self, id: NodeId, ancestor: NodeId) -> bool {
        id == ancestor
            || self.bits[self.words * id.index() + ancestor.index() / 64] >> (ancestor.index() % 64) & 1 == 1
    }
}
