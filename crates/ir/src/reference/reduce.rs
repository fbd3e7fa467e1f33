//! Reductions: for each kept position, combines the elements along the reduced axes.

use super::Values;
use super::positions::{positions, strides};
use crate::dtype::{DType, wrap};
use crate::extremes::{larger, smaller};
use crate::ops::reduce::Reduce;
use crate::shape::Shape;

/// `dtype` is that of the elements.
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
        Values::Int(x) if dtype == DType::U64 && matches!(op, Reduce::Max | Reduce::Min) => {
            let combine = if op == Reduce::Max { u64::max } else { u64::min };
            let y = fold(&unsigned(x), &kept, &reduced, combine, nothing as u64);
            Values::Int(y.into_iter().map(|y| y as i64).collect())
        }
        Values::Int(x) if dtype == DType::U64 && op.is_index() => {
            let x = unsigned(x);
            Values::Int(kept.iter().map(|&at| best(op, &x, at, &reduced)).collect())
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
            // A product keeps only its low bits.
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

fn unsigned(x: &[i64]) -> Vec<u64> {
    x.iter().map(|&x| x as u64).collect()
}

/// Combines the elements along the reduced axes for each kept position; `nothing` if there are none.
fn fold<T: Copy>(x: &[T], kept: &[usize], reduced: &[usize], combine: fn(T, T) -> T, nothing: T) -> Vec<T> {
    let row = |&at: &usize| reduced.iter().map(|r| x[at + r]).reduce(combine).unwrap_or(nothing);
    kept.iter().map(row).collect()
}

/// The index in `reduced` of the first largest (or smallest) element, or of the first NaN.
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
