//! Reductions of tiles of 64-bit registers into accumulators, along rows and down columns.
//!
//! The running value is in the state's `wide` words, whatever its type, and the position of a maximum or
//! minimum in `index`. A maximum or minimum of floats is NaN if any element is NaN; its position is then that
//! of the first NaN.

use farad_ir::Reduce;

use super::reduction::ReductionState;
use crate::interpreter::bytecode::WordType;

/// Partial results per row.
const PARTIALS: usize = 8;

/// An element of a 64-bit register.
trait WideElement: bytemuck::Pod + PartialOrd {
    fn add(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
}

impl WideElement for f64 {
    #[inline(always)]
    fn add(self, other: f64) -> f64 {
        self + other
    }
    #[inline(always)]
    fn multiply(self, other: f64) -> f64 {
        self * other
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }
}

macro_rules! whole_element {
    ($type:ty) => {
        impl WideElement for $type {
            #[inline(always)]
            fn add(self, other: $type) -> $type {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn multiply(self, other: $type) -> $type {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
        }
    };
}
whole_element!(i64);
whole_element!(u64);

/// Whether a later element replaces an earlier one; NaN replaces numbers.
#[inline(always)]
fn beats<T: WideElement>(reduce: Reduce, later: T, earlier: T) -> bool {
    let better =
        if matches!(reduce, Reduce::Min | Reduce::ArgMin) { later < earlier } else { later > earlier };
    better | (later.is_nan() & !earlier.is_nan())
}

#[inline(always)]
fn combine<T: WideElement>(reduce: Reduce, a: T, b: T) -> T {
    match reduce {
        Reduce::Sum => a.add(b),
        Reduce::Prod => a.multiply(b),
        _ => {
            if beats(reduce, b, a) {
                b
            } else {
                a
            }
        }
    }
}

#[inline(always)]
fn reduce_row<T: WideElement>(reduce: Reduce, identity: T, row: &[T]) -> T {
    let mut partial = [identity; PARTIALS];
    let (chunks, rest) = row.as_chunks::<PARTIALS>();
    for chunk in chunks {
        for lane in 0..PARTIALS {
            partial[lane] = combine(reduce, partial[lane], chunk[lane]);
        }
    }
    for (partial, &x) in partial.iter_mut().zip(rest) {
        *partial = combine(reduce, *partial, x);
    }
    partial.into_iter().reduce(|a, b| combine(reduce, a, b)).expect("there are partials")
}

/// Calls a function that is generic in the element type.
macro_rules! by_kind {
    ($kind:expr, $function:ident($($argument:expr),*)) => {
        match $kind {
            WordType::Double => $function::<f64>($($argument),*),
            WordType::Long => $function::<i64>($($argument),*),
            _ => $function::<u64>($($argument),*),
        }
    };
}

/// Reduces a tile of whole rows, or pieces of rows that start at `first`.
#[inline(always)]
pub fn rows(state: &mut ReductionState, tile: &[u64], columns: usize, first: usize) {
    by_kind!(state.kind, rows_of(state, tile, columns, first))
}

#[inline(always)]
fn rows_of<T: WideElement>(state: &mut ReductionState, tile: &[u64], columns: usize, first: usize) {
    let (reduce, identity) = (state.reduce, state.wide_identity());
    let identity: T = bytemuck::cast(identity);
    let values: &mut [T] = bytemuck::cast_slice_mut(state.wide);
    let rows = bytemuck::cast_slice::<u64, T>(tile).chunks_exact(columns);
    for ((row, value), index) in rows.zip(values).zip(state.index.iter_mut()) {
        let new = reduce_row(reduce, identity, row);
        if !reduce.is_index() {
            *value = combine(reduce, *value, new);
        } else if first == 0 || beats(reduce, new, *value) {
            *value = new;
            let place = row.iter().position(|&x| x == new || x.is_nan()).unwrap_or(0);
            *index = (first + place) as u32;
        }
    }
}

/// Reduces a tile whose columns are positions of the reduced space, starting at `first`, each with all rows.
#[inline(always)]
pub fn columns(state: &mut ReductionState, tile: &[u64], rows: usize, first: usize) {
    by_kind!(state.kind, columns_of(state, tile, rows, first))
}

#[inline(always)]
fn columns_of<T: WideElement>(state: &mut ReductionState, tile: &[u64], rows: usize, first: usize) {
    let reduce = state.reduce;
    let values: &mut [T] = bytemuck::cast_slice_mut(state.wide);
    for (words, column) in bytemuck::cast_slice::<u64, T>(tile).chunks_exact(rows).zip(first..) {
        if reduce.is_index() {
            for ((value, index), &x) in values.iter_mut().zip(state.index.iter_mut()).zip(words) {
                if column == 0 || beats(reduce, x, *value) {
                    (*value, *index) = (x, column as u32);
                }
            }
        } else {
            for (value, &x) in values.iter_mut().zip(words) {
                *value = combine(reduce, *value, x);
            }
        }
    }
}

/// Combines a state with that of later elements.
pub fn join(state: &mut ReductionState, later: &ReductionState) {
    by_kind!(state.kind, join_of(state, later))
}

fn join_of<T: WideElement>(state: &mut ReductionState, later: &ReductionState) {
    let reduce = state.reduce;
    let values: &mut [T] = bytemuck::cast_slice_mut(state.wide);
    let others: &[T] = bytemuck::cast_slice(later.wide);
    for (row, (value, &other)) in values.iter_mut().zip(others).enumerate() {
        if !reduce.is_index() {
            *value = combine(reduce, *value, other);
        } else if beats(reduce, other, *value) {
            (*value, state.index[row]) = (other, later.index[row]);
        }
    }
}
