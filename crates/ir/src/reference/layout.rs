//! Ops that say where elements are: movement, reductions, gather, scatter-add and orders.
//!
//! A movement op is a table: for every element of the result, in order, its position in the operand.
//! A position that does not exist ([`NOWHERE`]) reads as zero.

use std::cmp::Ordering;

use super::Values;
use crate::dtype::{DType, wrap};
use crate::extremes::{larger, smaller};
use crate::op::Span;
use crate::reduce::Reduce;
use crate::shape::Shape;

/// A position outside every tensor.
const NOWHERE: usize = usize::MAX;

/// `offset + Σ strides[a]·i[a]` for every index `i` below `sizes`, row-major.
fn positions(sizes: &[usize], offset: usize, strides: &[isize]) -> Vec<usize> {
    let mut list = vec![offset];
    for (&size, &stride) in sizes.iter().zip(strides) {
        let along = |start: usize| (0..size).map(move |i| start.wrapping_add_signed(stride * i as isize));
        list = list.into_iter().flat_map(along).collect();
    }
    list
}

fn strides(shape: &Shape) -> Vec<isize> {
    shape.strides().into_iter().map(|stride| stride as isize).collect()
}

/// The strides of `shape` with zero on axes of size 1, so that they repeat.
fn repeating(shape: &Shape) -> Vec<isize> {
    strides(shape)
        .into_iter()
        .zip(shape.iter())
        .map(|(stride, &size)| if size == 1 { 0 } else { stride })
        .collect()
}

pub(super) fn permute(shape: &Shape, order: &[usize]) -> Vec<usize> {
    let of = strides(shape);
    let (sizes, strides): (Vec<usize>, Vec<isize>) =
        order.iter().map(|&axis| (shape[axis], of[axis])).unzip();
    positions(&sizes, 0, &strides)
}

pub(super) fn expand(shape: &Shape, to: &Shape) -> Vec<usize> {
    positions(to, 0, &repeating(shape))
}

pub(super) fn pad(shape: &Shape, widths: &[(usize, usize)]) -> Vec<usize> {
    let sizes: Vec<usize> = shape.iter().zip(widths).map(|(size, (low, high))| size + low + high).collect();
    let padded = Shape::new(&sizes);
    let offset = padded.strides().iter().zip(widths).map(|(stride, (low, _))| stride * low).sum();
    let mut table = vec![NOWHERE; padded.numel()];
    for (from, to) in positions(shape, offset, &strides(&padded)).into_iter().enumerate() {
        table[to] = from;
    }
    table
}

pub(super) fn slice(shape: &Shape, spans: &[Span]) -> Vec<usize> {
    let of = shape.strides();
    let sizes: Vec<usize> = spans.iter().map(|span| span.len).collect();
    let offset = of.iter().zip(spans).map(|(stride, span)| stride * span.start).sum();
    let strides: Vec<isize> =
        of.iter().zip(spans).map(|(stride, span)| (stride * span.step) as isize).collect();
    positions(&sizes, offset, &strides)
}

pub(super) fn flip(shape: &Shape, axes: &[usize]) -> Vec<usize> {
    let mut strides = strides(shape);
    let mut offset = 0;
    if shape.numel() > 0 {
        for &axis in axes {
            offset += (shape[axis] - 1) * strides[axis] as usize;
            strides[axis] = -strides[axis];
        }
    }
    positions(shape, offset, &strides)
}

/// `dtype` is the result's.
pub(super) fn reduce(op: Reduce, dtype: DType, x: &Values, shape: &Shape, axes: &[usize]) -> Values {
    let of = strides(shape);
    let table = |keep: bool| {
        let part = (0..shape.rank()).filter(|axis| axes.contains(axis) != keep);
        let (sizes, strides): (Vec<usize>, Vec<isize>) = part.map(|axis| (shape[axis], of[axis])).unzip();
        positions(&sizes, 0, &strides)
    };
    let (kept, reduced) = (table(true), table(false));
    let nothing = if op.takes_nothing() { op.identity(dtype).as_i64() } else { 0 };
    match x {
        Values::Float(x) if op.is_index() => {
            Values::Int(kept.iter().map(|&at| best(op, x, at, &reduced)).collect())
        }
        Values::Int(x) if op.is_index() => {
            Values::Int(kept.iter().map(|&at| best(op, x, at, &reduced)).collect())
        }
        Values::Float(x) => {
            let combine = match op {
                Reduce::Max | Reduce::ArgMax => larger,
                Reduce::Min | Reduce::ArgMin => smaller,
                Reduce::Sum => |a, b| a + b,
                Reduce::Prod => |a, b| a * b,
            };
            Values::Float(fold(x, &kept, &reduced, combine, nothing as f64))
        }
        Values::Int(x) => {
            // A product of 32-bit numbers keeps its low bits only.
            let combine = match op {
                Reduce::Max | Reduce::ArgMax => i64::max,
                Reduce::Min | Reduce::ArgMin => i64::min,
                Reduce::Sum => i64::wrapping_add,
                Reduce::Prod => i64::wrapping_mul,
            };
            Values::Int(
                fold(x, &kept, &reduced, combine, nothing).into_iter().map(|y| wrap(dtype, y)).collect(),
            )
        }
    }
}

/// Combines the elements around each kept position; `nothing` where there are none.
fn fold<T: Copy>(x: &[T], kept: &[usize], reduced: &[usize], combine: fn(T, T) -> T, nothing: T) -> Vec<T> {
    let row = |&at: &usize| reduced.iter().map(|r| x[at + r]).reduce(combine).unwrap_or(nothing);
    kept.iter().map(row).collect()
}

/// The place in `reduced` of the first largest (or smallest) element, or of the first NaN.
fn best<T: Copy + PartialOrd>(op: Reduce, x: &[T], at: usize, reduced: &[usize]) -> i64 {
    let mut winner = 0;
    for (n, r) in reduced.iter().enumerate() {
        let (new, old) = (x[at + r], x[at + reduced[winner]]);
        let wins = if op == Reduce::ArgMax { new > old } else { new < old };
        let is_nan = |x: T| x.partial_cmp(&x).is_none();
        if wins || (is_nan(new) && !is_nan(old)) {
            winner = n;
        }
    }
    winner as i64
}

pub(super) fn gather(x: &Values, shape: &Shape, index: &Values, index_shape: &Shape, axis: usize) -> Values {
    let (indices, size) = (index.ints(), shape[axis] as i64);
    let result = shape.with(axis, index_shape[axis]);
    let mut along = strides(shape);
    let stride = std::mem::replace(&mut along[axis], 0) as usize;
    let read = positions(&result, 0, &repeating(index_shape));
    let table: Vec<usize> = positions(&result, 0, &along)
        .into_iter()
        .zip(read)
        .map(
            |(base, at)| {
                if size == 0 { NOWHERE } else { base + stride * indices[at].clamp(0, size - 1) as usize }
            },
        )
        .collect();
    x.take(&table)
}

pub(super) fn scatter_add(
    dtype: DType,
    source: &Values,
    shape: &Shape,
    index: &Values,
    index_shape: &Shape,
    axis: usize,
    size: usize,
) -> Values {
    fn add_into<T: Copy>(y: &mut [T], source: &[T], table: &[usize], add: impl Fn(T, T) -> T) {
        for (&x, &at) in source.iter().zip(table).filter(|(_, at)| **at != NOWHERE) {
            y[at] = add(y[at], x);
        }
    }
    let indices = index.ints();
    let result = shape.with(axis, size);
    let mut along = strides(&result);
    let stride = std::mem::replace(&mut along[axis], 0) as usize;
    let read = positions(shape, 0, &repeating(index_shape));
    let inside = |i: i64| (0..size as i64).contains(&i);
    let table: Vec<usize> = positions(shape, 0, &along)
        .into_iter()
        .zip(read)
        .map(|(base, at)| if inside(indices[at]) { base + stride * indices[at] as usize } else { NOWHERE })
        .collect();
    let mut y = Values::zeros(dtype, result.numel());
    match &mut y {
        Values::Float(y) => add_into(y, source.floats(), &table, |a, b| a + b),
        Values::Int(y) => add_into(y, source.ints(), &table, |a, b| wrap(dtype, a.wrapping_add(b))),
    }
    y
}

/// The first `count` of the stable order of every row of the last axis; NaN is larger than all numbers.
pub(super) fn order(x: &Values, shape: &Shape, descending: bool, count: usize) -> Vec<i64> {
    fn sorted<T: Copy>(
        x: &[T],
        (len, count): (usize, usize),
        compare: impl Fn(T, T) -> Ordering,
    ) -> Vec<i64> {
        let row = |row: &[T]| {
            let mut order: Vec<usize> = (0..len).collect();
            order.sort_by(|&a, &b| compare(row[a], row[b]));
            order.into_iter().take(count).map(|position| position as i64)
        };
        x.chunks(len.max(1)).flat_map(row).collect()
    }
    let way = |ordering: Ordering| if descending { ordering.reverse() } else { ordering };
    let sizes = (shape[shape.rank() - 1], count);
    match x {
        Values::Float(x) => {
            sorted(x, sizes, |a, b| way(a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))))
        }
        Values::Int(x) => sorted(x, sizes, |a, b| way(a.cmp(&b))),
    }
}
