//! The stable order of rows.
//!
//! An element becomes a whole number, its key, whose order is the element's; with its position behind
//! it, no two numbers of a row are equal, so every way of sorting them gives the same, stable order.
//! Rows are shared out; a single long row is sorted by all threads. Start at [`Plan::run`].

use farad_compile::program::{Keys, Sort};
use farad_ir::DType;
use rayon::prelude::*;

use crate::machine::Context;
use crate::storage::{self, Binding};
use crate::view::{Access, Range};

/// Elements below which one thread does it.
const PARALLEL: usize = 1 << 13;
/// Elements below which comparing is quicker than counting digits.
const COUNTED: usize = 512;
/// Threads from which all of them sort a long row quicker than one that counts digits.
const TOGETHER: usize = 4;
/// Bits of a digit.
const DIGIT: u32 = 8;

/// A planned sort.
#[derive(Debug)]
pub struct Plan(Sort);

impl Plan {
    /// Plans a sort.
    pub fn new(sort: &Sort) -> Plan {
        Plan(sort.clone())
    }

    /// Runs the sort.
    pub fn run(&self, context: Context) {
        let Sort { rows, len, operand, order, .. } = self.0;
        let (from, to) = (context.bindings[operand.0 as usize], context.bindings[order.0 as usize]);
        let start = to.words(0, rows * len);
        // SAFETY: the words are checked to be in the buffer, which this kernel alone writes.
        let order = unsafe { std::slice::from_raw_parts_mut(start, rows * len) };
        let threads = rayon::current_num_threads();
        if rows * len < PARALLEL || threads == 1 || rows == 1 {
            let together = len >= PARALLEL && threads >= TOGETHER;
            order.chunks_mut(len).enumerate().for_each(|(row, order)| self.row(row, from, order, together));
        } else {
            let group = (PARALLEL / 4).div_ceil(len);
            order.par_chunks_mut(group * len).enumerate().for_each(|(n, order)| {
                order
                    .chunks_mut(len)
                    .enumerate()
                    .for_each(|(row, order)| self.row(n * group + row, from, order, false));
            });
        }
    }

    /// Writes the order of one row, sorted by all threads together or by this one.
    fn row(&self, row: usize, from: Binding, order: &mut [u32], together: bool) {
        let len = order.len();
        let mut words = vec![0; len];
        let range = Range { start: row * len, count: len, fixed: &[] };
        // SAFETY: the program says that this kernel may read the operand.
        unsafe { storage::load(&Access::contiguous((row + 1) * len), range, 0, from, &mut words) };
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
            _ if together => pairs.par_sort_unstable(),
            0..COUNTED => pairs.sort_unstable(),
            _ => count(&mut pairs),
        }
        order.iter_mut().zip(&pairs).for_each(|(order, &pair)| *order = pair as u32);
    }
}

/// What turns a register's word into a number of the same order.
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

/// NaN is larger than all numbers, and zeros are equal.
fn float_key(word: u32) -> u32 {
    match word {
        _ if word << 1 > 0xff00_0000 => u32::MAX,
        0x8000_0000 => 0x8000_0000,
        _ if word >> 31 == 1 => !word,
        _ => word | 1 << 31,
    }
}

/// Sorts by the keys, digit by digit from the lowest; positions stay in order where keys are equal.
fn count(pairs: &mut Vec<u64>) {
    let digit = |pair: u64, pass: u32| (pair >> (32 + DIGIT * pass)) as usize % (1 << DIGIT);
    let mut counts = [[0usize; 1 << DIGIT]; (32 / DIGIT) as usize];
    for &pair in pairs.iter() {
        counts.iter_mut().zip(0..).for_each(|(counts, pass)| counts[digit(pair, pass)] += 1);
    }
    let mut moved = vec![0; pairs.len()];
    for (counts, pass) in counts.iter_mut().zip(0..) {
        if counts.contains(&pairs.len()) {
            continue;
        }
        let mut next = 0;
        for count in counts.iter_mut() {
            next += std::mem::replace(count, next);
        }
        for &pair in pairs.iter() {
            let place = &mut counts[digit(pair, pass)];
            moved[*place] = pair;
            *place += 1;
        }
        std::mem::swap(pairs, &mut moved);
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
        let mut pairs: Vec<u64> =
            (0..5000u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44 << 32) | i).collect();
        let mut wanted = pairs.clone();
        wanted.sort_unstable();
        count(&mut pairs);
        assert_eq!(pairs, wanted);
    }
}
