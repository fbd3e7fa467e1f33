//! Drafts a kernel for a root. The first attempt is the largest kernel; after each failure, the next rung of a
//! ladder gives something up.
//!
//! An [`Attempt`] is the kernel that is tried, a [`Trouble`] says why it failed, and [`LADDER`] lists what to
//! do about it, in the order in which it is tried. Invariant: every rung makes the kernel smaller. So drafting
//! ends, at the latest with a kernel of one op that loads everything it reads. Start at [`draft`].

use std::collections::{HashMap, HashSet};

use farad_ir::{Graph, NodeId, Op};

use super::draft::{Draft, DraftContext, DraftPart, DraftStart, Trouble, resident, unshaped};
use super::product::Roles;
use super::work::Ancestors;
use crate::program::Target;

/// What drafting needs to know about the other kernels.
pub(super) struct Surroundings<'a> {
    pub(super) graph: &'a Graph,
    /// Materialized nodes that some kernel already computes.
    pub(super) owned: &'a [bool],
    /// The last nodes of product kernels, with their contraction.
    pub(super) ends: &'a HashMap<NodeId, NodeId>,
    /// Materialized nodes that no other kernel may compute along the way.
    pub(super) apart: &'a [bool],
    pub(super) target: &'a Target,
}

/// Drafts the kernel of one root, rung by rung, until it fits. Nodes that do not fit are materialized.
pub(super) fn draft(
    around: &Surroundings,
    root: NodeId,
    materialized: &mut Vec<bool>,
    ancestors: &mut Ancestors,
) -> Draft {
    let mut attempt = Attempt::new(around, root, materialized);
    loop {
        match attempt.run(ancestors) {
            Ok(draft) => return draft,
            Err(trouble) => attempt.climb(&trouble),
        };
    }
}

/// The kernel that is tried.
struct Attempt<'a> {
    around: &'a Surroundings<'a>,
    root: NodeId,
    materialized: &'a mut Vec<bool>,
    /// The contraction that the kernel computes first, if it is a product.
    product: Option<NodeId>,
    /// What the draft starts from.
    start: DraftStart,
    /// Whether other materialized nodes may be computed along the way.
    fuse: bool,
}

/// One way to give something up.
struct Rung {
    /// Its name in tests and logs.
    name: &'static str,
    /// Tries to mend the trouble; returns whether it did.
    step: fn(&mut Attempt, &Trouble) -> bool,
}

/// All rungs, in the order in which they are tried.
const LADDER: [Rung; 8] = [
    Rung { name: "be no product", step: be_no_product },
    Rung { name: "mend the start", step: mend_the_start },
    Rung { name: "write the whole at once", step: write_the_whole_at_once },
    Rung { name: "load what is in memory", step: load_what_is_in_memory },
    Rung { name: "load into the epilogue", step: load_into_the_epilogue },
    Rung { name: "end the product", step: end_the_product },
    Rung { name: "keep what is in the way", step: keep_what_is_in_the_way },
    Rung { name: "cut off the heaviest", step: cut_off_the_heaviest },
];

impl<'a> Attempt<'a> {
    fn new(around: &'a Surroundings<'a>, root: NodeId, materialized: &'a mut Vec<bool>) -> Attempt<'a> {
        let product = product_below(around, root, materialized);
        let parts = match around.target.fuse && product.is_none() {
            true => DraftPart::of(around.graph, materialized, root),
            false => vec![],
        };
        let start = match parts.first() {
            Some(part) => {
                DraftStart { parts: parts.clone(), ..DraftStart::over(&around.graph.shape(part.node)) }
            }
            None => begin(around.graph, root, product),
        };
        Attempt { around, root, materialized, product, start, fuse: around.target.fuse }
    }

    /// The kernel, or why there is none.
    fn run(&self, ancestors: &mut Ancestors) -> Result<Draft, Trouble> {
        let Surroundings { graph, owned, ends, apart, target } = *self.around;
        let context =
            DraftContext { graph, materialized: self.materialized, owned, ends, apart, fuse: self.fuse };
        let tried = Draft::of(self.root, &self.start, &context);
        match tried.and_then(|draft| fits(graph, draft, ancestors, target)) {
            Ok(draft) if draft.product.is_some() && !draft.multiplies() => Err(Trouble::NotMultiplied),
            // It is materialized anyway and not to be computed here: load it.
            Err(Trouble::Materialize(node)) if node != self.root && self.materialized[node.index()] => {
                Err(Trouble::Load(node))
            }
            tried => tried,
        }
    }

    /// Takes the first rung that helps and returns its name.
    fn climb(&mut self, trouble: &Trouble) -> &'static str {
        let helps = |rung: &&Rung| (rung.step)(self, trouble);
        LADDER.iter().find(helps).expect("the last rung always helps").name
    }

    /// Starts again with default axes.
    fn again(&mut self) -> bool {
        self.start = begin(self.around.graph, self.root, self.product);
        true
    }

    /// Whether the kernel is a product with pointwise work after it.
    fn has_epilogue(&self) -> bool {
        self.product.is_some_and(|product| product != self.root)
    }
}

/// The kernel loads the product instead of computing it, so it is not a product kernel.
fn be_no_product(attempt: &mut Attempt, trouble: &Trouble) -> bool {
    if *trouble != Trouble::NotMultiplied {
        return false;
    }
    attempt.product = None;
    attempt.again()
}

/// Splits an axis, appends reduced axes or loads a node: the kernel computes the same nodes as before.
fn mend_the_start(attempt: &mut Attempt, trouble: &Trouble) -> bool {
    attempt.start.mend(trouble)
}

/// A root that cannot be written part by part is written as a whole.
fn write_the_whole_at_once(attempt: &mut Attempt, _: &Trouble) -> bool {
    !attempt.start.parts.is_empty() && attempt.again()
}

/// Before a kernel that is too large is cut, it loads what is materialized anyway.
fn load_what_is_in_memory(attempt: &mut Attempt, trouble: &Trouble) -> bool {
    if *trouble != Trouble::TooLarge || !attempt.fuse {
        return false;
    }
    attempt.fuse = false;
    attempt.again()
}

/// An epilogue that computes materialized nodes along the way may fit once it loads them.
fn load_into_the_epilogue(attempt: &mut Attempt, _: &Trouble) -> bool {
    if !attempt.fuse || !attempt.has_epilogue() {
        return false;
    }
    attempt.fuse = false;
    attempt.again()
}

/// If the epilogue still does not fit, the product gets its own kernel without one.
fn end_the_product(attempt: &mut Attempt, _: &Trouble) -> bool {
    let Some(contraction) = attempt.product.filter(|_| attempt.has_epilogue()) else { return false };
    attempt.product = None;
    attempt.materialized[contraction.index()] = true;
    attempt.fuse = attempt.around.target.fuse;
    attempt.again()
}

/// A node that cannot be computed here gets its own kernel.
fn keep_what_is_in_the_way(attempt: &mut Attempt, trouble: &Trouble) -> bool {
    let Trouble::Materialize(node) = *trouble else { return false };
    let graph = attempt.around.graph;
    assert!(
        node != attempt.root && !attempt.materialized[node.index()],
        "kernel of {} {} cannot be built: {} {} is in the way",
        graph.node(attempt.root).op.name(),
        graph.shape(attempt.root),
        graph.node(node).op.name(),
        graph.shape(node)
    );
    attempt.materialized[node.index()] = true;
    attempt.again()
}

/// The node that pulls in the most loads gets its own kernel.
fn cut_off_the_heaviest(attempt: &mut Attempt, _: &Trouble) -> bool {
    let node = heaviest(attempt.around.graph, attempt.root, attempt.materialized);
    attempt.materialized[node.expect("a kernel of one op fits").index()] = true;
    attempt.again()
}

fn begin(graph: &Graph, root: NodeId, product: Option<NodeId>) -> DraftStart {
    match product {
        Some(contraction) => DraftStart::product(contraction, &graph.shape(contraction)),
        None => DraftStart::over(&graph.shape(unshaped(graph, root))),
    }
}

/// Checks that a draft stays within the target's bindings and loads nothing that depends on its results.
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

/// A contraction that the kernel of `root` could compute first. It is reached through pointwise and movement
/// ops, has as many elements as the root, and is computed by no other kernel.
fn product_below(around: &Surroundings, root: NodeId, materialized: &[bool]) -> Option<NodeId> {
    let Surroundings { graph, owned, apart, target, .. } = *around;
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

/// The node below `root` that pulls in the most loads: what to cut off when a kernel is too large.
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
        // Cut off only a part of what the kernel does, so do not stop at the first level.
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

#[cfg(test)]
mod tests;
