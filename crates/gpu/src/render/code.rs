//! The WGSL of one instruction: the op table's text with operands filled in, and the few cases where a
//! register's type needs another text.

use farad_ir::{Binary, DType, Reduce, Scalar, Unary};

use super::module::WgslModule;
use crate::dispatch::Word;

/// The WGSL name of a register type.
pub(super) fn type_name(dtype: DType) -> &'static str {
    match dtype.register() {
        DType::F32 => "f32",
        DType::I32 => "i32",
        DType::Bool => "bool",
        _ => "u32",
    }
}

/// Replaces single identifiers by operands, which are names or literals.
fn substitute(text: &str, operands: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = first.is_alphanumeric() || first == '_';
        let end = rest.find(|c: char| (c.is_alphanumeric() || c == '_') != word).unwrap_or(rest.len());
        let token = &rest[..end];
        let found = operands.iter().find(|(name, _)| word && *name == token);
        out.push_str(found.map_or(token, |(_, operand)| operand));
        rest = &rest[end..];
    }
    out
}

/// A unary op on a register of `dtype`.
pub(super) fn unary(op: Unary, dtype: DType, x: &str) -> String {
    match (op, dtype) {
        (Unary::Not, DType::Bool) => format!("!{x}"),
        (Unary::Sign, DType::I32) => format!("sign({x})"),
        (Unary::Relu, DType::I32) => format!("max({x}, 0)"),
        _ => substitute(op.row().wgsl, &[("x", x)]),
    }
}

/// A binary op on registers of `dtype`.
pub(super) fn binary(op: Binary, dtype: DType, a: &str, b: &str) -> String {
    let text = match (op, dtype) {
        (Binary::Xor, DType::Bool) => "a != b",
        (Binary::Rem, DType::I32) => "farad_rem_i32(a, b)",
        (Binary::Rem, DType::U32) => "farad_rem_u32(a, b)",
        (_, DType::F32) => op.row().wgsl,
        _ => op.row().wgsl_int,
    };
    substitute(text, &[("a", a), ("b", b)])
}

/// An op whose two operands are the same float, where only its class matters. Drivers would fold the difference
/// to zero and the quotient to one, even for NaN and infinities.
pub(super) fn beside_itself(op: Binary, x: &str) -> Option<String> {
    match op {
        Binary::Sub => Some(format!("farad_less_itself({x})")),
        Binary::Div => Some(format!("farad_by_itself({x})")),
        Binary::Equal => Some(format!("!farad_is_nan({x})")),
        Binary::NotEqual => Some(format!("farad_is_nan({x})")),
        _ => None,
    }
}

/// A register of type `from` converted to `to`.
pub(super) fn cast(from: DType, to: DType, x: &str) -> String {
    let register = to.register();
    let rounded = |x: &str| match to {
        DType::F16 => format!("farad_round_half({x})"),
        DType::BF16 => format!("farad_round_brain({x})"),
        DType::U8 => format!("({x} & 255u)"),
        DType::I8 => format!("extractBits({x}, 0u, 8u)"),
        _ => x.into(),
    };
    // Floats are clamped to the range.
    match (from, to) {
        (DType::F32, DType::U8) => return format!("min(farad_to_u32({x}), 255u)"),
        (DType::F32, DType::I8) => return format!("clamp(farad_to_i32({x}), -128i, 127i)"),
        _ => {}
    }
    let plain = match (from, register) {
        (from, register) if from == register => return rounded(x),
        (DType::F32, DType::I32) => format!("farad_to_i32({x})"),
        (DType::F32, DType::U32) => format!("farad_to_u32({x})"),
        // By its bits, because compilers may assume that NaN does not occur.
        (DType::F32, DType::Bool) => format!("(bitcast<u32>({x}) & 0x7fffffffu) != 0u"),
        (DType::I32, DType::Bool) => format!("{x} != 0i"),
        (DType::U32, DType::Bool) => format!("{x} != 0u"),
        (DType::I32, DType::U32) => format!("bitcast<u32>({x})"),
        (DType::U32, DType::I32) => format!("bitcast<i32>({x})"),
        _ => format!("{}({x})", type_name(register)),
    };
    rounded(&plain)
}

/// A constant as a literal, or `None` if WGSL has no literal for it (infinities, NaN, subnormals).
pub(super) fn literal(value: Scalar) -> Option<String> {
    let word = value.word();
    match value.dtype.register() {
        DType::F32 => {
            let float = f32::from_bits(word);
            let plain = float.is_normal() || word == 0;
            plain.then(|| if float < 0.0 { format!("({float:?}f)") } else { format!("{float:?}f") })
        }
        DType::I32 => {
            let int = word as i32;
            Some(match int {
                i32::MIN => "bitcast<i32>(0x80000000u)".into(),
                _ if int < 0 => format!("({int}i)"),
                _ => format!("{int}i"),
            })
        }
        DType::Bool => Some((word != 0).to_string()),
        _ => Some(format!("{word}u")),
    }
}

/// A word of the uniform as a register of `dtype`.
pub(super) fn from_word(dtype: DType, word: &str) -> String {
    match dtype.register() {
        DType::F32 => format!("bitcast<f32>({word})"),
        DType::I32 => format!("bitcast<i32>({word})"),
        DType::Bool => format!("({word} != 0u)"),
        _ => word.into(),
    }
}

/// A register of `dtype` as a word (not for `bool`).
pub(super) fn to_word(dtype: DType, x: &str) -> String {
    if dtype.register() == DType::U32 { x.into() } else { format!("bitcast<u32>({x})") }
}

/// Two partial results of a reduction combined (not for positions).
pub(super) fn combine(op: Reduce, dtype: DType, a: &str, b: &str) -> String {
    let float = dtype.register() == DType::F32;
    match op {
        Reduce::Sum => format!("{a} + {b}"),
        Reduce::Prod => format!("{a} * {b}"),
        Reduce::Max | Reduce::ArgMax if float => format!("farad_max({a}, {b})"),
        Reduce::Min | Reduce::ArgMin if float => format!("farad_min({a}, {b})"),
        Reduce::Max | Reduce::ArgMax => format!("max({a}, {b})"),
        Reduce::Min | Reduce::ArgMin => format!("min({a}, {b})"),
    }
}

/// Whether `a` strictly beats `b` in the sense of `argmax` or `argmin`; NaN beats everything.
pub(super) fn beats(op: Reduce, dtype: DType, a: &str, b: &str) -> String {
    let sign = if op == Reduce::ArgMax { ">" } else { "<" };
    match dtype.register() {
        DType::F32 => format!("({a} {sign} {b}) | (farad_is_nan({a}) & !farad_is_nan({b}))"),
        _ => format!("{a} {sign} {b}"),
    }
}

/// The identity element of a reduction. Infinities are passed in the uniform, because compilers may assume that
/// literal ones do not occur.
pub(super) fn identity(module: &mut WgslModule, op: Reduce, dtype: DType) -> String {
    let value = op.identity(dtype);
    literal(value).unwrap_or_else(|| from_word(value.dtype, &module.word(Word::Fixed(value.word()))))
}

/// A reduction over the subgroup. Maxima and minima of floats are computed on integers with the same order,
/// where NaN wins.
pub(super) fn subgroup(op: Reduce, dtype: DType, value: &str) -> String {
    let float = dtype.register() == DType::F32;
    match op {
        Reduce::Sum => format!("subgroupAdd({value})"),
        Reduce::Prod => format!("subgroupMul({value})"),
        Reduce::Max | Reduce::ArgMax if float => {
            format!("farad_from_order(subgroupMax(farad_order_above({value})))")
        }
        Reduce::Min | Reduce::ArgMin if float => {
            format!("farad_from_order(subgroupMin(farad_order_below({value})))")
        }
        Reduce::Max | Reduce::ArgMax => format!("subgroupMax({value})"),
        Reduce::Min | Reduce::ArgMin => format!("subgroupMin({value})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_replace_identifiers_only() {
        assert_eq!(unary(Unary::Floor, DType::F32, "v3.x"), "floor(v3.x)");
        assert_eq!(unary(Unary::Relu, DType::I32, "v3.x"), "max(v3.x, 0)");
        assert_eq!(binary(Binary::Div, DType::I32, "p", "q"), "select(p / select(q, 1, q == 0), 0, q == 0)");
        assert_eq!(unary(Unary::Not, DType::Bool, "c"), "!c");
        assert_eq!(binary(Binary::Xor, DType::Bool, "c", "d"), "c != d");
    }

    #[test]
    fn literals_are_exact() {
        assert_eq!(literal(Scalar::f32(0.1)).unwrap(), "0.1f");
        assert_eq!(literal(Scalar::f32(-1e-5)).unwrap(), "(-1e-5f)");
        assert_eq!(literal(Scalar::f32(f32::INFINITY)), None);
        assert_eq!(literal(Scalar::f32(-0.0)), None);
        assert_eq!(literal(Scalar::int(DType::I32, i32::MIN as i64)).unwrap(), "bitcast<i32>(0x80000000u)");
    }
}
