//! Ops as expressions.
//!
//! Invariant: a value of a register is a JavaScript number that the register's dtype can hold; booleans are 0 and 1.

use farad_ir::{Binary, DType, Scalar, Unary};

/// The functions that expressions call.
pub const PRELUDE: &str = include_str!("prelude.js");
/// The functions that draw random bits; only in scripts that do.
pub const RANDOM: &str = include_str!("random.js");

/// Whether registers and elements of this dtype can be written.
pub fn is_written(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::I32 | DType::U32 | DType::Bool)
}

/// A number as the shortest text that is the same f32.
pub fn float(x: f32) -> String {
    match x {
        x if x.is_nan() => "NaN".into(),
        x if x.is_infinite() => if x > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        x => format!("{x:?}").trim_end_matches(".0").into(),
    }
}

/// A constant in an expression: all digits of floats, and parentheses around negative numbers.
pub fn constant(dtype: DType, scalar: Scalar) -> String {
    let text = match dtype {
        DType::F32 => match scalar.as_f64() as f32 {
            x if x.is_finite() => format!("{:?}", f64::from(x)).trim_end_matches(".0").into(),
            x => float(x),
        },
        DType::Bool => u8::from(scalar.as_f64() != 0.0).to_string(),
        dtype => scalar.cast(dtype).as_i64().to_string(),
    };
    if text.starts_with('-') { format!("({text})") } else { text }
}

/// A whole result as its dtype holds it.
fn wrapped(dtype: DType, text: &str) -> String {
    match dtype {
        DType::U32 => format!("({text})>>>0"),
        DType::Bool => format!("({text})&1"),
        _ => format!("({text})|0"),
    }
}

/// A unary op; none if it is not defined for the dtype.
pub fn unary(op: Unary, dtype: DType, x: &str) -> Option<String> {
    if dtype == DType::F32 { unary_float(op, x) } else { unary_whole(op, dtype, x) }
}

fn unary_float(op: Unary, x: &str) -> Option<String> {
    Some(match op {
        Unary::Neg => format!("-{x}"),
        Unary::Abs => format!("Math.abs({x})"),
        Unary::Sign => format!("Math.sign({x})"),
        Unary::Exp => format!("f(Math.exp({x}))"),
        Unary::Log => format!("f(Math.log({x}))"),
        Unary::Exp2 => format!("f(Math.pow(2,{x}))"),
        Unary::Log2 => format!("f(Math.log2({x}))"),
        Unary::Sqrt => format!("f(Math.sqrt({x}))"),
        Unary::Rsqrt => format!("f(1/Math.sqrt({x}))"),
        Unary::Recip => format!("f(1/{x})"),
        Unary::Sin => format!("f(Math.sin({x}))"),
        Unary::Cos => format!("f(Math.cos({x}))"),
        Unary::Tanh => format!("f(Math.tanh({x}))"),
        Unary::Erf => format!("f(erf({x}))"),
        Unary::Sigmoid => format!("f(1/(1+Math.exp(-{x})))"),
        Unary::Relu => format!("({x}<=0?0:{x})"),
        Unary::Floor => format!("Math.floor({x})"),
        Unary::Ceil => format!("Math.ceil({x})"),
        Unary::Round => format!("even({x})"),
        Unary::Finite => format!("(Number.isFinite({x})?1:0)"),
        Unary::Log1p => format!("f(Math.log1p({x}))"),
        Unary::Expm1 => format!("f(Math.expm1({x}))"),
        Unary::Not => return None,
    })
}

fn unary_whole(op: Unary, dtype: DType, x: &str) -> Option<String> {
    Some(match op {
        Unary::Neg => wrapped(dtype, &format!("-{x}")),
        Unary::Abs => wrapped(dtype, &format!("Math.abs({x})")),
        Unary::Sign => format!("Math.sign({x})"),
        Unary::Relu => format!("Math.max({x},0)"),
        Unary::Not if dtype == DType::Bool => format!("1-{x}"),
        Unary::Not => wrapped(dtype, &format!("~{x}")),
        _ => return None,
    })
}

/// A binary op on operands of this dtype; none if it is not defined for it.
pub fn binary(op: Binary, dtype: DType, a: &str, b: &str) -> Option<String> {
    let compares = |sign: &str| format!("({a}{sign}{b}?1:0)");
    Some(match op {
        Binary::Less => compares("<"),
        Binary::LessEqual => compares("<="),
        Binary::Greater => compares(">"),
        Binary::GreaterEqual => compares(">="),
        Binary::Equal => compares("==="),
        Binary::NotEqual => compares("!=="),
        Binary::Max => format!("Math.max({a},{b})"),
        Binary::Min => format!("Math.min({a},{b})"),
        _ if dtype == DType::F32 => return binary_float(op, a, b),
        _ => return binary_whole(op, dtype, a, b),
    })
}

fn binary_float(op: Binary, a: &str, b: &str) -> Option<String> {
    Some(match op {
        Binary::Add => format!("f({a}+{b})"),
        Binary::Sub => format!("f({a}-{b})"),
        Binary::Mul => format!("f({a}*{b})"),
        Binary::Div => format!("f({a}/{b})"),
        Binary::Pow => format!("f(power({a},{b}))"),
        Binary::Join => format!("(Object.is({a},0)?{b}:{a})"),
        Binary::Rem => format!("f(rest({a},{b}))"),
        _ => return None,
    })
}

fn binary_whole(op: Binary, dtype: DType, a: &str, b: &str) -> Option<String> {
    let text = match op {
        Binary::Add => format!("{a}+{b}"),
        Binary::Sub => format!("{a}-{b}"),
        Binary::Mul => format!("Math.imul({a},{b})"),
        Binary::Div => format!("{b}===0?0:Math.trunc({a}/{b})"),
        Binary::Rem => format!("wholeRest({a},{b})"),
        Binary::And => format!("{a}&{b}"),
        Binary::Or => format!("{a}|{b}"),
        Binary::Xor => format!("{a}^{b}"),
        Binary::Shl => format!("{a}<<({b}&31)"),
        Binary::Shr if dtype == DType::U32 => format!("{a}>>>({b}&31)"),
        Binary::Shr => format!("{a}>>({b}&31)"),
        _ => return None,
    };
    Some(wrapped(dtype, &text))
}

/// A conversion; none if it cannot be written.
pub fn cast(from: DType, to: DType, x: &str) -> Option<String> {
    Some(match (from, to) {
        (DType::F32, DType::F32) => x.into(),
        (DType::F32, DType::I32) => format!("toI32({x})"),
        (DType::F32, DType::U32) => format!("toU32({x})"),
        (_, DType::Bool) => format!("({x}===0?0:1)"),
        (_, DType::F32) => format!("f({x})"),
        (_, DType::I32) => format!("{x}|0"),
        (_, DType::U32) => format!("{x}>>>0"),
        _ => return None,
    })
}
