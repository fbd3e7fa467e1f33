//! The element types of ONNX: their numbers in files, their widths, and conversion to them.
//!
//! Invariant: a host array contains only numbers of its kind: code that makes one calls [`Kind::round`] or
//! [`Kind::wrap`].

use std::fmt;

use farad_tensor::DType;
use half::{bf16, f16};

/// How numbers of a kind are stored on the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// As f64.
    Float,
    /// As i64; a u64 as its bits.
    Int,
    /// As 0 or 1.
    Bool,
    /// As a string.
    Text,
}

macro_rules! kinds {
    ($($name:ident $number:literal $text:literal $class:ident $bits:literal $signed:literal;)*) => {
        /// The type of a value's elements.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs)] // the names are self-explanatory
        pub enum Kind { $($name,)* }

        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Kind] = &[$(Kind::$name,)*];

            /// Its number in files.
            pub fn number(self) -> i64 {
                match self { $(Kind::$name => $number,)* }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$name => $text,)* }
            }

            /// How the host stores it.
            pub fn class(self) -> Class {
                match self { $(Kind::$name => Class::$class,)* }
            }

            /// Bits per element in files; zero for strings.
            pub fn bits(self) -> usize {
                match self { $(Kind::$name => $bits,)* }
            }

            /// Whether it has negative numbers.
            pub fn is_signed(self) -> bool {
                match self { $(Kind::$name => $signed,)* }
            }
        }
    };
}

kinds! {
    F32 1 "float" Float 32 true;
    U8 2 "uint8" Int 8 false;
    I8 3 "int8" Int 8 true;
    U16 4 "uint16" Int 16 false;
    I16 5 "int16" Int 16 true;
    I32 6 "int32" Int 32 true;
    I64 7 "int64" Int 64 true;
    Text 8 "string" Text 0 false;
    Bool 9 "bool" Bool 8 false;
    F16 10 "float16" Float 16 true;
    F64 11 "double" Float 64 true;
    U32 12 "uint32" Int 32 false;
    U64 13 "uint64" Int 64 false;
    BF16 16 "bfloat16" Float 16 true;
    F8E4M3FN 17 "float8e4m3fn" Float 8 true;
    F8E4M3FNUZ 18 "float8e4m3fnuz" Float 8 true;
    F8E5M2 19 "float8e5m2" Float 8 true;
    F8E5M2FNUZ 20 "float8e5m2fnuz" Float 8 true;
    U4 21 "uint4" Int 4 false;
    I4 22 "int4" Int 4 true;
    F4E2M1 23 "float4e2m1" Float 4 true;
    F8E8M0 24 "float8e8m0" Float 8 false;
    U2 25 "uint2" Int 2 false;
    I2 26 "int2" Int 2 true;
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Kind {
    /// The kind with this number.
    pub fn of(number: i64) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.number() == number)
    }

    /// The kind whose elements a tensor holds.
    pub fn of_dtype(dtype: DType) -> Kind {
        match dtype {
            DType::F32 => Kind::F32,
            DType::F16 => Kind::F16,
            DType::BF16 => Kind::BF16,
            DType::F64 => Kind::F64,
            DType::I32 => Kind::I32,
            DType::U32 => Kind::U32,
            DType::I64 => Kind::I64,
            DType::U64 => Kind::U64,
            DType::I8 => Kind::I8,
            DType::I16 => Kind::I16,
            DType::U8 => Kind::U8,
            DType::U16 => Kind::U16,
            DType::Bool => Kind::Bool,
        }
    }

    /// The dtype in which devices compute on it, if they do.
    pub fn dtype(self) -> Option<DType> {
        match self {
            Kind::F32 => Some(DType::F32),
            Kind::F16 => Some(DType::F16),
            Kind::I32 => Some(DType::I32),
            Kind::U32 => Some(DType::U32),
            Kind::Bool => Some(DType::Bool),
            _ => None,
        }
    }

    /// Whether values of this kind can be parameters, and so are on the device from the start.
    pub fn is_learned(self) -> bool {
        matches!(self, Kind::F32 | Kind::F16)
    }

    /// Whether it is a float.
    pub fn is_float(self) -> bool {
        self.class() == Class::Float
    }

    /// Whether it is an integer kind.
    pub fn is_int(self) -> bool {
        self.class() == Class::Int
    }

    /// The nearest number of a float kind, ties to even. Beyond the range the result is infinity, or what the
    /// kind has instead.
    pub fn round(self, x: f64) -> f64 {
        match self {
            Kind::F32 => x as f32 as f64,
            Kind::F16 => f16::from_f64(x).to_f64(),
            Kind::BF16 => bf16::from_f64(x).to_f64(),
            Kind::F64 => x,
            small => small.nearest(x, false),
        }
    }

    /// As [`Kind::round`], but kinds of at most eight bits saturate at their largest number.
    pub fn saturate(self, x: f64) -> f64 {
        if self.bits() <= 8 { self.nearest(x, true) } else { self.round(x) }
    }

    /// An integer wrapped to this kind: its lowest bits.
    pub fn wrap(self, x: i64) -> i64 {
        let free = 64 - self.bits().clamp(1, 64) as u32;
        match self {
            Kind::Bool => (x != 0) as i64,
            kind if kind.is_signed() => x << free >> free,
            _ => ((x as u64) << free >> free) as i64,
        }
    }

    /// The smallest and the largest integer of the kind.
    pub fn range(self) -> (i128, i128) {
        let bits = self.bits() as u32;
        match self {
            Kind::Bool => (0, 1),
            kind if kind.is_signed() => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            _ => (0, (1i128 << bits) - 1),
        }
    }

    /// The float that these bits in a file represent.
    pub fn decode(self, bits: u64) -> f64 {
        match self {
            Kind::F32 => f32::from_bits(bits as u32) as f64,
            Kind::F16 => f16::from_bits(bits as u16).to_f64(),
            Kind::BF16 => bf16::from_bits(bits as u16).to_f64(),
            Kind::F64 => f64::from_bits(bits),
            Kind::F8E4M3FN if bits & 0x7f == 0x7f => f64::NAN,
            Kind::F8E4M3FN => small(bits, 4, 3, 7),
            Kind::F8E4M3FNUZ | Kind::F8E5M2FNUZ if bits == 0x80 => f64::NAN,
            Kind::F8E4M3FNUZ => small(bits, 4, 3, 8),
            Kind::F8E5M2 if bits & 0x7f == 0x7c => {
                if bits & 0x80 == 0 {
                    f64::INFINITY
                } else {
                    f64::NEG_INFINITY
                }
            }
            Kind::F8E5M2 if bits & 0x7f > 0x7c => f64::NAN,
            Kind::F8E5M2 => small(bits, 5, 2, 15),
            Kind::F8E5M2FNUZ => small(bits, 5, 2, 16),
            Kind::F4E2M1 => small(bits, 2, 1, 1),
            Kind::F8E8M0 if bits == 0xff => f64::NAN,
            Kind::F8E8M0 => 2f64.powi(bits as i32 - 127),
            _ => bits as i64 as f64,
        }
    }

    /// The bits in a file that represent this float, which must be a number of the kind.
    pub fn encode(self, x: f64) -> u64 {
        match self {
            Kind::F32 => (x as f32).to_bits() as u64,
            Kind::F16 => f16::from_f64(x).to_bits() as u64,
            Kind::BF16 => bf16::from_f64(x).to_bits() as u64,
            Kind::F64 => x.to_bits(),
            kind => {
                let same = |bits: &u64| {
                    let y = kind.decode(*bits);
                    y == x && y.is_sign_negative() == x.is_sign_negative() || y.is_nan() && x.is_nan()
                };
                (0..1 << kind.bits()).find(same).unwrap_or(0)
            }
        }
    }

    /// The nearest number of a kind of at most eight bits.
    fn nearest(self, x: f64, saturate: bool) -> f64 {
        let signless = self == Kind::F8E8M0;
        let codes = if signless { 0..255u64 } else { 0..1 << (self.bits() - 1) };
        // Ascending with their codes; infinities and NaN are at the end.
        let all: Vec<f64> = codes.map(|bits| self.decode(bits)).filter(|y| y.is_finite()).collect();
        let most = all[all.len() - 1];
        let magnitude = if signless { x } else { x.abs() };
        let beyond = match self {
            Kind::F8E5M2 => f64::INFINITY,
            Kind::F4E2M1 => most,
            _ => f64::NAN,
        };
        let after = all.partition_point(|&y| y < magnitude);
        let rounded = if x.is_nan() {
            return if self == Kind::F4E2M1 { most } else { f64::NAN };
        } else if after == all.len() {
            // Up to half a step above the largest number still rounds to it.
            let step = most - all[all.len() - 2];
            if saturate || magnitude <= most + step / 2.0 && magnitude.is_finite() { most } else { beyond }
        } else if after == 0 {
            all[0]
        } else {
            let (below, above) = (all[after - 1], all[after]);
            match (magnitude - below).total_cmp(&(above - magnitude)) {
                std::cmp::Ordering::Less => below,
                std::cmp::Ordering::Greater => above,
                std::cmp::Ordering::Equal if (after - 1).is_multiple_of(2) => below,
                std::cmp::Ordering::Equal => above,
            }
        };
        let no_negative_zero = matches!(self, Kind::F8E4M3FNUZ | Kind::F8E5M2FNUZ) && rounded == 0.0;
        if signless || no_negative_zero { rounded } else { rounded.copysign(x) }
    }
}

/// A float from its sign, exponent and fraction bits.
fn small(bits: u64, exponent: u32, fraction: u32, bias: i32) -> f64 {
    let sign = if bits >> (exponent + fraction) & 1 == 1 { -1.0 } else { 1.0 };
    let power = (bits >> fraction & ((1 << exponent) - 1)) as i32;
    let part = (bits & ((1 << fraction) - 1)) as f64 / (1u64 << fraction) as f64;
    sign * if power == 0 { part * 2f64.powi(1 - bias) } else { (1.0 + part) * 2f64.powi(power - bias) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_floats_are_those_of_their_definitions() {
        assert_eq!(Kind::F8E4M3FN.decode(0x7e), 448.0);
        assert_eq!(Kind::F8E5M2.decode(0x7b), 57344.0);
        assert_eq!(Kind::F8E4M3FN.round(1.0625), 1.0);
        assert_eq!(Kind::F8E4M3FN.saturate(1e9), 448.0);
        assert!(Kind::F8E4M3FN.round(1e9).is_nan());
        assert_eq!(Kind::F4E2M1.round(-5.1), -6.0);
        for kind in
            [Kind::F8E4M3FN, Kind::F8E4M3FNUZ, Kind::F8E5M2, Kind::F8E5M2FNUZ, Kind::F4E2M1, Kind::F8E8M0]
        {
            for bits in 0..1u64 << kind.bits() {
                let x = kind.decode(bits);
                assert!(kind.round(x) == x || x.is_nan() || x.is_infinite(), "{kind} {bits}");
                assert!(kind.encode(x) == bits || x.is_nan(), "{kind} {bits}");
            }
        }
    }

    #[test]
    fn whole_numbers_wrap_to_their_width() {
        assert_eq!(Kind::I8.wrap(200), -56);
        assert_eq!(Kind::U8.wrap(-1), 255);
        assert_eq!(Kind::I4.wrap(9), -7);
        assert_eq!(Kind::U64.wrap(-1), -1);
        assert_eq!(Kind::U64.range(), (0, u64::MAX as i128));
    }
}
