//! Element types, and single values of them.
//!
//! Invariant: *compute* types ([`DType::F32`], [`DType::I32`], [`DType::U32`], [`DType::Bool`]) are
//! what arithmetic happens in; `f16` is computed in `f32` and rounded when stored; the rest are
//! storage only and must be cast before use.

use std::fmt;

/// The type of a tensor's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum DType {
    /// 32-bit float, the default.
    F32,
    /// 16-bit float: stored in two bytes, computed in `f32`.
    F16,
    /// Brain float: storage only.
    BF16,
    /// 64-bit float: storage only.
    F64,
    /// 32-bit signed integer.
    I32,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit signed integer: storage only.
    I64,
    /// Byte: storage only.
    U8,
    /// Truth value, stored in a 32-bit word on every device.
    Bool,
}

impl DType {
    /// Every dtype, in declaration order.
    pub const ALL: [DType; 9] = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F64,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U8,
        DType::Bool,
    ];

    /// Bytes an element takes in device memory.
    pub fn size(self) -> usize {
        match self {
            DType::U8 => 1,
            DType::F16 | DType::BF16 => 2,
            DType::F32 | DType::I32 | DType::U32 | DType::Bool => 4,
            DType::F64 | DType::I64 => 8,
        }
    }

    /// Whether values are floating point (and so can carry gradients).
    pub fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::BF16 | DType::F64)
    }

    /// Whether values are integers (truth values are not).
    pub fn is_int(self) -> bool {
        matches!(self, DType::I32 | DType::U32 | DType::I64 | DType::U8)
    }

    /// Whether ops compute on it; the others are stored and cast only.
    pub fn is_compute(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::I32 | DType::U32 | DType::Bool)
    }

    /// Whether GPUs hold it too; the others live on the CPU.
    pub fn is_on_gpus(self) -> bool {
        self.is_compute() || self == DType::BF16
    }

    /// Whether it is a float of two bytes: registers hold more of it, so that a cast to it rounds.
    pub fn is_half(self) -> bool {
        matches!(self, DType::F16 | DType::BF16)
    }

    /// The type that registers hold for it: `f32`, `i32`, `u32` or `bool`.
    pub fn register(self) -> DType {
        match self {
            DType::F32 | DType::F16 | DType::BF16 | DType::F64 => DType::F32,
            DType::I32 | DType::I64 => DType::I32,
            DType::U32 | DType::U8 => DType::U32,
            DType::Bool => DType::Bool,
        }
    }

    /// Lower-case name, as printed and stored.
    pub fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F64 => "f64",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    /// The type two operands meet in: bool < u32 < i32 < f16 < f32, storage types by their register.
    pub fn promote(self, other: DType) -> DType {
        fn rank(d: DType) -> u8 {
            match d {
                DType::Bool => 0,
                DType::U8 | DType::U32 => 1,
                DType::I32 | DType::I64 => 2,
                DType::F16 => 3,
                DType::BF16 | DType::F32 | DType::F64 => 4,
            }
        }
        match rank(self).max(rank(other)) {
            0 => DType::Bool,
            1 => DType::U32,
            2 => DType::I32,
            3 => DType::F16,
            _ => DType::F32,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One value with its dtype. Floats are kept by bits so that scalars hash and compare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Scalar {
    /// The element type.
    pub dtype: DType,
    bits: u64,
}

impl Scalar {
    /// A float of the given dtype.
    pub fn float(dtype: DType, value: f64) -> Scalar {
        debug_assert!(dtype.is_float());
        Scalar { dtype, bits: value.to_bits() }
    }

    /// An integer or truth value of the given dtype.
    pub fn int(dtype: DType, value: i64) -> Scalar {
        debug_assert!(!dtype.is_float());
        Scalar { dtype, bits: wrap(dtype, value) as u64 }
    }

    /// `value` as a number of `dtype`: integers by [`truncate`], floats kept whole (a number beside
    /// an `f16` tensor is not rounded before it is used).
    pub fn of(dtype: DType, value: f64) -> Scalar {
        if dtype.is_float() {
            Scalar::float(dtype, value)
        } else {
            Scalar::int(dtype, truncate(dtype, value))
        }
    }

    /// What [`crate::Op::Cast`] makes of it on a device: floats are rounded to the nearest that the
    /// dtype has and truncate to integers, integers wrap.
    pub fn cast(self, to: DType) -> Scalar {
        match (self.dtype.is_float(), to.is_float()) {
            (true, true) => Scalar::float(to, rounded(to, rounded(self.dtype, self.as_f64()))),
            (true, false) => Scalar::of(to, rounded(self.dtype, self.as_f64())),
            (false, true) => Scalar::float(to, rounded(to, self.as_i64() as f64)),
            (false, false) => Scalar::int(to, self.as_i64()),
        }
    }

    /// An `f32`.
    pub fn f32(value: f32) -> Scalar {
        Scalar::float(DType::F32, value as f64)
    }

    /// A `u32`.
    pub fn u32(value: u32) -> Scalar {
        Scalar::int(DType::U32, value as i64)
    }

    /// The value as a float, whatever the dtype.
    pub fn as_f64(self) -> f64 {
        if self.dtype.is_float() { f64::from_bits(self.bits) } else { self.bits as i64 as f64 }
    }

    /// The value as an integer; floats are truncated.
    pub fn as_i64(self) -> i64 {
        if self.dtype.is_float() { f64::from_bits(self.bits) as i64 } else { self.bits as i64 }
    }

    /// The 32-bit register that holds it on a device.
    pub fn word(self) -> u32 {
        match self.dtype.register() {
            DType::F32 => (self.as_f64() as f32).to_bits(),
            DType::I32 => self.as_i64() as i32 as u32,
            _ => self.as_i64() as u32,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dtype.is_float() { write!(f, "{:?}", self.as_f64()) } else { write!(f, "{}", self.as_i64()) }
    }
}

/// A float as an integer or truth value: truncated toward zero, held inside the dtype's range, NaN
/// to zero. A truth value is "not zero".
pub fn truncate(dtype: DType, x: f64) -> i64 {
    match dtype {
        DType::I32 => x as i32 as i64,
        DType::U32 => x as u32 as i64,
        DType::U8 => x as u8 as i64,
        DType::Bool => (x != 0.0) as i64,
        _ => x as i64,
    }
}

/// The nearest number that a float dtype has.
fn rounded(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::F32 => x as f32 as f64,
        DType::F16 => half::f16::from_f32(x as f32).to_f64(),
        DType::BF16 => half::bf16::from_f32(x as f32).to_f64(),
        _ => x,
    }
}

/// Brings an integer into the range of `dtype`, as the device's 32-bit arithmetic would.
pub fn wrap(dtype: DType, value: i64) -> i64 {
    match dtype {
        DType::I32 => value as i32 as i64,
        DType::U32 => value as u32 as i64,
        DType::U8 => value as u8 as i64,
        DType::Bool => (value != 0) as i64,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_of_constants_are_the_devices() {
        let whole = |x: f64, to| Scalar::f32(x as f32).cast(to).as_i64();
        assert_eq!(whole(3e9, DType::I32), i32::MAX as i64);
        assert_eq!(whole(-3e9, DType::I32), i32::MIN as i64);
        assert_eq!(whole(-1.0, DType::U32), 0);
        assert_eq!(whole(1e10, DType::U32), u32::MAX as i64);
        assert_eq!(whole(f64::NAN, DType::I32), 0);
        assert_eq!(Scalar::int(DType::I32, -1).cast(DType::U32).as_i64(), u32::MAX as i64);
        assert_eq!(Scalar::int(DType::I32, 2049).cast(DType::F16).as_f64(), 2048.0);
        assert_eq!(Scalar::f32(1e6).cast(DType::F16).as_f64(), f64::INFINITY);
        assert_eq!(Scalar::float(DType::F16, 0.1).cast(DType::F32).as_f64(), 0.0999755859375);
    }
}
