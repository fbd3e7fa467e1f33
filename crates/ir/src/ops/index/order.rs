//! The stable argsort of the last axis, and its first entries. Positions carry no gradient.
//!
//! NaN is larger than all numbers, and zeros of either sign are equal. Sorted values are a gather by the order,
//! whose gradient is a gather by the inverse. The argsort of an argsort is that inverse, and needs no sorting.

use std::cmp::Ordering;

use crate::dtype::DType;
use crate::error::OpError;
use crate::ops::{TensorType, check_dtype};
use crate::reference::Values;
use crate::shape::Shape;

pub(crate) fn kind((x, dtype): TensorType) -> Result<TensorType, OpError> {
    check_dtype("sort", dtype, dtype.is_compute())?;
    last_axis("sort", x)?;
    Ok((x, DType::I32))
}

/// The kind of the first `count` entries of an order.
pub(crate) fn top_kind((x, dtype): TensorType, count: usize) -> Result<TensorType, OpError> {
    check_dtype("topk", dtype, dtype.is_compute())?;
    let axis = last_axis("topk", x)?;
    if count > x[axis] {
        let what = format!("axis {axis} of {x} has fewer elements");
        return Err(OpError::Sizes { op: "topk", what, a: count, b: x[axis] });
    }
    Ok((x.with(axis, count), DType::I32))
}

fn last_axis(op: &'static str, shape: Shape) -> Result<usize, OpError> {
    shape.rank().checked_sub(1).ok_or(OpError::Axis { op, shape, axis: -1, rank: 0 })
}

/// The first `count` positions of every row, all by default; NaN is larger than all numbers.
pub(crate) fn value(
    x: &Values,
    dtype: DType,
    shape: &Shape,
    descending: bool,
    count: Option<usize>,
) -> Values {
    let len = shape[shape.rank() - 1];
    let (way, count) = (SortWay { descending }, count.unwrap_or(len));
    Values::Int(match x {
        Values::Float(x) => {
            let by_number = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
            way.sorted(x, len, count, by_number)
        }
        Values::Int(x) if dtype == DType::U64 => {
            way.sorted(x, len, count, |a, b| (a as u64).cmp(&(b as u64)))
        }
        Values::Int(x) => way.sorted(x, len, count, |a, b| a.cmp(&b)),
    })
}

struct SortWay {
    descending: bool,
}

impl SortWay {
    fn sorted<T: Copy>(
        &self,
        x: &[T],
        len: usize,
        count: usize,
        compare: impl Fn(T, T) -> Ordering,
    ) -> Vec<i64> {
        let compare = |a: T, b: T| if self.descending { compare(a, b).reverse() } else { compare(a, b) };
        let row = |row: &[T]| {
            let mut order: Vec<usize> = (0..len).collect();
            order.sort_by(|&a, &b| compare(row[a], row[b]));
            order.into_iter().take(count).map(|position| position as i64)
        };
        x.chunks(len.max(1)).flat_map(row).collect()
    }
}
