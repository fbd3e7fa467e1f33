//! Gradients of gradients: the backward pass as a graph of matrix products, which is differentiated as any other.
//!
//! Only who asks for a second order pays for it: this form holds the scores of all queries and keys.

use farad_ir::{
    Binary, Contraction, DType, Graph, Node, NodeId, Op, OpError, Reduce, Scalar, Shape, Span, Unary,
    pull_back,
};

use super::extent::Extent;
use super::op::{Forward, NOTHING};

/// Gradients at the operands of the backward op from those at its results.
pub fn gradient(
    op: &Forward,
    graph: &mut Graph,
    operands: &[NodeId],
    upstream: &[NodeId],
) -> Result<Vec<Option<NodeId>>, OpError> {
    let mask = operands.get(6).map(|&mask| graph.shape(mask));
    let extent = Extent::of(&graph.shape(operands[0]), &graph.shape(operands[1]), mask.as_ref());
    let (keys, values) = (half(graph, upstream[1], &extent, 0), half(graph, upstream[1], &extent, 1));
    let given: Vec<NodeId> = operands.iter().chain([&upstream[0], &keys, &values]).copied().collect();
    // A graph of its own: the operands may depend on each other, and paths among them are others' to follow.
    let mut own = Graph::new();
    let inputs: Vec<NodeId> =
        given.iter().enumerate().map(|(n, &id)| own.input(n, graph.shape(id), graph.dtype(id))).collect();
    let (wrt, seeds) = inputs.split_at(operands.len());
    let results = backward(op, &extent, &mut own, wrt);
    let seeds: Vec<(NodeId, NodeId)> = results.into_iter().zip(seeds.iter().copied()).collect();
    let found = pull_back(&mut own, &seeds, &wrt[..6])?;
    let mut found: Vec<Option<NodeId>> = copy(&own, &given, graph, &found);
    found.resize(operands.len(), None);
    Ok(found)
}

/// One half of the array with the gradients at keys and values.
pub fn half(graph: &mut Graph, both: NodeId, extent: &Extent, n: usize) -> NodeId {
    let whole = |&len: &usize| Span { start: 0, len, step: 1 };
    let mut spans: Vec<Span> = extent.both().iter().map(whole).collect();
    spans[0] = Span { start: n, len: 1, step: 1 };
    let part = graph.push(Op::Slice(spans), &[both]);
    graph.reshape(part, extent.k())
}

/// Gradients at queries, keys and values, composed.
fn backward(op: &Forward, extent: &Extent, graph: &mut Graph, operands: &[NodeId]) -> [NodeId; 3] {
    let &[q, k, v, g, sums, shares, ..] = operands else { unreachable!("six operands and perhaps a mask") };
    let Extent { heads, queries, keys, width, sharing, .. } = *extent;
    let [k, v] = [k, v].map(|x| {
        let apart = graph.reshape(x, Shape::new(&[heads / sharing, 1, keys, width]));
        let spread = graph.expand(apart, Shape::new(&[heads / sharing, sharing, keys, width]));
        graph.reshape(spread, Shape::new(&[heads, keys, width]))
    });
    let scores = Shape::new(&[heads, queries, keys]);
    let products = |graph: &mut Graph, a: NodeId, b: NodeId| {
        let b = graph.permute(b, &[0, 2, 1]);
        graph.contract(Contraction::matmul(&[heads], queries, width, keys), a, b)
    };
    let rows = |graph: &mut Graph, x: NodeId| {
        let column = graph.reshape(x, Shape::new(&[heads, queries, 1]));
        graph.expand(column, scores)
    };
    let (sums, shares) = (rows(graph, sums), rows(graph, shares));
    let exponent = products(graph, q, k);
    let exponent = graph.scale(exponent, op.scale.0);
    let mut exponent = graph.sub(exponent, sums);
    let nothing = graph.fill(Scalar::of(DType::F32, NOTHING as f64), scores);
    for seen in seen(op, extent, graph, operands.get(6)) {
        exponent = graph.select(seen, exponent, nothing);
    }
    let powers = graph.unary(Unary::Exp, exponent);
    let slopes = products(graph, g, v);
    let slopes = graph.sub(slopes, shares);
    let slopes = graph.mul(powers, slopes);
    let slopes = graph.scale(slopes, op.scale.0);
    let at_queries = graph.contract(Contraction::matmul(&[heads], queries, keys, width), slopes, k);
    let mut gathered = |weights: NodeId, rows: NodeId| {
        let weights = graph.permute(weights, &[0, 2, 1]);
        let each = graph.contract(Contraction::matmul(&[heads], keys, queries, width), weights, rows);
        let apart = graph.reshape(each, Shape::new(&[heads / sharing, sharing, keys, width]));
        let sum = graph.reduce(Reduce::Sum, apart, &[1]);
        graph.reshape(sum, extent.k())
    };
    [at_queries, gathered(slopes, q), gathered(powers, g)]
}

/// Truth values `[heads, queries, keys]`: what is seen by place, and what the mask leaves.
fn seen(op: &Forward, extent: &Extent, graph: &mut Graph, mask: Option<&NodeId>) -> Vec<NodeId> {
    let Extent { heads, queries, keys, masks, .. } = *extent;
    let scores = Shape::new(&[heads, queries, keys]);
    let mut found = Vec::new();
    if let Some(offset) = op.offset {
        let mut places = |count: usize, shape: [usize; 3]| {
            let place = graph.push(Op::Iota(count), &[]);
            let place = graph.reshape(place, Shape::new(&shape));
            graph.expand(place, scores)
        };
        let (query, key) = (places(queries, [1, queries, 1]), places(keys, [1, 1, keys]));
        let offset = graph.fill(Scalar::int(DType::I32, offset.min(keys) as i64), scores);
        let last = graph.add(query, offset);
        found.push(graph.binary(Binary::LessEqual, key, last));
    }
    if let Some(&mask) = mask {
        let mask = graph.cast(mask, DType::Bool);
        let mask = graph.reshape(mask, Shape::new(&[masks, 1, 1, keys]));
        let mask = graph.expand(mask, Shape::new(&[masks, heads / masks, queries, keys]));
        found.push(graph.reshape(mask, scores));
    }
    found
}

/// Appends what some nodes of a graph need to another, with its inputs given.
fn copy(from: &Graph, given: &[NodeId], to: &mut Graph, wanted: &[Option<NodeId>]) -> Vec<Option<NodeId>> {
    let needed = from.reachable(&wanted.iter().flatten().copied().collect::<Vec<_>>());
    let mut places = vec![None; needed.len()];
    for id in from.ids().filter(|id| needed[id.index()]) {
        let node = from.node(id).clone();
        let place = match node.op {
            Op::Input(n) => given[n],
            _ => {
                let operands = node.operands.iter().map(|o| places[o.index()].expect("operands first"));
                let operands = operands.collect();
                to.append(Node { operands, ..node })
            }
        };
        places[id.index()] = Some(place);
    }
    wanted.iter().map(|id| id.and_then(|id| places[id.index()])).collect()
}
