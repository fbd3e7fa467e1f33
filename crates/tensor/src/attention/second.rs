//! Gradients of gradients: the backward pass as a graph of matrix products, which is differentiated as any other.
//!
//! Only who asks for a second order pays for it: this form holds the scores of all queries and keys.

use farad_ir::{
    Contraction, DType, Graph, GraphWriter, NodeId, OpError, Scalar, Shape, Span, Var, pull_back,
};

use super::extent::AttentionExtent;
use super::op::{AttentionOp, NOTHING};

/// Gradients at the operands of the backward op from those at its results.
pub fn gradient<'g>(
    op: &AttentionOp,
    operands: &[Var<'g>],
    upstream: &[Var<'g>],
) -> Result<Vec<Option<Var<'g>>>, OpError> {
    let mask = operands.get(6).map(|mask| mask.shape());
    let extent = AttentionExtent::of(&operands[0].shape(), &operands[1].shape(), mask.as_ref());
    let (keys, values) = (half(upstream[1], &extent, 0), half(upstream[1], &extent, 1));
    let given: Vec<Var> = operands.iter().chain([&upstream[0], &keys, &values]).copied().collect();
    // A graph of its own: the operands may depend on each other, and paths among them are others' to follow.
    let mut own = Graph::new();
    let inputs: Vec<NodeId> =
        given.iter().enumerate().map(|(n, x)| own.input(n, x.shape(), x.dtype())).collect();
    let (wrt, seeds) = inputs.split_at(operands.len());
    let results = own.write(|writer| backward(op, &extent, &writer.vars(wrt)).map(Var::id));
    let seeds: Vec<(NodeId, NodeId)> = results.into_iter().zip(seeds.iter().copied()).collect();
    let found = pull_back(&mut own, &seeds, &wrt[..6])?;
    let mut found = operands[0].writer().inline(&own, &given, &found);
    found.resize(operands.len(), None);
    Ok(found)
}

/// One half of the array with the gradients at keys and values.
pub fn half<'g>(both: Var<'g>, extent: &AttentionExtent, n: usize) -> Var<'g> {
    let mut spans: Vec<Span> = extent.both().iter().map(|&len| Span::first(len)).collect();
    spans[0] = Span { start: n, len: 1, step: 1 };
    both.slice(spans).reshape(extent.k())
}

/// Gradients at queries, keys and values, composed.
fn backward<'g>(op: &AttentionOp, extent: &AttentionExtent, operands: &[Var<'g>]) -> [Var<'g>; 3] {
    let &[q, k, v, g, sums, shares, ..] = operands else { unreachable!("six operands and perhaps a mask") };
    let AttentionExtent { heads, queries, keys, width, sharing, .. } = *extent;
    let [k, v] = [k, v].map(|x| {
        x.reshape(Shape::new(&[heads / sharing, 1, keys, width]))
            .expand(Shape::new(&[heads / sharing, sharing, keys, width]))
            .reshape(Shape::new(&[heads, keys, width]))
    });
    let scores = Shape::new(&[heads, queries, keys]);
    let products = |a: Var<'g>, b: Var<'g>| {
        a.contract(Contraction::matmul(&[heads], queries, width, keys), b.permute(&[0, 2, 1]))
    };
    let rows = |x: Var<'g>| x.reshape(Shape::new(&[heads, queries, 1])).expand(scores);
    let (sums, shares) = (rows(sums), rows(shares));
    let mut exponent = products(q, k) * op.scale.0 - sums;
    let nothing = exponent.like(NOTHING as f64);
    for seen in seen(op, extent, q.writer(), operands.get(6)) {
        exponent = seen.select(exponent, nothing);
    }
    let powers = exponent.exp();
    let slopes = powers * (products(g, v) - shares) * op.scale.0;
    let at_queries = slopes.contract(Contraction::matmul(&[heads], queries, keys, width), k);
    let gathered = |weights: Var<'g>, rows: Var<'g>| {
        weights
            .permute(&[0, 2, 1])
            .contract(Contraction::matmul(&[heads], keys, queries, width), rows)
            .reshape(Shape::new(&[heads / sharing, sharing, keys, width]))
            .sum(&[1])
            .reshape(extent.k())
    };
    [at_queries, gathered(slopes, q), gathered(powers, g)]
}

/// Truth values `[heads, queries, keys]`: what is seen by place, and what the mask leaves.
fn seen<'g>(
    op: &AttentionOp,
    extent: &AttentionExtent,
    writer: &'g GraphWriter,
    mask: Option<&Var<'g>>,
) -> Vec<Var<'g>> {
    let AttentionExtent { heads, queries, keys, masks, .. } = *extent;
    let scores = Shape::new(&[heads, queries, keys]);
    let mut found = Vec::new();
    if let Some(offset) = op.offset {
        let places =
            |count: usize, shape: [usize; 3]| writer.iota(count).reshape(Shape::new(&shape)).expand(scores);
        let (query, key) = (places(queries, [1, queries, 1]), places(keys, [1, 1, keys]));
        let offset = writer.fill(Scalar::int(DType::I32, offset.min(keys) as i64), scores);
        found.push(key.less_equal(query + offset));
    }
    if let Some(mask) = mask {
        let mask = mask.cast(DType::Bool).reshape(Shape::new(&[masks, 1, 1, keys])).expand(Shape::new(&[
            masks,
            heads / masks,
            queries,
            keys,
        ]));
        found.push(mask.reshape(scores));
    }
    found
}
