//! Reverse-mode differentiation, from graph to graph: gradients are ordinary nodes, so they can be simplified,
//! fused and differentiated again.
//!
//! Start at [`gradient`]. The rules are with their ops, in [`crate::ops`]; those of loops are here.

mod hoist;
mod scan;

use std::collections::HashMap;

use crate::custom::CustomOp;
use crate::error::OpError;
use crate::graph::{Graph, Node, NodeId};
use crate::op::Op;
use crate::ops::index::{gather, scatter_add};
use crate::ops::movement::{expand, flip, pad, permute, reshape, slice};
use crate::ops::{contraction, pack, select};
use crate::var::Var;

/// Gradients of `loss`, a single number, with respect to each node of `wrt`.
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

/// Gradients with respect to `wrt`, from upstream gradients at several nodes; `None` where there is no path.
pub fn pull_back(
    graph: &mut Graph,
    seeds: &[(NodeId, NodeId)],
    wrt: &[NodeId],
) -> Result<Vec<Option<NodeId>>, OpError> {
    let len = graph.nodes.len();
    let mut tape = BackwardPass {
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
            // Errors in a gradient are attributed to the line of the op that it belongs to.
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
        // A scan or custom node represents all its outputs, whatever the dtype of the first one.
        let carries = node.dtype.is_float() || matches!(node.op, Op::Scan(_) | Op::Custom(_));
        if carries && !matches!(node.op, Op::StopGradient) {
            active[id.index()] |= node.operands.iter().any(|operand| active[operand.index()]);
        }
    }
    active
}

struct BackwardPass {
    /// The gradient accumulated so far, per node.
    sums: Vec<Option<NodeId>>,
    /// Gradients at the outputs of scans and custom ops.
    picks: HashMap<NodeId, Vec<Option<NodeId>>>,
    active: Vec<bool>,
    /// Recomputed nodes, per checkpoint.
    regions: HashMap<u32, Recompute>,
}

struct Recompute {
    /// The node that recomputation waits for.
    after: NodeId,
    copies: HashMap<NodeId, NodeId>,
}

impl BackwardPass {
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

    /// The forward value as gradient rules may use it: the node itself, or recomputed if it belongs to a
    /// checkpoint.
    fn value(&mut self, graph: &mut Graph, id: NodeId, g: NodeId) -> NodeId {
        let Some(region) = graph.node(id).region else { return id };
        let after = self.enter(region, g);
        self.copy(graph, id, region, after)
    }

    /// The operands of a scan or custom op as its gradient may use them. An op in a checkpoint is recomputed as
    /// a whole, so all its operands wait.
    fn operands(&mut self, graph: &mut Graph, node: &Node, g: NodeId) -> Vec<NodeId> {
        let Some(region) = node.region else {
            return node.operands.iter().map(|&o| self.value(graph, o, g)).collect();
        };
        let after = self.enter(region, g);
        node.operands.iter().map(|&o| self.copy(graph, o, region, after)).collect()
    }

    /// What the recomputation of a region waits for: the first gradient that reached it.
    fn enter(&mut self, region: u32, g: NodeId) -> NodeId {
        self.regions.entry(region).or_insert_with(|| Recompute { after: g, copies: HashMap::new() }).after
    }

    /// Recomputes a node of a region, with everything in the region that it needs, operands first.
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
                && let Some(d) = graph.write(|writer| {
                    let operands = writer.vars(&operands);
                    rule(&node.op, &operands, writer.var(y), writer.var(g), n).map(Var::id)
                })
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
        let found: Result<Vec<Option<NodeId>>, OpError> = graph.write(|writer| {
            let [operands, outputs, upstream] = [&operands, &outputs, &upstream].map(|ids| writer.vars(ids));
            let found = custom.gradient(&operands, &outputs, &upstream)?;
            Ok(found.into_iter().map(|g| g.map(Var::id)).collect())
        });
        let found = found?;
        for (&operand, g) in node.operands.iter().zip(found) {
            if let Some(g) = g {
                self.add(graph, operand, g);
            }
        }
        Ok(())
    }
}

/// The gradient with respect to operand `n`; `None` where it is zero. Looks up the rule; the rules themselves
/// are with their ops.
fn rule<'g>(op: &Op, operands: &[Var<'g>], y: Var<'g>, g: Var<'g>, n: usize) -> Option<Var<'g>> {
    let x = operands.first().copied().unwrap_or(y);
    Some(match op {
        Op::Unary(unary) => unary.row().gradient?(x, y, g),
        Op::Binary(binary) => {
            let (at_a, at_b) = binary.row().gradient?;
            if n == 0 { at_a(x, operands[1], y, g) } else { at_b(x, operands[1], y, g) }
        }
        Op::Select => select::gradient(x, g, n == 1),
        Op::Cast(_) => g.cast(x.dtype()),
        Op::Reshape(_) => reshape::gradient(x, g),
        Op::Permute(order) => permute::gradient(g, order),
        Op::Expand(to) => expand::gradient(x, g, to),
        Op::Pad(widths) => pad::gradient(x, g, widths),
        Op::Slice(spans) => slice::gradient(x, g, spans),
        Op::Flip(axes) => flip::gradient(g, axes),
        Op::Reduce(reduce, axes) => reduce.gradient(x, y, g, axes)?,
        Op::Gather(axis) => gather::gradient(x, operands[1], g, *axis),
        Op::ScatterAdd(axis, _) => scatter_add::gradient(operands[1], g, *axis),
        Op::Contract(contraction) => contraction::gradient(contraction, x, operands[1], g, n == 0),
        Op::Pack(offsets, _) => pack::gradient(operands[n], g, offsets[n]),
        Op::Barrier(_) if n == 0 => g,
        _ => return None,
    })
}
