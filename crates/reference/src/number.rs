//! Elements as numbers: conversion between every dtype and `f64`.
//!
//! Invariant: an `f64` holds every dtype exactly except 64-bit integers. Those are stored as their bit pattern,
//! which is only copied; [`to_whole`] turns it back into an integer.

use farad_ir::{DType, Scalar, truncate, wrap};
use half::{bf16, f16};

/// Whether numbers of this dtype are stored as their bit pattern.
fn by_bits(dtype: DType) -> bool {
    matches!(dtype, DType::I64 | DType::U64)
}

/// The integer value of a number of this dtype; a `u64` as its bits.
pub(crate) fn to_whole(dtype: DType, x: f64) -> i64 {
    if by_bits(dtype) { x.to_bits() as i64 } else { x as i64 }
}

/// An integer as a number of this dtype.
pub(crate) fn from_whole(dtype: DType, x: i64) -> f64 {
    if by_bits(dtype) { f64::from_bits(x as u64) } else { x as f64 }
}

/// A parameter or a constant, as a register of this type holds it.
pub(crate) fn given(dtype: DType, scalar: Scalar) -> f64 {
    if by_bits(dtype) {
        return from_whole(dtype, scalar.cast(dtype).as_i64());
    }
    stored(dtype, scalar.as_f64())
}

/// Appends the bytes of a number in this dtype.
pub fn encode(dtype: DType, x: f64, to: &mut Vec<u8>) {
    match dtype {
        DType::F32 => to.extend((x as f32).to_le_bytes()),
        DType::F16 => to.extend(f16::from_f64(x).to_le_bytes()),
        DType::BF16 => to.extend(bf16::from_f64(x).to_le_bytes()),
        DType::F64 | DType::I64 | DType::U64 => to.extend(x.to_bits().to_le_bytes()),
        dtype => to.extend_from_slice(&(x as i64).to_le_bytes()[..dtype.size()]),
    }
}

/// Decodes bytes to numbers; an incomplete last element is ignored.
pub fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    fn all<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        let (whole, _) = bytes.as_chunks::<N>();
        whole.iter().map(|bytes| number(*bytes)).collect()
    }
    match dtype {
        DType::F32 => all(bytes, |b| f32::from_le_bytes(b) as f64),
        DType::F16 => all(bytes, |b| f16::from_le_bytes(b).to_f64()),
        DType::BF16 => all(bytes, |b| bf16::from_le_bytes(b).to_f64()),
        DType::F64 | DType::I64 | DType::U64 => all(bytes, |b| f64::from_bits(u64::from_le_bytes(b))),
        DType::I32 => all(bytes, |b| i32::from_le_bytes(b) as f64),
        DType::U32 | DType::Bool => all(bytes, |b| u32::from_le_bytes(b) as f64),
        DType::I16 => all(bytes, |b| i16::from_le_bytes(b) as f64),
        DType::U16 => all(bytes, |b| u16::from_le_bytes(b) as f64),
        DType::I8 => bytes.iter().map(|&b| b as i8 as f64).collect(),
        DType::U8 => bytes.iter().map(|&b| b as f64).collect(),
    }
}

/// A number as memory of this dtype holds it in this backend: f16 and bf16 are rounded, integers wrap, other
/// floats stay `f64`.
pub fn stored(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::F16 => f16::from_f64(x).to_f64(),
        DType::BF16 => bf16::from_f64(x).to_f64(),
        DType::F32 | DType::F64 | DType::I64 | DType::U64 => x,
        dtype => wrap(dtype, x as i64) as f64,
    }
}

/// A register of type `from` cast to a dtype.
pub(crate) fn cast(from: DType, to: DType, x: f64) -> f64 {
    if !from.is_float() && !to.is_float() {
        return from_whole(to, wrap(to, to_whole(from, x)));
    }
    match to {
        DType::F32 | DType::F64 | DType::F16 | DType::BF16 => {
            let x = if from.is_float() { x } else { Scalar::int(from, to_whole(from, x)).as_f64() };
            stored(to, x)
        }
        to => from_whole(to, truncate(to, x)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_goes_in_and_out() {
        let all = [
            (DType::F32, 1.5),
            (DType::F16, -0.25),
            (DType::BF16, 8.0),
            (DType::F64, 0.1),
            (DType::I32, -7.0),
            (DType::U32, 4_000_000_000.0),
            (DType::I64, f64::from_bits(-9_000_000_000i64 as u64)),
            (DType::U64, f64::from_bits((1 << 62) + 1)),
            (DType::I8, -128.0),
            (DType::I16, -32_768.0),
            (DType::U16, 65_535.0),
            (DType::U8, 255.0),
            (DType::Bool, 1.0),
        ];
        for (dtype, x) in all {
            let mut bytes = Vec::new();
            encode(dtype, x, &mut bytes);
            assert_eq!(bytes.len(), dtype.size(), "{dtype}");
            assert_eq!(decode(dtype, &bytes)[0].to_bits(), x.to_bits(), "{dtype}");
            assert_eq!(stored(dtype, x).to_bits(), x.to_bits(), "{dtype}");
        }
    }

    #[test]
    fn only_halves_are_rounded() {
        assert_eq!(stored(DType::F32, 0.1), 0.1);
        assert_eq!(stored(DType::F16, 0.1), f16::from_f64(0.1).to_f64());
        assert_eq!(cast(DType::F32, DType::I32, 3e9), i32::MAX as f64);
        assert_eq!(cast(DType::I32, DType::U8, 257.0), 1.0);
    }

    #[test]
    fn integers_of_64_bits_are_exact() {
        let large = (1i64 << 53) + 1;
        let x = from_whole(DType::I64, large);
        assert_eq!(
            to_whole(DType::I64, cast(DType::U64, DType::I64, cast(DType::I64, DType::U64, x))),
            large
        );
        assert_eq!(cast(DType::I64, DType::I32, x), 1.0);
        assert_eq!(cast(DType::I64, DType::F64, x), large as f64);
        assert_eq!(to_whole(DType::U64, cast(DType::F32, DType::U64, -3.0)), 0);
    }
}
