//! Reverse mode, graph to graph: gradients are nodes like any others, so they simplify, fuse and
//! differentiate again.
//!
//! Start at [`gradient`]. The rules of the table families stand in their rows; the rest is here.

mod hoist;
mod scan;

use std::collections::HashMap;

use crate::custom::CustomOp;
use crate::error::OpError;
use crate::graph::{Graph, Node, NodeId};
use crate::op::{Op, Span};
use crate::shape::Shape;

/// Gradients of `loss`, which holds one number, at each node of `wrt`.
pub fn gradient(graph: &mut Graph, loss: NodeId, wrt: &[NodeId]) -> Result<Vec<NodeId>, OpError> {
    let shape = graph.shape(loss);
    if shape.numel() != 1 {
        return Err(OpError::NotScalar { shape, numel: shape.numel() });
    }
    if !graph.dtype(loss).is_float() {
        return Err(OpError::NoGradient {
            op: format!("a loss of dtype {}", graph.dtype(loss)),
            help: String::new(),
        });
    }
    let seed = graph.fill_like(loss, 1.0);
    let found = pull_back(graph, &[(loss, seed)], wrt)?;
    found
        .into_iter()
        .enumerate()
        .map(|(index, g)| g.ok_or_else(|| OpError::NoPath { index, shape: graph.shape(wrt[index]) }))
        .collect()
}

/// Gradients at `wrt` from upstream gradients at several nodes; `None` where no path leads.
pub fn pull_back(
    graph: &mut Graph,
    seeds: &[(NodeId, NodeId)],
    wrt: &[NodeId],
) -> Result<Vec<Option<NodeId>>, OpError> {
    let len = graph.nodes.len();
    let mut tape = Tape {
        sums: vec![None; len],
        picks: HashMap::new(),
        active: active(graph, wrt),
        regions: HashMap::new(),
    };
    for &(node, seed) in seeds {
        tape.add(graph, node, seed);
    }
    for index in (0..len).rev() {
        let id = NodeId(index as u32);
        if tape.active[index] {
            let before = graph.nodes.len();
            tape.step(graph, id)?;
            // What goes wrong in a gradient is blamed on the line of the op it belongs to.
            let location = graph.node(id).location;
            graph.nodes[before..].iter_mut().for_each(|node| node.location = node.location.or(location));
        }
    }
    Ok(wrt.iter().map(|id| tape.sums[id.index()]).collect())
}

/// Which nodes depend on `wrt` through floats.
fn active(graph: &Graph, wrt: &[NodeId]) -> Vec<bool> {
    let mut active = vec![false; graph.nodes.len()];
    wrt.iter().for_each(|id| active[id.index()] = true);
    for id in graph.ids() {
        let node = graph.node(id);
        // A scan or custom node stands for all its outputs, whatever the first one's dtype is.
        let carries = node.dtype.is_float() || matches!(node.op, Op::Scan(_) | Op::Custom(_));
        if carries && !matches!(node.op, Op::StopGradient) {
            active[id.index()] |= node.operands.iter().any(|operand| active[operand.index()]);
        }
    }
    active
}

struct Tape {
    /// The gradient collected so far, per node.
    sums: Vec<Option<NodeId>>,
    /// Gradients at the outputs of scans and custom ops.
    picks: HashMap<NodeId, Vec<Option<NodeId>>>,
    active: Vec<bool>,
    /// Nodes computed again, per checkpoint.
    regions: HashMap<u32, Recompute>,
}

struct Recompute {
    /// What recomputation waits for.
    after: NodeId,
    copies: HashMap<NodeId, NodeId>,
}

impl Tape {
    fn add(&mut self, graph: &mut Graph, id: NodeId, g: NodeId) {
        debug_assert_eq!(
            graph.shape(id),
            graph.shape(g),
            "gradient of {} has another shape",
            graph.node(id).op.name()
        );
        if !graph.dtype(id).is_float() {
            return;
        }
        let sum = match self.sums[id.index()] {
            Some(earlier) => graph.add(earlier, g),
            None => g,
        };
        self.sums[id.index()] = Some(sum);
    }

    /// The forward value as gradient rules may use it: itself, or computed again if it belongs to a
    /// checkpoint.
    fn value(&mut self, graph: &mut Graph, id: NodeId, g: NodeId) -> NodeId {
        let Some(region) = graph.node(id).region else { return id };
        let after = self.enter(region, g);
        self.copy(graph, id, region, after)
    }

    /// The operands of a scan or custom op as its gradient may use them. One in a checkpoint is
    /// computed again as a whole, so all that it reads waits.
    fn operands(&mut self, graph: &mut Graph, node: &Node, g: NodeId) -> Vec<NodeId> {
        let Some(region) = node.region else {
            return node.operands.iter().map(|&o| self.value(graph, o, g)).collect();
        };
        let after = self.enter(region, g);
        node.operands.iter().map(|&o| self.copy(graph, o, region, after)).collect()
    }

    /// What computing a region again waits for: the first gradient that reached it.
    fn enter(&mut self, region: u32, g: NodeId) -> NodeId {
        self.regions.entry(region).or_insert_with(|| Recompute { after: g, copies: HashMap::new() }).after
    }

    /// A node of a region computed again, with all of the region that it needs: operands first.
    fn copy(&mut self, graph: &mut Graph, id: NodeId, region: u32, after: NodeId) -> NodeId {
        let copies = &mut self.regions.get_mut(&region).expect("entered before").copies;
        let mut stack = vec![id];
        while let Some(&id) = stack.last() {
            if copies.contains_key(&id) {
                stack.pop();
                continue;
            }
            let node = graph.node(id).clone();
            let copy = if matches!(node.op, Op::Parameter(_) | Op::Constant(_) | Op::Iota(_)) {
                id
            } else if node.region == Some(region) {
                let open = stack.len();
                stack.extend(node.operands.iter().rev().filter(|operand| !copies.contains_key(operand)));
                if stack.len() > open {
                    continue;
                }
                let operands = node.operands.iter().map(|operand| copies[operand]).collect();
                graph.append(Node { operands, region: None, ..node })
            } else {
                let barrier = graph.nodes.len();
                graph.push(Op::Barrier(barrier), &[id, after])
            };
            copies.insert(id, copy);
            stack.pop();
        }
        copies[&id]
    }

    fn step(&mut self, graph: &mut Graph, id: NodeId) -> Result<(), OpError> {
        let node = graph.node(id).clone();
        match &node.op {
            Op::Scan(scan) => {
                let Some(picks) = self.picks.remove(&id) else { return Ok(()) };
                return self.scan(graph, scan.clone(), &node, &picks);
            }
            Op::Custom(custom) => {
                let Some(picks) = self.picks.remove(&id) else { return Ok(()) };
                return self.custom(graph, custom.as_ref(), id, &picks);
            }
            _ => {}
        }
        let Some(g) = self.sums[id.index()] else { return Ok(()) };
        if let Op::Pick(n, ..) = node.op {
            let slots = self.picks.entry(node.operands[0]).or_default();
            slots.resize(slots.len().max(n + 1), None);
            // A gradient that used the result has picked it again.
            slots[n] = Some(slots[n].map_or(g, |earlier| graph.add(earlier, g)));
            return Ok(());
        }
        let wanted: Vec<bool> = node.operands.iter().map(|o| self.active[o.index()]).collect();
        let operands: Vec<NodeId> = node.operands.iter().map(|&o| self.value(graph, o, g)).collect();
        let y = self.value(graph, id, g);
        for (n, &operand) in node.operands.iter().enumerate() {
            if wanted[n]
                && graph.dtype(operand).is_float()
                && let Some(d) = rule(graph, &node, &operands, y, g, n)
            {
                self.add(graph, operand, d);
            }
        }
        Ok(())
    }

    /// A custom op's own rule, given the gradients at its results (zeros where there are none).
    fn custom(
        &mut self,
        graph: &mut Graph,
        custom: &dyn CustomOp,
        id: NodeId,
        picks: &[Option<NodeId>],
    ) -> Result<(), OpError> {
        let node = graph.node(id).clone();
        let kinds: Vec<_> = node.operands.iter().map(|&o| (graph.shape(o), graph.dtype(o))).collect();
        let first = picks.iter().flatten().next().copied().expect("a gradient reached a result");
        let operands = self.operands(graph, &node, first);
        let again = self.value(graph, id, first);
        let (mut outputs, mut upstream) = (Vec::new(), Vec::new());
        for (n, (shape, dtype)) in custom.infer(&kinds)?.into_iter().enumerate() {
            outputs.push(graph.push(Op::Pick(n, shape, dtype), &[again]));
            upstream.push(match picks.get(n).copied().flatten() {
                Some(g) => g,
                None => graph.fill(crate::Scalar::of(dtype, 0.0), shape),
            });
        }
        let found = custom.gradient(graph, &operands, &outputs, &upstream)?;
        for (&operand, g) in node.operands.iter().zip(found) {
            if let Some(g) = g {
                self.add(graph, operand, g);
            }
        }
        Ok(())
    }
}

/// The gradient at operand `n`; `None` where it is zero.
fn rule(
    graph: &mut Graph,
    node: &Node,
    operands: &[NodeId],
    y: NodeId,
    g: NodeId,
    n: usize,
) -> Option<NodeId> {
    let x = operands.first().copied().unwrap_or(y);
    let from = graph.shape(x);
    Some(match &node.op {
        Op::Unary(unary) => unary.row().gradient?(graph, x, y, g),
        Op::Binary(binary) => {
            let (at_a, at_b) = binary.row().gradient?;
            if n == 0 { at_a(graph, x, operands[1], y, g) } else { at_b(graph, x, operands[1], y, g) }
        }
        Op::Select => {
            let zero = graph.fill_like(g, 0.0);
            if n == 1 { graph.select(x, g, zero) } else { graph.select(x, zero, g) }
        }
        Op::Cast(_) => graph.cast(g, graph.dtype(x)),
        Op::Reshape(_) => graph.reshape(g, from),
        Op::Permute(order) => {
            let mut inverse = vec![0; order.len()];
            order.iter().enumerate().for_each(|(i, &axis)| inverse[axis] = i);
            graph.permute(g, &inverse)
        }
        Op::Expand(to) => {
            let axes: Vec<usize> = (0..from.rank()).filter(|&a| from[a] != to[a]).collect();
            let sum = graph.reduce(crate::Reduce::Sum, g, &axes);
            graph.reshape(sum, from)
        }
        Op::Pad(widths) => {
            let spans =
                widths.iter().zip(from.iter()).map(|(w, &len)| Span { start: w.0, len, step: 1 }).collect();
            graph.push(Op::Slice(spans), &[g])
        }
        Op::Slice(spans) => unslice(graph, g, from, spans),
        Op::Flip(axes) => graph.push(Op::Flip(axes.clone()), &[g]),
        Op::Reduce(reduce, axes) => {
            let rule = reduce.row().gradient?;
            let kept = from.ones_at(axes);
            let mut spread = |id: NodeId| {
                let id = graph.reshape(id, kept);
                graph.expand(id, from)
            };
            let (y, g) = (spread(y), spread(g));
            rule(graph, x, y, g, axes)
        }
        // One position an axis: the gradient goes where the position is, a comparison away.
        Op::Gather(axis) if graph.shape(operands[1])[*axis] == 1 => {
            let iota = graph.push(Op::Iota(from[*axis]), &[]);
            let iota = graph.cast(iota, graph.dtype(operands[1]));
            let mut sizes = vec![1; from.rank()];
            sizes[*axis] = from[*axis];
            let iota = graph.reshape(iota, Shape::new(&sizes));
            let (iota, index) = (graph.expand(iota, from), graph.expand(operands[1], from));
            let here = graph.binary(crate::Binary::Equal, iota, index);
            let (g, zero) = (graph.expand(g, from), graph.fill(crate::Scalar::of(graph.dtype(g), 0.0), from));
            graph.select(here, g, zero)
        }
        // Every element goes to one place, so the gradient comes back from there.
        Op::Gather(axis) if orders(graph, operands[1], from, *axis) => {
            let inverse = inverse(graph, operands[1]);
            graph.push(Op::Gather(*axis), &[g, inverse])
        }
        Op::Gather(axis) => {
            // The index may repeat over other axes; the gradient has the full shape there.
            graph.push(Op::ScatterAdd(*axis, from[*axis]), &[g, operands[1]])
        }
        Op::ScatterAdd(axis, _) => graph.push(Op::Gather(*axis), &[g, operands[1]]),
        Op::Contract(contraction) if n == 0 => {
            graph.contract(contraction.gradient_lhs(&from), g, operands[1])
        }
        Op::Contract(contraction) => {
            let shape = graph.shape(operands[1]);
            graph.contract(contraction.gradient_rhs(&shape), g, x)
        }
        Op::Pack(offsets, _) => {
            let shape = graph.shape(operands[n]);
            let span = Span { start: offsets[n], len: shape.numel(), step: 1 };
            let part = graph.push(Op::Slice(vec![span]), &[g]);
            graph.reshape(part, shape)
        }
        Op::Barrier(_) if n == 0 => g,
        _ => return None,
    })
}

/// Whether an index is an order of the last axis, and so a permutation of each of its rows.
fn orders(graph: &Graph, index: NodeId, x: Shape, axis: usize) -> bool {
    matches!(graph.node(index).op, Op::Order(_)) && axis + 1 == x.rank() && graph.shape(index) == x
}

/// The inverse of a permutation that is an order: the order of its positions. An order of an order is
/// the inverse of the latter, so it needs no sorting.
fn inverse(graph: &mut Graph, order: NodeId) -> NodeId {
    let node = graph.node(order).clone();
    match graph.node(node.operands[0]).op {
        Op::Order(_) if node.op == Op::Order(false) => node.operands[0],
        _ => graph.push(Op::Order(false), &[order]),
    }
}

/// The adjoint of a slice: zeros everywhere but at the span. A step is a pad of a new inner axis.
fn unslice(graph: &mut Graph, g: NodeId, to: Shape, spans: &[Span]) -> NodeId {
    let mut g = g;
    for (axis, span) in spans.iter().enumerate().filter(|(_, s)| s.step > 1) {
        g = spread_axis(graph, g, axis, span.step);
    }
    let shape = graph.shape(g);
    // A stepped axis may now reach past the end by less than a step.
    let cut: Vec<Span> = (0..to.rank())
        .map(|a| Span { start: 0, len: shape[a].min(to[a] - spans[a].start), step: 1 })
        .collect();
    if cut.iter().zip(shape.iter()).any(|(span, &size)| span.len != size) {
        g = graph.push(Op::Slice(cut), &[g]);
    }
    let shape = graph.shape(g);
    let widths: Vec<(usize, usize)> =
        (0..to.rank()).map(|a| (spans[a].start, to[a] - spans[a].start - shape[a])).collect();
    if widths.iter().all(|&w| w == (0, 0)) { g } else { graph.push(Op::Pad(widths), &[g]) }
}

/// Puts `step - 1` zeros after every element of `axis`. Ranks of 8 leave no room for another axis,
/// so all others are folded around it first.
fn spread_axis(graph: &mut Graph, g: NodeId, axis: usize, step: usize) -> NodeId {
    let shape = graph.shape(g);
    let before: usize = shape[..axis].iter().product();
    let after: usize = shape[axis + 1..].iter().product();
    let g = graph.reshape(g, Shape::new(&[before, shape[axis], 1, after]));
    let g = graph.push(Op::Pad(vec![(0, 0), (0, 0), (0, step - 1), (0, 0)]), &[g]);
    graph.reshape(g, shape.with(axis, shape[axis] * step))
}
