//! Elementwise ops: arithmetic, activations, comparisons, logic, bits, conversions.

use farad_tensor::Tensor;

use super::Default::{AnInt, Float, Int, Text};
use super::{MANY, Row, one, row};
use crate::array::Array;
use crate::call::Call;
use crate::error::Result;
use crate::kind::{Class, Kind};
use crate::pointwise::{BinaryFunction, Compare};
use crate::refuse;
use crate::value::Value;

/// A function of floats: on the host, and on devices.
macro_rules! float {
    ($name:literal, $host:expr, $device:expr) => {
        row($name, (1, 1), &[], |call| one(call.input(0)?.apply($host, $device)?))
    };
}

/// A function of floats or of integers.
macro_rules! number {
    ($name:literal, $whole:expr, $host:expr, $device:expr) => {
        row($name, (1, 1), &[], |call| {
            let x = call.input(0)?;
            one(if x.kind()?.is_int() { x.apply_whole($whole)? } else { x.apply($host, $device)? })
        })
    };
}

macro_rules! binary {
    ($name:literal, $op:ident) => {
        row($name, (2, 2), &[("axis", AnInt), ("broadcast", AnInt)], |call| {
            one(call.input(0)?.binary(BinaryFunction::$op, call.input(1)?)?)
        })
    };
}

macro_rules! compare {
    ($name:literal, $op:ident) => {
        row($name, (2, 2), &[("axis", AnInt), ("broadcast", AnInt)], |call| {
            one(call.input(0)?.compare(Compare::$op, call.input(1)?)?)
        })
    };
}

macro_rules! many {
    ($name:literal, $op:ident) => {
        row($name, (1, MANY), &[], |call| folded(call, BinaryFunction::$op).and_then(one))
    };
}

pub const ROWS: &[Row] = &[
    number!("Abs", i64::wrapping_abs, f64::abs, |x| x.abs()),
    number!("Neg", i64::wrapping_neg, |x| -x, |x| -x),
    number!("Sign", i64::signum, sign, |x| x.sign()),
    number!("Relu", |x| x.max(0), |x| if x.is_nan() { x } else { x.max(0.0) }, |x| x.relu()),
    float!("Exp", f64::exp, |x| x.exp()),
    float!("Log", f64::ln, |x| x.log()),
    float!("Sqrt", f64::sqrt, |x| x.sqrt()),
    float!("Reciprocal", f64::recip, |x| x.recip()),
    float!("Sin", f64::sin, |x| x.sin()),
    float!("Cos", f64::cos, |x| x.cos()),
    float!("Tan", f64::tan, |x| x.sin() / x.cos()),
    float!("Asin", f64::asin, |x| arc_tangent(&(x / (1.0 - x * x).sqrt()))),
    float!("Acos", f64::acos, |x| std::f64::consts::FRAC_PI_2 - arc_tangent(&(x / (1.0 - x * x).sqrt()))),
    float!("Atan", f64::atan, arc_tangent),
    float!("Sinh", f64::sinh, |x| (x.expm1() - (-x).expm1()) * 0.5),
    float!("Cosh", f64::cosh, |x| (x.exp() + (-x).exp()) * 0.5),
    float!("Asinh", f64::asinh, |x| {
        let size = x.abs();
        let root = (&size * &size + 1.0).sqrt();
        (&size + &size * &size / (root + 1.0)).log1p() * x.sign()
    }),
    float!("Acosh", f64::acosh, |x| (x + (x * x - 1.0).sqrt()).log()),
    float!("Atanh", f64::atanh, |x| (x * 2.0 / (1.0 - x)).log1p() * 0.5),
    float!("Tanh", f64::tanh, |x| x.tanh()),
    float!("Erf", erf, |x| x.erf()),
    float!("Sigmoid", sigmoid, |x| x.sigmoid()),
    float!("Floor", f64::floor, |x| x.floor()),
    float!("Ceil", f64::ceil, |x| x.ceil()),
    float!("Round", f64::round_ties_even, |x| x.round()),
    float!("Softplus", softplus, |x| x.softplus()),
    float!("Softsign", |x| x / (1.0 + x.abs()), |x| x.softsign()),
    float!("HardSwish", |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0), |x| x.hard_swish()),
    float!("Mish", |x| x * softplus(x).tanh(), |x| x.mish()),
    row("Gelu", (1, 1), &[("approximate", Text("none"))], |call| {
        let x = call.input(0)?;
        one(match call.text("approximate")? {
            "tanh" => x.apply(
                |x| 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044715 * x * x * x)).tanh()),
                |x| x.gelu_tanh(),
            )?,
            _ => x.apply(|x| 0.5 * x * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2)), |x| x.gelu())?,
        })
    }),
    row("Swish", (1, 1), &[("alpha", Float(1.0))], |call| {
        let alpha = call.float("alpha")?;
        one(call.input(0)?.apply(|x| x * sigmoid(alpha * x), |x| x * (x * alpha).sigmoid())?)
    }),
    row("LeakyRelu", (1, 1), &[("alpha", Float(0.01))], |call| {
        let alpha = call.float("alpha")?;
        one(call.input(0)?.apply(|x| if x < 0.0 { alpha * x } else { x }, |x| x.leaky_relu(alpha))?)
    }),
    row("Elu", (1, 1), &[("alpha", Float(1.0))], |call| {
        let alpha = call.float("alpha")?;
        one(call.input(0)?.apply(|x| if x < 0.0 { alpha * x.exp_m1() } else { x }, |x| x.elu(alpha))?)
    }),
    row("Celu", (1, 1), &[("alpha", Float(1.0))], |call| {
        let alpha = call.float("alpha")?;
        one(call
            .input(0)?
            .apply(|x| x.max(0.0) + (alpha * (x / alpha).exp_m1()).min(0.0), |x| x.celu(alpha))?)
    }),
    row(
        "Selu",
        (1, 1),
        &[("alpha", Float(1.673_263_192_176_818_8)), ("gamma", Float(1.050_701_022_148_132_3))],
        |call| {
            let (alpha, gamma) = (call.float("alpha")?, call.float("gamma")?);
            one(call
                .input(0)?
                .apply(|x| gamma * if x > 0.0 { x } else { alpha * x.exp_m1() }, |x| x.elu(alpha) * gamma)?)
        },
    ),
    row("HardSigmoid", (1, 1), &[("alpha", Float(0.2)), ("beta", Float(0.5))], |call| {
        let (alpha, beta) = (call.float("alpha")?, call.float("beta")?);
        one(call.input(0)?.apply(
            |x| (alpha * x + beta).clamp(0.0, 1.0),
            |x| (x * alpha + beta).maximum(0.0).minimum(1.0),
        )?)
    }),
    row("ThresholdedRelu", (1, 1), &[("alpha", Float(1.0))], |call| {
        let alpha = call.float("alpha")?;
        one(call
            .input(0)?
            .apply(|x| if x > alpha { x } else { 0.0 }, |x| x.greater(alpha).select(x, &x.full_like(0.0)))?)
    }),
    row("Shrink", (1, 1), &[("lambd", Float(0.5)), ("bias", Float(0.0))], |call| {
        let (edge, bias) = (call.float("lambd")?, call.float("bias")?);
        let shrink = |x: f64| {
            if x < -edge {
                x + bias
            } else if x > edge {
                x - bias
            } else {
                0.0
            }
        };
        let x = call.input(0)?;
        if x.kind()?.is_int() {
            return one(x.apply_whole(|x| shrink(x as f64) as i64)?);
        }
        one(x.apply(shrink, |x| {
            let inner = x.greater(edge).select(&(x - bias), &x.full_like(0.0));
            x.less(-edge).select(&(x + bias), &inner)
        })?)
    }),
    row("PRelu", (2, 2), &[], |call| {
        let (x, slope) = (call.input(0)?, call.input(1)?);
        let below = x.compare(Compare::Less, &x.number(0.0)?)?;
        one(below.select(&x.mul(slope)?, x)?)
    }),
    binary!("Add", Add),
    binary!("Sub", Sub),
    binary!("Mul", Mul),
    binary!("Div", Div),
    row("Pow", (2, 2), &[], |call| {
        let (x, y) = (call.input(0)?, call.input(1)?);
        let kind = x.kind()?;
        if kind.is_float() {
            return one(power(x, &y.cast(kind, true)?)?);
        }
        if y.kind()?.is_float() {
            let wide = x.cast(Kind::F64, true)?.binary(BinaryFunction::Pow, &y.cast(Kind::F64, true)?)?;
            return one(wide.cast(kind, true)?);
        }
        let wide = x.cast(Kind::I64, true)?.binary(BinaryFunction::Pow, &y.cast(Kind::I64, true)?)?;
        one(wide.cast(kind, true)?)
    }),
    row("Mod", (2, 2), &[("fmod", Int(0))], |call| {
        let (x, y) = (call.input(0)?, call.input(1)?);
        one(x.binary(if call.flag("fmod")? { BinaryFunction::Fmod } else { BinaryFunction::Mod }, y)?)
    }),
    many!("Sum", Add),
    many!("Max", Max),
    many!("Min", Min),
    row("Mean", (1, MANY), &[], |call| {
        one(folded(call, BinaryFunction::Add)?.scaled(1.0 / call.inputs.len() as f64)?)
    }),
    row("Clip", (1, 3), &[("min", Float(f64::NEG_INFINITY)), ("max", Float(f64::INFINITY))], |call| {
        let mut x = call.input(0)?.clone();
        for (place, name, op) in [(1, "min", BinaryFunction::Max), (2, "max", BinaryFunction::Min)] {
            if let Some(edge) = call.optional(place) {
                x = x.binary(op, edge)?;
            } else if call.has(name) {
                x = x.binary(op, &x.number(call.float(name)?)?)?;
            }
        }
        one(x)
    })
    .fixed(&[1, 2]),
    compare!("Less", Less),
    compare!("LessOrEqual", LessOrEqual),
    compare!("Greater", Greater),
    compare!("GreaterOrEqual", GreaterOrEqual),
    compare!("Equal", Equal),
    binary!("And", And),
    binary!("Or", Or),
    binary!("Xor", Xor),
    binary!("BitwiseAnd", And),
    binary!("BitwiseOr", Or),
    binary!("BitwiseXor", Xor),
    row("Not", (1, 1), &[], |call| one(call.input(0)?.not()?)),
    row("BitwiseNot", (1, 1), &[], |call| one(call.input(0)?.apply_whole(|x| !x)?)),
    row("BitShift", (2, 2), &[("direction", Text("LEFT"))], |call| {
        let op = if call.text("direction")? == "LEFT" {
            BinaryFunction::ShiftLeft
        } else {
            BinaryFunction::ShiftRight
        };
        one(call.input(0)?.binary(op, call.input(1)?)?)
    }),
    row("Where", (3, 3), &[], |call| one(call.input(0)?.select(call.input(1)?, call.input(2)?)?)),
    row("IsNaN", (1, 1), &[], |call| one(test(call.input(0)?, f64::is_nan, |x| x.is_nan())?)),
    row("IsInf", (1, 1), &[("detect_negative", Int(1)), ("detect_positive", Int(1))], |call| {
        let (negative, positive) = (call.flag("detect_negative")?, call.flag("detect_positive")?);
        let found = move |x: f64| x == f64::INFINITY && positive || x == f64::NEG_INFINITY && negative;
        one(test(call.input(0)?, found, |x| match (negative, positive) {
            (true, true) => x.is_inf(),
            (true, false) => x.is_inf() & x.less(0.0),
            (false, true) => x.is_inf() & x.greater(0.0),
            (false, false) => x.is_inf() & x.is_nan(),
        })?)
    }),
    row("Cast", (1, 1), &[("to", AnInt), ("saturate", Int(1)), ("round_mode", Text("up"))], |call| {
        let Some(kind) = call.kind("to")? else { refuse!("the attribute to is missing") };
        one(converted(call, kind)?)
    }),
    row("CastLike", (2, 2), &[("saturate", Int(1)), ("round_mode", Text("up"))], |call| {
        one(converted(call, call.input(1)?.kind()?)?)
    }),
    row("BitCast", (1, 1), &[("to", AnInt)], |call| {
        let Some(kind) = call.kind("to")? else { refuse!("the attribute to is missing") };
        one(bits_as(&*call.input(0)?.host()?, kind)?.into())
    }),
];

fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { x.signum() }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The error function: its series near zero, a continued fraction elsewhere.
fn erf(x: f64) -> f64 {
    let size = x.abs();
    if size > 6.0 {
        return x.signum();
    }
    if size < 3.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..120 {
            term *= -x * x / n as f64;
            sum += term / (2 * n + 1) as f64;
        }
        return sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    let fraction = (1..60).rev().fold(size, |below, n| size + n as f64 / 2.0 / below);
    (1.0 - (-x * x).exp() / (fraction * std::f64::consts::PI.sqrt())).copysign(x)
}

/// The arctangent. The angle is halved twice by `tan(a / 2) = t / (1 + √(1 + t²))`, then the series is used.
fn arc_tangent(x: &Tensor) -> Tensor {
    // Beyond one, the angle is π/2 minus that of the reciprocal; the select keeps both sides finite.
    let size = x.abs();
    let far = size.greater(1.0);
    let near = far.select(&size.maximum(1.0).recip(), &size);
    let half = |t: &Tensor| t / ((t * t + 1.0).sqrt() + 1.0);
    let t = half(&half(&near));
    let square = &t * &t;
    let mut series = square.full_like(1.0 / 13.0);
    for n in [11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        series = 1.0 / n - &square * series;
    }
    let angle = t * series * 4.0;
    let right = std::f64::consts::FRAC_PI_2;
    far.select(&(right - &angle), &angle) * x.sign()
}

/// `x` to the power of `y`. An integer power of a tensor is computed by products, so that negative bases work,
/// too.
fn power(x: &Value, y: &Value) -> Result<Value> {
    if let (Value::Device(tensor, kind), Value::Host(array)) = (x, y)
        && array.len() == 1
        && array.shape.len() <= tensor.rank()
    {
        let number = array.to_floats()?[0];
        let powered = match number {
            1.0 => tensor.clone(),
            2.0 => tensor.square(),
            3.0 => tensor * tensor * tensor,
            0.5 => tensor.sqrt(),
            -1.0 => tensor.recip(),
            _ => return x.binary(BinaryFunction::Pow, y),
        };
        return Ok(Value::Device(powered, *kind));
    }
    x.binary(BinaryFunction::Pow, y)
}

fn folded(call: &Call, op: BinaryFunction) -> Result<Value> {
    let all = call.all()?;
    let mut value = all[0].clone();
    for other in &all[1..] {
        value = value.binary(op, other)?;
    }
    Ok(value)
}

fn test(x: &Value, host: impl Fn(f64) -> bool, device: impl Fn(&Tensor) -> Tensor) -> Result<Value> {
    match x {
        Value::Device(tensor, Kind::F32 | Kind::F16) => Ok(Value::Device(device(tensor), Kind::Bool)),
        _ => {
            let array = x.host()?;
            let data = array.to_floats()?.into_iter().map(|x| host(x) as i64).collect();
            Ok(Array::ints(Kind::Bool, array.shape.clone(), data).into())
        }
    }
}

fn converted(call: &Call, kind: Kind) -> Result<Value> {
    let x = call.input(0)?;
    let saturate = call.flag("saturate")?;
    if kind == Kind::F8E8M0 {
        return Ok(powers_of_two(&*x.host()?, call.text("round_mode")?, saturate)?.into());
    }
    x.cast(kind, saturate)
}

/// Numbers rounded to powers of two: the next one up, down, or the nearest.
fn powers_of_two(x: &Array, mode: &str, saturate: bool) -> Result<Array> {
    let kind = Kind::F8E8M0;
    let power = |x: f64| {
        if x.is_nan() {
            return f64::NAN;
        }
        let size = x.abs();
        if size.is_infinite() {
            return if saturate { 2f64.powi(127) } else { f64::NAN };
        }
        if size == 0.0 {
            return 2f64.powi(-127);
        }
        let low = size.log2().floor();
        let (below, above) = (2f64.powf(low), 2f64.powf(low + 1.0));
        let y = match mode {
            "down" => below,
            "nearest" => {
                if size - below < above - size {
                    below
                } else {
                    above
                }
            }
            _ => {
                if size == below {
                    below
                } else {
                    above
                }
            }
        };
        if y > 2f64.powi(127) && !saturate { f64::NAN } else { y.clamp(2f64.powi(-127), 2f64.powi(127)) }
    };
    x.map(kind, power)
}

/// The same bits reinterpreted as another kind.
fn bits_as(array: &Array, kind: Kind) -> Result<Array> {
    if array.kind.bits() != kind.bits() || kind.class() == Class::Text {
        refuse!("widths differ: {} as {kind} ({} vs {} bits)", array.kind, array.kind.bits(), kind.bits());
    }
    let mut tensor = crate::decode::proto("", array);
    tensor.data_type = kind.number();
    Ok(crate::decode::array(&tensor, None)?)
}
