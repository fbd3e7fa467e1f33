//! The gradient of a scan: a scan in the other direction, and one sum over all positions for the gradient of
//! each constant.
//!
//! Invariant: no product of the forward body is recomputed. The forward scan outputs the products and carries
//! that the gradient needs; only cheap work on these is done twice. Start at [`BackwardPass::scan`].

use std::sync::Arc;

use super::hoist::{Hoist, sum_over_time};
use super::{BackwardPass, pull_back};
use crate::dtype::{DType, Scalar};
use crate::error::OpError;
use crate::graph::{Graph, Node, NodeId};
use crate::rewrite::NodeMap;
use crate::scan::Scan;
use crate::shape::Shape;
use crate::{Op, Span};

impl BackwardPass {
    /// Propagates gradients from a scan's results to its operands.
    pub(super) fn scan(
        &mut self,
        graph: &mut Graph,
        scan: Arc<Scan>,
        node: &Node,
        picks: &[Option<NodeId>],
    ) -> Result<(), OpError> {
        let first = picks.iter().flatten().next().copied().expect("a gradient reached a result");
        let operands = self.operands(graph, node, first);
        let wanted: Vec<bool> = node.operands.iter().map(|o| self.active[o.index()]).collect();
        let mut body = ReverseBody::new(graph, &scan, &operands, picks, &wanted)?;
        body.keep_products(&scan);
        let reverse = body.finish(&scan);
        for (operand, g) in reverse.run(graph, &scan, &operands, picks) {
            if wanted[operand] {
                self.add(graph, node.operands[operand], g);
            }
        }
        Ok(())
    }
}

/// What an input of the reverse body is; numbers index the forward scan's operands and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyInput {
    /// The gradient of a carry.
    Carry(usize),
    /// The partial sum of the gradient of a constant.
    Sum(usize),
    /// The value of a carry before the position.
    Before(usize),
    /// A slice of a sequence.
    Sequence(usize),
    /// The gradient of a slice of a result.
    Result(usize),
    /// A node of the forward body, kept as a sequence.
    Kept(NodeId),
    /// A value that is the same at every position.
    Constant(usize),
}

impl BodyInput {
    fn is_carry(self) -> bool {
        matches!(self, BodyInput::Carry(_) | BodyInput::Sum(_))
    }
}

/// The reverse body under construction.
struct ReverseBody {
    graph: Graph,
    /// What each `Op::Input(n)` is.
    sources: Vec<BodyInput>,
    /// The mapping from nodes of the forward body, and how many nodes there were then.
    inlined: NodeMap,
    forward: usize,
    /// Operands of the scan that have gradients, with the gradients: carries, sequences, constants.
    found: Vec<(usize, NodeId)>,
    /// Operands that no gradient reaches.
    untouched: Vec<usize>,
}

impl ReverseBody {
    fn new(
        outer: &Graph,
        scan: &Scan,
        operands: &[NodeId],
        picks: &[Option<NodeId>],
        wanted: &[bool],
    ) -> Result<ReverseBody, OpError> {
        let slices = scan.carries + scan.sequences;
        let float = |n: &usize| outer.dtype(operands[*n]).is_float();
        let kind = |n: usize| {
            let shape = outer.shape(operands[n]);
            let slice = (scan.carries..slices).contains(&n);
            (if slice { Shape::new(&shape[1..]) } else { shape }, outer.dtype(operands[n]))
        };
        let mut graph = Graph::new();
        let mut sources = Vec::new();
        let mut input = |graph: &mut Graph, source: BodyInput, (shape, dtype): (Shape, DType)| {
            sources.push(source);
            graph.input(sources.len() - 1, shape, dtype)
        };
        let mut seeds = Vec::new();
        for n in (0..scan.carries).filter(float) {
            seeds.push((n, input(&mut graph, BodyInput::Carry(n), kind(n))));
        }
        let reached = |n: &usize| picks.get(*n).is_some_and(Option::is_some);
        for n in (scan.carries..scan.outputs.len()).filter(reached) {
            let of = (scan.body.shape(scan.outputs[n]), scan.body.dtype(scan.outputs[n]));
            if of.1.is_float() {
                seeds.push((n, input(&mut graph, BodyInput::Result(n), of)));
            }
        }
        let forward: Vec<NodeId> = (0..operands.len())
            .map(|n| {
                let source = match n {
                    n if n < scan.carries => BodyInput::Before(n),
                    n if n < slices => BodyInput::Sequence(n),
                    n => BodyInput::Constant(n),
                };
                input(&mut graph, source, kind(n))
            })
            .collect();
        let inlined = inline(&mut graph, &scan.body, &forward);
        let count = graph.nodes.len();
        let seeds: Vec<(NodeId, NodeId)> =
            seeds.into_iter().map(|(n, g)| (inlined.at(scan.outputs[n]), g)).collect();
        let targets: Vec<usize> =
            (0..operands.len()).filter(float).filter(|&n| n < scan.carries || wanted[n]).collect();
        let wrt: Vec<NodeId> = targets.iter().map(|&n| forward[n]).collect();
        let (mut found, mut untouched) = (Vec::new(), Vec::new());
        for (&n, g) in targets.iter().zip(pull_back(&mut graph, &seeds, &wrt)?) {
            match g {
                Some(g) => found.push((n, g)),
                None if n < scan.carries => found.push((n, graph.fill_like(forward[n], 0.0))),
                None => untouched.push(n),
            }
        }
        Ok(ReverseBody { graph, sources, inlined, forward: count, found, untouched })
    }

    /// Turns products of the forward body into inputs, together with the pointwise work that their kernels can
    /// do.
    fn keep_products(&mut self, scan: &Scan) {
        let needed = scan.body.reachable(&scan.outputs);
        let mut users: Vec<Vec<NodeId>> = vec![Vec::new(); scan.body.nodes.len()];
        for id in scan.body.ids().filter(|id| needed[id.index()]) {
            scan.body.node(id).operands.iter().for_each(|o| users[o.index()].push(id));
        }
        // Values that the gradient uses unchanged.
        let mut direct = vec![false; self.graph.nodes.len()];
        for node in &self.graph.nodes[self.forward..] {
            node.operands.iter().for_each(|o| direct[o.index()] = true);
        }
        for product in scan.body.ids() {
            if !matches!(scan.body.node(product).op, Op::Contract(_)) {
                continue;
            }
            let mut end = product;
            while let [user] = users[end.index()][..] {
                let node = scan.body.node(user);
                let follows = node.op.is_pointwise() && node.shape == scan.body.shape(product);
                if !follows || scan.outputs.contains(&end) || direct[self.inlined.at(end).index()] {
                    break;
                }
                end = user;
            }
            let source = BodyInput::Kept(end);
            if !self.sources.contains(&source) {
                let node = &mut self.graph.nodes[self.inlined.at(end).index()];
                node.op = Op::Input(self.sources.len());
                node.operands.clear();
                self.sources.push(source);
            }
        }
    }

    /// Decides what is summed in the loop and what after it, and assigns every input its number.
    fn finish(mut self, scan: &Scan) -> Reverse {
        let constants = scan.carries + scan.sequences;
        let part = |from: &ReverseBody, range: std::ops::Range<usize>| -> Vec<(usize, NodeId)> {
            from.found.iter().copied().filter(|(n, _)| range.contains(n)).collect()
        };
        let mut next = part(&self, 0..scan.carries);
        let slices = part(&self, scan.carries..constants);
        let mut hoist = Hoist::new(&self.graph, &self.sources, scan.steps);
        slices.iter().for_each(|&(_, g)| hoist.stack(g));
        let (mut after, rest): (Vec<_>, Vec<_>) =
            part(&self, constants..usize::MAX).into_iter().partition(|&(_, g)| hoist.take(g));
        // What is output anyway is also summed afterwards.
        let (also, inside): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(_, g)| hoist.has(*g));
        also.iter().for_each(|&(_, g)| hoist.stack(g));
        after.extend(also);
        let (stacked, read) = (hoist.stacked, hoist.read);
        for (n, g) in inside {
            let (shape, dtype) = (self.graph.shape(g), self.graph.dtype(g));
            let sum = self.graph.input(self.sources.len(), shape, dtype);
            self.sources.push(BodyInput::Sum(n));
            next.push((n, self.graph.add(sum, g)));
        }
        let outputs: Vec<NodeId> = next.iter().map(|&(_, g)| g).chain(stacked.iter().copied()).collect();
        let needed = self.graph.reachable(&outputs);
        let used = |n: usize| {
            self.graph.ids().any(|id| needed[id.index()] && self.graph.node(id).op == Op::Input(n))
        };
        let rank = |source: BodyInput| match source {
            BodyInput::Carry(_) | BodyInput::Sum(_) => 0,
            BodyInput::Constant(_) => 2,
            _ => 1,
        };
        let mut order: Vec<usize> =
            (0..self.sources.len()).filter(|&n| self.sources[n].is_carry() || used(n)).collect();
        order.sort_by_key(|&n| rank(self.sources[n]));
        let (body, outputs) = renumbered(&self.graph, &outputs, &order);
        let given: Vec<BodyInput> = order.iter().map(|&n| self.sources[n]).collect();
        let count = |r: usize| given.iter().filter(|&&source| rank(source) == r).count();
        let reversed = Scan {
            body,
            outputs,
            carries: count(0),
            sequences: count(1),
            steps: scan.steps,
            reverse: !scan.reverse,
        };
        Reverse { body: self, given, scan: reversed, next, slices, stacked, read, after }
    }
}

/// A graph with only what the outputs need, its inputs renumbered by their index in `order`.
fn renumbered(graph: &Graph, outputs: &[NodeId], order: &[usize]) -> (Graph, Vec<NodeId>) {
    let mut kept = Graph::new();
    let map = graph.rewrite(graph.needed(outputs), |_, mut node| {
        if let Op::Input(n) = node.op {
            node.op = Op::Input(order.iter().position(|&m| m == n).expect("a used input has a number"));
        }
        kept.append(node)
    });
    let outputs = map.all(outputs);
    (kept, outputs)
}

/// The reverse scan, and what is done with its results.
pub(super) struct Reverse {
    body: ReverseBody,
    /// What each operand of the scan is, in order.
    given: Vec<BodyInput>,
    scan: Scan,
    /// The forward operands that the carries belong to, then the nodes whose slices are output.
    next: Vec<(usize, NodeId)>,
    slices: Vec<(usize, NodeId)>,
    stacked: Vec<NodeId>,
    /// Sequences that are read after the loop.
    read: Vec<BodyInput>,
    /// Constants whose gradient is summed after the loop.
    after: Vec<(usize, NodeId)>,
}

impl Reverse {
    /// Adds the scan to the graph; returns the gradients of the forward scan's operands.
    fn run(
        &self,
        graph: &mut Graph,
        scan: &Scan,
        operands: &[NodeId],
        picks: &[Option<NodeId>],
    ) -> Vec<(usize, NodeId)> {
        let mut forward = KeepingScan { scan, operands, keeping: scan.clone(), asked: Vec::new() };
        self.given.iter().chain(&self.read).for_each(|&source| forward.ask(source));
        let kept = forward.push(graph);
        let outside = |graph: &mut Graph, source: BodyInput| match source {
            BodyInput::Carry(n) | BodyInput::Result(n) => {
                let (shape, dtype) = scan.results()[n];
                let g = picks.get(n).copied().flatten();
                g.unwrap_or_else(|| graph.fill(Scalar::of(dtype, 0.0), shape))
            }
            BodyInput::Sum(n) => graph.fill_like(operands[n], 0.0),
            BodyInput::Sequence(n) | BodyInput::Constant(n) => operands[n],
            BodyInput::Before(_) | BodyInput::Kept(_) => {
                kept.iter().find(|(s, _)| *s == source).expect("requested above").1
            }
        };
        let given: Vec<NodeId> = self.given.iter().map(|&source| outside(graph, source)).collect();
        let kinds = self.scan.results();
        let reversed = graph.push(Op::Scan(self.scan.clone().into()), &given);
        let pick = |graph: &mut Graph, n: usize| graph.push(Op::Pick(n, kinds[n].0, kinds[n].1), &[reversed]);
        let mut gradients: Vec<(usize, NodeId)> =
            self.next.iter().enumerate().map(|(n, &(operand, _))| (operand, pick(graph, n))).collect();
        let carries = self.next.len();
        let mut whole = |graph: &mut Graph, id: NodeId| match self.body.graph.node(id).op {
            Op::Input(n) if self.read.contains(&self.body.sources[n]) => {
                Some(outside(graph, self.body.sources[n]))
            }
            _ => self.stacked.iter().position(|&s| s == id).map(|n| pick(graph, carries + n)),
        };
        for &(operand, g) in &self.slices {
            gradients.push((operand, whole(graph, g).expect("slices of gradients are outputs")));
        }
        for &(operand, g) in &self.after {
            gradients.push((operand, sum_over_time(graph, &self.body.graph, g, self.scan.steps, &mut whole)));
        }
        for &operand in &self.body.untouched {
            gradients.push((operand, graph.fill_like(operands[operand], 0.0)));
        }
        gradients
    }
}

/// The forward scan with additional results: what the reverse scan needs.
struct KeepingScan<'a> {
    scan: &'a Scan,
    operands: &'a [NodeId],
    keeping: Scan,
    /// What was requested, and the index of the result that it is made from.
    asked: Vec<(BodyInput, usize)>,
}

impl KeepingScan<'_> {
    fn ask(&mut self, source: BodyInput) {
        let node = match source {
            BodyInput::Before(n) if self.shifts(n) => self.scan.outputs[n],
            BodyInput::Before(n) => {
                let body = &mut self.keeping.body;
                let found = body.ids().find(|&id| body.node(id).op == Op::Input(n));
                let (shape, dtype) = self.scan.results()[n];
                found.unwrap_or_else(|| body.input(n, shape, dtype))
            }
            BodyInput::Kept(id) => id,
            _ => return,
        };
        if self.asked.iter().any(|(other, _)| *other == source) {
            return;
        }
        let results = &mut self.keeping.outputs;
        let known = (self.scan.carries..results.len()).find(|&n| results[n] == node);
        let result = known.unwrap_or_else(|| {
            results.push(node);
            results.len() - 1
        });
        self.asked.push((source, result));
    }

    /// Whether the value of a carry before each position is made by shifting the values after each position.
    fn shifts(&self, carry: usize) -> bool {
        self.scan.body.dtype(self.scan.outputs[carry]) != DType::Bool
    }

    fn push(self, graph: &mut Graph) -> Vec<(BodyInput, NodeId)> {
        if self.asked.is_empty() {
            return Vec::new();
        }
        let kinds = self.keeping.results();
        let (steps, reverse) = (self.scan.steps, self.scan.reverse);
        let node = graph.push(Op::Scan(self.keeping.clone().into()), self.operands);
        let mut kept = Vec::new();
        for &(source, n) in &self.asked {
            let all = graph.push(Op::Pick(n, kinds[n].0, kinds[n].1), &[node]);
            kept.push(match source {
                BodyInput::Before(carry) if self.shifts(carry) => {
                    (source, shifted(graph, all, self.operands[carry], steps, reverse))
                }
                _ => (source, all),
            });
        }
        kept
    }
}

/// A sequence shifted by one position, with `first` at its start.
fn shifted(graph: &mut Graph, all: NodeId, first: NodeId, steps: usize, reverse: bool) -> NodeId {
    let whole = graph.shape(all);
    if steps == 0 {
        return all;
    }
    let first = graph.reshape(first, whole.with(0, 1));
    if steps == 1 {
        return first;
    }
    let mut spans: Vec<Span> = whole.iter().map(|&len| Span { start: 0, len, step: 1 }).collect();
    spans[0] = Span { start: reverse as usize, len: steps - 1, step: 1 };
    let rest = graph.push(Op::Slice(spans), &[all]);
    let pad = |graph: &mut Graph, id: NodeId, widths: (usize, usize)| {
        let mut all = vec![(0, 0); whole.rank()];
        all[0] = if reverse { (widths.1, widths.0) } else { widths };
        graph.push(Op::Pad(all), &[id])
    };
    let (rest, first) = (pad(graph, rest, (1, 0)), pad(graph, first, (0, steps - 1)));
    graph.add(first, rest)
}

/// Copies `body` into `graph` with its inputs replaced; returns the mapping of nodes.
fn inline(graph: &mut Graph, body: &Graph, inputs: &[NodeId]) -> NodeMap {
    body.rewrite(body.ids(), |_, node| match node.op {
        Op::Input(n) => inputs[n],
        _ => graph.append(node),
    })
}
