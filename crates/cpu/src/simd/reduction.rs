//! Reductions of tiles into accumulators, along rows and down columns.
//!
//! Floats are summed in `f32` only within a tile, with many partial sums, and in `f64` from tile to tile. So a
//! sum of a million elements loses no more accuracy than one of a thousand. A maximum or minimum of floats is
//! NaN if any element is NaN; its position is then that of the first NaN.

use farad_ir::Reduce;

use super::wide_reduction;
use crate::heuristics::reductions::{
    EXTREME_PARTIALS, FEW_PARTIALS, FLOAT_TILES, LONG_ROW, MANY_PARTIALS, MIDDLING_ROW, SOME_PARTIALS,
};
use crate::interpreter::bytecode::WordType;

/// One reduction's running state over some rows: sums in `wide` (floats) or `value`, extremes in `value`, their
/// positions in `index`. For 64-bit registers, everything except positions is in `wide`, as bits.
pub struct ReductionState<'a> {
    pub reduce: Reduce,
    pub kind: WordType,
    pub wide: &'a mut [f64],
    pub value: &'a mut [u32],
    pub index: &'a mut [u32],
}

/// Words of state that a reduction takes for each row.
pub const STATE_WORDS: usize = 4;

impl<'a> ReductionState<'a> {
    /// The state in `STATE_WORDS · rows` words at an 8-byte boundary.
    ///
    /// # Safety
    /// The words must be valid and aligned, and used only through this state.
    pub unsafe fn at(start: *mut u32, rows: usize, reduce: Reduce, kind: WordType) -> ReductionState<'a> {
        // SAFETY: promised by the caller.
        unsafe {
            ReductionState {
                reduce,
                kind,
                wide: std::slice::from_raw_parts_mut(start.cast(), rows),
                value: std::slice::from_raw_parts_mut(start.add(2 * rows), rows),
                index: std::slice::from_raw_parts_mut(start.add(3 * rows), rows),
            }
        }
    }

    /// Resets to the identity.
    pub fn reset(&mut self) {
        if self.kind.is_wide() {
            self.wide.fill(f64::from_bits(self.wide_identity()));
            return self.index.fill(0);
        }
        if self.is_wide() {
            self.wide.fill(if self.reduce == Reduce::Prod { 1.0 } else { 0.0 });
        }
        self.value.fill(self.identity());
        if self.reduce.is_index() {
            self.index.fill(0);
        }
    }

    /// Whether values are combined in `f32` and moved to `f64` from time to time.
    fn is_wide(&self) -> bool {
        self.kind == WordType::Float && self.reduce.row().rounds
    }

    // Every row resets, so the usual ones do without the table.
    fn identity(&self) -> u32 {
        match (self.reduce, self.kind) {
            (Reduce::Sum, _) => 0,
            (Reduce::Max | Reduce::ArgMax, WordType::Float) => f32::NEG_INFINITY.to_bits(),
            (Reduce::Min | Reduce::ArgMin, WordType::Float) => f32::INFINITY.to_bits(),
            (reduce, kind) => reduce.identity(kind.dtype()).word(),
        }
    }

    /// The identity element, for a 64-bit register.
    pub fn wide_identity(&self) -> u64 {
        self.reduce.identity(self.kind.dtype()).register()
    }

    /// Moves the sums in `f32` to `f64`.
    pub fn flush(&mut self) {
        if !self.is_wide() {
            return;
        }
        let identity = self.identity();
        for (wide, value) in self.wide.iter_mut().zip(self.value.iter_mut()) {
            let part = f32::from_bits(std::mem::replace(value, identity)) as f64;
            *wide = if self.reduce == Reduce::Prod { *wide * part } else { *wide + part };
        }
    }

    /// Writes a 64-bit result that is not a position.
    pub fn finish_wide(&self, out: &mut [u64]) {
        out.copy_from_slice(bytemuck::cast_slice(self.wide));
    }

    /// Writes the result.
    pub fn finish(&mut self, out: &mut [u32]) {
        self.flush();
        match self.reduce {
            _ if self.is_wide() => {
                for (out, &wide) in out.iter_mut().zip(self.wide.iter()) {
                    *out = (wide as f32).to_bits();
                }
            }
            Reduce::ArgMax | Reduce::ArgMin => out.copy_from_slice(self.index),
            _ => out.copy_from_slice(self.value),
        }
    }

    /// Combines this state with that of later elements.
    pub fn join(&mut self, later: &mut ReductionState) {
        if self.kind.is_wide() {
            return wide_reduction::join(self, later);
        }
        later.flush();
        self.flush();
        if self.is_wide() {
            for (wide, later) in self.wide.iter_mut().zip(later.wide.iter()) {
                *wide = if self.reduce == Reduce::Prod { *wide * later } else { *wide + later };
            }
            return;
        }
        for row in 0..self.value.len() {
            let (a, b) = (self.value[row], later.value[row]);
            match self.reduce {
                Reduce::Sum => self.value[row] = a.wrapping_add(b),
                Reduce::Prod => self.value[row] = a.wrapping_mul(b),
                Reduce::Max | Reduce::Min => self.value[row] = extreme(self.reduce, self.kind, a, b),
                Reduce::ArgMax | Reduce::ArgMin => {
                    if beats(self.reduce, self.kind, b, a) {
                        (self.value[row], self.index[row]) = (b, later.index[row]);
                    }
                }
            }
        }
    }
}

fn extreme(reduce: Reduce, kind: WordType, a: u32, b: u32) -> u32 {
    if beats(reduce, kind, b, a) { b } else { a }
}

/// Whether a later `b` replaces `a`; NaN replaces numbers.
#[inline(always)]
fn beats(reduce: Reduce, kind: WordType, b: u32, a: u32) -> bool {
    let nan = |word: u32| kind == WordType::Float && f32::from_bits(word).is_nan();
    if nan(a) || nan(b) {
        return !nan(a);
    }
    let (b, a) = if matches!(reduce, Reduce::Min | Reduce::ArgMin) { (a, b) } else { (b, a) };
    match kind {
        WordType::Float => f32::from_bits(b) > f32::from_bits(a),
        WordType::Int => b as i32 > a as i32,
        _ => b > a,
    }
}

/// Partial values at the start of a cache line. A vector that is written across two lines is not handed on to those who read it
/// next; they wait.
#[repr(align(64))]
struct CacheLines<T>(T);

macro_rules! fold_row {
    (chunks $chunks:ident by $partials:ident, $type:ty, $start:expr, |$acc:ident, $x:ident| $body:expr) => {{
        // A separate function, so that the final combination does not split the partials' vectors inside the
        // loop.
        #[inline(never)]
        fn join(partial: &mut [$type; $partials]) -> $type {
            let mut width = $partials / 2;
            while width > 0 {
                for lane in 0..width {
                    let ($acc, $x) = (partial[lane], partial[lane + width]);
                    partial[lane] = $body;
                }
                width /= 2;
            }
            partial[0]
        }
        let mut lines = CacheLines([$start; $partials]);
        let partial = &mut lines.0;
        for chunk in $chunks {
            for lane in 0..$partials {
                let ($acc, $x) = (partial[lane], chunk[lane]);
                partial[lane] = $body;
            }
        }
        join(partial)
    }};
    (by $partials:ident, $row:ident, $type:ty, $start:expr, |$acc:ident, $x:ident| $body:expr) => {{
        let (chunks, rest) = $row.as_chunks::<$partials>();
        let whole = fold_row!(chunks chunks by $partials, $type, $start, |$acc, $x| $body);
        if rest.is_empty() {
            whole
        } else {
            // The rest by itself: single elements in the partials would be written apart and read as vectors, and such
            // a read waits for all writes before it.
            let (fours, rest) = rest.as_chunks::<4>();
            let mut four = [$start; 4];
            for chunk in fours {
                for lane in 0..4 {
                    let ($acc, $x) = (four[lane], chunk[lane]);
                    four[lane] = $body;
                }
            }
            let pair = [0, 1].map(|lane| {
                let ($acc, $x) = (four[lane], four[lane + 2]);
                $body
            });
            let mut all = {
                let ($acc, $x) = (pair[0], pair[1]);
                $body
            };
            for &$x in rest {
                let $acc = all;
                all = $body;
            }
            let ($acc, $x) = (whole, all);
            $body
        }
    }};
    ($row:expr, $type:ty, $start:expr, |$acc:ident, $x:ident| $body:expr) => {{
        let row: &[$type] = bytemuck::cast_slice($row);
        if row.len() < MIDDLING_ROW {
            fold_row!(by FEW_PARTIALS, row, $type, $start, |$acc, $x| $body)
        } else if row.len() < LONG_ROW {
            fold_row!(by SOME_PARTIALS, row, $type, $start, |$acc, $x| $body)
        } else {
            fold_row!(by MANY_PARTIALS, row, $type, $start, |$acc, $x| $body)
        }
    }};
}

/// The extreme of a row of floats. A comparison alone may skip a NaN, so a sum beside it says whether there may be one;
/// then the answer is `None`.
macro_rules! extreme_without_nan {
    ($row:ident, $start:expr, |$acc:ident, $x:ident| $body:expr) => {{
        let mut lines = CacheLines([[$start; EXTREME_PARTIALS], [0f32; EXTREME_PARTIALS]]);
        let [best, sums] = &mut lines.0;
        let (chunks, rest) = $row.as_chunks::<EXTREME_PARTIALS>();
        for chunk in chunks {
            for lane in 0..EXTREME_PARTIALS {
                let ($acc, $x) = (best[lane], chunk[lane]);
                best[lane] = $body;
                sums[lane] += $x;
            }
        }
        if !rest.is_empty() {
            // Elements may count twice.
            let last = $row.last_chunk::<EXTREME_PARTIALS>().expect("a chunk");
            for lane in 0..EXTREME_PARTIALS {
                let ($acc, $x) = (best[lane], last[lane]);
                best[lane] = $body;
                sums[lane] += $x;
            }
        }
        let sum = joined(sums, |a, x| a + x);
        // Infinities of both signs make NaN as well, which costs a second look.
        (!sum.is_nan()).then(|| joined(best, |$acc, $x| $body))
    }};
}

/// Combines partial values, halves with halves; never inlined, as in `fold_row`.
#[inline(never)]
fn joined(partial: &mut [f32; EXTREME_PARTIALS], combine: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = EXTREME_PARTIALS / 2;
    while width > 0 {
        for lane in 0..width {
            partial[lane] = combine(partial[lane], partial[lane + width]);
        }
        width /= 2;
    }
    partial[0]
}

/// The largest element, NaN where there is one.
#[inline(always)]
fn largest(row: &[f32]) -> f32 {
    let plain = (row.len() >= EXTREME_PARTIALS)
        .then(|| extreme_without_nan!(row, f32::NEG_INFINITY, |a, x| if x > a { x } else { a }))
        .flatten();
    plain.unwrap_or_else(|| {
        fold_row!(row, f32, f32::NEG_INFINITY, |a, x| if (a >= x) | a.is_nan() { a } else { x })
    })
}

/// The smallest element, NaN where there is one.
#[inline(always)]
fn smallest(row: &[f32]) -> f32 {
    let plain = (row.len() >= EXTREME_PARTIALS)
        .then(|| extreme_without_nan!(row, f32::INFINITY, |a, x| if x < a { x } else { a }))
        .flatten();
    plain.unwrap_or_else(|| {
        fold_row!(row, f32, f32::INFINITY, |a, x| if (a <= x) | a.is_nan() { a } else { x })
    })
}

#[inline(always)]
fn reduce_row(reduce: Reduce, kind: WordType, row: &[u32]) -> u32 {
    match (reduce, kind) {
        (Reduce::Sum, WordType::Float) => fold_row!(row, f32, 0f32, |a, x| a + x).to_bits(),
        (Reduce::Sum, _) => fold_row!(row, u32, 0u32, |a, x| a.wrapping_add(x)),
        (Reduce::Prod, WordType::Float) => fold_row!(row, f32, 1f32, |a, x| a * x).to_bits(),
        (Reduce::Prod, _) => fold_row!(row, u32, 1u32, |a, x| a.wrapping_mul(x)),
        (Reduce::Max | Reduce::ArgMax, WordType::Float) => largest(bytemuck::cast_slice(row)).to_bits(),
        (_, WordType::Float) => smallest(bytemuck::cast_slice(row)).to_bits(),
        (Reduce::Max | Reduce::ArgMax, WordType::Int) => {
            fold_row!(row, i32, i32::MIN, |a, x| a.max(x)) as u32
        }
        (_, WordType::Int) => fold_row!(row, i32, i32::MAX, |a, x| a.min(x)) as u32,
        (Reduce::Max | Reduce::ArgMax, _) => fold_row!(row, u32, 0u32, |a, x| a.max(x)),
        _ => fold_row!(row, u32, u32::MAX, |a, x| a.min(x)),
    }
}

/// The first position of `value` (or of the NaN that it is) in the row.
#[inline(always)]
fn position(kind: WordType, row: &[u32], value: u32) -> usize {
    let found = match kind {
        WordType::Float => {
            let value = f32::from_bits(value);
            row.iter().position(|&x| f32::from_bits(x) == value || f32::from_bits(x).is_nan())
        }
        _ => row.iter().position(|&x| x == value),
    };
    found.unwrap_or(0)
}

/// Reduces a tile of whole rows, or pieces of rows that start at `first`.
#[inline(always)]
pub fn rows(state: &mut ReductionState, tile: &[u32], columns: usize, first: usize) {
    for (row, words) in tile.chunks_exact(columns).enumerate() {
        let value = reduce_row(state.reduce, state.kind, words);
        match (state.reduce, state.kind) {
            (Reduce::Sum, WordType::Float) => state.wide[row] += f32::from_bits(value) as f64,
            (Reduce::Sum, _) => state.value[row] = state.value[row].wrapping_add(value),
            (Reduce::Prod, WordType::Float) => state.wide[row] *= f32::from_bits(value) as f64,
            (Reduce::Prod, _) => state.value[row] = state.value[row].wrapping_mul(value),
            (Reduce::Max | Reduce::Min, kind) => {
                state.value[row] = extreme(state.reduce, kind, state.value[row], value)
            }
            (Reduce::ArgMax | Reduce::ArgMin, kind) => {
                if first == 0 || beats(state.reduce, kind, value, state.value[row]) {
                    state.value[row] = value;
                    state.index[row] = (first + position(kind, words, value)) as u32;
                }
            }
        }
    }
}

macro_rules! fold_columns {
    ($state:ident, $words:ident, $type:ty, |$acc:ident, $x:ident| $body:expr) => {{
        let values: &mut [$type] = bytemuck::cast_slice_mut($state.value);
        let words: &[$type] = bytemuck::cast_slice($words);
        for (acc, &$x) in values.iter_mut().zip(words) {
            let $acc = *acc;
            *acc = $body;
        }
    }};
}

macro_rules! arg_columns {
    ($state:ident, $words:ident, $column:expr, $type:ty, |$acc:ident, $x:ident| $better:expr) => {{
        let values: &mut [$type] = bytemuck::cast_slice_mut($state.value);
        let words: &[$type] = bytemuck::cast_slice($words);
        let column = $column as u32;
        for ((acc, index), &$x) in values.iter_mut().zip($state.index.iter_mut()).zip(words) {
            let $acc = *acc;
            let better = $better | (column == 0);
            *acc = if better { $x } else { $acc };
            *index = if better { column } else { *index };
        }
    }};
}

/// Reduces a tile whose columns are positions of the reduced space, starting at `first`, each with all rows.
#[inline(always)]
pub fn columns(state: &mut ReductionState, tile: &[u32], rows: usize, first: usize) {
    for (i, words) in tile.chunks_exact(rows).enumerate() {
        let column = first + i;
        match (state.reduce, state.kind) {
            (Reduce::Sum, WordType::Float) => fold_columns!(state, words, f32, |a, x| a + x),
            (Reduce::Sum, _) => fold_columns!(state, words, u32, |a, x| a.wrapping_add(x)),
            (Reduce::Prod, WordType::Float) => fold_columns!(state, words, f32, |a, x| a * x),
            (Reduce::Prod, _) => fold_columns!(state, words, u32, |a, x| a.wrapping_mul(x)),
            (Reduce::Max, WordType::Float) => {
                fold_columns!(state, words, f32, |a, x| if (a >= x) | a.is_nan() { a } else { x })
            }
            (Reduce::Min, WordType::Float) => {
                fold_columns!(state, words, f32, |a, x| if (a <= x) | a.is_nan() { a } else { x })
            }
            (Reduce::Max, WordType::Int) => fold_columns!(state, words, i32, |a, x| a.max(x)),
            (Reduce::Min, WordType::Int) => fold_columns!(state, words, i32, |a, x| a.min(x)),
            (Reduce::Max, _) => fold_columns!(state, words, u32, |a, x| a.max(x)),
            (Reduce::Min, _) => fold_columns!(state, words, u32, |a, x| a.min(x)),
            (Reduce::ArgMax, WordType::Float) => {
                arg_columns!(state, words, column, f32, |a, x| (x > a) | (x.is_nan() & !a.is_nan()))
            }
            (Reduce::ArgMin, WordType::Float) => {
                arg_columns!(state, words, column, f32, |a, x| (x < a) | (x.is_nan() & !a.is_nan()))
            }
            (Reduce::ArgMax, WordType::Int) => arg_columns!(state, words, column, i32, |a, x| x > a),
            (Reduce::ArgMin, WordType::Int) => arg_columns!(state, words, column, i32, |a, x| x < a),
            (Reduce::ArgMax, _) => arg_columns!(state, words, column, u32, |a, x| x > a),
            (Reduce::ArgMin, _) => arg_columns!(state, words, column, u32, |a, x| x < a),
        }
        if column % FLOAT_TILES == FLOAT_TILES - 1 {
            state.flush();
        }
    }
}
