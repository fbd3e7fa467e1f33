//! Numbers that ranks can add up.
//!
//! Its functions are inlined: a call per number takes ten times as long as the sum.

use bytemuck::Pod;
use half::f16;

/// A number that collectives take. f16 and bf16 are summed in `f32`, all others in their own type.
pub trait Summable: Pod + Send + PartialOrd {
    /// What sums are kept in.
    type Wide: Copy + Send + PartialOrd + std::ops::Add<Output = Self::Wide>;

    /// The number as sums are kept.
    fn widen(self) -> Self::Wide;

    /// A sum as a number.
    fn narrow(wide: Self::Wide) -> Self;

    /// A sum divided by a count; whole numbers are cut towards zero.
    fn divide(wide: Self::Wide, count: usize) -> Self::Wide;
}

macro_rules! as_they_are {
    ($($type:ty),*) => {$(
        impl Summable for $type {
            type Wide = $type;
            #[inline]
            fn widen(self) -> $type {
                self
            }
            #[inline]
            fn narrow(wide: $type) -> $type {
                wide
            }
            #[inline]
            fn divide(wide: $type, count: usize) -> $type {
                wide / count as $type
            }
        }
    )*};
}

as_they_are!(f32, f64, i32, i64, u32, u64);

impl Summable for f16 {
    type Wide = f32;
    #[inline]
    fn widen(self) -> f32 {
        self.to_f32()
    }
    #[inline]
    fn narrow(wide: f32) -> f16 {
        f16::from_f32(wide)
    }
    #[inline]
    fn divide(wide: f32, count: usize) -> f32 {
        wide / count as f32
    }
}

/// Bytes are for moving; their sums wrap around at nothing, since they are kept wide.
impl Summable for u8 {
    type Wide = u64;
    fn widen(self) -> u64 {
        u64::from(self)
    }
    fn narrow(wide: u64) -> u8 {
        wide.min(255) as u8
    }
    fn divide(wide: u64, count: usize) -> u64 {
        wide / count as u64
    }
}
