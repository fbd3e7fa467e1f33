//! The binary family: one row an op. Operands have equal shapes and dtypes (callers broadcast).

use crate::dtype::DType;
use crate::extremes::{Bound, EXACT, INF, MAX, NAN, PAIRS, TINY, larger, remainder, smaller, within};
use crate::graph::{Graph, NodeId};

/// A gradient rule from `(graph, a, b, y, g)`.
pub type BinaryRule = fn(&mut Graph, NodeId, NodeId, NodeId, NodeId) -> NodeId;

/// What a binary op makes of its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryKind {
    /// Numbers from numbers.
    Arithmetic,
    /// Truth values.
    Comparison,
    /// Bits from bits: integers only, and truth values where the row says so.
    Bitwise,
}

/// What a binary op is.
pub struct BinaryRow {
    /// The name in errors, plans and tests.
    pub name: &'static str,
    /// What it makes.
    pub kind: BinaryKind,
    /// Whether `a` and `b` may be swapped.
    pub commutes: bool,
    /// Whether computing it again costs enough to rather store the result.
    pub costly: bool,
    /// Whether it takes truth values.
    pub truths: bool,
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
    /// The values at [`PAIRS`], on every device.
    pub edges: [f64; PAIRS.len()],
    /// The largest error of a device, and the sizes of both operands for which it holds, as long as the result is as
    /// large as [`TINY`] or zero and no larger than the largest number.
    pub bound: Bound,
}

macro_rules! binary_table {
    ($($(#[doc = $doc:literal])+ $variant:ident, $name:literal, $kind:ident, $commutes:ident, $costly:ident, $truths:ident, $value:expr, $int:expr, $wgsl:literal, $wgsl_int:literal, $gradient:expr, $ra:expr, $rb:expr, $tolerance:expr, $edges:expr, $bound:expr;)*) => {
        /// A function of two elements.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Binary { $($(#[doc = $doc])+ $variant,)* }

        impl Binary {
            /// Every binary op, in table order.
            pub const ALL: &'static [Binary] = &[$(Binary::$variant),*];

            /// The op's row.
            pub fn row(self) -> &'static BinaryRow {
                const ROWS: &[BinaryRow] = &[$(BinaryRow {
                    name: $name, kind: BinaryKind::$kind, commutes: $commutes, costly: $costly,
                    truths: $truths, value: $value, int: $int, wgsl: $wgsl, wgsl_int: $wgsl_int,
                    gradient: $gradient, range: ($ra, $rb), tolerance: $tolerance,
                    edges: $edges, bound: $bound,
                }),*];
                &ROWS[self as usize]
            }
        }
    };
}

/// What max and min pass on to `a`: nothing where it loses, half where it ties, else all. So both operands get all
/// where one of them is no number.
fn share(s: &mut Graph, loses: Binary, a: NodeId, b: NodeId, g: NodeId) -> NodeId {
    let zero = s.fill_like(g, 0.0);
    let (lost, tie) = (s.binary(loses, a, b), s.binary(Binary::Equal, a, b));
    let half = s.scale(g, 0.5);
    let rest = s.select(tie, half, g);
    s.select(lost, zero, rest)
}

// Columns that are written out in every row, so that none is forgotten.
const COMMUTES: bool = true;
const ORDERED: bool = false;
const COSTLY: bool = true;
const CHEAP: bool = false;
const TRUTHS: bool = true;
const NUMBERS: bool = false;

const NO_FLOATS: [f64; PAIRS.len()] = [0.0; PAIRS.len()];
/// Rounded once, to nearest.
const ROUNDED: Bound = within(0.0, MAX, 6e-8, TINY);

const SIGNED: (f64, f64) = (-3.0, 3.0);
const POSITIVE: (f64, f64) = (0.3, 3.0);
const WHOLE: (f64, f64) = (0.0, 9.0);

binary_table! {
    /// `a + b`
    Add, "add", Arithmetic, COMMUTES, CHEAP, NUMBERS, |a, b| a + b, Some(|a, b| a.wrapping_add(b)), "a + b", "a + b", Some((|_, _, _, _, g| g, |_, _, _, _, g| g)), SIGNED, SIGNED, 1e-7, [NAN, NAN, INF, NAN, NAN, INF, INF, INF, 0.0, 1.0, INF, INF], ROUNDED;
    /// `a - b`
    Sub, "sub", Arithmetic, ORDERED, CHEAP, NUMBERS, |a, b| a - b, Some(|a, b| a.wrapping_sub(b)), "a - b", "a - b", Some((|_, _, _, _, g| g, |s, _, _, _, g| s.neg(g))), SIGNED, SIGNED, 1e-7, [NAN, NAN, NAN, INF, -INF, -INF, -INF, INF, 0.0, 1.0, -INF, INF], ROUNDED;
    /// `a · b`
    Mul, "mul", Arithmetic, COMMUTES, CHEAP, NUMBERS, |a, b| a * b, Some(|a, b| a.wrapping_mul(b)), "a * b", "a * b", Some((|s, _, b, _, g| s.mul(g, b), |s, a, _, _, g| s.mul(g, a))), SIGNED, SIGNED, 1e-7, [NAN, NAN, INF, -INF, -INF, INF, -INF, INF, 0.0, 0.0, NAN, NAN], ROUNDED;
    /// `a / b`; integers truncate toward zero, and a zero divisor gives zero
    Div, "div", Arithmetic, ORDERED, CHEAP, NUMBERS, |a, b| a / b, Some(|a, b| if b == 0 { 0 } else { a.wrapping_div(b) }), "farad_div(a, b)", "select(a / select(b, 1, b == 0), 0, b == 0)", Some((|s, _, b, _, g| s.div(g, b), |s, _, b, y, g| { let q = s.div(y, b); let d = s.mul(g, q); s.neg(d) })), SIGNED, POSITIVE, 1e-6, [NAN, NAN, NAN, NAN, NAN, 0.0, -0.0, INF, NAN, INF, 0.0, INF], within(TINY, 8e37, 4e-7, 0.0);
    /// The larger
    Max, "max", Arithmetic, COMMUTES, CHEAP, NUMBERS, larger, Some(|a, b| a.max(b)), "farad_max(a, b)", "max(a, b)", Some((|s, a, b, _, g| share(s, Binary::Less, a, b, g), |s, a, b, _, g| share(s, Binary::Less, b, a, g))), SIGNED, SIGNED, 1e-7, [NAN, NAN, INF, INF, INF, INF, INF, INF, 0.0, 1.0, INF, INF], EXACT;
    /// The smaller
    Min, "min", Arithmetic, COMMUTES, CHEAP, NUMBERS, smaller, Some(|a, b| a.min(b)), "farad_min(a, b)", "min(a, b)", Some((|s, a, b, _, g| share(s, Binary::Greater, a, b, g), |s, a, b, _, g| share(s, Binary::Greater, b, a, g))), SIGNED, SIGNED, 1e-7, [NAN, NAN, INF, -INF, -INF, 1.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0], EXACT;
    /// `a^b`; a negative base is fine when the exponent is whole
    Pow, "pow", Arithmetic, ORDERED, COSTLY, NUMBERS, f64::powf, None, "farad_pow(a, b)", "0", Some((pow_base, pow_exponent)), POSITIVE, SIGNED, 2e-5, [NAN, 1.0, INF, 0.0, INF, 1.0, 1.0, INF, 1.0, 1.0, 0.0, 1.0], within(TINY, MAX, 4e-5, 0.0);
    /// `a`, or `b` where all bits of `a` are zero: parts of a concatenation, each among zeros. −0 and NaN come through as
    /// they are. The gradient is for such parts: of both, one is a pad's zero
    Join, "join", Arithmetic, ORDERED, CHEAP, NUMBERS, |a, b| if a.to_bits() == 0 { b } else { a }, None, "select(a, b, bitcast<u32>(a) == 0u)", "0", Some((|_, _, _, _, g| g, |_, _, _, _, g| g)), SIGNED, SIGNED, 0.0, [NAN, 1.0, INF, INF, -INF, 1.0, -1.0, INF, 0.0, 1.0, INF, INF], EXACT;
    /// Remainder with the divisor's sign; a zero integer divisor gives zero
    Rem, "rem", Arithmetic, ORDERED, COSTLY, NUMBERS, remainder, Some(|a, b| if b == 0 { 0 } else { a.wrapping_rem(b).wrapping_add(b).wrapping_rem(b) }), "farad_rem_f32(a, b)", "farad_rem(a, b)", Some((|_, _, _, _, g| g, |s, a, b, _, g| { let q = s.div(a, b); let f = s.unary(crate::Unary::Floor, q); let d = s.mul(g, f); s.neg(d) })), (0.4, 0.9), (1.0, 3.0), 1e-6, [NAN, NAN, NAN, NAN, NAN, 1.0, INF, NAN, NAN, NAN, 0.0, NAN], within(0.01, 1e4, 0.0, 2e-3);
    /// `a < b`
    Less, "less", Comparison, ORDERED, CHEAP, NUMBERS, |a, b| (a < b) as u8 as f64, Some(|a, b| (a < b) as i64), "(a < b) & farad_are_numbers(a, b)", "a < b", None, SIGNED, SIGNED, 0.0, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0], EXACT;
    /// `a ≤ b`
    LessEqual, "less_equal", Comparison, ORDERED, CHEAP, NUMBERS, |a, b| (a <= b) as u8 as f64, Some(|a, b| (a <= b) as i64), "(a <= b) & farad_are_numbers(a, b)", "a <= b", None, SIGNED, SIGNED, 0.0, [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0], EXACT;
    /// `a > b`
    Greater, "greater", Comparison, ORDERED, CHEAP, NUMBERS, |a, b| (a > b) as u8 as f64, Some(|a, b| (a > b) as i64), "(a > b) & farad_are_numbers(a, b)", "a > b", None, SIGNED, SIGNED, 0.0, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0], EXACT;
    /// `a ≥ b`
    GreaterEqual, "greater_equal", Comparison, ORDERED, CHEAP, NUMBERS, |a, b| (a >= b) as u8 as f64, Some(|a, b| (a >= b) as i64), "(a >= b) & farad_are_numbers(a, b)", "a >= b", None, SIGNED, SIGNED, 0.0, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0], EXACT;
    /// `a = b`
    Equal, "equal", Comparison, COMMUTES, CHEAP, TRUTHS, |a, b| (a == b) as u8 as f64, Some(|a, b| (a == b) as i64), "(a == b) & !farad_is_nan(a)", "a == b", None, WHOLE, WHOLE, 0.0, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], EXACT;
    /// `a ≠ b`
    NotEqual, "not_equal", Comparison, COMMUTES, CHEAP, TRUTHS, |a, b| (a != b) as u8 as f64, Some(|a, b| (a != b) as i64), "!(a == b) | farad_is_nan(a) | farad_is_nan(b)", "a != b", None, WHOLE, WHOLE, 0.0, [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0], EXACT;
    /// Bitwise, or logical on truth values
    And, "and", Bitwise, COMMUTES, CHEAP, TRUTHS, |a, _| a, Some(|a, b| a & b), "a & b", "a & b", None, WHOLE, WHOLE, 0.0, NO_FLOATS, EXACT;
    /// Bitwise, or logical on truth values
    Or, "or", Bitwise, COMMUTES, CHEAP, TRUTHS, |a, _| a, Some(|a, b| a | b), "a | b", "a | b", None, WHOLE, WHOLE, 0.0, NO_FLOATS, EXACT;
    /// Bitwise, or logical on truth values
    Xor, "xor", Bitwise, COMMUTES, CHEAP, TRUTHS, |a, _| a, Some(|a, b| a ^ b), "a ^ b", "a ^ b", None, WHOLE, WHOLE, 0.0, NO_FLOATS, EXACT;
    /// Left shift; the count is taken modulo 32
    Shl, "shl", Bitwise, ORDERED, CHEAP, NUMBERS, |a, _| a, Some(|a, b| a << (b & 31)), "a", "a << (u32(b) & 31u)", None, WHOLE, WHOLE, 0.0, NO_FLOATS, EXACT;
    /// Right shift, arithmetic on signed integers; the count is taken modulo 32
    Shr, "shr", Bitwise, ORDERED, CHEAP, NUMBERS, |a, _| a, Some(|a, b| a >> (b & 31)), "a", "a >> (u32(b) & 31u)", None, WHOLE, WHOLE, 0.0, NO_FLOATS, EXACT;
}

fn pow_base(s: &mut Graph, a: NodeId, b: NodeId, _: NodeId, g: NodeId) -> NodeId {
    let (zero, one) = (s.fill_like(b, 0.0), s.fill_like(b, 1.0));
    // Where b is zero, so is the slope, although a to the power of -1 may be infinite.
    let constant = s.binary(Binary::Equal, b, zero);
    let less = s.sub(b, one);
    let less = s.select(constant, zero, less);
    let power = s.binary(Binary::Pow, a, less);
    let d = s.mul(b, power);
    s.mul(g, d)
}

fn pow_exponent(s: &mut Graph, a: NodeId, b: NodeId, y: NodeId, g: NodeId) -> NodeId {
    // d/db a^b = a^b ln a, which is zero in the limit where a is zero and b is not negative.
    let (zero, one) = (s.fill_like(a, 0.0), s.fill_like(a, 1.0));
    let nothing = s.binary(Binary::Equal, a, zero);
    let rising = s.binary(Binary::GreaterEqual, b, zero);
    let limit = s.binary(Binary::And, nothing, rising);
    let safe = s.select(limit, one, a);
    let log = s.unary(crate::Unary::Log, safe);
    let d = s.mul(y, log);
    s.mul(g, d)
}

impl Binary {
    /// Whether the result is a truth value.
    pub fn compares(self) -> bool {
        self.row().kind == BinaryKind::Comparison
    }

    /// Whether the op works on bits.
    pub fn is_bitwise(self) -> bool {
        self.row().kind == BinaryKind::Bitwise
    }

    /// Whether the op takes elements of `dtype`.
    pub fn takes(self, dtype: DType) -> bool {
        match dtype {
            DType::Bool => self.row().truths,
            DType::I32 | DType::U32 => self.row().int.is_some(),
            DType::F32 | DType::F16 => !self.is_bitwise(),
            _ => false,
        }
    }

    /// Whether `a` and `b` may be swapped.
    pub fn commutes(self) -> bool {
        self.row().commutes
    }

    /// Whether computing it again costs enough to rather store the result.
    pub fn is_costly(self) -> bool {
        self.row().costly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs that tell most functions apart.
    const PAIRS: [(i64, i64); 6] = [(3, 5), (5, 3), (-7, 2), (6, 6), (0, 4), (12, -5)];

    #[test]
    fn rows_agree_with_their_columns() {
        for op in Binary::ALL {
            let row = op.row();
            let Some(int) = row.int else { continue };
            let symmetric = PAIRS.iter().all(|&(a, b)| int(a, b) == int(b, a));
            assert_eq!(symmetric, row.commutes, "{}", row.name);
            let boolean = PAIRS.iter().all(|&(a, b)| [0, 1].contains(&int(a, b)));
            assert_eq!(boolean, op.compares(), "{}", row.name);
            assert!(!(op.is_bitwise() && row.gradient.is_some()), "{}", row.name);
        }
    }
}
