//! Moves sums over all positions out of the loop of a reverse scan. Each position adds a product or a sum to
//! the gradient of a constant; together they are one product or one sum over time.
//!
//! Start at [`Hoist::take`], which decides what the loop must output; [`sum_over_time`] then builds the sum.

use super::scan::BodyInput;
use crate::graph::{Graph, NodeId};
use crate::op::Op;
use crate::ops::binary::Binary;
use crate::ops::contraction::{Contraction, IndexMap};
use crate::ops::reduce::Reduce;
use crate::ops::unary::Unary;
use crate::shape::{MAX_RANK, Shape};

/// Sums nested deeper than this stay in their loop.
const DEEPEST: usize = 128;

/// Which nodes of a reverse body are output as sequences.
pub(super) struct Hoist<'a> {
    body: &'a Graph,
    sources: &'a [BodyInput],
    /// Whether each node differs from position to position.
    varies: Vec<bool>,
    steps: usize,
    /// Nodes whose slices are output, each once, in order.
    pub(super) stacked: Vec<NodeId>,
    /// Existing sequences that are read after the loop.
    pub(super) read: Vec<BodyInput>,
}

impl<'a> Hoist<'a> {
    pub(super) fn new(body: &'a Graph, sources: &'a [BodyInput], steps: usize) -> Hoist<'a> {
        let mut varies = vec![false; body.nodes.len()];
        for id in body.ids() {
            let node = body.node(id);
            varies[id.index()] = match node.op {
                Op::Input(n) => !matches!(sources[n], BodyInput::Constant(_)),
                _ => node.operands.iter().any(|o| varies[o.index()]),
            };
        }
        Hoist { body, sources, varies, steps, stacked: Vec::new(), read: Vec::new() }
    }

    /// Outputs a node as a sequence, unless it is a slice of an existing one.
    pub(super) fn stack(&mut self, id: NodeId) {
        match self.given(id) {
            Some(source) => self.read.push(source),
            None if !self.stacked.contains(&id) => self.stacked.push(id),
            None => {}
        }
    }

    /// Whether a node's slices are available after the loop.
    pub(super) fn has(&self, id: NodeId) -> bool {
        self.given(id).is_some() || self.stacked.contains(&id)
    }

    /// The sequence that an input is a slice of.
    fn given(&self, id: NodeId) -> Option<BodyInput> {
        let Op::Input(n) = self.body.node(id).op else { return None };
        let source = self.sources[n];
        matches!(
            source,
            BodyInput::Before(_) | BodyInput::Sequence(_) | BodyInput::Result(_) | BodyInput::Kept(_)
        )
        .then_some(source)
    }

    /// Whether the sum of a node over all positions is better computed after the loop; if so, everything that
    /// it needs becomes an output.
    pub(super) fn take(&mut self, id: NodeId) -> bool {
        let mut needs = Vec::new();
        let takes = self.steps > 1 && self.collect(id, &mut needs, DEEPEST);
        if takes {
            needs.into_iter().for_each(|id| self.stack(id));
        }
        takes
    }

    /// Collects what a sum needs; `false` if it cannot be computed after the loop, or if it is nested deeper
    /// than `depth`.
    fn collect(&self, id: NodeId, needs: &mut Vec<NodeId>, depth: usize) -> bool {
        let node = self.body.node(id);
        if self.has(id) {
            needs.push(id);
            return true;
        }
        if !self.varies[id.index()] || depth == 0 {
            return false;
        }
        match &node.op {
            Op::Binary(Binary::Add) => node.operands.iter().all(|&o| self.collect(o, needs, depth - 1)),
            Op::Unary(Unary::Neg) => self.collect(node.operands[0], needs, depth - 1),
            op if op.is_movement() => self.collect(node.operands[0], needs, depth - 1),
            Op::Contract(contraction) => {
                let ranks = node.operands.iter().all(|&o| self.body.shape(o).rank() < MAX_RANK);
                needs.extend(&node.operands);
                let both = node.operands.iter().all(|o| self.varies[o.index()]);
                ranks && both && over_time(contraction, self.steps).is_some()
            }
            Op::Reduce(Reduce::Sum, _) => {
                needs.push(node.operands[0]);
                self.body.shape(node.operands[0]).rank() < MAX_RANK
            }
            _ => false,
        }
    }
}

/// The sum over all positions of a node of `body`; `whole` returns the sequences that the loop output.
pub(super) fn sum_over_time(
    graph: &mut Graph,
    body: &Graph,
    id: NodeId,
    steps: usize,
    whole: &mut dyn FnMut(&mut Graph, NodeId) -> Option<NodeId>,
) -> NodeId {
    if let Some(all) = whole(graph, id) {
        return graph.reduce(Reduce::Sum, all, &[0]);
    }
    let node = body.node(id);
    let mut slices =
        |graph: &mut Graph, n: usize| whole(graph, node.operands[n]).expect("output when it was taken");
    match &node.op {
        Op::Binary(Binary::Add) => {
            let [a, b] = [0, 1].map(|n| sum_over_time(graph, body, node.operands[n], steps, whole));
            graph.add(a, b)
        }
        Op::Contract(contraction) => {
            let (merged, dims) = over_time(contraction, steps).expect("checked when it was taken");
            let [lhs, rhs] = [0, 1].map(|n| {
                let all = slices(graph, n);
                with_time(graph, all, dims[n])
            });
            graph.contract(merged, lhs, rhs)
        }
        Op::Reduce(Reduce::Sum, axes) => {
            let all = slices(graph, 0);
            let axes: Vec<usize> = std::iter::once(0).chain(axes.iter().map(|a| a + 1)).collect();
            graph.reduce(Reduce::Sum, all, &axes)
        }
        Op::Unary(Unary::Neg) => {
            let sum = sum_over_time(graph, body, node.operands[0], steps, whole);
            graph.neg(sum)
        }
        op if op.is_movement() => {
            let sum = sum_over_time(graph, body, node.operands[0], steps, whole);
            graph.push(op.clone(), &[sum])
        }
        op => unreachable!("{} was not taken", op.name()),
    }
}

/// A contraction that also sums over time, and for each operand the axis that time is merged with (`None`: time
/// becomes a new axis). A matrix product stays one: time is merged into an axis that is already summed over.
fn over_time(contraction: &Contraction, steps: usize) -> Option<(Contraction, [Option<usize>; 2])> {
    let mut merged = contraction.clone();
    let reduced = contraction.reduced();
    if reduced.is_empty() {
        let time = merged.sizes.len();
        merged.sizes.push(steps);
        merged.lhs.insert(0, IndexMap::axis(time));
        merged.rhs.insert(0, IndexMap::axis(time));
        return Some((merged, [None, None]));
    }
    let alone = |maps: &[IndexMap], axis: usize| {
        let mut reads = maps.iter().enumerate().filter(|(_, m)| m.terms.iter().any(|&(a, _)| a == axis));
        let first = reads.next().filter(|(_, map)| map.plain().is_some());
        if reads.next().is_some() { None } else { first.map(|(dim, _)| dim) }
    };
    let place = |&axis: &usize| Some((axis, alone(&contraction.lhs, axis)?, alone(&contraction.rhs, axis)?));
    // Merging with the first axis of an operand moves no data.
    let (axis, l, r) =
        reduced.iter().filter_map(place).min_by_key(|&(_, l, r)| (l > 0) as u8 + (r > 0) as u8)?;
    merged.sizes[axis] *= steps;
    Some((merged, [Some(l), Some(r)]))
}

/// A sequence with time merged into axis `dim` of its slices.
fn with_time(graph: &mut Graph, all: NodeId, dim: Option<usize>) -> NodeId {
    let Some(dim) = dim else { return all };
    let whole = graph.shape(all);
    let moved = if dim == 0 {
        all
    } else {
        let order: Vec<usize> = (1..=dim).chain([0]).chain(dim + 1..whole.rank()).collect();
        graph.permute(all, &order)
    };
    let mut sizes: Vec<usize> = whole[1..].to_vec();
    sizes[dim] *= whole[0];
    graph.reshape(moved, Shape::new(&sizes))
}
