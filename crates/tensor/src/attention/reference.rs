//! What the ops mean, in `f64`, written for clarity.

use super::extent::{AttentionExtent, Sight};
use super::op::{AttentionOp, NOTHING};

/// A mask's numbers as words.
pub fn truth(mask: &[f64]) -> Vec<u32> {
    mask.iter().map(|&x| (x != 0.0) as u32).collect()
}

/// What is added to scores, and which weights are dropped.
pub struct Chances<'a> {
    pub op: &'a AttentionOp,
    pub bias: Option<&'a [f64]>,
    pub seed: Option<&'a [f64]>,
}

impl Chances<'_> {
    /// What is added to the score of a query and a key.
    fn added(&self, extent: &AttentionExtent, head: usize, query: usize, key: usize) -> f64 {
        let matrix = self.op.bias.map_or(0, |every| head / every % extent.biases);
        self.bias.map_or(0.0, |bias| bias[(matrix * extent.queries + query) * extent.keys + key])
    }

    /// What a weight is multiplied with.
    fn factor(&self, query: usize, key: usize) -> f64 {
        match (self.op.dropout, self.seed) {
            (Some(dropout), Some(seed)) => {
                let kept = dropout.keeps(std::array::from_fn(|n| seed[n] as u32), query, key);
                if kept { 1.0 / (1.0 - dropout.0.0) } else { 0.0 }
            }
            _ => 1.0,
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], from: &[f64], factor: f64) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

/// Calls `found` with every head and query, and the keys that it sees.
fn each_query(sight: &Sight, chances: &Chances, mut found: impl FnMut(usize, usize, &[usize])) {
    for head in 0..sight.extent.heads {
        let row = sight.row(head);
        for query in 0..sight.extent.queries {
            let shown = |&key: &usize| row.is_none_or(|row| row[key] != 0);
            let seen =
                |key: &usize| shown(key) && chances.added(&sight.extent, head, query, *key) > NOTHING as f64;
            let keys: Vec<usize> = (0..sight.limit(query)).filter(seen).collect();
            found(head, query, &keys);
        }
    }
}

/// The result, and the logarithm of each query's sum.
pub fn forward(sight: &Sight, scale: f64, chances: &Chances, [q, k, v]: [&[f64]; 3]) -> Vec<Vec<f64>> {
    let AttentionExtent { heads, queries, keys, width, sharing, .. } = sight.extent;
    let mut y = vec![0.0; heads * queries * width];
    let mut sums = vec![NOTHING as f64; heads * queries];
    each_query(sight, chances, |head, query, seen| {
        let at = head * queries + query;
        let row = |matrix: &'_ [f64], key: usize| (head / sharing * keys + key) * width..matrix.len();
        let q = &q[at * width..][..width];
        let added = |key: usize| chances.added(&sight.extent, head, query, key);
        let score = |&key: &usize| scale * dot(q, &k[row(k, key)]) + added(key);
        let scores: Vec<f64> = seen.iter().map(score).collect();
        if scores.is_empty() {
            return;
        }
        let top = scores.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = scores.iter().map(|score| (score - top).exp()).sum();
        for (&key, score) in seen.iter().zip(&scores) {
            let weight = (score - top).exp() / sum * chances.factor(at, key);
            add(&mut y[at * width..][..width], &v[row(v, key)], weight);
        }
        sums[at] = top + sum.ln();
    });
    vec![y, sums]
}

/// Gradients at the queries, and at keys and values.
pub fn backward(
    sight: &Sight,
    scale: f64,
    chances: &Chances,
    [q, k, v, g, sums, shares]: [&[f64]; 6],
) -> Vec<Vec<f64>> {
    let AttentionExtent { queries, keys, width, sharing, .. } = sight.extent;
    let (mut at_q, mut at_k, mut at_v) = (vec![0.0; q.len()], vec![0.0; k.len()], vec![0.0; v.len()]);
    each_query(sight, chances, |head, query, seen| {
        let at = head * queries + query;
        let own = at * width..(at + 1) * width;
        for &key in seen {
            let start = (head / sharing * keys + key) * width;
            let row = start..start + width;
            let score = scale * dot(&q[own.clone()], &k[row.clone()]);
            let power = (score + chances.added(&sight.extent, head, query, key) - sums[at]).exp();
            let kept = chances.factor(at, key);
            let slope = power * (kept * dot(&g[own.clone()], &v[row.clone()]) - shares[at]) * scale;
            add(&mut at_q[own.clone()], &k[row.clone()], slope);
            add(&mut at_k[row.clone()], &q[own.clone()], slope);
            add(&mut at_v[row], &g[own.clone()], power * kept);
        }
    });
    at_k.extend(at_v);
    vec![at_q, at_k]
}
