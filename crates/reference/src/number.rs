//! Elements as numbers: every dtype in and out of `f64`.

use farad_ir::{DType, wrap};
use half::{bf16, f16};

/// The bytes of a number as a dtype holds it.
pub fn encode(dtype: DType, x: f64, to: &mut Vec<u8>) {
    match dtype {
        DType::F32 => to.extend((x as f32).to_le_bytes()),
        DType::F16 => to.extend(f16::from_f64(x).to_le_bytes()),
        DType::BF16 => to.extend(bf16::from_f64(x).to_le_bytes()),
        DType::F64 => to.extend(x.to_le_bytes()),
        DType::I32 => to.extend((x as i64 as i32).to_le_bytes()),
        DType::U32 | DType::Bool => to.extend((x as i64 as u32).to_le_bytes()),
        DType::I64 => to.extend((x as i64).to_le_bytes()),
        DType::U8 => to.push(x as i64 as u8),
    }
}

/// The numbers that bytes stand for; what is left over of the last one is not looked at.
pub fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    fn all<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        let (whole, _) = bytes.as_chunks::<N>();
        whole.iter().map(|bytes| number(*bytes)).collect()
    }
    match dtype {
        DType::F32 => all(bytes, |b| f32::from_le_bytes(b) as f64),
        DType::F16 => all(bytes, |b| f16::from_le_bytes(b).to_f64()),
        DType::BF16 => all(bytes, |b| bf16::from_le_bytes(b).to_f64()),
        DType::F64 => all(bytes, f64::from_le_bytes),
        DType::I32 => all(bytes, |b| i32::from_le_bytes(b) as f64),
        DType::U32 | DType::Bool => all(bytes, |b| u32::from_le_bytes(b) as f64),
        DType::I64 => all(bytes, |b| i64::from_le_bytes(b) as f64),
        DType::U8 => bytes.iter().map(|&b| b as f64).collect(),
    }
}

/// A number as memory of this dtype holds it here: halves are rounded, whole numbers wrap, other floats stay.
pub fn stored(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::F16 => f16::from_f64(x).to_f64(),
        DType::BF16 => bf16::from_f64(x).to_f64(),
        DType::F32 | DType::F64 => x,
        dtype => wrap(dtype, x as i64) as f64,
    }
}

/// A number from memory as a register holds it: whole numbers of 64 bits lose their upper half, as on every device.
pub(crate) fn loaded(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::I64 => wrap(DType::I32, x as i64) as f64,
        _ => x,
    }
}

/// A register of type `from` cast to a dtype.
pub(crate) fn cast(from: DType, to: DType, x: f64) -> f64 {
    match to {
        DType::Bool => (x != 0.0) as u8 as f64,
        DType::F32 | DType::F64 => x,
        DType::F16 | DType::BF16 => stored(to, x),
        DType::I32 | DType::I64 if from == DType::F32 => x as i32 as f64,
        DType::U32 if from == DType::F32 => x as u32 as f64,
        DType::U8 if from == DType::F32 => x as u8 as f64,
        to => wrap(to.register(), wrap(to, x as i64)) as f64,
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
            (DType::I64, -9_000_000_000.0),
            (DType::U8, 255.0),
            (DType::Bool, 1.0),
        ];
        for (dtype, x) in all {
            let mut bytes = Vec::new();
            encode(dtype, x, &mut bytes);
            assert_eq!((bytes.len(), decode(dtype, &bytes)), (dtype.size(), vec![x]), "{dtype}");
            assert_eq!(stored(dtype, x), x, "{dtype}");
        }
    }

    #[test]
    fn only_halves_are_rounded() {
        assert_eq!(stored(DType::F32, 0.1), 0.1);
        assert_eq!(stored(DType::F16, 0.1), f16::from_f64(0.1).to_f64());
        assert_eq!(cast(DType::F32, DType::I32, 3e9), i32::MAX as f64);
        assert_eq!(cast(DType::I32, DType::U8, 257.0), 1.0);
        assert_eq!(loaded(DType::I64, 4_294_967_297.0), 1.0);
    }
}
