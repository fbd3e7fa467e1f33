//! The binary family: one row an op. Operands have equal shapes and dtypes (callers broadcast).

use crate::dtype::DType;
use crate::graph::{Graph, NodeId};

/// A gradient rule from `(graph, a, b, y, g)`.
pub type BinaryRule = fn(&mut Graph, NodeId, NodeId, NodeId, NodeId) -> NodeId;

/// What a binary op is.
pub struct BinaryRow {
    /// The name in errors, plans and tests.
    pub name: &'static str,
    /// The value on floats; comparisons give 0 or 1.
    pub value: fn(f64, f64) -> f64,
    /// The value on integers and truth values, where the op takes them.
    pub int: Option<fn(i64, i64) -> i64>,
    /// The WGSL expression in `a` and `b`, floats.
    pub wgsl: &'static str,
    /// The WGSL expression on integers.
    pub wgsl_int: &'static str,
    /// Gradients at `a` and at `b`; `None`: zero almost everywhere.
    pub gradient: Option<(BinaryRule, BinaryRule)>,
    /// Ranges that tests sample `a` and `b` from.
    pub range: ((f64, f64), (f64, f64)),
    /// Norm-wise tolerance of a device against the f64 reference.
    pub tolerance: f64,
}

macro_rules! binary_table {
    ($($(#[doc = $doc:literal])+ $variant:ident, $name:literal, $value:expr, $int:expr, $wgsl:literal, $wgsl_int:literal, $gradient:expr, $ra:expr, $rb:expr, $tolerance:expr;)*) => {
        /// A function of two elements.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Binary { $($(#[doc = $doc])+ $variant,)* }

        impl Binary {
            /// Every binary op, in table order.
            pub const ALL: &'static [Binary] = &[$(Binary::$variant),*];

            /// The op's row.
            pub fn row(self) -> &'static BinaryRow {
                const ROWS: &[BinaryRow] = &[$(BinaryRow {
                    name: $name, value: $value, int: $int, wgsl: $wgsl, wgsl_int: $wgsl_int,
                    gradient: $gradient, range: ($ra, $rb), tolerance: $tolerance,
                }),*];
                &ROWS[self as usize]
            }
        }
    };
}

/// Ties of max and min share the gradient equally.
fn share(s: &mut Graph, wins: Binary, a: NodeId, b: NodeId, g: NodeId) -> NodeId {
    let (one, half, zero) = (s.fill_like(g, 1.0), s.fill_like(g, 0.5), s.fill_like(g, 0.0));
    let (win, tie) = (s.binary(wins, a, b), s.binary(Binary::Equal, a, b));
    let rest = s.select(tie, half, zero);
    let part = s.select(win, one, rest);
    s.mul(g, part)
}

const SIGNED: (f64, f64) = (-3.0, 3.0);
const POSITIVE: (f64, f64) = (0.3, 3.0);
const WHOLE: (f64, f64) = (0.0, 9.0);

binary_table! {
    /// `a + b`
    Add, "add", |a, b| a + b, Some(|a, b| a.wrapping_add(b)), "a + b", "a + b", Some((|_, _, _, _, g| g, |_, _, _, _, g| g)), SIGNED, SIGNED, 1e-7;
    /// `a - b`
    Sub, "sub", |a, b| a - b, Some(|a, b| a.wrapping_sub(b)), "a - b", "a - b", Some((|_, _, _, _, g| g, |s, _, _, _, g| s.neg(g))), SIGNED, SIGNED, 1e-7;
    /// `a · b`
    Mul, "mul", |a, b| a * b, Some(|a, b| a.wrapping_mul(b)), "a * b", "a * b", Some((|s, _, b, _, g| s.mul(g, b), |s, a, _, _, g| s.mul(g, a))), SIGNED, SIGNED, 1e-7;
    /// `a / b`; integers truncate toward zero, and a zero divisor gives zero
    Div, "div", |a, b| a / b, Some(|a, b| if b == 0 { 0 } else { a.wrapping_div(b) }), "a / b", "select(a / select(b, 1, b == 0), 0, b == 0)", Some((|s, _, b, _, g| s.div(g, b), |s, _, b, y, g| { let q = s.div(y, b); let d = s.mul(g, q); s.neg(d) })), SIGNED, POSITIVE, 1e-6;
    /// The larger
    Max, "max", f64::max, Some(|a, b| a.max(b)), "max(a, b)", "max(a, b)", Some((|s, a, b, _, g| share(s, Binary::Greater, a, b, g), |s, a, b, _, g| share(s, Binary::Greater, b, a, g))), SIGNED, SIGNED, 1e-7;
    /// The smaller
    Min, "min", f64::min, Some(|a, b| a.min(b)), "min(a, b)", "min(a, b)", Some((|s, a, b, _, g| share(s, Binary::Less, a, b, g), |s, a, b, _, g| share(s, Binary::Less, b, a, g))), SIGNED, SIGNED, 1e-7;
    /// `a^b`; a negative base is fine when the exponent is whole
    Pow, "pow", f64::powf, None, "farad_pow(a, b)", "0", Some((pow_base, pow_exponent)), POSITIVE, SIGNED, 2e-5;
    /// Remainder with the divisor's sign; a zero integer divisor gives zero
    Rem, "rem", |a, b| a - b * (a / b).floor(), Some(|a, b| if b == 0 { 0 } else { a.wrapping_rem(b).wrapping_add(b).wrapping_rem(b) }), "a - b * floor(a / b)", "farad_rem(a, b)", Some((|_, _, _, _, g| g, |s, a, b, _, g| { let q = s.div(a, b); let f = s.unary(crate::Unary::Floor, q); let d = s.mul(g, f); s.neg(d) })), (0.4, 0.9), (1.0, 3.0), 1e-6;
    /// `a < b`
    Less, "less", |a, b| (a < b) as u8 as f64, Some(|a, b| (a < b) as i64), "a < b", "a < b", None, SIGNED, SIGNED, 0.0;
    /// `a ≤ b`
    LessEqual, "less_equal", |a, b| (a <= b) as u8 as f64, Some(|a, b| (a <= b) as i64), "a <= b", "a <= b", None, SIGNED, SIGNED, 0.0;
    /// `a > b`
    Greater, "greater", |a, b| (a > b) as u8 as f64, Some(|a, b| (a > b) as i64), "a > b", "a > b", None, SIGNED, SIGNED, 0.0;
    /// `a ≥ b`
    GreaterEqual, "greater_equal", |a, b| (a >= b) as u8 as f64, Some(|a, b| (a >= b) as i64), "a >= b", "a >= b", None, SIGNED, SIGNED, 0.0;
    /// `a = b`
    Equal, "equal", |a, b| (a == b) as u8 as f64, Some(|a, b| (a == b) as i64), "a == b", "a == b", None, WHOLE, WHOLE, 0.0;
    /// `a ≠ b`
    NotEqual, "not_equal", |a, b| (a != b) as u8 as f64, Some(|a, b| (a != b) as i64), "a != b", "a != b", None, WHOLE, WHOLE, 0.0;
    /// Bitwise, or logical on truth values
    And, "and", |a, _| a, Some(|a, b| a & b), "a & b", "a & b", None, WHOLE, WHOLE, 0.0;
    /// Bitwise, or logical on truth values
    Or, "or", |a, _| a, Some(|a, b| a | b), "a | b", "a | b", None, WHOLE, WHOLE, 0.0;
    /// Bitwise, or logical on truth values
    Xor, "xor", |a, _| a, Some(|a, b| a ^ b), "a ^ b", "a ^ b", None, WHOLE, WHOLE, 0.0;
    /// Left shift; the count is taken modulo 32
    Shl, "shl", |a, _| a, Some(|a, b| a << (b & 31)), "a", "a << (u32(b) & 31u)", None, WHOLE, WHOLE, 0.0;
    /// Right shift, arithmetic on signed integers; the count is taken modulo 32
    Shr, "shr", |a, _| a, Some(|a, b| a >> (b & 31)), "a", "a >> (u32(b) & 31u)", None, WHOLE, WHOLE, 0.0;
}

fn pow_base(s: &mut Graph, a: NodeId, b: NodeId, _: NodeId, g: NodeId) -> NodeId {
    let one = s.fill_like(b, 1.0);
    let less = s.sub(b, one);
    let power = s.binary(Binary::Pow, a, less);
    let d = s.mul(b, power);
    s.mul(g, d)
}

fn pow_exponent(s: &mut Graph, a: NodeId, _: NodeId, y: NodeId, g: NodeId) -> NodeId {
    // d/db a^b = a^b ln a; where a ≤ 0 the logarithm has no meaning and the gradient is zero.
    let zero = s.fill_like(a, 0.0);
    let one = s.fill_like(a, 1.0);
    let positive = s.binary(Binary::Greater, a, zero);
    let safe = s.select(positive, a, one);
    let log = s.unary(crate::Unary::Log, safe);
    let d = s.mul(y, log);
    s.mul(g, d)
}

impl Binary {
    /// Whether the result is a truth value.
    pub fn compares(self) -> bool {
        matches!(
            self,
            Binary::Less
                | Binary::LessEqual
                | Binary::Greater
                | Binary::GreaterEqual
                | Binary::Equal
                | Binary::NotEqual
        )
    }

    /// Whether the op works on bits.
    pub fn is_bitwise(self) -> bool {
        matches!(self, Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr)
    }

    /// Whether the op takes elements of `dtype`.
    pub fn takes(self, dtype: DType) -> bool {
        match dtype {
            DType::Bool => {
                matches!(self, Binary::And | Binary::Or | Binary::Xor | Binary::Equal | Binary::NotEqual)
            }
            DType::I32 | DType::U32 => self != Binary::Pow,
            DType::F32 | DType::F16 => !self.is_bitwise(),
            _ => false,
        }
    }

    /// Whether `a` and `b` may be swapped.
    pub fn commutes(self) -> bool {
        matches!(
            self,
            Binary::Add
                | Binary::Mul
                | Binary::Max
                | Binary::Min
                | Binary::Equal
                | Binary::NotEqual
                | Binary::And
                | Binary::Or
                | Binary::Xor
        )
    }

    /// Whether computing it again costs enough to rather store the result.
    pub fn is_costly(self) -> bool {
        matches!(self, Binary::Pow | Binary::Rem)
    }
}
