//! Ops on each element by itself.

use farad::{DType, Tensor};

use super::ops;
use crate::array::floating;
use crate::dtype::DTypeArg;
use crate::operand::{Beside, met};

/// `|x|`; unsigned integers are it already.
pub fn absolute(x: &Tensor) -> Tensor {
    if x.dtype().is_float() || x.dtype().is_signed_int() { x.abs() } else { x.clone() }
}

/// `-x`; of unsigned integers it wraps.
pub fn negative(x: &Tensor) -> Tensor {
    if x.dtype().is_float() || x.dtype().is_signed_int() { -x } else { x.full_like(0.0) - x }
}

/// `a` to the power of `b`. Integers are multiplied, and wrap.
pub fn power(a: &Tensor, b: &Tensor) -> Tensor {
    if a.dtype().is_float() || b.dtype().is_float() {
        return a.pow(b);
    }
    let dtype = a.dtype().promote(b.dtype()).unwrap_or(DType::I32);
    let (a, b) = (a.cast(dtype), b.cast(dtype));
    let (mut square, mut product) = (a.clone(), &a.full_like(1.0) * &b.full_like(1.0));
    for bit in 0..8 {
        let odd = b.shift_right(bit as f64).and(1.0).equal(1.0);
        product = odd.select(&(&product * &square), &product);
        square = &square * &square;
    }
    a.equal(0.0).and(b.greater(0.0)).select(&a, &product)
}

/// `a` to the power of a number.
pub fn power_of_number(a: &Tensor, number: f64) -> Tensor {
    match number {
        2.0 => a * a,
        number if a.dtype().is_float() || number.fract() != 0.0 => floating(a).pow(number),
        number => power(a, &a.full_like(number)),
    }
}

/// A rounding op: integers are whole already.
fn whole(x: &Tensor, op: fn(&Tensor) -> Tensor) -> Tensor {
    if x.dtype().is_float() { op(x) } else { x.clone() }
}

/// Both operands as tensors.
fn pair(x: &Tensor, other: &Beside) -> (Tensor, Tensor) {
    met(x.clone(), other.tensor(x))
}

/// As in Rust: tensors with tensors, numbers as they are.
fn apply(x: &Tensor, other: &Beside, op: fn(&Tensor, &Tensor) -> Tensor) -> Tensor {
    let (a, b) = pair(x, other);
    op(&a, &b)
}

ops! {
    /// The size of each element without its sign.
    [abs] abs |x| () -> Tensor { absolute(x) }
    /// -1, 0 or 1 by the sign. Its gradient is zero.
    [sign] sign |x| () -> Tensor {
        if x.dtype().is_float() || x.dtype().is_signed_int() { x.sign() } else { x.not_equal(0.0).cast(x.dtype()) }
    }
    /// `e` to the power of each element.
    [exp] exp |x| () -> Tensor { floating(x).exp() }
    /// Natural logarithm.
    [log] log |x| () -> Tensor { floating(x).log() }
    /// 2 to the power of each element.
    [exp2] exp2 |x| () -> Tensor { floating(x).exp2() }
    /// Logarithm to base 2.
    [log2] log2 |x| () -> Tensor { floating(x).log2() }
    /// Square root.
    [sqrt] sqrt |x| () -> Tensor { floating(x).sqrt() }
    /// 1 divided by the square root.
    [rsqrt] rsqrt |x| () -> Tensor { floating(x).rsqrt() }
    /// 1 divided by each element.
    [recip] reciprocal |x| () -> Tensor { floating(x).recip() }
    /// Sine.
    [sin] sin |x| () -> Tensor { floating(x).sin() }
    /// Cosine.
    [cos] cos |x| () -> Tensor { floating(x).cos() }
    /// Hyperbolic tangent.
    [tanh] tanh |x| () -> Tensor { floating(x).tanh() }
    /// Error function.
    [erf] erf |x| () -> Tensor { floating(x).erf() }
    /// `1 / (1 + e^-x)`.
    [sigmoid] sigmoid |x| () -> Tensor { floating(x).sigmoid() }
    /// The larger of each element and 0.
    [relu] relu |x| () -> Tensor { x.relu() }
    /// Largest integer not above each element.
    [floor] floor |x| () -> Tensor { whole(x, |x| x.floor()) }
    /// Smallest integer not below each element.
    [ceil] ceil |x| () -> Tensor { whole(x, |x| x.ceil()) }
    /// Nearest number with so many decimals, ties to even.
    [round] round |x| (decimals: i32 = 0) -> Tensor {
        let scale = 10f64.powi(decimals);
        match decimals {
            0 => whole(x, |x| x.round()),
            _ if x.dtype().is_float() => (x * scale).round() / scale,
            1.. => x.clone(),
            _ => ((x.cast(DType::F32) * scale).round() / scale).cast(x.dtype()),
        }
    }
    /// `ln(1 + x)`, right also for small elements.
    [log1p] log1p |x| () -> Tensor { floating(x).log1p() }
    /// `e^x - 1`, right also for small elements.
    [expm1] expm1 |x| () -> Tensor { floating(x).expm1() }
    /// Gaussian error linear unit, with the error function.
    [gelu] gelu |x| () -> Tensor { x.gelu() }
    /// Gaussian error linear unit by its `tanh` approximation.
    [gelu_tanh] gelu_tanh |x| () -> Tensor { x.gelu_tanh() }
    /// `x · sigmoid(x)`, also called swish.
    [silu] silu |x| () -> Tensor { x.silu() }
    /// `log(1 + e^x)`, without overflow.
    [softplus] softplus |x| () -> Tensor { x.softplus() }
    /// `x · tanh(softplus(x))`.
    [mish] mish |x| () -> Tensor { x.mish() }
    /// Scaled exponential linear unit.
    [selu] selu |x| () -> Tensor { x.selu() }
    /// Elements held between 0 and 6.
    [relu6] relu6 |x| () -> Tensor { x.relu6() }
    /// A sigmoid of straight lines.
    [hard_sigmoid] hard_sigmoid |x| () -> Tensor { x.hard_sigmoid() }
    /// `x · hard_sigmoid(x)`.
    [hard_swish] hard_swish |x| () -> Tensor { x.hard_swish() }
    /// `x / (1 + |x|)`.
    [softsign] softsign |x| () -> Tensor { x.softsign() }
    /// `log(sigmoid(x))`, without underflow.
    [log_sigmoid] log_sigmoid |x| () -> Tensor { x.log_sigmoid() }
    /// `x - tanh(x)`.
    [tanh_shrink] tanh_shrink |x| () -> Tensor { x.tanh_shrink() }
    /// `x` where it is positive, `slope · x` elsewhere.
    [leaky_relu] leaky_relu |x| (slope: f64 = 0.01) -> Tensor { x.leaky_relu(slope) }
    /// As `leaky_relu`, with slopes that are learned.
    [prelu] prelu |x| (slope: crate::array::ArrayArg) -> Tensor { x.prelu(&slope.0) }
    /// `x` where it is positive, `alpha · (e^x - 1)` elsewhere.
    [elu] elu |x| (alpha: f64 = 1.0) -> Tensor { x.elu(alpha) }
    /// As `elu`, smooth for every alpha.
    [celu] celu |x| (alpha: f64 = 1.0) -> Tensor { x.celu(alpha) }
    /// Elements held between two numbers.
    [hard_tanh] hard_tanh |x| (low: f64 = -1.0, high: f64 = 1.0) -> Tensor { x.hard_tanh(low, high) }
    /// The first half of an axis times the sigmoid of the second.
    [glu] glu |x| (axis: isize = -1) -> Tensor { x.glu(axis) }
    /// The first half of an axis, by `silu`, times the second.
    [swiglu] swiglu |x| (axis: isize = -1) -> Tensor { x.swiglu(axis) }
    /// The first half of an axis, by `gelu`, times the second.
    [geglu] geglu |x| (axis: isize = -1) -> Tensor { x.geglu(axis) }
    /// Where elements are finite.
    [is_finite] isfinite |x| () -> Tensor {
        if x.dtype().is_float() { x.is_finite() } else { x.equal(x) }
    }
    /// Where elements are no numbers.
    [is_nan] isnan |x| () -> Tensor { if x.dtype().is_float() { x.is_nan() } else { x.not_equal(x) } }
    /// Where elements are infinite.
    [is_inf] isinf |x| () -> Tensor { if x.dtype().is_float() { x.is_inf() } else { x.not_equal(x) } }
    /// `x · x`.
    [square] square |x| () -> Tensor { x.square() }
    /// The same values, through which no gradient flows.
    [stop_gradient] stop_gradient |x| () -> Tensor { x.stop_gradient() }
    /// `-x`.
    [] negative |x| () -> Tensor { negative(x) }
    /// Logical not of `bool`, bitwise not of integers.
    [not] bitwise_invert |x| () -> Tensor { x.not() }
    /// Where `x < other`.
    [less] less |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.less(b)) }
    /// Where `x <= other`.
    [less_equal] less_equal |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.less_equal(b)) }
    /// Where `x > other`.
    [greater] greater |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.greater(b)) }
    /// Where `x >= other`.
    [greater_equal] greater_equal |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.greater_equal(b)) }
    /// Where `x == other`.
    [equal] equal |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.equal(b)) }
    /// Where `x != other`.
    [not_equal] not_equal |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.not_equal(b)) }
    /// The larger of the two, or NaN if one of them is.
    [maximum] maximum |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.maximum(b)) }
    /// The smaller of the two, or NaN if one of them is.
    [minimum] minimum |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.minimum(b)) }
    /// `x` to the power of `other`.
    [pow] pow |x| (other: Beside) -> Tensor { apply(x, &other, power) }
    /// Remainder with the divisor's sign.
    [remainder] remainder |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.remainder(b)) }
    /// Bitwise and of integers, logical and of `bool`.
    [and] bitwise_and |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.and(b)) }
    /// Bitwise or of integers, logical or of `bool`.
    [or] bitwise_or |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.or(b)) }
    /// Bitwise exclusive or of integers, logical of `bool`.
    [xor] bitwise_xor |x| (other: Beside) -> Tensor { apply(x, &other, |a, b| a.xor(b)) }
    /// Bits shifted left.
    [shift_left] bitwise_left_shift |x| (other: Beside) -> Tensor { apply(x, &other, crate::array::shift_left) }
    /// Bits shifted right, keeping the sign.
    [shift_right] bitwise_right_shift |x| (other: Beside) -> Tensor { apply(x, &other, crate::array::shift_right) }
    /// Where the array is true `a`, elsewhere `b`.
    [select] select |x| (a: Beside, b: Beside) -> Tensor {
        let like = match (&a, &b) {
            (Beside::Tensor(like), _) | (_, Beside::Tensor(like)) => like.clone(),
            (Beside::Host(_), _) => a.tensor(x),
            (_, Beside::Host(_)) => b.tensor(x),
            _ => Tensor::zeros([], x.device()),
        };
        let (a, b) = met(a.tensor(&like), b.tensor(&like));
        x.cast(DType::Bool).select(&a, &b)
    }
    /// The elements as another dtype: floats truncate, integers wrap.
    [cast] cast |x| (dtype: DTypeArg) -> Tensor { x.cast(dtype.0) }
    /// Elements held between two bounds; `None` is no bound.
    [clamp] clip |x| (min: Option<Beside> = None, max: Option<Beside> = None) -> Tensor {
        let at_least = min.map_or_else(|| x.clone(), |min| x.maximum(min.tensor(x).cast(x.dtype())));
        max.map_or_else(|| at_least.clone(), |max| at_least.minimum(max.tensor(x).cast(x.dtype())))
    }
    /// All elements equal to a number, with the array's shape and dtype.
    [full_like] full_like |x| (fill_value: f64) -> Tensor { x.full_like(fill_value) }
    /// Elements zeroed with this probability, and the others scaled up.
    [dropout] dropout |x| (probability: f64 = 0.5) -> Tensor { x.dropout(probability) }
}
