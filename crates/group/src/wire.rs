//! Numbers as f16 on their way between ranks: half the bytes, and an error that is known.
//!
//! Every rank sends each share with a scale of its own, a power of two that brings the share's largest number to 2^14 or
//! more, and below 2^15. So nothing overflows. A number is off by at most 2^-11 of itself, or by 2^-39 of the largest one of its
//! share if that is more. A mean is rounded twice: once by every rank, once when it goes to all. Sums are made in f32.
//! What is not finite arrives as it is.
//!
//! Invariant: all ranks come to the same bits, also the one that made them.

use half::f16;
use half::slice::HalfFloatSliceExt;

use crate::collective::{Combine, combine, share};
use crate::engine::{GroupEngine, Membership};
use crate::error::Result;

/// Where the largest number of a share goes: 2 to this power, or up to twice that.
const PLACE: i32 = 14;
/// Bytes of a scale.
const SCALE: usize = 4;
/// Numbers that are packed together, so that they stay in the cache.
const TOGETHER: usize = 1024;

/// The mean of all ranks' numbers, on every rank, in place.
pub(crate) fn mean(engine: &mut dyn GroupEngine, numbers: &mut [f32]) -> Result<()> {
    mean_of_share(engine, numbers)?;
    let Membership { rank, size, .. } = *engine.membership();
    let len = numbers.len();
    let lengths = lengths(len, size);
    let (mut mine, mut all) = (Vec::with_capacity(lengths[rank]), vec![0; lengths.iter().sum()]);
    pack(&numbers[share(len, size, rank)], &mut mine);
    engine.all_gather(&mine, &lengths, &mut all)?;
    let mut rest = &all[..];
    for (rank, length) in lengths.into_iter().enumerate() {
        let (part, more) = rest.split_at(length);
        unpack(part, &mut numbers[share(len, size, rank)]);
        rest = more;
    }
    Ok(())
}

/// The mean in this rank's share of the numbers, in place.
pub(crate) fn mean_of_share(engine: &mut dyn GroupEngine, numbers: &mut [f32]) -> Result<()> {
    let Membership { rank: own, size, .. } = *engine.membership();
    let len = numbers.len();
    let mut parts = Vec::with_capacity(lengths(len, size).iter().sum());
    let mut ranges = Vec::with_capacity(size);
    for rank in 0..size {
        let from = parts.len();
        pack(&numbers[share(len, size, rank)], &mut parts);
        ranges.push(from..parts.len());
    }
    let mean = &mut numbers[share(len, size, own)];
    engine.exchange(&mut parts, &ranges, &mut |mine, others| {
        unpack(mine, mean);
        let unpacked = |part: &&[u8]| {
            let mut numbers = vec![0.0; mean.len()];
            unpack(part, &mut numbers);
            numbers
        };
        let others: Vec<Vec<f32>> = others.iter().map(unpacked).collect();
        let others: Vec<&[f32]> = others.iter().map(Vec::as_slice).collect();
        combine(mean, &others, own, Combine::Mean);
    })
}

/// Bytes that go to each rank.
fn lengths(len: usize, size: usize) -> Vec<usize> {
    (0..size).map(|rank| SCALE + 2 * share(len, size, rank).len()).collect()
}

/// Appends the scale of some numbers, and the numbers times it.
fn pack(numbers: &[f32], bytes: &mut Vec<u8>) {
    let scale = scale_of(numbers);
    bytes.extend_from_slice(&scale.to_ne_bytes());
    let (mut scaled, mut halves) = ([0.0; TOGETHER], [f16::ZERO; TOGETHER]);
    for numbers in numbers.chunks(TOGETHER) {
        let (scaled, halves) = (&mut scaled[..numbers.len()], &mut halves[..numbers.len()]);
        // Times 1 changes nothing.
        scaled.iter_mut().zip(numbers).for_each(|(scaled, number)| *scaled = number * scale);
        halves.convert_from_f32_slice(scaled);
        bytes.extend_from_slice(bytemuck::cast_slice(halves));
    }
}

/// The power of two by which numbers are multiplied.
fn scale_of(numbers: &[f32]) -> f32 {
    // The largest bits without a sign are those of the largest number, or of one that is not finite.
    let largest = numbers.iter().map(|number| number.to_bits() & 0x7fff_ffff).max().unwrap_or(0);
    let exponent = (largest >> 23) as i32 - 127;
    if largest == 0 || exponent == 128 { 1.0 } else { 2f32.powi((PLACE - exponent).min(126)) }
}

/// The numbers that [`pack`] made bytes of.
fn unpack(bytes: &[u8], into: &mut [f32]) {
    let (scale, rest) = bytes.split_at(SCALE);
    let factor = f32::from_ne_bytes(scale.try_into().expect("four bytes")).recip();
    let mut halves = [f16::ZERO; TOGETHER];
    for (bytes, into) in rest.chunks(2 * TOGETHER).zip(into.chunks_mut(TOGETHER)) {
        let halves = &mut halves[..into.len()];
        // Copied, as bytes need not be aligned.
        bytemuck::cast_slice_mut(halves).copy_from_slice(bytes);
        halves.convert_to_f32_slice(into);
        into.iter_mut().for_each(|number| *number *= factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(numbers: &[f32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(numbers, &mut bytes);
        bytes
    }

    /// As the module says it, for numbers of very different sizes.
    #[test]
    fn the_error_is_what_is_said() {
        for exponent in [-140, -60, -10, 0, 20, 100, 126] {
            let largest = 2f64.powi(exponent) * 1.37;
            let numbers: Vec<f32> = (0..4_000)
                .map(|n| {
                    let size = largest * 2f64.powf(-(n as f64) / 80.0);
                    (if n % 3 == 0 { -size } else { size }) as f32
                })
                .collect();
            let mut found = vec![0.0; numbers.len()];
            unpack(&packed(&numbers), &mut found);
            let least = if exponent < -100 { f64::from(f32::MIN_POSITIVE) } else { 0.0 };
            for (number, found) in numbers.iter().zip(found) {
                let (number, off) = (f64::from(*number).abs(), (f64::from(*number) - f64::from(found)).abs());
                let allowed = (number * 2f64.powi(-11)).max(largest * 2f64.powi(-39)).max(least);
                assert!(off <= allowed, "{number:e} is off by {off:e}, not {allowed:e}");
            }
        }
    }

    #[test]
    fn what_is_not_finite_arrives() {
        let mut found = [0.0; 4];
        unpack(&packed(&[1.0, f32::INFINITY, f32::NAN, -0.5]), &mut found);
        assert!(found[0] == 1.0 && found[1] == f32::INFINITY && found[2].is_nan() && found[3] == -0.5);
        unpack(&packed(&[0.0; 4]), &mut found);
        assert_eq!(found, [0.0; 4]);
    }
}
