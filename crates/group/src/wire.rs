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
use crate::engine::GroupEngine;
use crate::error::Result;

/// Where the largest number of a share goes: 2 to this power, or up to twice that.
const PLACE: i32 = 14;
/// Bytes of a scale.
const SCALE: usize = 4;

/// The mean of all ranks' numbers, on every rank.
pub(crate) fn all_reduce(engine: &mut dyn GroupEngine, numbers: &mut [f32]) -> Result<()> {
    let mine = share_of_mean(engine, numbers)?;
    let size = engine.membership().size;
    let len = numbers.len();
    let lengths = lengths(len, size);
    let mut all = vec![0; lengths.iter().sum()];
    engine.all_gather(&packed(&mine), &lengths, &mut all)?;
    let mut rest = &all[..];
    for (rank, length) in lengths.into_iter().enumerate() {
        let (part, more) = rest.split_at(length);
        unpack(part, &mut numbers[share(len, size, rank)]);
        rest = more;
    }
    Ok(())
}

/// This rank's share of the mean.
pub(crate) fn share_of_mean(engine: &mut dyn GroupEngine, numbers: &[f32]) -> Result<Vec<f32>> {
    let place = engine.membership();
    let lengths = lengths(numbers.len(), place.size);
    let mut parts = Vec::with_capacity(lengths.iter().sum());
    for rank in 0..place.size {
        parts.extend_from_slice(&packed(&numbers[share(numbers.len(), place.size, rank)]));
    }
    let mine = share(numbers.len(), place.size, place.rank).len();
    let mut found = vec![0; lengths[place.rank] * place.size];
    engine.exchange(&parts, &lengths, &mut found)?;
    let mut all = vec![0.0; mine * place.size];
    for (rank, part) in found.chunks(lengths[place.rank]).enumerate() {
        unpack(part, &mut all[rank * mine..][..mine]);
    }
    let mut mean = vec![0.0; mine];
    combine(&all, &mut mean, Combine::Mean, place.size);
    Ok(mean)
}

/// Bytes that go to each rank.
fn lengths(len: usize, size: usize) -> Vec<usize> {
    (0..size).map(|rank| SCALE + 2 * share(len, size, rank).len()).collect()
}

/// The scale of some numbers, and the numbers times it.
fn packed(numbers: &[f32]) -> Vec<u8> {
    let scale = scale_of(numbers);
    let mut halves = vec![f16::ZERO; numbers.len()];
    if scale == 1.0 {
        halves.convert_from_f32_slice(numbers);
    } else {
        let scaled: Vec<f32> = numbers.iter().map(|number| number * scale).collect();
        halves.convert_from_f32_slice(&scaled);
    }
    let mut bytes = Vec::with_capacity(SCALE + 2 * numbers.len());
    bytes.extend_from_slice(&scale.to_ne_bytes());
    bytes.extend_from_slice(bytemuck::cast_slice(&halves));
    bytes
}

/// The power of two by which numbers are multiplied.
fn scale_of(numbers: &[f32]) -> f32 {
    // The largest bits without a sign are those of the largest number, or of one that is not finite.
    let largest = numbers.iter().map(|number| number.to_bits() & 0x7fff_ffff).max().unwrap_or(0);
    let exponent = (largest >> 23) as i32 - 127;
    if largest == 0 || exponent == 128 { 1.0 } else { 2f32.powi((PLACE - exponent).min(126)) }
}

/// The numbers that [`packed`] made bytes of.
fn unpack(bytes: &[u8], into: &mut [f32]) {
    let (scale, halves) = bytes.split_at(SCALE);
    let scale = f32::from_ne_bytes(scale.try_into().expect("four bytes"));
    // Copied, as bytes need not be aligned.
    let halves: Vec<f16> = bytemuck::pod_collect_to_vec(halves);
    halves.convert_to_f32_slice(into);
    if scale != 1.0 {
        let factor = scale.recip();
        into.iter_mut().for_each(|number| *number *= factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
