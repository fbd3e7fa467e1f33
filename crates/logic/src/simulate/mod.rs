//! Hard circuits on a device: 32 samples of a netlist or 32 cells of an automaton's row per word.
//!
//! A netlist becomes a tape of instructions on numbered slots. On a GPU a short tape is unrolled as WGSL
//! (`text`); a longer one is data that a kernel interprets. The CPU interprets it too, several words at a time.
//! `plain` is the reference, one bit at a time. Start at [`NetlistSimulation`] and [`AutomatonSimulation`].
//!
//! These are tensor ops, for GPUs and for circuits inside a graph. To evaluate circuits on the CPU, `Simulator`
//! and `Grid` of `farad-circuit` are faster. All of them draw the cells that fire from the same counters, so
//! all give the same bits.

mod automaton;
mod netlist;
mod plain;
mod tape;
mod text;

pub use automaton::AutomatonSimulation;
pub use netlist::NetlistSimulation;

/// Samples or cells in a word.
pub const BITS: usize = 32;

/// Rows of bits as words: `[rows, width] -> [rows, ceil(width / 32)]`. Bit `n` of a row is bit `n % 32`
/// of word `n / 32`; bits beyond the width are zero.
///
/// ```
/// use farad_logic::simulate::{pack, unpack};
/// let bits = [true, false, true, false, false, true];
/// assert_eq!(pack(&bits, 3), [0b101, 0b100]);
/// assert_eq!(unpack(&pack(&bits, 3), 3), bits);
/// ```
pub fn pack(bits: &[bool], width: usize) -> Vec<u32> {
    let word = |bits: &[bool]| bits.iter().rev().fold(0, |word, &bit| word << 1 | bit as u32);
    bits.chunks(width.max(1)).flat_map(|row| row.chunks(BITS).map(word)).collect()
}

/// The inverse of [`pack`]. `[rows, ceil(width / 32)] -> [rows, width]`
pub fn unpack(words: &[u32], width: usize) -> Vec<bool> {
    let row = |row: &[u32]| (0..width).map(|n| row[n / BITS] >> (n % BITS) & 1 == 1).collect::<Vec<bool>>();
    words.chunks(width.div_ceil(BITS).max(1)).flat_map(row).collect()
}

/// Which cells fire at some steps of an asynchronous automaton, packed for [`AutomatonSimulation::run`]: those
/// of [`farad_circuit::fire_mask`] with this seed and the step number as counter.
/// `[steps, height, ceil(width / 32)]`
pub fn fire_masks(
    (width, height): (usize, usize),
    rate: f32,
    seed: u64,
    first: u64,
    steps: usize,
) -> Vec<u32> {
    let row = |row: &[u64]| -> Vec<u32> {
        let halves = row.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]);
        halves.take(width.div_ceil(BITS)).collect()
    };
    let step = |step: u64| farad_circuit::fire_mask(width, height, rate, seed, step);
    (first..first + steps as u64)
        .flat_map(|number| step(number).chunks(width.div_ceil(64)).flat_map(row).collect::<Vec<u32>>())
        .collect()
}
