//! Contraction by direct evaluation over all axes.
//!
//! One axis, the longest, is the inner loop. For each setting of the others the range of the inner
//! axis on which every read exists is solved for, so that the loop itself tests nothing.

use crate::contraction::{Contraction, IndexMap};
use crate::shape::Shape;

/// Where one operand axis is read, with a coefficient for every axis of the contraction.
struct Read {
    coefficients: Vec<i64>,
    /// The coefficient of the inner axis.
    inner: i64,
    divisor: i64,
    size: i64,
    stride: i64,
    /// `Σ coefficient · axis + offset`, the inner axis left out.
    sum: i64,
}

/// The settings of the inner axis at which every read exists: `first, first + step, …`, `count` long.
struct Run {
    first: i64,
    step: i64,
    count: usize,
}

pub(super) fn contract(
    c: &Contraction,
    lhs: &[f64],
    lhs_shape: &Shape,
    rhs: &[f64],
    rhs_shape: &Shape,
) -> Vec<f64> {
    let mut y = vec![0.0; c.output().numel()];
    if c.sizes.contains(&0) {
        return y;
    }
    let mut y_strides = vec![0i64; c.sizes.len()];
    for (&axis, stride) in c.out.iter().zip(c.output().strides()) {
        y_strides[axis] = stride as i64;
    }
    let inner = (0..c.sizes.len()).max_by_key(|&axis| c.sizes[axis]);
    let inner_size = inner.map_or(1, |axis| c.sizes[axis]);
    let y_step = inner.map_or(0, |axis| y_strides[axis]);
    let mut reads = reads(c, &c.lhs, lhs_shape, inner);
    let split = reads.len();
    reads.extend(self::reads(c, &c.rhs, rhs_shape, inner));
    // The distance along the inner axis after which divisibility repeats.
    let period =
        reads.iter().fold(1, |period, read| lcm(period, read.divisor / gcd(read.inner, read.divisor)));
    let (mut at, mut y_base) = (vec![0usize; c.sizes.len()], 0i64);
    loop {
        if let Some(run) = solve(&reads, inner_size as i64, period) {
            let (l, l_step) = locate(&reads[..split], &run);
            let (r, r_step) = locate(&reads[split..], &run);
            let place = (y_base + y_step * run.first, y_step * run.step);
            accumulate(&mut y, place, lhs, (l, l_step), rhs, (r, r_step), run.count);
        }
        // The next setting of the other axes, the last one fastest.
        let mut others = (0..c.sizes.len()).rev().filter(|&axis| Some(axis) != inner);
        let more = others.any(|axis| {
            let more = at[axis] + 1 < c.sizes[axis];
            let change = if more { 1 } else { -(at[axis] as i64) };
            at[axis] = at[axis].wrapping_add_signed(change as isize);
            y_base += change * y_strides[axis];
            reads.iter_mut().for_each(|read| read.sum += change * read.coefficients[axis]);
            more
        });
        if !more {
            return y;
        }
    }
}

fn reads(c: &Contraction, maps: &[IndexMap], shape: &Shape, inner: Option<usize>) -> Vec<Read> {
    let (a, b) = (maps.len(), shape.rank());
    assert_eq!(a, b, "contract: one index map an operand axis: {shape} ({a} vs {b})");
    let mut reads = Vec::with_capacity(maps.len());
    for ((map, &size), stride) in maps.iter().zip(shape.iter()).zip(shape.strides()) {
        let mut coefficients = vec![0; c.sizes.len()];
        map.terms.iter().for_each(|&(axis, k)| coefficients[axis] += k);
        let (inner, size, stride) = (inner.map_or(0, |axis| coefficients[axis]), size as i64, stride as i64);
        reads.push(Read { coefficients, inner, divisor: map.divisor, size, stride, sum: map.offset });
    }
    reads
}

/// The settings `0..size` of the inner axis at which all reads exist; `period` is the distance after
/// which divisibility repeats.
fn solve(reads: &[Read], size: i64, period: i64) -> Option<Run> {
    let (mut low, mut high) = (0, size - 1);
    for read in reads {
        // 0 <= sum + k·i <= last
        let (k, last) = (read.inner, (read.size - 1) * read.divisor);
        match k {
            0 if (0..=last).contains(&read.sum) => {}
            0 => return None,
            k if k > 0 => {
                low = low.max(-(read.sum.div_euclid(k)));
                high = high.min((last - read.sum).div_euclid(k));
            }
            k => {
                low = low.max(-((last - read.sum).div_euclid(-k)));
                high = high.min(read.sum.div_euclid(-k));
            }
        }
    }
    if low > high {
        return None;
    }
    let divides = |i: i64| reads.iter().all(|read| (read.sum + read.inner * i) % read.divisor == 0);
    let first = if period == 1 && reads.iter().all(|read| read.divisor == 1) {
        low
    } else {
        (low..=high.min(low + period - 1)).find(|&i| divides(i))?
    };
    Some(Run { first, step: period, count: ((high - first) / period + 1) as usize })
}

/// The operand's index at the first setting of a run, and how far the next one is.
fn locate(reads: &[Read], run: &Run) -> (i64, i64) {
    let (mut index, mut step) = (0, 0);
    for read in reads {
        let k = read.inner;
        index += (read.sum + k * run.first) / read.divisor * read.stride;
        step += k * run.step / read.divisor * read.stride;
    }
    (index, step)
}

/// `y[i] += lhs[j] · rhs[k]` for `count` steps from given starts, each with its own stride.
fn accumulate(
    y: &mut [f64],
    (mut i, i_step): (i64, i64),
    lhs: &[f64],
    (mut j, j_step): (i64, i64),
    rhs: &[f64],
    (mut k, k_step): (i64, i64),
    count: usize,
) {
    if i_step == 0 {
        let mut sum = 0.0;
        for _ in 0..count {
            sum += lhs[j as usize] * rhs[k as usize];
            (j, k) = (j + j_step, k + k_step);
        }
        y[i as usize] += sum;
        return;
    }
    for _ in 0..count {
        y[i as usize] += lhs[j as usize] * rhs[k as usize];
        (i, j, k) = (i + i_step, j + j_step, k + k_step);
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn lcm(a: i64, b: i64) -> i64 {
    a / gcd(a, b) * b
}
