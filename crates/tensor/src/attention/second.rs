//! Gradients of gradients: the backward pass as a graph of matrix products, which is differentiated as any other. So is
//! the gradient at what is added to the scores.
//!
//! Only who asks for these pays for them: this form holds the scores of all queries and keys.

use farad_ir::{
    Binary, Contraction, DType, Graph, GraphWriter, NodeId, OpError, Scalar, Shape, Span, Var, pull_back,
};

use super::dropout::{AttentionDropout, ROUNDS};
use super::extent::AttentionExtent;
use super::op::{AttentionOp, NOTHING};

/// Gradients at the operands of the backward op from those at its results.
pub fn gradient<'g>(
    op: &AttentionOp,
    extent: &AttentionExtent,
    operands: &[Var<'g>],
    upstream: &[Var<'g>],
) -> Result<Vec<Option<Var<'g>>>, OpError> {
    let (keys, values) = (half(upstream[1], extent, 0), half(upstream[1], extent, 1));
    let given: Vec<Var> = operands.iter().chain([&upstream[0], &keys, &values]).copied().collect();
    // A graph of its own: the operands may depend on each other, and paths among them are others' to follow.
    let mut own = Graph::new();
    let inputs: Vec<NodeId> =
        given.iter().enumerate().map(|(n, x)| own.input(n, x.shape(), x.dtype())).collect();
    let (wrt, seeds) = inputs.split_at(operands.len());
    let results = own.write(|writer| backward(op, extent, &writer.vars(wrt)).map(Var::id));
    let seeds: Vec<(NodeId, NodeId)> = results.into_iter().zip(seeds.iter().copied()).collect();
    // A mask and a seed have no gradients.
    let bias = op.bias.map(|_| 6 + op.mask as usize);
    let at: Vec<NodeId> = wrt[..6].iter().chain(bias.map(|n| &wrt[n])).copied().collect();
    let found = pull_back(&mut own, &seeds, &at)?;
    let mut found = operands[0].writer().inline(&own, &given, &found);
    let at_bias = bias.map(|n| (n, found.pop().expect("one per node")));
    found.resize(operands.len(), None);
    if let Some((n, at_bias)) = at_bias {
        found[n] = at_bias;
    }
    Ok(found)
}

/// One half of the array with the gradients at keys and values.
pub fn half<'g>(both: Var<'g>, extent: &AttentionExtent, n: usize) -> Var<'g> {
    let mut spans: Vec<Span> = extent.both().iter().map(|&len| Span::first(len)).collect();
    spans[0] = Span { start: n, len: 1, step: 1 };
    both.slice(spans).reshape(extent.k())
}

/// What the backward pass consists of, `[heads, queries, keys]` each.
struct Parts<'g> {
    /// Weights of the values, after what was dropped.
    weights: Var<'g>,
    /// Gradients at the scores.
    slopes: Var<'g>,
    /// Keys, for every head of queries.
    keys: Var<'g>,
}

fn parts<'g>(op: &AttentionOp, extent: &AttentionExtent, operands: &[Var<'g>]) -> Parts<'g> {
    let &[q, k, v, g, sums, shares, ..] = operands else { unreachable!("six operands and perhaps more") };
    let [q, k, v, g] = [q, k, v, g].map(|x| x.cast(DType::F32));
    let extra = op.extra(operands, 6);
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
    if let (Some(bias), Some(every)) = (extra.bias, op.bias) {
        let added = spread(bias, extent, every);
        exponent = nothing.less(added).select(exponent + added, nothing);
    }
    for seen in seen(op, extent, q.writer(), extra.mask) {
        exponent = seen.select(exponent, nothing);
    }
    let powers = exponent.exp();
    let mut found = products(g, v);
    let mut weights = powers;
    if let (Some(dropout), Some(seed)) = (op.dropout, extra.seed) {
        let kept = kept(dropout, extent, seed);
        let zero = powers.like(0.0);
        let factor = dropout.factor() as f64;
        (weights, found) = (kept.select(powers * factor, zero), kept.select(found * factor, zero));
    }
    Parts { weights, slopes: powers * (found - shares), keys: k }
}

/// Gradients at queries, keys and values, composed.
fn backward<'g>(op: &AttentionOp, extent: &AttentionExtent, operands: &[Var<'g>]) -> [Var<'g>; 3] {
    let AttentionExtent { heads, queries, keys, width, sharing, .. } = *extent;
    let [q, g] = [operands[0], operands[3]].map(|x| x.cast(DType::F32));
    let parts = parts(op, extent, operands);
    let slopes = parts.slopes * op.scale.0;
    let at_queries = slopes.contract(Contraction::matmul(&[heads], queries, keys, width), parts.keys);
    let gathered = |weights: Var<'g>, rows: Var<'g>| {
        weights
            .permute(&[0, 2, 1])
            .contract(Contraction::matmul(&[heads], keys, queries, width), rows)
            .reshape(Shape::new(&[heads / sharing, sharing, keys, width]))
            .sum(&[1])
            .reshape(extent.k())
    };
    [at_queries, gathered(slopes, q), gathered(parts.weights, g)].map(|x| x.cast(operands[0].dtype()))
}

/// The gradient at what is added to the scores, from the operands of the backward op.
pub fn at_bias<'g>(op: &AttentionOp, extent: &AttentionExtent, operands: &[Var<'g>]) -> Var<'g> {
    let AttentionExtent { heads, queries, keys, biases, .. } = *extent;
    let every = op.bias.expect("something is added");
    let slopes = parts(op, extent, operands).slopes;
    let split = Shape::new(&[heads / (every * biases), biases, every, queries, keys]);
    slopes.reshape(split).sum(&[0, 2]).reshape(extent.bias())
}

/// What is added, for every head.
fn spread<'g>(bias: Var<'g>, extent: &AttentionExtent, every: usize) -> Var<'g> {
    let AttentionExtent { heads, queries, keys, biases, .. } = *extent;
    bias.reshape(Shape::new(&[1, biases, 1, queries, keys]))
        .expand(Shape::new(&[heads / (every * biases), biases, every, queries, keys]))
        .reshape(Shape::new(&[heads, queries, keys]))
}

/// Which weights are kept: [`AttentionDropout::keeps`] as a graph.
fn kept<'g>(dropout: AttentionDropout, extent: &AttentionExtent, seed: Var<'g>) -> Var<'g> {
    let AttentionExtent { heads, queries, keys, .. } = *extent;
    let scores = Shape::new(&[heads, queries, keys]);
    let rows = Shape::new(&[heads * queries]);
    let mix = |x: Var<'g>| {
        ROUNDS.into_iter().fold(x, |x, (shift, factor)| {
            let x = x.binary(Binary::Xor, x.binary(Binary::Shr, x.like(shift as f64)));
            factor.map_or(x, |factor| x * x.like(factor as f64))
        })
    };
    let word = |n: usize| seed.part(n, 1).reshape(Shape::new(&[1])).expand(rows);
    let query = seed.writer().iota(heads * queries).cast(DType::U32);
    let words = [0, 1].map(|n| mix(mix(query + word(n)).binary(Binary::Xor, word(n + 2))));
    let spread = |x: Var<'g>| x.reshape(Shape::new(&[heads, queries, 1])).expand(scores);
    let key = seed.writer().iota(keys).cast(DType::U32).reshape(Shape::new(&[1, 1, keys])).expand(scores);
    let odd = words[1].binary(Binary::Or, words[1].like(1.0));
    let found = mix(key * spread(odd) + spread(words[0]));
    found.greater_equal(found.like(dropout.threshold() as f64))
}

/// Truth values `[heads, queries, keys]`: what is seen by place, and what the mask leaves.
fn seen<'g>(
    op: &AttentionOp,
    extent: &AttentionExtent,
    writer: &'g GraphWriter,
    mask: Option<Var<'g>>,
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
