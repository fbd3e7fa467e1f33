//! Element types, and single values of them.
//!
//! Invariant: arithmetic happens in *registers* ([`DType::register`]). Every device has `f32`, `i32`, `u32` and
//! `bool`; the CPU also has `f64`, `i64` and `u64`. A dtype narrower than its register ([`DType::is_narrow`])
//! is computed in the register, and rounded or wrapped after every op, as if it had been stored. `bf16` is an
//! exception: it can only be stored and cast.

use std::fmt;

/// The type of a tensor's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum DType {
    /// 32-bit float, the default.
    F32,
    /// 16-bit float: stored in two bytes, computed in `f32`.
    F16,
    /// Brain float (bf16): can only be stored and cast.
    BF16,
    /// 64-bit float; CPU only.
    F64,
    /// 32-bit signed integer.
    I32,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit signed integer; CPU only.
    I64,
    /// 64-bit unsigned integer; CPU only.
    U64,
    /// 8-bit signed integer: stored in one byte, computed in `i32`.
    I8,
    /// 16-bit signed integer: stored in two bytes, computed in `i32`; CPU only.
    I16,
    /// 8-bit unsigned integer: stored in one byte, computed in `u32`.
    U8,
    /// 16-bit unsigned integer: stored in two bytes, computed in `u32`; CPU only.
    U16,
    /// Boolean, stored in a 32-bit word on every device.
    Bool,
}

impl DType {
    /// Every dtype, in declaration order.
    pub const ALL: [DType; 13] = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F64,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::I8,
        DType::I16,
        DType::U8,
        DType::U16,
        DType::Bool,
    ];

    /// Bytes per element in device memory.
    pub fn size(self) -> usize {
        match self {
            DType::U8 | DType::I8 => 1,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 2,
            DType::F32 | DType::I32 | DType::U32 | DType::Bool => 4,
            DType::F64 | DType::I64 | DType::U64 => 8,
        }
    }

    /// Whether values are floating point (and so can carry gradients).
    pub fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::BF16 | DType::F64)
    }

    /// Whether values are integers (booleans are not).
    pub fn is_int(self) -> bool {
        !self.is_float() && self != DType::Bool
    }

    /// Whether values are integers that may be negative.
    pub fn is_signed_int(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }

    /// Whether ops compute on it; `bf16` can only be stored and cast.
    pub fn is_compute(self) -> bool {
        self != DType::BF16
    }

    /// Whether GPUs support it; the others are CPU only.
    pub fn is_on_gpus(self) -> bool {
        !self.is_wide() && !matches!(self, DType::I16 | DType::U16)
    }

    /// Whether it is a 16-bit float. A cast to it rounds, because registers have more precision.
    pub fn is_half(self) -> bool {
        matches!(self, DType::F16 | DType::BF16)
    }

    /// Whether it is narrower than its register, so that a cast to it rounds or wraps.
    pub fn is_narrow(self) -> bool {
        self.size() < self.register().size()
    }

    /// Whether its register has 64 bits; such dtypes are CPU only.
    pub fn is_wide(self) -> bool {
        self.register().size() == 8
    }

    /// The type that registers hold for it: `f32`, `i32`, `u32`, `bool`, `f64`, `i64` or `u64`.
    pub fn register(self) -> DType {
        match self {
            DType::F32 | DType::F16 | DType::BF16 => DType::F32,
            DType::I32 | DType::I8 | DType::I16 => DType::I32,
            DType::U32 | DType::U8 | DType::U16 => DType::U32,
            DType::F64 | DType::I64 | DType::U64 | DType::Bool => self,
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
            DType::U64 => "u64",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::Bool => "bool",
        }
    }

    /// The common type that two operands are promoted to; `None` for `u64` with a signed integer.
    ///
    /// | operands | meet in |
    /// |---|---|
    /// | equal | that dtype; `bf16` in `f32` |
    /// | `bool` and another | the other |
    /// | two signed or two unsigned integers | the larger |
    /// | signed and unsigned | the smallest signed that holds both: `u8` and `i8` in `i16`, `u16` and `i16` in `i32`, `u32` and `i8` in `i64` |
    /// | `u32` and `i32` | `i32`, which GPUs have; large numbers wrap |
    /// | `u64` and a signed integer | nothing: no integer holds both |
    /// | an integer and a float | the float, whatever the sizes |
    /// | two floats | the larger; `f16` and `bf16` in `f32` |
    ///
    /// A plain Rust number does not take part in promotion: it takes the tensor's dtype (`&x * 2.0` is `f64` if
    /// `x` is). A fractional number with an integer tensor gives `f32`.
    pub fn promote(self, other: DType) -> Option<DType> {
        let larger = |a: DType, b: DType| if a.size() >= b.size() { a } else { b };
        let met = match (self, other) {
            (DType::Bool, d) | (d, DType::Bool) => d,
            (a, b) if a.is_float() && b.is_float() => match (a, b) {
                (DType::F16, DType::F16) => DType::F16,
                (a, b) if a.is_half() && b.is_half() => DType::F32,
                (a, b) => larger(a, b),
            },
            (a, b) if a.is_float() || b.is_float() => {
                if a.is_float() {
                    a
                } else {
                    b
                }
            }
            (a, b) if a.is_signed_int() == b.is_signed_int() => larger(a, b),
            (a, b) => {
                let (signed, unsigned) = if a.is_signed_int() { (a, b) } else { (b, a) };
                match (signed, unsigned) {
                    (DType::I32, DType::U32) => DType::I32,
                    (_, DType::U8) => larger(signed, DType::I16),
                    (_, DType::U16) => larger(signed, DType::I32),
                    (_, DType::U32) => DType::I64,
                    _ => return None,
                }
            }
        };
        Some(if met == DType::BF16 { DType::F32 } else { met })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One value with its dtype. Floats are stored as bits, so that scalars hash and compare.
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

    /// An integer or boolean of the given dtype; a `u64` as its bits.
    pub fn int(dtype: DType, value: i64) -> Scalar {
        debug_assert!(!dtype.is_float());
        Scalar { dtype, bits: wrap(dtype, value) as u64 }
    }

    /// `value` as a number of `dtype`: integers by [`truncate`], floats in full precision (a number used with
    /// an `f16` tensor is not rounded first).
    pub fn of(dtype: DType, value: f64) -> Scalar {
        if dtype.is_float() {
            Scalar::float(dtype, value)
        } else {
            Scalar::int(dtype, truncate(dtype, value))
        }
    }

    /// The result of [`crate::Op::Cast`] on a device: floats round to the nearest value of the dtype and
    /// truncate to integers; integers wrap.
    pub fn cast(self, to: DType) -> Scalar {
        match (self.dtype.is_float(), to.is_float()) {
            (true, true) => Scalar::float(to, rounded(to, rounded(self.dtype, self.as_f64()))),
            (true, false) => Scalar::of(to, rounded(self.dtype, self.as_f64())),
            (false, true) if to == DType::F64 => Scalar::float(to, self.as_f64()),
            // Through `f32`, in which f16 and bf16 are computed.
            (false, true) if self.dtype == DType::U64 => {
                Scalar::float(to, rounded(to, self.bits as f32 as f64))
            }
            (false, true) => Scalar::float(to, rounded(to, self.as_i64() as f32 as f64)),
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
        match self.dtype {
            DType::U64 => self.bits as f64,
            dtype if dtype.is_float() => f64::from_bits(self.bits),
            _ => self.bits as i64 as f64,
        }
    }

    /// The value as an integer, a `u64` as its bits; floats are truncated.
    pub fn as_i64(self) -> i64 {
        if self.dtype.is_float() { f64::from_bits(self.bits) as i64 } else { self.bits as i64 }
    }

    /// The register that holds it on a device: 32 bits, or 64 for a wide dtype.
    pub fn register(self) -> u64 {
        match self.dtype.register() {
            DType::F32 => (self.as_f64() as f32).to_bits() as u64,
            DType::I32 | DType::U32 | DType::Bool => self.as_i64() as u32 as u64,
            _ => self.bits,
        }
    }

    /// The 32-bit register that holds it on a device; for a wide dtype, the lower half.
    pub fn word(self) -> u32 {
        self.register() as u32
    }

    /// The parameter words of a run that hold it: one, or the lower and the upper half of a wide register.
    pub fn words(self) -> Vec<u32> {
        let register = self.register();
        if self.dtype.is_wide() {
            vec![register as u32, (register >> 32) as u32]
        } else {
            vec![register as u32]
        }
    }

    /// The number in the parameter words of a run, starting at index `at`.
    pub fn from_words(dtype: DType, words: &[u32], at: usize) -> Scalar {
        let wide = || words[at] as u64 | (words[at + 1] as u64) << 32;
        match dtype.register() {
            DType::F32 => Scalar::float(dtype, f32::from_bits(words[at]) as f64),
            DType::F64 => Scalar::float(dtype, f64::from_bits(wide())),
            DType::I64 | DType::U64 => Scalar::int(dtype, wide() as i64),
            DType::I32 => Scalar::int(dtype, words[at] as i32 as i64),
            _ => Scalar::int(dtype, words[at] as i64),
        }
    }

    /// The bytes that hold it in memory.
    pub fn bytes(self) -> Vec<u8> {
        let register = self.register();
        match self.dtype {
            DType::F16 => half::f16::from_f32(f32::from_bits(register as u32)).to_le_bytes().to_vec(),
            DType::BF16 => half::bf16::from_f32(f32::from_bits(register as u32)).to_le_bytes().to_vec(),
            dtype => register.to_le_bytes()[..dtype.size()].to_vec(),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dtype {
            DType::U64 => write!(f, "{}", self.bits),
            dtype if dtype.is_float() => write!(f, "{:?}", self.as_f64()),
            _ => write!(f, "{}", self.as_i64()),
        }
    }
}

/// A float as an integer or boolean: truncated toward zero and clamped to the dtype's range; NaN gives zero. A
/// boolean tests for "not zero". A `u64` is returned as its bits.
pub fn truncate(dtype: DType, x: f64) -> i64 {
    match dtype {
        DType::I8 => x as i8 as i64,
        DType::I16 => x as i16 as i64,
        DType::I32 => x as i32 as i64,
        DType::U8 => x as u8 as i64,
        DType::U16 => x as u16 as i64,
        DType::U32 => x as u32 as i64,
        DType::U64 => x as u64 as i64,
        DType::Bool => (x != 0.0) as i64,
        _ => x as i64,
    }
}

/// The nearest number of a float dtype.
fn rounded(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::F32 => x as f32 as f64,
        DType::F16 => half::f16::from_f32(x as f32).to_f64(),
        DType::BF16 => half::bf16::from_f32(x as f32).to_f64(),
        _ => x,
    }
}

/// Wraps an integer to the range of `dtype` by dropping upper bits, as a device does. A `u64` is passed as its
/// bits.
pub fn wrap(dtype: DType, value: i64) -> i64 {
    match dtype {
        DType::I8 => value as i8 as i64,
        DType::I16 => value as i16 as i64,
        DType::I32 => value as i32 as i64,
        DType::U8 => value as u8 as i64,
        DType::U16 => value as u16 as i64,
        DType::U32 => value as u32 as i64,
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
