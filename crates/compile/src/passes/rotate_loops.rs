//! Rotates loops whose trips end with a product that is split into parts: they begin with the product instead.
//! Then adding up the parts is fused with the work that follows.
//!
//! Take a carry `y' = u · w` where `w` is the same at every position. Instead of `y`, the loop carries `u`, and
//! each trip starts by computing `y` from it. Anything else that is added to `y'` stays a carry. Start at
//! [`rotate`].

use std::collections::HashMap;
use std::sync::Arc;

use farad_ir::{Binary, Contraction, Graph, NodeId, Op, Scalar, Scan, Shape};

use crate::passes::split_sums::cuts;
use crate::program::Target;

/// Rewrites the graph's scans for the target; returns the new graph and outputs. `None` if there is no scan.
pub fn rotate(graph: &Graph, outputs: &[NodeId], target: &Target) -> Option<(Graph, Vec<NodeId>)> {
    if !graph.nodes.iter().any(|node| matches!(node.op, Op::Scan(_))) {
        return None;
    }
    let mut new = Graph::new();
    let mut turned: HashMap<NodeId, Turned> = HashMap::new();
    let map = graph.rewrite(graph.ids(), |_, node| match &node.op {
        Op::Scan(scan) => match Turn::all(scan, target) {
            Some(turns) => {
                let made = Turned::push(&mut new, scan, turns, &node.operands);
                let id = made.node;
                turned.insert(id, made);
                id
            }
            None => new.append(node),
        },
        Op::Pick(n, ..) if turned.contains_key(&node.operands[0]) => {
            turned[&node.operands[0]].pick(&mut new, *n)
        }
        _ => new.append(node),
    });
    let outputs = map.all(outputs);
    Some((new, outputs))
}

/// How a carry is computed: products with loop constants, and the rest.
#[derive(Clone, Default)]
struct Turn {
    products: Vec<ConstantProduct>,
    rest: Vec<NodeId>,
}

/// A product with an operand that is the same at every position.
#[derive(Clone)]
struct ConstantProduct {
    contraction: Arc<Contraction>,
    /// The operand that changes from position to position.
    varying: NodeId,
    /// The operand that does not change.
    fixed: NodeId,
    /// Whether the left operand is the one that varies.
    varies_left: bool,
}

impl ConstantProduct {
    /// The same product with other operands.
    fn push(&self, graph: &mut Graph, varying: NodeId, fixed: NodeId) -> NodeId {
        let (lhs, rhs) = if self.varies_left { (varying, fixed) } else { (fixed, varying) };
        graph.contract((*self.contraction).clone(), lhs, rhs)
    }
}

impl Turn {
    /// For every carry, how it is rotated; `None` if no carry can be.
    fn all(scan: &Scan, target: &Target) -> Option<Vec<Turn>> {
        if scan.steps < 2 {
            return None;
        }
        let turns: Vec<Turn> =
            scan.outputs[..scan.carries].iter().map(|&next| Turn::of(scan, next, target)).collect();
        turns.iter().any(|turn| !turn.products.is_empty()).then_some(turns)
    }

    fn of(scan: &Scan, next: NodeId, target: &Target) -> Turn {
        let (mut turn, mut stack) = (Turn::default(), vec![next]);
        let constant =
            |id: NodeId| matches!(scan.body.node(id).op, Op::Input(n) if n >= scan.carries + scan.sequences);
        let computed = |id: NodeId| !matches!(scan.body.node(id).op, Op::Input(_));
        while let Some(id) = stack.pop() {
            let node = scan.body.node(id);
            match &node.op {
                Op::Binary(Binary::Add) => stack.extend(&node.operands),
                Op::Contract(contraction) if cuts(contraction, node.dtype, target).is_some() => {
                    let [lhs, rhs] = [node.operands[0], node.operands[1]];
                    match (computed(lhs) && constant(rhs), constant(lhs) && computed(rhs)) {
                        (false, false) => turn.rest.push(id),
                        (varies_left, _) => {
                            let (varying, fixed) = if varies_left { (lhs, rhs) } else { (rhs, lhs) };
                            let contraction = contraction.clone();
                            turn.products.push(ConstantProduct { contraction, varying, fixed, varies_left });
                        }
                    }
                }
                _ => turn.rest.push(id),
            }
        }
        if turn.products.is_empty() {
            turn.rest = vec![next];
        }
        turn
    }
}

/// A rotated scan, in the new graph.
struct Turned {
    node: NodeId,
    kinds: Vec<(Shape, farad_ir::DType)>,
    turns: Vec<Turn>,
    /// The index of the first new carry for each old carry.
    first: Vec<usize>,
    /// The nodes that loop constants of the body stand for.
    constants: HashMap<NodeId, NodeId>,
    carries: usize,
}

impl Turned {
    fn push(graph: &mut Graph, scan: &Scan, turns: Vec<Turn>, operands: &[NodeId]) -> Turned {
        let (mut starts, mut first) = (Vec::new(), Vec::new());
        let mut sequences = operands[scan.carries..scan.carries + scan.sequences].to_vec();
        // The sequence that passes a carry's start value to the first trip.
        let mut brings = vec![None; scan.carries];
        for (n, turn) in turns.iter().enumerate() {
            first.push(starts.len());
            for ConstantProduct { varying, .. } in &turn.products {
                let zero = Scalar::of(scan.body.dtype(*varying), 0.0);
                starts.push(graph.fill(zero, scan.body.shape(*varying)));
            }
            if !turn.rest.is_empty() {
                starts.push(operands[n]);
            } else if !zero(graph, operands[n]) {
                brings[n] = Some(sequences.len());
                sequences.push(at_first(graph, operands[n], scan.steps, scan.reverse));
            }
        }
        let constants = &operands[scan.carries + scan.sequences..];
        let given: Vec<NodeId> = starts.iter().chain(&sequences).chain(constants).copied().collect();
        let body = Body { old: scan, carries: starts.len(), sequences: sequences.len() };
        let made: Scan = body.turned(graph, &turns, &first, &brings, &given);
        let (kinds, carries) = (made.results(), made.carries);
        let inputs = scan.body.ids().filter_map(|id| match scan.body.node(id).op {
            Op::Input(n) if n >= scan.carries + scan.sequences => Some((id, operands[n])),
            _ => None,
        });
        let constants = inputs.collect();
        let node = graph.push(Op::Scan(made.into()), &given);
        Turned { node, kinds, turns, first, constants, carries }
    }

    /// The n-th result of the old scan.
    fn pick(&self, graph: &mut Graph, n: usize) -> NodeId {
        let pick = |graph: &mut Graph, n: usize| {
            graph.push(Op::Pick(n, self.kinds[n].0, self.kinds[n].1), &[self.node])
        };
        let Some(turn) = self.turns.get(n) else {
            return pick(graph, n - self.turns.len() + self.carries);
        };
        let mut terms = Vec::new();
        for (k, product) in turn.products.iter().enumerate() {
            let last = pick(graph, self.first[n] + k);
            terms.push(product.push(graph, last, self.constants[&product.fixed]));
        }
        if !turn.rest.is_empty() {
            terms.push(pick(graph, self.first[n] + turn.products.len()));
        }
        terms.into_iter().reduce(|a, b| graph.add(a, b)).expect("a carry has terms")
    }
}

/// The body of a rotated scan.
struct Body<'a> {
    old: &'a Scan,
    carries: usize,
    sequences: usize,
}

impl Body<'_> {
    fn turned(
        &self,
        outer: &Graph,
        turns: &[Turn],
        first: &[usize],
        brings: &[Option<usize>],
        given: &[NodeId],
    ) -> Scan {
        let old = self.old;
        let mut body = Graph::new();
        let slices = self.carries..self.carries + self.sequences;
        let inputs: Vec<NodeId> = (0..given.len())
            .map(|n| {
                let shape = outer.shape(given[n]);
                let shape = if slices.contains(&n) { Shape::new(&shape[1..]) } else { shape };
                body.input(n, shape, outer.dtype(given[n]))
            })
            .collect();
        let constant = |n: usize| inputs[n - old.carries - old.sequences + slices.end];
        let number = |id: NodeId| match old.body.node(id).op {
            Op::Input(n) => n,
            _ => unreachable!("checked when the carry was rotated"),
        };
        let mut carried = Vec::new();
        for (n, turn) in turns.iter().enumerate() {
            let mut terms = Vec::new();
            for (k, product) in turn.products.iter().enumerate() {
                let fixed = constant(number(product.fixed));
                terms.push(product.push(&mut body, inputs[first[n] + k], fixed));
            }
            if !turn.rest.is_empty() {
                terms.push(inputs[first[n] + turn.products.len()]);
            }
            terms.extend(brings[n].map(|s| inputs[self.carries + s]));
            carried.push(terms.into_iter().reduce(|a, b| body.add(a, b)).expect("something is carried"));
        }
        let map = old.body.rewrite(old.body.ids(), |_, node| match node.op {
            Op::Input(n) if n < old.carries => carried[n],
            Op::Input(n) if n < old.carries + old.sequences => inputs[self.carries + n - old.carries],
            Op::Input(n) => constant(n),
            _ => body.append(node),
        });
        let mut outputs = Vec::new();
        for turn in turns {
            outputs.extend(turn.products.iter().map(|product| map.at(product.varying)));
            let rest = turn.rest.iter().map(|&id| map.at(id)).reduce(|a, b| body.add(a, b));
            outputs.extend(rest);
        }
        outputs.extend(map.all(&old.outputs[old.carries..]));
        let (carries, sequences) = (self.carries, self.sequences);
        Scan { body, outputs, carries, sequences, steps: old.steps, reverse: old.reverse }
    }
}

/// Whether every element of a node is zero.
fn zero(graph: &Graph, id: NodeId) -> bool {
    let mut at = id;
    while graph.node(at).op.is_movement() {
        at = graph.node(at).operands[0];
    }
    matches!(graph.node(at).op, Op::Constant(scalar) if scalar.as_f64() == 0.0)
}

/// A sequence that is `x` at the first trip's position and zero elsewhere.
fn at_first(graph: &mut Graph, x: NodeId, steps: usize, reverse: bool) -> NodeId {
    let shape = graph.shape(x);
    let sizes: Vec<usize> = std::iter::once(1).chain(shape.iter().copied()).collect();
    let row = graph.reshape(x, Shape::new(&sizes));
    let mut widths = vec![(0, 0); sizes.len()];
    widths[0] = if reverse { (steps - 1, 0) } else { (0, steps - 1) };
    graph.push(Op::Pad(widths), &[row])
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad_ir::reference::{Values, evaluate_outputs};
    use farad_ir::{DType, Unary};

    const SIZE: usize = 512;

    /// `y' = tanh(y) · w + rest` over four positions of `x`, which is added to the first result; returns the
    /// graph and all outputs.
    fn graph(rest: bool, zero: bool, reverse: bool) -> (Graph, Vec<NodeId>) {
        let (row, square) = (Shape::new(&[2, SIZE]), Shape::new(&[SIZE, SIZE]));
        let mut body = Graph::new();
        let y = body.input(0, row, DType::F32);
        let x = body.input(1, row, DType::F32);
        let w = body.input(2, square, DType::F32);
        let u = body.unary(Unary::Tanh, y);
        let mut next = body.contract(Contraction::matmul(&[], 2, SIZE, SIZE), u, w);
        if rest {
            let half = body.scale(y, 0.5);
            let more = body.add(next, half);
            next = body.add(more, x);
        }
        let seen = body.mul(y, x);
        let scan = Scan { body, outputs: vec![next, seen], carries: 1, sequences: 1, steps: 4, reverse };
        let mut graph = Graph::new();
        let x = graph.input(0, Shape::new(&[4, 2, SIZE]), DType::F32);
        let w = graph.input(1, square, DType::F32);
        let start = if zero { graph.fill(Scalar::f32(0.0), row) } else { graph.input(2, row, DType::F32) };
        let kinds = scan.results();
        let node = graph.push(Op::Scan(scan.into()), &[start, x, w]);
        let picks = (0..2).map(|n| graph.push(Op::Pick(n, kinds[n].0, kinds[n].1), &[node])).collect();
        (graph, picks)
    }

    #[test]
    fn a_turned_loop_computes_the_same() {
        let target = Target { parallel: 131_072, ..Target::cpu() };
        let wave = |len: usize, step: f64| (0..len).map(|n| (n as f64 * step).sin()).collect::<Vec<f64>>();
        let weights: Vec<f64> = wave(SIZE * SIZE, 0.37).into_iter().map(|w| w * 0.05).collect();
        let inputs = [wave(4 * 2 * SIZE, 0.7), weights, wave(2 * SIZE, 1.3)].map(Values::Float);
        for (rest, zero, reverse) in
            [(false, false, false), (true, false, true), (false, true, true), (false, false, true)]
        {
            let (graph, outputs) = graph(rest, zero, reverse);
            let (turned, moved) = rotate(&graph, &outputs, &target).expect("there is a scan");
            let scan = |graph: &Graph| {
                let found = graph.nodes.iter().find_map(|node| match &node.op {
                    Op::Scan(scan) => Some(scan.clone()),
                    _ => None,
                });
                found.expect("a scan")
            };
            assert_ne!(scan(&graph).body, scan(&turned).body);
            let run = |graph: &Graph, outputs: &[NodeId]| evaluate_outputs(graph, &inputs, &[], outputs);
            for (a, b) in run(&graph, &outputs).iter().zip(run(&turned, &moved)) {
                let off = a.to_f64().iter().zip(&b.to_f64()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off < 1e-12, "off by {off}");
            }
        }
    }
}
