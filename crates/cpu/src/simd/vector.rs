//! Vectors of floats: sixteen or eight lanes with intrinsics, or an array of four that the compiler vectorizes.
//!
//! Invariant: lanes beyond a mask are neither read nor written. Start at [`Vector`].

use half::{bf16, f16};

/// A vector of floats. All functions are `unsafe` because the machine must have its instructions.
pub trait Vector: Copy {
    const LANES: usize;
    /// Selects a number of leading lanes.
    type Mask: Copy;
    unsafe fn mask(len: usize) -> Self::Mask;
    unsafe fn zero() -> Self;
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    /// The other lanes are zero and are not read.
    unsafe fn load_some(from: *const f32, mask: Self::Mask) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn store_some(self, to: *mut f32, mask: Self::Mask);
    /// Widened on the way.
    unsafe fn load_f16(from: *const f16) -> Self;
    /// Widened on the way.
    unsafe fn load_bf16(from: *const bf16) -> Self;
    /// Widened on the way.
    unsafe fn load_i8(from: *const i8) -> Self;
    /// Asks for memory that is read soon. Any address will do.
    unsafe fn prefetch(from: *const u8);
    unsafe fn add(self, other: Self) -> Self;
    /// `self · b + c`
    unsafe fn multiply_add(self, b: Self, c: Self) -> Self;
    unsafe fn sum(self) -> f32;
}

/// For machines without intrinsics here; the compiler vectorizes it.
impl Vector for [f32; 4] {
    const LANES: usize = 4;
    type Mask = usize;
    #[inline(always)]
    unsafe fn mask(len: usize) -> usize {
        len
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        [0.0; 4]
    }
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        [x; 4]
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: promised by the caller.
        unsafe { from.cast::<[f32; 4]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn load_some(from: *const f32, mask: usize) -> Self {
        // SAFETY: promised by the caller.
        std::array::from_fn(|i| if i < mask { unsafe { *from.add(i) } } else { 0.0 })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: promised by the caller.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self) }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const f16) -> Self {
        // SAFETY: promised by the caller.
        unsafe { from.cast::<[f16; 4]>().read_unaligned() }.map(f16::to_f32)
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const bf16) -> Self {
        // SAFETY: promised by the caller.
        unsafe { from.cast::<[u16; 4]>().read_unaligned() }.map(|x| f32::from_bits(u32::from(x) << 16))
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const i8) -> Self {
        // SAFETY: promised by the caller.
        unsafe { from.cast::<[i8; 4]>().read_unaligned() }.map(f32::from)
    }
    #[inline(always)]
    unsafe fn prefetch(_: *const u8) {}
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] + other[i])
    }
    #[inline(always)]
    unsafe fn store_some(self, to: *mut f32, mask: usize) {
        // SAFETY: promised by the caller.
        (0..mask.min(4)).for_each(|i| unsafe { *to.add(i) = self[i] });
    }
    #[inline(always)]
    unsafe fn multiply_add(self, b: Self, c: Self) -> Self {
        // Without the instruction, a fused multiply-add would be a call.
        let fused = cfg!(target_arch = "aarch64");
        std::array::from_fn(|i| if fused { self[i].mul_add(b[i], c[i]) } else { self[i] * b[i] + c[i] })
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        (self[0] + self[2]) + (self[1] + self[3])
    }
}

#[cfg(target_arch = "x86_64")]
pub mod x86 {
    //! Vectors of x86.

    use std::arch::x86_64::*;

    use half::{bf16, f16};

    use super::Vector;

    /// Sixteen floats.
    #[derive(Clone, Copy)]
    pub struct Wide(__m512);

    // SAFETY (of all functions): the caller guarantees that the machine has the instructions and that addresses
    // are valid.
    impl Vector for Wide {
        const LANES: usize = 16;
        type Mask = __mmask16;
        #[inline(always)]
        unsafe fn mask(len: usize) -> __mmask16 {
            ((1u32 << len) - 1) as __mmask16
        }
        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: as above.
            unsafe { Wide(_mm512_setzero_ps()) }
        }
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: as above.
            unsafe { Wide(_mm512_set1_ps(x)) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as above.
            unsafe { Wide(_mm512_loadu_ps(from)) }
        }
        #[inline(always)]
        unsafe fn load_some(from: *const f32, mask: __mmask16) -> Self {
            // SAFETY: as above.
            unsafe { Wide(_mm512_maskz_loadu_ps(mask, from)) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as above.
            unsafe { _mm512_storeu_ps(to, self.0) }
        }
        #[inline(always)]
        unsafe fn load_f16(from: *const f16) -> Self {
            // SAFETY: as above.
            unsafe { Wide(_mm512_cvtph_ps(_mm256_loadu_si256(from.cast()))) }
        }
        #[inline(always)]
        unsafe fn load_bf16(from: *const bf16) -> Self {
            // SAFETY: as above.
            unsafe {
                let words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
                Wide(_mm512_castsi512_ps(_mm512_slli_epi32(words, 16)))
            }
        }
        #[inline(always)]
        unsafe fn load_i8(from: *const i8) -> Self {
            // SAFETY: as above.
            unsafe {
                let bytes = _mm_loadu_si128(from.cast());
                Wide(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)))
            }
        }
        #[inline(always)]
        unsafe fn prefetch(from: *const u8) {
            // SAFETY: as above.
            unsafe { _mm_prefetch(from.cast(), _MM_HINT_T0) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Wide(_mm512_add_ps(self.0, other.0)) }
        }
        #[inline(always)]
        unsafe fn store_some(self, to: *mut f32, mask: __mmask16) {
            // SAFETY: as above.
            unsafe { _mm512_mask_storeu_ps(to, mask, self.0) }
        }
        #[inline(always)]
        unsafe fn multiply_add(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            unsafe { Wide(_mm512_fmadd_ps(self.0, b.0, c.0)) }
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            // SAFETY: as above.
            unsafe {
                let low = _mm512_castps512_ps256(self.0);
                let high = _mm512_extractf32x8_ps(self.0, 1);
                Middle(_mm256_add_ps(low, high)).sum()
            }
        }
    }

    /// Eight floats.
    #[derive(Clone, Copy)]
    pub struct Middle(__m256);

    impl Vector for Middle {
        const LANES: usize = 8;
        type Mask = __m256i;
        #[inline(always)]
        unsafe fn mask(len: usize) -> __m256i {
            // SAFETY: as above.
            unsafe {
                let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
                _mm256_cmpgt_epi32(_mm256_set1_epi32(len as i32), lane)
            }
        }
        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: as above.
            unsafe { Middle(_mm256_setzero_ps()) }
        }
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: as above.
            unsafe { Middle(_mm256_set1_ps(x)) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as above.
            unsafe { Middle(_mm256_loadu_ps(from)) }
        }
        #[inline(always)]
        unsafe fn load_some(from: *const f32, mask: __m256i) -> Self {
            // SAFETY: as above.
            unsafe { Middle(_mm256_maskload_ps(from, mask)) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as above.
            unsafe { _mm256_storeu_ps(to, self.0) }
        }
        #[inline(always)]
        unsafe fn load_f16(from: *const f16) -> Self {
            // SAFETY: as above.
            unsafe { Middle(_mm256_cvtph_ps(_mm_loadu_si128(from.cast()))) }
        }
        #[inline(always)]
        unsafe fn load_bf16(from: *const bf16) -> Self {
            // SAFETY: as above.
            unsafe {
                let words = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
                Middle(_mm256_castsi256_ps(_mm256_slli_epi32(words, 16)))
            }
        }
        #[inline(always)]
        unsafe fn load_i8(from: *const i8) -> Self {
            // SAFETY: as above.
            unsafe {
                let bytes = _mm_loadl_epi64(from.cast());
                Middle(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)))
            }
        }
        #[inline(always)]
        unsafe fn prefetch(from: *const u8) {
            // SAFETY: as above.
            unsafe { _mm_prefetch(from.cast(), _MM_HINT_T0) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Middle(_mm256_add_ps(self.0, other.0)) }
        }
        #[inline(always)]
        unsafe fn store_some(self, to: *mut f32, mask: __m256i) {
            // SAFETY: as above.
            unsafe { _mm256_maskstore_ps(to, mask, self.0) }
        }
        #[inline(always)]
        unsafe fn multiply_add(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            unsafe { Middle(_mm256_fmadd_ps(self.0, b.0, c.0)) }
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            // SAFETY: as above.
            unsafe {
                let four = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps(self.0, 1));
                let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
                _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
            }
        }
    }
}
