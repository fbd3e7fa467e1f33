//! Elementary functions as branch-free polynomial code that vectorizes: no calls, no tables.
//!
//! Every function is `#[inline(always)]` so that it gets the vector width of its loop. `F` says whether there
//! is a fused multiply-add instruction. NaN stays NaN, and the value at an infinity is the function's limit.

// Coefficients of fits are kept as computed, even if they are close to well-known constants.
#![allow(clippy::approx_constant, clippy::excessive_precision)]

use std::f32::consts::LOG2_E;

/// Adding this rounds a small float to an integer, which is then in the low bits.
const ROUNDER: f32 = 12_582_912.0;
const LN2_HIGH: f32 = 0.693_115_23;
const LN2_LOW: f32 = 3.194_618_3e-5;

/// `a · b + c`
#[inline(always)]
pub fn fma<const F: bool>(a: f32, b: f32, c: f32) -> f32 {
    if F { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn polynomial<const F: bool, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = fma::<F>(sum, x, coefficients[i]);
    }
    sum
}

#[inline(always)]
fn clamp(x: f32, low: f32, high: f32) -> f32 {
    // Comparisons with NaN are false, so NaN passes through.
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

#[inline(always)]
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent.wrapping_add(127) as u32) << 23)
}

/// `y · 2^n`, with `n` in the low bits of `shifted`. In two steps, so that overflow and gradual underflow are
/// right.
#[inline(always)]
fn scale(y: f32, shifted: f32) -> f32 {
    let n = (shifted.to_bits() as i32).wrapping_sub(ROUNDER.to_bits() as i32);
    let half = n >> 1;
    y * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// `e^x`
#[inline(always)]
pub fn exp<const F: bool>(x: f32) -> f32 {
    let x = clamp(x, -104.0, 89.0);
    let shifted = fma::<F>(x, LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = fma::<F>(n, -LN2_LOW, fma::<F>(n, -LN2_HIGH, x));
    let p = polynomial::<F, 5>(r, [0.499_999_94, 0.166_665_2, 0.041_668_393, 0.008_368_78, 0.001_381_446_7]);
    scale(fma::<F>(r * r, p, r) + 1.0, shifted)
}

/// `1 / (1 + e^-x)`
#[inline(always)]
pub fn sigmoid<const F: bool>(x: f32) -> f32 {
    1.0 / (1.0 + exp::<F>(-x))
}

/// `2^x`
#[inline(always)]
pub fn exp2<const F: bool>(x: f32) -> f32 {
    let x = clamp(x, -150.0, 129.0);
    let shifted = x + ROUNDER;
    let r = x - (shifted - ROUNDER);
    let p = polynomial::<F, 6>(
        r,
        [0.693_147_2, 0.240_226_48, 0.055_503_323, 0.009_618_439, 0.001_339_900_3, 0.000_153_532_58],
    );
    scale(fma::<F>(r, p, 1.0), shifted)
}

/// Splits a positive `x` into `(f, e)` with `x = (1 + f) · 2^e` and `1 + f` between √½ and √2.
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    let tiny = x < f32::MIN_POSITIVE;
    let bits = (if tiny { x * 8_388_608.0 } else { x }).to_bits() as i32;
    let exponent = bits.wrapping_sub(0x3f35_04f3) >> 23;
    let f = f32::from_bits(bits.wrapping_sub(exponent << 23) as u32) - 1.0;
    (f, exponent as f32 - if tiny { 23.0 } else { 0.0 })
}

/// `ln(1 + f) - f` for `1 + f` between √½ and √2.
#[inline(always)]
fn log_rest<const F: bool>(f: f32) -> f32 {
    let p = polynomial::<F, 8>(
        f,
        [
            0.333_333_32,
            -0.250_008_2,
            0.200_012_27,
            -0.166_233_57,
            0.142_017_58,
            -0.131_601_83,
            0.127_615_76,
            -0.076_344_93,
        ],
    );
    let square = f * f;
    fma::<F>(square * f, p, -0.5 * square)
}

/// The value of a logarithm outside of the positive finite numbers; otherwise `y`.
#[inline(always)]
fn log_edges(x: f32, y: f32) -> f32 {
    let y = if x == f32::INFINITY { x } else { y };
    let below = if x == 0.0 { f32::NEG_INFINITY } else { f32::NAN };
    if x > 0.0 { y } else { below }
}

/// Natural logarithm.
#[inline(always)]
pub fn log<const F: bool>(x: f32) -> f32 {
    let (f, e) = split(x);
    let low = fma::<F>(e, LN2_LOW, log_rest::<F>(f));
    log_edges(x, fma::<F>(e, LN2_HIGH, low + f))
}

/// Logarithm to base 2.
#[inline(always)]
pub fn log2<const F: bool>(x: f32) -> f32 {
    let (f, e) = split(x);
    let (high, low) = (1.442_382_8, 3.122_283e-4);
    let rest = log_rest::<F>(f);
    let sum = fma::<F>(f, low, rest * LOG2_E);
    log_edges(x, fma::<F>(f, high, sum) + e)
}

/// `ln(1 + x)`: the logarithm of the rounded sum, plus a correction for the rounding.
#[inline(always)]
pub fn log1p<const F: bool>(x: f32) -> f32 {
    let sum = 1.0 + x;
    let lost = (x - (sum - 1.0)) / sum;
    let y = log::<F>(sum);
    // At -1 and at infinity nothing was lost, but the quotient is NaN.
    if y.is_finite() { y + lost } else { y }
}

/// `e^x - 1`: as [`exp`], with one subtracted before the two parts are added.
#[inline(always)]
pub fn expm1<const F: bool>(x: f32) -> f32 {
    let bounded = clamp(x, -104.0, 64.0);
    let shifted = fma::<F>(bounded, LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = fma::<F>(n, -LN2_LOW, fma::<F>(n, -LN2_HIGH, bounded));
    let p = polynomial::<F, 5>(r, [0.499_999_94, 0.166_665_2, 0.041_668_393, 0.008_368_78, 0.001_381_446_7]);
    let power = scale(1.0, shifted);
    let y = fma::<F>(fma::<F>(r * r, p, r), power, power - 1.0);
    if x > 32.0 { exp::<F>(x) } else { y }
}

/// Hyperbolic tangent, as a rational function on the range where it is not ±1.
#[inline(always)]
pub fn tanh<const F: bool>(x: f32) -> f32 {
    let x = clamp(x, -9.01, 9.01);
    let t = x * x;
    let p =
        polynomial::<F, 5>(t, [0.999_999_98, 0.133_803_26, 0.003_494_757_3, 2.059_537_4e-5, 1.333_559_7e-8]);
    let q = polynomial::<F, 5>(t, [1.0, 0.467_136_42, 0.025_873_825, 3.284_274_5e-4, 7.768_771e-7]);
    clamp(x * p / q, -1.0, 1.0)
}

/// Error function, as a rational function on the range where it is not ±1.
#[inline(always)]
pub fn erf<const F: bool>(x: f32) -> f32 {
    let x = clamp(x, -3.92, 3.92);
    let t = x * x;
    let p = polynomial::<F, 6>(
        t,
        [1.128_379_1, 0.190_396_95, 0.052_747_287, 0.003_765_162_5, 2.848_65e-4, 2.050_061_7e-6],
    );
    let q = polynomial::<F, 6>(
        t,
        [1.0, 0.502_067_65, 0.114_105_02, 0.014_968_309, 0.001_162_411_4, 3.809_052_2e-5],
    );
    clamp(x * p / q, -1.0, 1.0)
}

/// `x - n·π/2` for an integer `n`, and `n` in the low bits.
#[inline(always)]
fn quarter_turns<const F: bool>(x: f32) -> (f32, u32) {
    let shifted = fma::<F>(x, std::f32::consts::FRAC_2_PI, ROUNDER);
    let n = shifted - ROUNDER;
    let r = if F {
        let r = fma::<F>(n, -1.570_796_4, x);
        fma::<F>(n, 1.715_124_5e-15, fma::<F>(n, 4.371_139e-8, r))
    } else {
        // Short pieces, so that their products with n are exact.
        x - n * 1.570_312_5 - n * 4.837_513e-4 - n * 7.549_533_6e-8 - n * 2.563_344e-12
    };
    (r, shifted.to_bits())
}

/// The sine of `r` plus `n` quarter turns.
#[inline(always)]
fn sine<const F: bool>(r: f32, n: u32) -> f32 {
    let t = r * r;
    let s = polynomial::<F, 3>(t, [-0.166_666_55, 0.008_332_156, -0.000_195_146_32]);
    let s = fma::<F>(t * r, s, r);
    let c = polynomial::<F, 3>(t, [0.041_666_646, -0.001_388_731, 2.443_241_3e-5]);
    let c = fma::<F>(t * t, c, fma::<F>(t, -0.5, 1.0));
    let y = if n & 1 == 0 { s } else { c };
    clamp(f32::from_bits(y.to_bits() ^ (n & 2) << 30), -1.0, 1.0)
}

/// Angles of at least this size are too large for [`quarter_turns`].
const fn far<const F: bool>() -> f32 {
    if F { 4_000_000.0 } else { 12_800.0 }
}

/// Corrects the sines or cosines `y` of angles `x` that are too large for [`sin`] and [`cos`]. They are rare,
/// so they are computed one by one, in double precision.
#[inline(always)]
pub fn far_angles<const F: bool>(x: &[f32], y: &mut [f32], function: fn(f64) -> f64) {
    // Compares bits, so that infinities and NaN are included.
    let size = |x: f32| x.to_bits() & 0x7fff_ffff;
    let largest = x.iter().fold(0, |largest: u32, &x| largest.max(size(x)));
    if largest > far::<F>().to_bits() {
        for (y, &x) in y.iter_mut().zip(x).filter(|(_, x)| size(**x) > far::<F>().to_bits()) {
            *y = function(x as f64) as f32;
        }
    }
}

/// Sine, of angles below [`far`]; see [`far_angles`].
#[inline(always)]
pub fn sin<const F: bool>(x: f32) -> f32 {
    let (r, n) = quarter_turns::<F>(x);
    sine::<F>(r, n)
}

/// Cosine, of angles below [`far`]; see [`far_angles`].
#[inline(always)]
pub fn cos<const F: bool>(x: f32) -> f32 {
    let (r, n) = quarter_turns::<F>(x);
    sine::<F>(r, n.wrapping_add(1))
}

/// `|a|^b` in double precision, so that the logarithm's error does not grow with the exponent.
#[inline(always)]
fn magnitude_power(a: f32, b: f32) -> f32 {
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    let bits = (a.abs() as f64).to_bits();
    let exponent = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd).wrapping_add(1023 << 52) >> 52;
    let m = f64::from_bits(bits.wrapping_sub(exponent << 52).wrapping_add(1023 << 52));
    let e = f64::from_bits(ROUNDER.to_bits().wrapping_add(exponent)) - ROUNDER - 1023.0;
    let s = (m - 1.0) / (m + 1.0);
    let t = s * s;
    let series = 1.0 + t * (1.0 / 3.0 + t * (0.2 + t * (1.0 / 7.0 + t * (1.0 / 9.0 + t * (1.0 / 11.0)))));
    let power = b as f64 * (2.0 * std::f64::consts::LOG2_E * s * series + e);
    let power = if power > 200.0 { 200.0 } else { power };
    let power = if power < -200.0 { -200.0 } else { power };
    let shifted = power + ROUNDER;
    let r = (power - (shifted - ROUNDER)) * std::f64::consts::LN_2;
    let tail = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0 + r * (1.0 / 40320.0))));
    let y = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * tail)));
    let n = shifted.to_bits().wrapping_sub(ROUNDER.to_bits());
    (y * f64::from_bits(n.wrapping_add(1023) << 52)) as f32
}

/// `a^b`; a negative base is allowed if the exponent is an integer.
#[inline(always)]
pub fn pow(a: f32, b: f32) -> f32 {
    let y = magnitude_power(a, b);
    let rising = if b > 0.0 { f32::INFINITY } else { 0.0 };
    let falling = if b > 0.0 { 0.0 } else { f32::INFINITY };
    let y = if a.abs() == f32::INFINITY { rising } else { y };
    let y = if a == 0.0 { falling } else { y };
    let whole = b.floor() == b;
    let odd = whole & ((b * 0.5).floor() != b * 0.5);
    let y = if (a.to_bits() >> 31 == 1) & odd { -y } else { y };
    let y = if (a < 0.0) & !whole & (a != f32::NEG_INFINITY) { f32::NAN } else { y };
    let y = if a.is_nan() | b.is_nan() { f32::NAN } else { y };
    let y = if (a == -1.0) & (b.abs() == f32::INFINITY) { 1.0 } else { y };
    if (b == 0.0) | (a == 1.0) { 1.0 } else { y }
}

/// The remainder with the divisor's sign. If the divisor is infinite and has the same sign, the result is `a`.
#[inline(always)]
pub fn remainder(a: f32, b: f32) -> f32 {
    // The quotient may be rounded up to an integer.
    let rest = a - b * (a / b).floor();
    let plain = if (rest != 0.0) & ((rest < 0.0) != (b < 0.0)) { rest + b } else { rest };
    let far = if (a == 0.0) | ((a < 0.0) == (b < 0.0)) { a } else { b };
    if (b.abs() == f32::INFINITY) & (a.abs() < f32::INFINITY) { far } else { plain }
}

/// -1, 0 or 1.
#[inline(always)]
pub fn sign(x: f32) -> f32 {
    let y = if x > 0.0 { 1.0 } else { x };
    let y = if x < 0.0 { -1.0 } else { y };
    if x == 0.0 { 0.0 } else { y }
}

/// Rounds to the nearest half-precision value, ties to even.
#[inline(always)]
pub fn round_half(x: f32) -> f32 {
    let bits = x.to_bits();
    let sign = bits & 0x8000_0000;
    let magnitude = f32::from_bits(bits & 0x7fff_ffff);
    // Drops thirteen bits. Below the normal range of f16, the step is fixed at 2^-24, that of `0.5 + x`.
    let lsb = (bits >> 13) & 1;
    let rounded = f32::from_bits((bits & 0x7fff_ffff).wrapping_add(0xfff + lsb) & 0xffff_e000);
    let small = (magnitude + 0.5) - 0.5;
    let y = if magnitude < 6.103_515_6e-5 { small } else { rounded };
    let y = if magnitude >= 65_520.0 { f32::INFINITY } else { y };
    let y = if magnitude.is_nan() { magnitude } else { y };
    f32::from_bits(y.to_bits() | sign)
}

/// Rounds to the nearest bf16 value, ties to even.
#[inline(always)]
pub fn round_brain(x: f32) -> f32 {
    let bits = x.to_bits();
    let rounded = f32::from_bits(bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) & 0xffff_0000);
    if x.is_nan() { x } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worst error of `f` over `low..high`, relative to `max(|reference|, floor)`.
    fn worst(f: impl Fn(f32) -> f32, reference: impl Fn(f64) -> f64, low: f64, high: f64, floor: f64) -> f64 {
        (0..=200_000)
            .map(|i| (low + (high - low) * i as f64 / 200_000.0) as f32)
            .map(|x| {
                let y = reference(x as f64);
                (f(x) as f64 - y).abs() / y.abs().max(floor)
            })
            .fold(0.0, f64::max)
    }

    fn accuracy<const F: bool>() {
        let erf64 = farad_ir::erf;
        let rows: [(&str, f64, f64); 21] = [
            ("exp", worst(exp::<F>, f64::exp, -87.0, 88.0, 0.0), 2.5e-7),
            ("exp2", worst(exp2::<F>, f64::exp2, -125.0, 127.0, 0.0), 2.5e-7),
            ("log", worst(log::<F>, f64::ln, 1e-3, 100.0, 0.0), 3e-7),
            ("log wide", worst(|x| log::<F>(x * x * x * x), |x| 4.0 * x.ln(), 1e-9, 1e9, 1e-3), 3e-7),
            ("log2", worst(log2::<F>, f64::log2, 1e-3, 100.0, 0.0), 3e-7),
            ("log1p", worst(log1p::<F>, f64::ln_1p, -0.99, 100.0, 0.0), 3e-7),
            ("log1p small", worst(log1p::<F>, f64::ln_1p, -1e-6, 1e-6, 1e-30), 3e-7),
            (
                "log1p of tiny",
                worst(|x| log1p::<F>(x * x * x), |x| (x * x * x).ln_1p(), 1e-9, 1e-3, 1e-38),
                4e-7,
            ),
            ("expm1", worst(expm1::<F>, f64::exp_m1, -20.0, 88.0, 0.0), 3e-7),
            ("expm1 small", worst(expm1::<F>, f64::exp_m1, -1e-3, 1e-3, 1e-30), 3e-7),
            ("tanh", worst(tanh::<F>, f64::tanh, -10.0, 10.0, 0.0), 5e-7),
            ("tanh small", worst(tanh::<F>, f64::tanh, -1e-3, 1e-3, 1e-30), 2e-7),
            ("erf", worst(erf::<F>, erf64, -5.0, 5.0, 0.0), 6e-7),
            ("erf small", worst(erf::<F>, erf64, -1e-3, 1e-3, 1e-30), 3e-7),
            ("sin", worst(sin::<F>, f64::sin, -20.0, 20.0, 0.01), 3e-7),
            ("cos", worst(cos::<F>, f64::cos, -20.0, 20.0, 0.01), 3e-7),
            ("sin far", worst(sin::<F>, f64::sin, -1e4, 1e4, 0.1), 6e-7),
            ("cos far", worst(cos::<F>, f64::cos, -1e4, 1e4, 0.1), 6e-7),
            ("pow 2.5", worst(|x| pow(x, 2.5), |x| x.powf(2.5), 1e-3, 50.0, 0.0), 1e-7),
            ("pow -3", worst(|x| pow(x, -3.0), |x| x.powf(-3.0), -8.0, -0.1, 0.0), 1e-7),
            ("pow of 3", worst(|x| pow(3.0, x), |x| 3f64.powf(x), -50.0, 50.0, 0.0), 1e-7),
        ];
        for (name, error, bound) in rows {
            assert!(error <= bound, "{name} (fma {F}): {error:e} is above {bound:e}");
        }
    }

    #[test]
    fn functions_are_accurate() {
        accuracy::<true>();
        accuracy::<false>();
    }

    #[test]
    fn edges_are_limits() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        assert_eq!((exp::<true>(inf), exp::<true>(-inf), exp::<true>(200.0)), (inf, 0.0, inf));
        assert_eq!((exp2::<true>(inf), exp2::<true>(-inf)), (inf, 0.0));
        assert_eq!((log::<true>(0.0), log::<true>(inf), log2::<true>(0.0)), (-inf, inf, -inf));
        assert!((log::<true>(1e-41) - 1e-41f32.ln()).abs() < 1e-4);
        assert!(log::<true>(-1.0).is_nan() && log2::<true>(-inf).is_nan());
        assert_eq!(
            (tanh::<true>(inf), tanh::<true>(-inf), erf::<true>(inf), erf::<true>(-40.0)),
            (1.0, -1.0, 1.0, -1.0)
        );
        assert_eq!((log1p::<true>(-1.0), log1p::<true>(inf), log1p::<true>(0.0)), (-inf, inf, 0.0));
        assert!(log1p::<true>(-2.0).is_nan());
        assert_eq!((expm1::<true>(-inf), expm1::<true>(inf), expm1::<true>(0.0)), (-1.0, inf, 0.0));
        for f in [
            log1p::<true>,
            expm1::<true>,
            exp::<true>,
            exp2::<true>,
            log::<true>,
            log2::<true>,
            tanh::<true>,
            erf::<true>,
            sin::<true>,
            cos::<true>,
        ] {
            assert!(f(nan).is_nan());
        }
        assert!(sin::<true>(inf).is_nan() && cos::<true>(-inf).is_nan());
    }

    #[test]
    fn powers_at_the_edges_follow_ieee() {
        let values = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            2.0,
            -2.0,
            0.5,
            -0.5,
            3.0,
            -3.0,
            1e30,
            -1e30,
            f32::INFINITY,
            -f32::INFINITY,
            f32::NAN,
        ];
        for a in values {
            for b in values {
                let (got, want) = (pow(a, b), a.powf(b));
                let same =
                    got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= 1e-6 * want.abs();
                assert!(same, "{a}^{b} = {got} is not {want}");
            }
        }
    }

    #[test]
    fn rounding_matches_the_half_crate() {
        for i in 0..400_000u32 {
            let x = f32::from_bits(i.wrapping_mul(2_654_435_761));
            let (half, brain) = (half::f16::from_f32(x).to_f32(), half::bf16::from_f32(x).to_f32());
            assert!(round_half(x) == half || x.is_nan(), "{x:e}: {:e} is not {half:e}", round_half(x));
            assert!(round_brain(x) == brain || x.is_nan(), "{x:e}");
        }
        assert!(round_half(f32::NAN).is_nan() && round_brain(f32::NAN).is_nan());
        for x in [65_504.0, 65_519.9, 65_520.0, 6.1e-5, 5.9e-8, 2.9e-8, 3.0e-8, -1e-30] {
            assert_eq!(round_half(x), half::f16::from_f32(x).to_f32(), "{x:e}");
        }
    }
}
