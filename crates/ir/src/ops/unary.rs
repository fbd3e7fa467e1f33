//! The unary family: one row per op, with its value, its WGSL, its gradient and how it is tested.
//!
//! To add an op, add a variant to [`Unary`] and a row at the same position.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2};

use crate::dtype::{DType, wrap};
use crate::error::OpError;
use crate::extremes::{Bound, EDGES, EXACT, INF, MAX, NAN, TINY, within};
use crate::ops::{TensorType, check_dtype};
use crate::var::Var;

/// A gradient rule: a formula in `(x, y, g)`.
pub type UnaryRule = for<'g> fn(Var<'g>, Var<'g>, Var<'g>) -> Var<'g>;

/// Everything about a unary op.
pub struct UnaryRow {
    /// The op that the row belongs to.
    pub op: Unary,
    /// The name in errors, plans and tests.
    pub name: &'static str,
    /// Whether recomputing it is so expensive that the result should be stored.
    pub costly: bool,
    /// The value on floats.
    pub value: fn(f64) -> f64,
    /// The value on integers and booleans, if the op accepts them.
    pub int: Option<fn(i64) -> i64>,
    /// The WGSL expression in `x`, an `f32` (or an integer, if the renderer has no other text for integers).
    pub wgsl: &'static str,
    /// The gradient at `x` from `(x, y, g)`: the input, the result and the gradient at the result. `None` if it
    /// is zero almost everywhere.
    pub gradient: Option<UnaryRule>,
    /// The range that tests sample inputs from.
    pub range: (f64, f64),
    /// Norm-wise tolerance of a device against the f64 reference.
    pub tolerance: f64,
    /// The values at [`EDGES`], on every device.
    pub edges: [f64; EDGES.len()],
    /// The largest error of a device, and the inputs for which it holds.
    pub bound: Bound,
}

const NO_FLOATS: [f64; EDGES.len()] = EDGES;

/// A function of one element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    /// `-x`
    Neg,
    /// `|x|`
    Abs,
    /// -1, 0 or 1; NaN for NaN
    Sign,
    /// `e^x`
    Exp,
    /// Natural logarithm; a device may flush a subnormal input to zero
    Log,
    /// `2^x`
    Exp2,
    /// Logarithm to base 2; subnormal inputs as for the natural logarithm
    Log2,
    /// Square root
    Sqrt,
    /// `1 / sqrt(x)`
    Rsqrt,
    /// `1 / x`
    Recip,
    /// Sine, accurate for every finite number
    Sin,
    /// Cosine, accurate for every finite number
    Cos,
    /// Hyperbolic tangent; odd, never beyond one, and exactly one where it rounds to that
    Tanh,
    /// Error function; odd, never beyond one, and exactly one where it rounds to that
    Erf,
    /// `1 / (1 + e^-x)`
    Sigmoid,
    /// `max(x, 0)`; its derivative at zero is zero
    Relu,
    /// Largest integer not above `x`
    Floor,
    /// Smallest integer not below `x`
    Ceil,
    /// Nearest integer, ties to even
    Round,
    /// 1 where `x` is finite, 0 where it is infinite or NaN
    Finite,
    /// Logical not of booleans, bitwise not of integers
    Not,
    /// `ln(1 + x)`, accurate even where `1 + x` rounds to 1
    Log1p,
    /// `e^x - 1`, accurate even where `e^x` rounds to 1
    Expm1,
}

const ROWS: [UnaryRow; 23] = [
    UnaryRow {
        op: Unary::Neg,
        name: "neg",
        costly: false,
        value: |x| -x,
        int: Some(i64::wrapping_neg),
        wgsl: "-x",
        gradient: Some(|_, _, g| -g),
        range: (-3.0, 3.0),
        tolerance: 1e-7,
        edges: [NAN, -INF, INF, -0.0, 0.0],
        bound: EXACT,
    },
    UnaryRow {
        op: Unary::Abs,
        name: "abs",
        costly: false,
        value: f64::abs,
        int: Some(i64::wrapping_abs),
        wgsl: "abs(x)",
        gradient: Some(|x, _, g| g * x.sign()),
        range: (-3.0, 3.0),
        tolerance: 1e-7,
        edges: [NAN, INF, INF, 0.0, 0.0],
        bound: EXACT,
    },
    UnaryRow {
        op: Unary::Sign,
        name: "sign",
        costly: false,
        value: |x| if x == 0.0 || x.is_nan() { x.abs() } else { x.signum() },
        int: Some(i64::signum),
        wgsl: "select(select(x, 1f, x > 0f), -1f, x < 0f)",
        gradient: None,
        range: (-3.0, 3.0),
        tolerance: 1e-7,
        edges: [NAN, 1.0, -1.0, 0.0, 0.0],
        bound: EXACT,
    },
    UnaryRow {
        op: Unary::Exp,
        name: "exp",
        costly: true,
        value: f64::exp,
        int: None,
        wgsl: "exp(x)",
        gradient: Some(|_, y, g| g * y),
        range: (-5.0, 5.0),
        tolerance: 5e-6,
        edges: [NAN, INF, 0.0, 1.0, 1.0],
        bound: within(-200.0, 88.7, 2e-5, TINY),
    },
    UnaryRow {
        op: Unary::Log,
        name: "log",
        costly: true,
        value: f64::ln,
        int: None,
        wgsl: "farad_log(x)",
        gradient: Some(|x, _, g| g / x),
        range: (0.1, 9.0),
        tolerance: 5e-6,
        edges: [NAN, INF, NAN, -INF, -INF],
        bound: within(TINY, MAX, 4e-7, 0.0),
    },
    UnaryRow {
        op: Unary::Exp2,
        name: "exp2",
        costly: true,
        value: f64::exp2,
        int: None,
        wgsl: "exp2(x)",
        gradient: Some(|_, y, g| g * (y * LN_2)),
        range: (-5.0, 5.0),
        tolerance: 5e-6,
        edges: [NAN, INF, 0.0, 1.0, 1.0],
        bound: within(-200.0, 127.9, 2e-5, TINY),
    },
    UnaryRow {
        op: Unary::Log2,
        name: "log2",
        costly: true,
        value: f64::log2,
        int: None,
        wgsl: "farad_log2(x)",
        gradient: Some(|x, _, g| g / (x * LN_2)),
        range: (0.1, 9.0),
        tolerance: 5e-6,
        edges: [NAN, INF, NAN, -INF, -INF],
        bound: within(TINY, MAX, 4e-7, 0.0),
    },
    UnaryRow {
        op: Unary::Sqrt,
        name: "sqrt",
        costly: true,
        value: f64::sqrt,
        int: None,
        wgsl: "sqrt(x)",
        gradient: Some(|_, y, g| g / (y * 2.0)),
        range: (0.1, 9.0),
        tolerance: 1e-6,
        edges: [NAN, INF, NAN, 0.0, -0.0],
        bound: within(TINY, MAX, 1e-6, 0.0),
    },
    UnaryRow {
        op: Unary::Rsqrt,
        name: "rsqrt",
        costly: true,
        value: |x| 1.0 / x.sqrt(),
        int: None,
        wgsl: "inverseSqrt(x)",
        gradient: Some(|x, y, g| g * (y / x * -0.5)),
        range: (0.1, 9.0),
        tolerance: 1e-6,
        edges: [NAN, 0.0, NAN, INF, -INF],
        bound: within(TINY, MAX, 1e-6, 0.0),
    },
    UnaryRow {
        op: Unary::Recip,
        name: "recip",
        costly: true,
        value: |x| 1.0 / x,
        int: None,
        wgsl: "1.0 / x",
        gradient: Some(|_, y, g| g * -(y * y)),
        range: (0.2, 4.0),
        tolerance: 1e-6,
        edges: [NAN, 0.0, -0.0, INF, -INF],
        bound: within(TINY, 8e37, 1e-6, 0.0),
    },
    UnaryRow {
        op: Unary::Sin,
        name: "sin",
        costly: true,
        value: f64::sin,
        int: None,
        wgsl: "farad_sin(x)",
        gradient: Some(|x, _, g| g * x.cos()),
        range: (-20.0, 20.0),
        tolerance: 2e-6,
        edges: [NAN, NAN, NAN, 0.0, -0.0],
        bound: within(-MAX, MAX, 0.0, 4e-7),
    },
    UnaryRow {
        op: Unary::Cos,
        name: "cos",
        costly: true,
        value: f64::cos,
        int: None,
        wgsl: "farad_cos(x)",
        gradient: Some(|x, _, g| g * -x.sin()),
        range: (-20.0, 20.0),
        tolerance: 2e-6,
        edges: [NAN, NAN, NAN, 1.0, 1.0],
        bound: within(-MAX, MAX, 0.0, 4e-7),
    },
    UnaryRow {
        op: Unary::Tanh,
        name: "tanh",
        costly: true,
        value: f64::tanh,
        int: None,
        wgsl: "farad_tanh(x)",
        gradient: Some(|_, y, g| g * (1.0 - y * y)),
        range: (-4.0, 4.0),
        tolerance: 2e-6,
        edges: [NAN, 1.0, -1.0, 0.0, -0.0],
        bound: within(-MAX, MAX, 1e-6, TINY),
    },
    UnaryRow {
        op: Unary::Erf,
        name: "erf",
        costly: true,
        value: erf,
        int: None,
        wgsl: "farad_erf(x)",
        gradient: Some(|x, _, g| g * ((-(x * x)).exp() * FRAC_2_SQRT_PI)),
        range: (-4.0, 4.0),
        tolerance: 2e-6,
        edges: [NAN, 1.0, -1.0, 0.0, -0.0],
        bound: within(-MAX, MAX, 1.5e-6, TINY),
    },
    UnaryRow {
        op: Unary::Sigmoid,
        name: "sigmoid",
        costly: true,
        value: |x| 1.0 / (1.0 + (-x).exp()),
        int: None,
        wgsl: "farad_sigmoid(x)",
        gradient: Some(|_, y, g| g * (y * (1.0 - y))),
        range: (-6.0, 6.0),
        tolerance: 2e-6,
        edges: [NAN, 1.0, 0.0, 0.5, 0.5],
        bound: within(-MAX, MAX, 2e-5, TINY),
    },
    UnaryRow {
        op: Unary::Relu,
        name: "relu",
        costly: false,
        value: |x| if x <= 0.0 { 0.0 } else { x },
        int: Some(|x| x.max(0)),
        wgsl: "select(x, 0f, (bitcast<u32>(x) ^ 0x80000000u) <= 0x7f800000u)",
        gradient: Some(|_, y, g| {
            let zero = y.like(0.0);
            y.less_equal(zero).select(zero, g)
        }),
        range: (-3.0, 3.0),
        tolerance: 1e-7,
        edges: [NAN, INF, 0.0, 0.0, 0.0],
        bound: EXACT,
    },
    UnaryRow {
        op: Unary::Floor,
        name: "floor",
        costly: false,
        value: f64::floor,
        int: None,
        wgsl: "floor(x)",
        gradient: None,
        range: (-5.0, 5.0),
        tolerance: 1e-7,
        edges: [NAN, INF, -INF, 0.0, -0.0],
        bound: EXACT,
    },
    UnaryRow {
        op: Unary::Ceil,
        name: "ceil",
        costly: false,
        value: f64::ceil,
        int: None,
        wgsl: "ceil(x)",
        gradient: None,
        range: (-5.0, 5.0),
        tolerance: 1e-7,
        edges: [NAN, INF, -INF, 0.0, -0.0],
        bound: EXACT,
    },
    UnaryRow {
        op: Unary::Round,
        name: "round",
        costly: false,
        value: f64::round_ties_even,
        int: None,
        wgsl: "round(x)",
        gradient: None,
        range: (-5.0, 5.0),
        tolerance: 1e-7,
        edges: [NAN, INF, -INF, 0.0, -0.0],
        bound: EXACT,
    },
    UnaryRow {
        op: Unary::Finite,
        name: "finite",
        costly: false,
        value: |x| x.is_finite() as i64 as f64,
        int: None,
        wgsl: "select(0f, 1f, (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u)",
        gradient: None,
        range: (-5.0, 5.0),
        tolerance: 0.0,
        edges: [0.0, 0.0, 0.0, 1.0, 1.0],
        bound: EXACT,
    },
    UnaryRow {
        op: Unary::Not,
        name: "not",
        costly: false,
        value: |x| x,
        int: Some(|x| !x),
        wgsl: "~x",
        gradient: None,
        range: (0.0, 9.0),
        tolerance: 0.0,
        edges: NO_FLOATS,
        bound: EXACT,
    },
    UnaryRow {
        op: Unary::Log1p,
        name: "log1p",
        costly: true,
        value: f64::ln_1p,
        int: None,
        wgsl: "farad_log1p(x)",
        gradient: Some(|x, _, g| g / (1.0 + x)),
        range: (-0.9, 9.0),
        tolerance: 5e-6,
        edges: [NAN, INF, NAN, 0.0, -0.0],
        bound: within(-0.999, MAX, 2e-6, TINY),
    },
    UnaryRow {
        op: Unary::Expm1,
        name: "expm1",
        costly: true,
        value: f64::exp_m1,
        int: None,
        wgsl: "farad_expm1(x)",
        gradient: Some(|x, _, g| g * x.exp()),
        range: (-5.0, 5.0),
        tolerance: 5e-6,
        edges: [NAN, INF, -1.0, 0.0, -0.0],
        bound: within(-200.0, 88.7, 2e-5, TINY),
    },
];

impl Unary {
    /// Every unary op, in table order.
    pub const ALL: &'static [Unary] = &{
        let (mut all, mut n) = ([ROWS[0].op; ROWS.len()], 0);
        while n < all.len() {
            all[n] = ROWS[n].op;
            assert!(all[n] as usize == n, "rows stand in the order of the variants");
            n += 1;
        }
        all
    };

    /// The op's row.
    pub fn row(self) -> &'static UnaryRow {
        static TABLE: [UnaryRow; ROWS.len()] = ROWS;
        &TABLE[self as usize]
    }

    /// The result's shape and dtype, or an error.
    pub(crate) fn kind(self, x: TensorType) -> Result<TensorType, OpError> {
        check_dtype(self.row().name, x.1, self.takes(x.1))?;
        Ok(x)
    }

    /// Whether the op accepts elements of `dtype`.
    pub fn takes(self, dtype: DType) -> bool {
        match self {
            Unary::Not => dtype == DType::Bool || (dtype.is_int() && dtype.is_compute()),
            _ if dtype.is_float() => dtype.is_compute(),
            _ => self.row().int.is_some() && dtype.is_signed_int(),
        }
    }

    /// The value on an integer or boolean of `dtype` (a `u64` as its bits), if the op accepts it.
    pub fn whole(self, dtype: DType, x: i64) -> Option<i64> {
        // On booleans `not` is logical: inverting all bits of 1 would still give true.
        if self == Unary::Not && dtype == DType::Bool {
            return Some(1 - x);
        }
        Some(wrap(dtype, self.row().int?(x)))
    }

    /// Whether recomputing it is so expensive that the result should be stored.
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
