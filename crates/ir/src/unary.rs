//! The unary family: one row an op, with its value, its WGSL, its gradient and how it is tested.

use crate::dtype::DType;
use crate::extremes::{Bound, EDGES, EXACT, INF, MAX, NAN, TINY, within};
use crate::graph::{Graph, NodeId};

/// What a unary op is: everything the rest of the project needs to know of it.
pub struct UnaryRow {
    /// The name in errors, plans and tests.
    pub name: &'static str,
    /// Whether computing it again costs enough to rather store the result.
    pub costly: bool,
    /// The value on floats.
    pub value: fn(f64) -> f64,
    /// The value on integers and truth values, where the op takes them.
    pub int: Option<fn(i64) -> i64>,
    /// The WGSL expression, in `x`, an `f32` (or an integer, where the renderer has no other text for those).
    pub wgsl: &'static str,
    /// The gradient at the input from `(graph, x, y, g)`; `None`: zero almost everywhere.
    pub gradient: Option<fn(&mut Graph, NodeId, NodeId, NodeId) -> NodeId>,
    /// The range that tests sample inputs from.
    pub range: (f64, f64),
    /// Norm-wise tolerance of a device against the f64 reference.
    pub tolerance: f64,
    /// The values at [`EDGES`], on every device.
    pub edges: [f64; EDGES.len()],
    /// The largest error of a device, and the inputs for which it holds.
    pub bound: Bound,
}

macro_rules! unary_table {
    ($($(#[doc = $doc:literal])+ $variant:ident, $name:literal, $costly:ident, $value:expr, $int:expr, $wgsl:literal, $gradient:expr, $range:expr, $tolerance:expr, $edges:expr, $bound:expr;)*) => {
        /// A function of one element.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Unary { $($(#[doc = $doc])+ $variant,)* }

        impl Unary {
            /// Every unary op, in table order.
            pub const ALL: &'static [Unary] = &[$(Unary::$variant),*];

            /// The op's row.
            pub fn row(self) -> &'static UnaryRow {
                const ROWS: &[UnaryRow] = &[$(UnaryRow {
                    name: $name, costly: $costly, value: $value, int: $int, wgsl: $wgsl,
                    gradient: $gradient, range: $range, tolerance: $tolerance, edges: $edges, bound: $bound,
                }),*];
                &ROWS[self as usize]
            }
        }
    };
}

// Written out in every row, so that it is not forgotten.
const COSTLY: bool = true;
const CHEAP: bool = false;
const NO_FLOATS: [f64; EDGES.len()] = EDGES;

unary_table! {
    /// `-x`
    Neg, "neg", CHEAP, |x| -x, Some(|x| -x), "-x", Some(|s, _, _, g| s.neg(g)), (-3.0, 3.0), 1e-7, [NAN, -INF, INF, -0.0, 0.0], EXACT;
    /// `|x|`
    Abs, "abs", CHEAP, f64::abs, Some(i64::abs), "abs(x)", Some(|s, x, _, g| { let d = s.unary(Unary::Sign, x); s.mul(g, d) }), (-3.0, 3.0), 1e-7, [NAN, INF, INF, 0.0, 0.0], EXACT;
    /// -1, 0 or 1; NaN for NaN
    Sign, "sign", CHEAP, |x| if x == 0.0 || x.is_nan() { x.abs() } else { x.signum() }, Some(i64::signum), "select(select(x, 1f, x > 0f), -1f, x < 0f)", None, (-3.0, 3.0), 1e-7, [NAN, 1.0, -1.0, 0.0, 0.0], EXACT;
    /// `e^x`
    Exp, "exp", COSTLY, f64::exp, None, "exp(x)", Some(|s, _, y, g| s.mul(g, y)), (-5.0, 5.0), 5e-6, [NAN, INF, 0.0, 1.0, 1.0], within(-200.0, 88.7, 2e-5, TINY);
    /// Natural logarithm; a subnormal number counts as itself, or as zero where the device takes it for that
    Log, "log", COSTLY, f64::ln, None, "farad_log(x)", Some(|s, x, _, g| s.div(g, x)), (0.1, 9.0), 5e-6, [NAN, INF, NAN, -INF, -INF], within(TINY, MAX, 4e-7, 0.0);
    /// `2^x`
    Exp2, "exp2", COSTLY, f64::exp2, None, "exp2(x)", Some(|s, _, y, g| { let d = s.scale(y, std::f64::consts::LN_2); s.mul(g, d) }), (-5.0, 5.0), 5e-6, [NAN, INF, 0.0, 1.0, 1.0], within(-200.0, 127.9, 2e-5, TINY);
    /// Logarithm to base 2; subnormal numbers as for the natural one
    Log2, "log2", COSTLY, f64::log2, None, "farad_log2(x)", Some(|s, x, _, g| { let d = s.scale(x, std::f64::consts::LN_2); s.div(g, d) }), (0.1, 9.0), 5e-6, [NAN, INF, NAN, -INF, -INF], within(TINY, MAX, 4e-7, 0.0);
    /// Square root
    Sqrt, "sqrt", COSTLY, f64::sqrt, None, "sqrt(x)", Some(|s, _, y, g| { let d = s.scale(y, 2.0); s.div(g, d) }), (0.1, 9.0), 1e-6, [NAN, INF, NAN, 0.0, -0.0], within(TINY, MAX, 1e-6, 0.0);
    /// `1 / sqrt(x)`
    Rsqrt, "rsqrt", COSTLY, |x| 1.0 / x.sqrt(), None, "inverseSqrt(x)", Some(|s, x, y, g| { let r = s.div(y, x); let d = s.scale(r, -0.5); s.mul(g, d) }), (0.1, 9.0), 1e-6, [NAN, 0.0, NAN, INF, -INF], within(TINY, MAX, 1e-6, 0.0);
    /// `1 / x`
    Recip, "recip", COSTLY, |x| 1.0 / x, None, "1.0 / x", Some(|s, _, y, g| { let d = s.mul(y, y); let d = s.neg(d); s.mul(g, d) }), (0.2, 4.0), 1e-6, [NAN, 0.0, -0.0, INF, -INF], within(TINY, 8e37, 1e-6, 0.0);
    /// Sine, right for every finite number
    Sin, "sin", COSTLY, f64::sin, None, "farad_sin(x)", Some(|s, x, _, g| { let d = s.unary(Unary::Cos, x); s.mul(g, d) }), (-20.0, 20.0), 2e-6, [NAN, NAN, NAN, 0.0, -0.0], within(-MAX, MAX, 0.0, 4e-7);
    /// Cosine, right for every finite number
    Cos, "cos", COSTLY, f64::cos, None, "farad_cos(x)", Some(|s, x, _, g| { let d = s.unary(Unary::Sin, x); let d = s.neg(d); s.mul(g, d) }), (-20.0, 20.0), 2e-6, [NAN, NAN, NAN, 1.0, 1.0], within(-MAX, MAX, 0.0, 4e-7);
    /// Hyperbolic tangent; odd, never beyond one, and one where it rounds to that
    Tanh, "tanh", COSTLY, f64::tanh, None, "farad_tanh(x)", Some(|s, _, y, g| { let y2 = s.mul(y, y); let one = s.fill_like(y, 1.0); let d = s.sub(one, y2); s.mul(g, d) }), (-4.0, 4.0), 2e-6, [NAN, 1.0, -1.0, 0.0, -0.0], within(-MAX, MAX, 1e-6, TINY);
    /// Error function; odd, never beyond one, and one where it rounds to that
    Erf, "erf", COSTLY, erf, None, "farad_erf(x)", Some(|s, x, _, g| { let x2 = s.mul(x, x); let n = s.neg(x2); let e = s.unary(Unary::Exp, n); let d = s.scale(e, std::f64::consts::FRAC_2_SQRT_PI); s.mul(g, d) }), (-4.0, 4.0), 2e-6, [NAN, 1.0, -1.0, 0.0, -0.0], within(-MAX, MAX, 1.5e-6, TINY);
    /// `1 / (1 + e^-x)`
    Sigmoid, "sigmoid", COSTLY, |x| 1.0 / (1.0 + (-x).exp()), None, "farad_sigmoid(x)", Some(|s, _, y, g| { let one = s.fill_like(y, 1.0); let rest = s.sub(one, y); let d = s.mul(y, rest); s.mul(g, d) }), (-6.0, 6.0), 2e-6, [NAN, 1.0, 0.0, 0.5, 0.5], within(-MAX, MAX, 2e-5, TINY);
    /// `max(x, 0)`; its slope at zero is zero
    Relu, "relu", CHEAP, |x| if x <= 0.0 { 0.0 } else { x }, Some(|x| x.max(0)), "select(x, 0f, (bitcast<u32>(x) ^ 0x80000000u) <= 0x7f800000u)", Some(|s, _, y, g| { let zero = s.fill_like(y, 0.0); let off = s.binary(crate::Binary::LessEqual, y, zero); s.select(off, zero, g) }), (-3.0, 3.0), 1e-7, [NAN, INF, 0.0, 0.0, 0.0], EXACT;
    /// Largest integer not above `x`
    Floor, "floor", CHEAP, f64::floor, None, "floor(x)", None, (-5.0, 5.0), 1e-7, [NAN, INF, -INF, 0.0, -0.0], EXACT;
    /// Smallest integer not below `x`
    Ceil, "ceil", CHEAP, f64::ceil, None, "ceil(x)", None, (-5.0, 5.0), 1e-7, [NAN, INF, -INF, 0.0, -0.0], EXACT;
    /// Nearest integer, ties to even
    Round, "round", CHEAP, f64::round_ties_even, None, "round(x)", None, (-5.0, 5.0), 1e-7, [NAN, INF, -INF, 0.0, -0.0], EXACT;
    /// 1 where `x` is finite, 0 where it is infinite or no number
    Finite, "finite", CHEAP, |x| x.is_finite() as i64 as f64, None, "select(0f, 1f, (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u)", None, (-5.0, 5.0), 0.0, [0.0, 0.0, 0.0, 1.0, 1.0], EXACT;
    /// Logical not of truth values, bitwise not of integers
    Not, "not", CHEAP, |x| x, Some(|x| !x), "~x", None, (0.0, 9.0), 0.0, NO_FLOATS, EXACT;
    /// `ln(1 + x)`, also where `1 + x` rounds to 1
    Log1p, "log1p", COSTLY, f64::ln_1p, None, "farad_log1p(x)", Some(|s, x, _, g| { let one = s.fill_like(x, 1.0); let d = s.add(one, x); s.div(g, d) }), (-0.9, 9.0), 5e-6, [NAN, INF, NAN, 0.0, -0.0], within(-0.999, MAX, 2e-6, TINY);
    /// `e^x - 1`, also where `e^x` rounds to 1
    Expm1, "expm1", COSTLY, f64::exp_m1, None, "farad_expm1(x)", Some(|s, x, _, g| { let d = s.unary(Unary::Exp, x); s.mul(g, d) }), (-5.0, 5.0), 5e-6, [NAN, INF, -1.0, 0.0, -0.0], within(-200.0, 88.7, 2e-5, TINY);
}

impl Unary {
    /// Whether the op takes elements of `dtype`.
    pub fn takes(self, dtype: DType) -> bool {
        match self {
            Unary::Not => dtype == DType::Bool || (dtype.is_int() && dtype.is_compute()),
            _ if dtype.is_float() => dtype.is_compute(),
            _ => self.row().int.is_some() && dtype == DType::I32,
        }
    }

    /// Whether computing it again costs enough to rather store the result.
    pub fn is_costly(self) -> bool {
        self.row().costly
    }
}

/// The error function to double precision: the Maclaurin series near zero, Lentz's continued
/// fraction for the complement beyond.
pub fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a < 2.0 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term.abs() > 1e-18 * sum.abs() {
            n += 1.0;
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        return sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    if a > 6.0 {
        return x.signum();
    }
    let mut tail = 0.0;
    for k in (1..=80).rev() {
        tail = (k as f64 / 2.0) / (a + tail);
    }
    x.signum() * (1.0 - (-a * a).exp() / ((a + tail) * std::f64::consts::PI.sqrt()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn erf_matches_known_values() {
        for (x, y) in [
            (0.0, 0.0),
            (0.5, 0.5204998778130465),
            (1.0, 0.8427007929497149),
            (1.9, 0.9927904292352575),
            (2.5, 0.999593047982555),
            (-1.0, -0.8427007929497149),
        ] {
            assert!((super::erf(x) - y).abs() < 1e-14, "erf({x}) = {} is not {y}", super::erf(x));
        }
    }
}
