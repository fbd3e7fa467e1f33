//! The stable argsort of rows.
//!
//! Every element becomes an integer key with the same order. With its position appended, no two keys of a row
//! are equal, so every sorting algorithm gives the same, stable order. Threads divide the rows; a single long
//! row is sorted by all threads. If only the first entries of an order are needed, one pass keeps the smallest
//! keys seen so far. Start at [`SortPlan::run`].

use farad_compile::program::{Keys, Sort};
use farad_ir::DType;
use rayon::prelude::*;

use crate::heuristics::sorts::{BLOCK, COUNTED, HELD, LANES, PARALLEL};
use crate::interpreter::tile_machine::KernelContext;
use crate::memory::element_runs::{self, Binding};
use crate::memory::view_access::{DomainRange, ViewAccess};

/// Bits of a digit.
const DIGIT: u32 = 8;
/// Number of values of a digit.
const DIGITS: usize = 1 << DIGIT;

/// A planned sort.
#[derive(Debug)]
pub struct SortPlan(Sort);

impl SortPlan {
    /// Plans a sort.
    pub fn new(sort: &Sort) -> SortPlan {
        SortPlan(sort.clone())
    }

    /// Runs the sort.
    pub fn run(&self, context: KernelContext) {
        let Sort { rows, len, taken, operand, order, .. } = self.0;
        let (from, to) = (context.bindings[operand.0 as usize], context.bindings[order.0 as usize]);
        let start = to.words(0, rows * taken);
        // SAFETY: the words are checked to be in the buffer, which this kernel alone writes.
        let order = unsafe { std::slice::from_raw_parts_mut(start, rows * taken) };
        let threads = rayon::current_num_threads();
        if rows * len < PARALLEL || threads == 1 || rows == 1 {
            let together = len >= PARALLEL && threads > 1;
            order.chunks_mut(taken).enumerate().for_each(|(row, order)| self.row(row, from, order, together));
        } else {
            let group = (PARALLEL / 4).div_ceil(len);
            order.par_chunks_mut(group * taken).enumerate().for_each(|(n, order)| {
                order
                    .chunks_mut(taken)
                    .enumerate()
                    .for_each(|(row, order)| self.row(n * group + row, from, order, false));
            });
        }
    }

    /// Writes the order of one row, or its beginning, using all threads or only this one.
    fn row(&self, row: usize, from: Binding, order: &mut [u32], together: bool) {
        let Sort { len, taken, .. } = self.0;
        if from.dtype.is_wide() {
            return self.wide_row(row, from, order, together);
        }
        if taken < len {
            return self.select(row, from, order, together);
        }
        let mut words = vec![0; len];
        let range = DomainRange { start: row * len, count: len, fixed: &[] };
        // SAFETY: the program says that this kernel may read the operand.
        unsafe { element_runs::load(&ViewAccess::contiguous((row + 1) * len), range, 0, from, &mut words) };
        if self.0.keys == Keys::Permutation {
            words.iter().zip(0..).for_each(|(&at, position)| order[at as usize] = position);
            return;
        }
        let key = key(self.0.keys, from.dtype);
        let mut pairs: Vec<u64> = words
            .iter()
            .zip(0..)
            .map(|(&word, position): (_, u64)| (key(word) as u64) << 32 | position)
            .collect();
        match len {
            0..COUNTED => pairs.sort_unstable(),
            _ if together => count(&mut pairs, rayon::current_num_threads()),
            _ => count(&mut pairs, 1),
        }
        order.iter_mut().zip(&pairs).for_each(|(order, &pair)| *order = pair as u32);
    }

    /// Writes the order of one row of 64-bit elements, or its beginning.
    fn wide_row(&self, row: usize, from: Binding, order: &mut [u32], together: bool) {
        let Sort { len, taken, .. } = self.0;
        let mut words = vec![0; len];
        let range = DomainRange { start: row * len, count: len, fixed: &[] };
        // SAFETY: the program says that this kernel may read the operand.
        unsafe { element_runs::load(&ViewAccess::contiguous((row + 1) * len), range, 0, from, &mut words) };
        let key = wide_key(self.0.keys, from.dtype);
        let mut pairs: Vec<u128> = words
            .iter()
            .zip(0..)
            .map(|(&word, position): (_, u128)| (key(word) as u128) << 32 | position)
            .collect();
        keep(&mut pairs, taken);
        if together {
            pairs.par_sort_unstable()
        } else {
            pairs.sort_unstable()
        }
        order.iter_mut().zip(&pairs).for_each(|(order, &pair)| *order = pair as u32);
    }

    /// Writes the first entries of the order of one row: every thread finds the smallest of its part, and the
    /// smallest of those are taken.
    fn select(&self, row: usize, from: Binding, order: &mut [u32], together: bool) {
        let Sort { len, taken, .. } = self.0;
        let part = if together { len.div_ceil(rayon::current_num_threads()) } else { len };
        let least = |start: usize| self.least(row, start..len.min(start + part), from);
        let mut pairs = if part < len {
            (0..len.div_ceil(part)).into_par_iter().map(|n| least(n * part)).collect::<Vec<_>>().concat()
        } else {
            least(0)
        };
        keep(&mut pairs, taken);
        pairs.sort_unstable();
        order.iter_mut().zip(&pairs).for_each(|(order, &pair)| *order = pair as u32);
    }

    /// The smallest keys of a part of a row, as many as are needed, unordered.
    fn least(&self, row: usize, part: std::ops::Range<usize>, from: Binding) -> Vec<u64> {
        let Sort { len, taken, .. } = self.0;
        let key = key(self.0.keys, from.dtype);
        let access = ViewAccess::contiguous((row + 1) * len);
        let room = taken + taken.max(HELD);
        let mut held = Vec::with_capacity(room.min(part.len()));
        // Keys above this are not among the smallest.
        let mut most = u64::MAX;
        let mut words = [0; BLOCK];
        for start in part.clone().step_by(BLOCK) {
            let words = &mut words[..BLOCK.min(part.end - start)];
            let range = DomainRange { start: row * len + start, count: words.len(), fixed: &[] };
            // SAFETY: the program says that this kernel may read the operand.
            unsafe { element_runs::load(&access, range, 0, from, words) };
            words.iter_mut().for_each(|word| *word = key(*word));
            for (n, keys) in words.chunks(LANES).enumerate() {
                // Usually no key qualifies, and one test finds that for the whole block.
                if keys.iter().fold(u32::MAX, |least, &key| least.min(key)) > (most >> 32) as u32 {
                    continue;
                }
                for (&key, position) in keys.iter().zip((start + n * LANES) as u64..) {
                    let pair = (key as u64) << 32 | position;
                    if pair <= most {
                        held.push(pair);
                    }
                    if held.len() == room {
                        keep(&mut held, taken);
                        most = held[taken - 1];
                    }
                }
            }
        }
        keep(&mut held, taken);
        held
    }
}

/// Keeps the `count` smallest, with the largest of them last; if there are no more than `count`, keeps all in
/// their order.
fn keep<T: Ord>(pairs: &mut Vec<T>, count: usize) {
    if pairs.len() > count {
        pairs.select_nth_unstable(count - 1);
        pairs.truncate(count);
    }
}

/// The function from a 32-bit register to an integer with the same order.
fn key(keys: Keys, dtype: DType) -> impl Fn(u32) -> u32 {
    let (float, signed) = (dtype.is_float(), dtype.register() == DType::I32);
    move |word| {
        let key = match keys {
            Keys::Below(size) => return word.min(size as u32),
            _ if float => float_key(word),
            _ if signed => word ^ 1 << 31,
            _ => word,
        };
        if keys == Keys::Descending { !key } else { key }
    }
}

/// The function from a 64-bit register to an integer with the same order.
fn wide_key(keys: Keys, dtype: DType) -> impl Fn(u64) -> u64 {
    move |word| {
        let key = match dtype {
            DType::F64 if f64::from_bits(word).is_nan() => u64::MAX,
            // Zeros are equal.
            DType::F64 if word << 1 == 0 => 1 << 63,
            DType::F64 if word >> 63 == 1 => !word,
            DType::U64 => word,
            _ => word ^ 1 << 63,
        };
        if keys == Keys::Descending { !key } else { key }
    }
}

/// NaN is larger than all numbers, and zeros are equal.
fn float_key(word: u32) -> u32 {
    match word {
        _ if word << 1 > 0xff00_0000 => u32::MAX,
        0x8000_0000 => 0x8000_0000,
        _ if word >> 31 == 1 => !word,
        _ => word | 1 << 31,
    }
}

/// The destination that threads write sorted elements to.
#[derive(Clone, Copy)]
struct Moved(*mut u64);

// SAFETY: an address; threads write to different elements.
unsafe impl Send for Moved {}
// SAFETY: as above.
unsafe impl Sync for Moved {}

impl Moved {
    /// # Safety
    /// The index must be in the allocation, and no other thread may write it.
    #[inline(always)]
    unsafe fn write(self, place: usize, pair: u64) {
        // SAFETY: as promised by the caller.
        unsafe { self.0.add(place).write(pair) };
    }
}

fn digit(pair: u64, pass: u32) -> usize {
    (pair >> (32 + DIGIT * pass)) as usize % DIGITS
}

/// Radix sort by the keys, lowest digit first; it is stable. One thread counts and moves each part.
fn count(pairs: &mut Vec<u64>, parts: usize) {
    let len = pairs.len();
    let part = len.div_ceil(parts);
    let mut other = vec![0; len];
    for pass in 0..32u32.div_ceil(DIGIT) {
        let mut places: Vec<[usize; DIGITS]> = pairs
            .par_chunks(part)
            .map(|part| {
                let mut counts = [0; DIGITS];
                part.iter().for_each(|&pair| counts[digit(pair, pass)] += 1);
                counts
            })
            .collect();
        if (0..DIGITS).any(|digit| places.iter().map(|counts| counts[digit]).sum::<usize>() == len) {
            continue;
        }
        let mut next = 0;
        for digit in 0..DIGITS {
            places.iter_mut().for_each(|counts| next += std::mem::replace(&mut counts[digit], next));
        }
        let moved = Moved(other.as_mut_ptr());
        pairs.par_chunks(part).zip(&mut places).for_each(|(part, places)| {
            for &pair in part {
                let place = &mut places[digit(pair, pass)];
                // SAFETY: indices start at the number of smaller keys and were counted above, so all of them
                // are below `len` and distinct.
                unsafe { moved.write(*place, pair) };
                *place += 1;
            }
        });
        std::mem::swap(pairs, &mut other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_floats() {
        let ascending = [f32::NEG_INFINITY, -2.5, -1e-40, 0.0, 1e-40, 1.0, f32::MAX, f32::INFINITY, f32::NAN];
        let keys: Vec<u32> = ascending.iter().map(|x| float_key(x.to_bits())).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:x?}");
        assert_eq!(float_key((-0.0f32).to_bits()), float_key(0));
        assert_eq!(float_key((-f32::NAN).to_bits()), float_key(f32::NAN.to_bits()));
    }

    #[test]
    fn digits_sort_as_comparing_does() {
        let pairs: Vec<u64> =
            (0..5000u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44 << 32) | i).collect();
        let mut wanted = pairs.clone();
        wanted.sort_unstable();
        for parts in [1, 3, 7] {
            let mut pairs = pairs.clone();
            count(&mut pairs, parts);
            assert_eq!(pairs, wanted);
        }
    }
}
