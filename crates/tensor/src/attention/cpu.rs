//! The ops on the CPU: products of blocks, and vector loops over rows of scores between them.
//!
//! Forward, threads share heads and blocks of queries; backward, they share heads of keys, each of which one
//! thread goes through in order. Sums of a row are kept in [`LANES`] parts. So results depend neither on
//! the number of threads nor on the vectors that the processor has.

use farad_cpu::{MatrixSlice, exp, multiply};
use pulp::Arch;
use rayon::prelude::*;

use super::extent::{AttentionExtent, Sight};
use super::op::NOTHING;

/// Queries of a block. Not measured by itself; its case: `attention_fwdbwd_4x6x256x64_f32`.
const QUERIES: usize = 64;
/// Keys of a block: its scores stay in the second cache. Not measured by itself; its case: `attention_fwdbwd_4x6x256x64_f32`.
const KEYS: usize = 256;
/// Partial sums of a row. Not measured by itself; its case: `attention_fwdbwd_4x6x256x64_f32`.
const LANES: usize = 16;

/// `[rows, width]` of a head, from a row on.
fn rows(values: &[f32], width: usize, first: usize, count: usize) -> MatrixSlice<'_> {
    MatrixSlice::new(&values[first * width..], count, width, width)
}

/// Queries, keys and values -> the result, and the logarithm of each query's sum.
pub fn forward(sight: &Sight, scale: f32, [q, k, v]: [&[f32]; 3], y: &mut [f32], sums: &mut [f32]) {
    let AttentionExtent { queries, keys, width, sharing, .. } = sight.extent;
    let (own, other) = (queries * width, keys * width);
    if own == 0 {
        return;
    }
    let heads = y.par_chunks_mut(own).zip(sums.par_chunks_mut(queries)).enumerate();
    heads.for_each(|(head, (y, sums))| {
        let blocks = y.par_chunks_mut(QUERIES * width).zip(sums.par_chunks_mut(QUERIES)).enumerate();
        blocks.for_each(|(n, (y, sums))| {
            let block = QueryBlock { sight, head, first: n * QUERIES, count: sums.len(), scale };
            let key_head = head / sharing * other;
            block.forward(
                &q[head * own..][..own],
                [&k[key_head..][..other], &v[key_head..][..other]],
                y,
                sums,
            );
        });
    });
}

/// Some queries of a head.
struct QueryBlock<'a> {
    sight: &'a Sight<'a>,
    head: usize,
    first: usize,
    count: usize,
    scale: f32,
}

impl QueryBlock<'_> {
    /// Blocks of keys that these queries see: the first key and how many.
    fn keys(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let end = self.sight.limit(self.first + self.count - 1);
        (0..end).step_by(KEYS).map(move |start| (start, KEYS.min(end - start)))
    }

    /// How many keys of a block a query sees, and the mask for them.
    fn seen(&self, row: usize, start: usize, len: usize) -> (usize, Option<&[u32]>) {
        let limit = self.sight.limit(self.first + row).saturating_sub(start).min(len);
        (limit, self.sight.row(self.head).map(|mask| &mask[start..][..limit]))
    }

    fn forward(&self, q: &[f32], [k, v]: [&[f32]; 2], y: &mut [f32], sums: &mut [f32]) {
        let (width, arch) = (self.sight.extent.width, Arch::new());
        let mut scores = vec![0f32; self.count * KEYS];
        let mut tops = [NOTHING; QUERIES];
        for (start, len) in self.keys() {
            let of_k = rows(k, width, start, len).transposed();
            multiply(&mut scores, KEYS, rows(q, width, self.first, self.count), of_k, false);
            for (row, scores) in scores.chunks_exact_mut(KEYS).enumerate() {
                let (limit, mask) = self.seen(row, start, len);
                let (top, sum) =
                    arch.dispatch(|| powers(&mut scores[..len], limit, mask, self.scale, tops[row]));
                let keep = (tops[row] - top).exp();
                sums[row] = sums[row] * keep + sum;
                tops[row] = top;
                if start > 0 {
                    y[row * width..][..width].iter_mut().for_each(|y| *y *= keep);
                }
            }
            multiply(
                y,
                width,
                MatrixSlice::new(&scores, self.count, len, KEYS),
                rows(v, width, start, len),
                true,
            );
        }
        for ((y, sum), top) in y.chunks_exact_mut(width).zip(sums).zip(tops) {
            let factor = if *sum <= 0.0 { 0.0 } else { 1.0 / *sum };
            y.iter_mut().for_each(|y| *y *= factor);
            *sum = if *sum <= 0.0 { NOTHING } else { top + sum.ln() };
        }
    }

    /// The gradients that these queries give to themselves, and to keys and values.
    fn backward(
        &self,
        [q, k, v, g, sums, shares]: [&[f32]; 6],
        at_q: &mut [f32],
        [at_k, at_v]: [&mut [f32]; 2],
        [scores, slopes]: [&mut [f32]; 2],
    ) {
        let (width, arch) = (self.sight.extent.width, Arch::new());
        let (of_q, of_g) = (rows(q, width, self.first, self.count), rows(g, width, self.first, self.count));
        for (start, len) in self.keys() {
            let (of_k, of_v) = (rows(k, width, start, len), rows(v, width, start, len));
            multiply(scores, KEYS, of_q, of_k.transposed(), false);
            multiply(slopes, KEYS, of_g, of_v.transposed(), false);
            for row in 0..self.count {
                let (limit, mask) = self.seen(row, start, len);
                let (sum, share) = (sums[self.first + row], shares[self.first + row]);
                let (scores, slopes) = (&mut scores[row * KEYS..][..len], &mut slopes[row * KEYS..][..len]);
                arch.dispatch(|| changes(scores, slopes, limit, mask, [self.scale, sum, share]));
            }
            let powers = MatrixSlice::new(scores, self.count, len, KEYS);
            let changes = MatrixSlice::new(slopes, self.count, len, KEYS);
            multiply(&mut at_v[start * width..], width, powers.transposed(), of_g, true);
            multiply(&mut at_k[start * width..], width, changes.transposed(), of_q, true);
            multiply(&mut at_q[self.first * width..], width, changes, of_k, true);
        }
    }
}

/// Turns a row of products into powers `e^(score - top)`, zeros where nothing is seen; gives the largest
/// score so far and the sum of the powers.
#[inline(always)]
fn powers(row: &mut [f32], limit: usize, mask: Option<&[u32]>, scale: f32, top: f32) -> (f32, f32) {
    let (seen, unseen) = row.split_at_mut(limit);
    unseen.fill(0.0);
    seen.iter_mut().for_each(|x| *x *= scale);
    if let Some(mask) = mask {
        seen.iter_mut().zip(mask).for_each(|(x, &seen)| *x = if seen != 0 { *x } else { NOTHING });
    }
    let mut tops = [top; LANES];
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let chunks = seen.chunks_exact(LANES);
    chunks.remainder().iter().zip(&mut tops).for_each(|(&x, top)| *top = larger(*top, x));
    chunks.for_each(|chunk| chunk.iter().zip(&mut tops).for_each(|(&x, top)| *top = larger(*top, x)));
    let top = tops.into_iter().fold(top, larger);
    let mut sums = [0f32; LANES];
    // NaN passes.
    let power = |x: f32| if x <= NOTHING { 0.0 } else { exp(x - top) };
    let mut chunks = seen.chunks_exact_mut(LANES);
    for chunk in &mut chunks {
        for (x, sum) in chunk.iter_mut().zip(&mut sums) {
            *x = power(*x);
            *sum += *x;
        }
    }
    for (x, sum) in chunks.into_remainder().iter_mut().zip(&mut sums) {
        *x = power(*x);
        *sum += *x;
    }
    (top, sums.iter().sum())
}

/// Turns a row of products of queries and keys into probabilities, and one of gradients and values into the
/// gradients at the scores.
#[inline(always)]
fn changes(
    scores: &mut [f32],
    slopes: &mut [f32],
    limit: usize,
    mask: Option<&[u32]>,
    [scale, sum, share]: [f32; 3],
) {
    scores[limit..].fill(0.0);
    slopes[limit..].fill(0.0);
    let (scores, slopes) = (&mut scores[..limit], &mut slopes[..limit]);
    for (score, slope) in scores.iter_mut().zip(slopes.iter_mut()) {
        *score = exp(*score * scale - sum);
        *slope = *score * (*slope - share) * scale;
    }
    if let Some(mask) = mask {
        for ((score, slope), &seen) in scores.iter_mut().zip(slopes).zip(mask) {
            *score = if seen != 0 { *score } else { 0.0 };
            *slope = if seen != 0 { *slope } else { 0.0 };
        }
    }
}

/// Gradients at queries, keys and values.
pub fn backward(
    sight: &Sight,
    scale: f32,
    [q, k, v, g, sums, shares]: [&[f32]; 6],
    [at_q, at_k, at_v]: [&mut [f32]; 3],
) {
    let AttentionExtent { queries, keys, width, sharing, .. } = sight.extent;
    let (own, other) = (queries * width, keys * width);
    if own == 0 || other == 0 {
        return;
    }
    let heads = at_q.par_chunks_mut(sharing * own);
    let heads = heads.zip(at_k.par_chunks_mut(other)).zip(at_v.par_chunks_mut(other)).enumerate();
    heads.for_each(|(key_head, ((at_q, at_k), at_v))| {
        let (mut scores, mut slopes) = (vec![0f32; QUERIES * KEYS], vec![0f32; QUERIES * KEYS]);
        let (k, v) = (&k[key_head * other..][..other], &v[key_head * other..][..other]);
        for (n, at_q) in at_q.chunks_exact_mut(own).enumerate() {
            let head = key_head * sharing + n;
            let [q, g] = [q, g].map(|values| &values[head * own..][..own]);
            let [sums, shares] = [sums, shares].map(|values| &values[head * queries..][..queries]);
            for first in (0..queries).step_by(QUERIES) {
                let block = QueryBlock { sight, head, first, count: QUERIES.min(queries - first), scale };
                let given = [q, k, v, g, sums, shares];
                block.backward(given, at_q, [at_k, at_v], [&mut scores, &mut slopes]);
            }
        }
    });
}
