//! Float ops of recipes, each kept inside of its domain, with the factor by which it amplifies errors.

use farad::Tensor;
use farad_ir::DType;

use super::{ErrorRule, ROUNDING};

/// A function of one float tensor.
pub(super) struct FloatMap {
    pub name: &'static str,
    pub build: fn(&Tensor) -> Tensor,
    /// The factor from the error of operands to that of results.
    pub slope: f64,
    /// Its own rounding error, relative to its size.
    pub own: f64,
    /// A bound on the result from one on the operand.
    pub bound: fn(f64) -> f64,
    /// Whether it only selects, so that exact values stay exact.
    pub moves: bool,
    /// Whether it is discontinuous, so that only exact operands are allowed.
    pub jumps: bool,
    /// Whether it is differentiable except at points that random numbers do not hit.
    pub smooth: bool,
}

impl FloatMap {
    const fn smooth(
        name: &'static str,
        build: fn(&Tensor) -> Tensor,
        slope: f64,
        own: f64,
        bound: fn(f64) -> f64,
    ) -> FloatMap {
        FloatMap { name, build, slope, own, bound, moves: false, jumps: false, smooth: true }
    }

    const fn moves(name: &'static str, build: fn(&Tensor) -> Tensor, bound: fn(f64) -> f64) -> FloatMap {
        FloatMap { name, build, slope: 1.0, own: 0.0, bound, moves: true, jumps: false, smooth: false }
    }

    const fn jumps(name: &'static str, build: fn(&Tensor) -> Tensor) -> FloatMap {
        FloatMap {
            name,
            build,
            slope: 0.0,
            own: 0.0,
            bound: |b| b + 1.0,
            moves: true,
            jumps: true,
            smooth: false,
        }
    }

    /// The rule for operands of this dtype.
    pub fn rule(&self) -> ErrorRule {
        if self.moves { ErrorRule::Moves } else { ErrorRule::Slope(self.slope, self.own) }
    }
}

pub(super) const MAPS: &[FloatMap] = &[
    FloatMap { smooth: true, ..FloatMap::moves("neg", |x| -x, |b| b) },
    FloatMap::moves("abs", Tensor::abs, |b| b),
    FloatMap::moves("relu", Tensor::relu, |b| b),
    FloatMap::moves("clamp", |x| x.clamp(-1.0, 1.0), |_| 1.0),
    FloatMap::jumps("sign", Tensor::sign),
    FloatMap::jumps("floor", Tensor::floor),
    FloatMap::jumps("ceil", Tensor::ceil),
    FloatMap::jumps("round", Tensor::round),
    FloatMap::jumps("finite", |x| x.is_finite().cast(x.dtype())),
    FloatMap::smooth("tanh", Tensor::tanh, 1.0, 3e-6, |_| 1.0),
    FloatMap::smooth("sin", Tensor::sin, 1.0, 3e-6, |_| 1.0),
    FloatMap::smooth("cos", Tensor::cos, 1.0, 3e-6, |_| 1.0),
    FloatMap::smooth("erf", Tensor::erf, 1.13, 3e-6, |_| 1.0),
    FloatMap::smooth("exp", |x| x.tanh().exp(), 2.72, 8e-6, |_| 2.72),
    FloatMap::smooth("exp2", |x| x.sin().exp2(), 1.39, 8e-6, |_| 2.0),
    FloatMap::smooth("log", |x| (x.abs() + 0.5).log(), 2.0, 6e-6, |b| b + 1.0),
    FloatMap::smooth("log1p", |x| (x.abs() - 0.5).log1p(), 2.0, 6e-6, |b| b + 1.0),
    FloatMap::smooth("expm1", |x| x.tanh().expm1(), 2.72, 8e-6, |_| 1.72),
    FloatMap::smooth("log2", |x| (x.abs() + 0.5).log2(), 2.9, 6e-6, |b| 1.5 * b + 1.0),
    FloatMap::smooth("sqrt", |x| (x.abs() + 0.25).sqrt(), 1.0, 2e-6, |b| b + 1.0),
    FloatMap::smooth("rsqrt", |x| (x.abs() + 0.5).rsqrt(), 1.5, 2e-6, |_| 1.5),
    FloatMap::smooth("recip", |x| (x.abs() + 0.5).recip(), 4.0, 3e-6, |_| 2.0),
    FloatMap::smooth("sigmoid", Tensor::sigmoid, 0.25, 4e-6, |_| 1.0),
    FloatMap::smooth("gelu", Tensor::gelu, 1.2, 6e-6, |b| b),
    FloatMap::smooth("silu", Tensor::silu, 1.1, 6e-6, |b| b),
    FloatMap::smooth("softplus", Tensor::softplus, 1.0, 8e-6, |b| b + 1.0),
    FloatMap::smooth("scale", |x| x * 0.7, 0.7, ROUNDING, |b| 0.7 * b),
    FloatMap::smooth("shift", |x| x + 0.3, 1.0, ROUNDING, |b| b + 0.3),
    FloatMap::smooth("reversed difference", |x| 1.0 - x, 1.0, ROUNDING, |b| b + 1.0),
];

/// A function of two float tensors, which broadcast.
pub(super) struct FloatPair {
    pub name: &'static str,
    pub build: fn(&Tensor, &Tensor) -> Tensor,
    pub rule: ErrorRule,
    pub bound: fn(f64, f64) -> f64,
    pub smooth: bool,
}

pub(super) const PAIRS: &[FloatPair] = &[
    FloatPair {
        name: "add",
        build: |a, b| a + b,
        rule: ErrorRule::Slope(1.0, ROUNDING),
        bound: |a, b| a + b,
        smooth: true,
    },
    FloatPair {
        name: "sub",
        build: |a, b| a - b,
        rule: ErrorRule::Slope(1.0, ROUNDING),
        bound: |a, b| a + b,
        smooth: true,
    },
    FloatPair {
        name: "mul",
        build: |a, b| a * b,
        rule: ErrorRule::Product(1),
        bound: |a, b| a * b,
        smooth: true,
    },
    FloatPair {
        name: "div",
        build: |a, b| a / (b.abs() + 0.5),
        rule: ErrorRule::Quotient,
        bound: |a, _| 2.0 * a,
        smooth: true,
    },
    // Bases from 0.5 to 1.5, exponents from -1 to 1.
    FloatPair {
        name: "pow",
        build: |a, b| (a.tanh().abs() + 0.5).pow(b.tanh()),
        rule: ErrorRule::Slope(4.0, 6e-5),
        bound: |_, _| 2.0,
        smooth: false,
    },
    // Quotients below 1, so that there is no jump.
    FloatPair {
        name: "rem",
        build: |a, b| (a.sigmoid() * 0.5 + 0.2).remainder(b.abs() + 1.0),
        rule: ErrorRule::Slope(0.5, 6e-6),
        bound: |_, _| 0.7,
        smooth: false,
    },
    FloatPair {
        name: "max",
        build: |a, b| a.maximum(b),
        rule: ErrorRule::Moves,
        bound: f64::max,
        smooth: false,
    },
    FloatPair {
        name: "min",
        build: |a, b| a.minimum(b),
        rule: ErrorRule::Moves,
        bound: f64::max,
        smooth: false,
    },
];

/// Comparisons, which need exact operands.
pub(super) const COMPARISONS: &[(&str, fn(&Tensor, &Tensor) -> Tensor)] = &[
    ("less", |a, b| a.less(b)),
    ("less_equal", |a, b| a.less_equal(b)),
    ("greater", |a, b| a.greater(b)),
    ("greater_equal", |a, b| a.greater_equal(b)),
    ("equal", |a, b| a.equal(b)),
    ("not_equal", |a, b| a.not_equal(b)),
];

/// The error of storing a result as this dtype, relative to its size.
pub(super) fn stored(dtype: DType) -> f64 {
    if dtype == DType::F16 { 3e-3 } else { 0.0 }
}
