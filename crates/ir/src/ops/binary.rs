//! The binary family: one row per op. Operands have equal shapes and dtypes (callers broadcast).
//!
//! To add an op, add a variant to [`Binary`] and a row at the same position.

use crate::dtype::{DType, wrap};
use crate::error::OpError;
use crate::extremes::{Bound, EXACT, INF, MAX, NAN, PAIRS, TINY, larger, remainder, smaller, within};
use crate::ops::{TensorType, check_dtype, same_dtypes, same_shapes};
use crate::var::Var;

/// A gradient rule: a formula in `(a, b, y, g)`, the operands, the result and the gradient at the result.
pub type BinaryRule = for<'g> fn(Var<'g>, Var<'g>, Var<'g>, Var<'g>) -> Var<'g>;

/// The kind of a binary op's result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryKind {
    /// Numbers from numbers.
    Arithmetic,
    /// Booleans from numbers.
    Comparison,
    /// Bits from bits: only for integers, and for booleans where the row says so.
    Bitwise,
}

/// Everything about a binary op.
pub struct BinaryRow {
    /// The op that the row belongs to.
    pub op: Binary,
    /// The name in errors, plans and tests.
    pub name: &'static str,
    /// The kind of its result.
    pub kind: BinaryKind,
    /// Whether `a` and `b` may be swapped.
    pub commutes: bool,
    /// Whether recomputing it is so expensive that the result should be stored.
    pub costly: bool,
    /// Whether it accepts booleans.
    pub truths: bool,
    /// The value on floats; comparisons give 0 or 1.
    pub value: fn(f64, f64) -> f64,
    /// The value on integers and booleans, if the op accepts them.
    pub int: Option<fn(i64, i64) -> i64>,
    /// The WGSL expression in `a` and `b`, floats.
    pub wgsl: &'static str,
    /// The WGSL expression on integers.
    pub wgsl_int: &'static str,
    /// Gradients with respect to `a` and `b`; `None` if they are zero almost everywhere.
    pub gradient: Option<(BinaryRule, BinaryRule)>,
    /// Ranges that tests sample `a` and `b` from.
    pub range: ((f64, f64), (f64, f64)),
    /// Norm-wise tolerance of a device against the f64 reference.
    pub tolerance: f64,
    /// The values at [`PAIRS`], on every device.
    pub edges: [f64; PAIRS.len()],
    /// The largest error of a device, and the magnitudes of both operands for which it holds. It applies if the
    /// result is zero or at least [`TINY`], and does not overflow.
    pub bound: Bound,
}

/// The share of the gradient that max and min pass to `a`: nothing if it loses, half if it ties, otherwise all.
/// So if one operand is NaN, both get all.
fn share<'g>(loses: Binary, a: Var<'g>, b: Var<'g>, g: Var<'g>) -> Var<'g> {
    let zero = g.like(0.0);
    let (lost, tie) = (a.binary(loses, b), a.equal(b));
    lost.select(zero, tie.select(g * 0.5, g))
}

const NO_FLOATS: [f64; PAIRS.len()] = [0.0; PAIRS.len()];
/// Correctly rounded, to nearest.
const ROUNDED: Bound = within(0.0, MAX, 6e-8, TINY);

const SIGNED: (f64, f64) = (-3.0, 3.0);
const POSITIVE: (f64, f64) = (0.3, 3.0);
const WHOLE: (f64, f64) = (0.0, 9.0);

/// A function of two elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a · b`
    Mul,
    /// `a / b`; integers truncate toward zero, and a zero divisor gives zero
    Div,
    /// The larger
    Max,
    /// The smaller
    Min,
    /// `a^b`; a negative base is allowed if the exponent is an integer
    Pow,
    /// `a`, or `b` where all bits of `a` are zero. It joins the parts of a concatenation, each padded with
    /// zeros, and keeps −0 and NaN. The gradient assumes such operands: one of the two is always the zero of a
    /// pad
    Join,
    /// Remainder with the divisor's sign; a zero integer divisor gives zero
    Rem,
    /// `a < b`
    Less,
    /// `a ≤ b`
    LessEqual,
    /// `a > b`
    Greater,
    /// `a ≥ b`
    GreaterEqual,
    /// `a = b`
    Equal,
    /// `a ≠ b`
    NotEqual,
    /// Bitwise, or logical on booleans
    And,
    /// Bitwise, or logical on booleans
    Or,
    /// Bitwise, or logical on booleans
    Xor,
    /// Left shift; the count is taken modulo 32, or modulo 64 for 64-bit integers
    Shl,
    /// Right shift, arithmetic on signed integers; the count is taken modulo 32, or modulo 64 for 64-bit
    /// integers
    Shr,
}

const ROWS: [BinaryRow; 20] = [
    BinaryRow {
        op: Binary::Add,
        name: "add",
        kind: BinaryKind::Arithmetic,
        commutes: true,
        costly: false,
        truths: false,
        value: |a, b| a + b,
        int: Some(|a, b| a.wrapping_add(b)),
        wgsl: "a + b",
        wgsl_int: "a + b",
        gradient: Some((|_, _, _, g| g, |_, _, _, g| g)),
        tolerance: 1e-7,
        edges: [NAN, NAN, INF, NAN, NAN, INF, INF, INF, 0.0, 1.0, INF, INF],
        bound: ROUNDED,
        range: (SIGNED, SIGNED),
    },
    BinaryRow {
        op: Binary::Sub,
        name: "sub",
        kind: BinaryKind::Arithmetic,
        commutes: false,
        costly: false,
        truths: false,
        value: |a, b| a - b,
        int: Some(|a, b| a.wrapping_sub(b)),
        wgsl: "a - b",
        wgsl_int: "a - b",
        gradient: Some((|_, _, _, g| g, |_, _, _, g| -g)),
        tolerance: 1e-7,
        edges: [NAN, NAN, NAN, INF, -INF, -INF, -INF, INF, 0.0, 1.0, -INF, INF],
        bound: ROUNDED,
        range: (SIGNED, SIGNED),
    },
    BinaryRow {
        op: Binary::Mul,
        name: "mul",
        kind: BinaryKind::Arithmetic,
        commutes: true,
        costly: false,
        truths: false,
        value: |a, b| a * b,
        int: Some(|a, b| a.wrapping_mul(b)),
        wgsl: "a * b",
        wgsl_int: "a * b",
        gradient: Some((|_, b, _, g| g * b, |a, _, _, g| g * a)),
        tolerance: 1e-7,
        edges: [NAN, NAN, INF, -INF, -INF, INF, -INF, INF, 0.0, 0.0, NAN, NAN],
        bound: ROUNDED,
        range: (SIGNED, SIGNED),
    },
    BinaryRow {
        op: Binary::Div,
        name: "div",
        kind: BinaryKind::Arithmetic,
        commutes: false,
        costly: false,
        truths: false,
        value: |a, b| a / b,
        int: Some(|a, b| if b == 0 { 0 } else { a.wrapping_div(b) }),
        wgsl: "farad_div(a, b)",
        wgsl_int: "select(a / select(b, 1, b == 0), 0, b == 0)",
        gradient: Some((|_, b, _, g| g / b, |_, b, y, g| -(g * (y / b)))),
        tolerance: 1e-6,
        edges: [NAN, NAN, NAN, NAN, NAN, 0.0, -0.0, INF, NAN, INF, 0.0, INF],
        bound: within(TINY, 8e37, 4e-7, 0.0),
        range: (SIGNED, POSITIVE),
    },
    BinaryRow {
        op: Binary::Max,
        name: "max",
        kind: BinaryKind::Arithmetic,
        commutes: true,
        costly: false,
        truths: false,
        value: larger,
        int: Some(|a, b| a.max(b)),
        wgsl: "farad_max(a, b)",
        wgsl_int: "max(a, b)",
        gradient: Some((
            |a, b, _, g| share(Binary::Less, a, b, g),
            |a, b, _, g| share(Binary::Less, b, a, g),
        )),
        tolerance: 1e-7,
        edges: [NAN, NAN, INF, INF, INF, INF, INF, INF, 0.0, 1.0, INF, INF],
        bound: EXACT,
        range: (SIGNED, SIGNED),
    },
    BinaryRow {
        op: Binary::Min,
        name: "min",
        kind: BinaryKind::Arithmetic,
        commutes: true,
        costly: false,
        truths: false,
        value: smaller,
        int: Some(|a, b| a.min(b)),
        wgsl: "farad_min(a, b)",
        wgsl_int: "min(a, b)",
        gradient: Some((
            |a, b, _, g| share(Binary::Greater, a, b, g),
            |a, b, _, g| share(Binary::Greater, b, a, g),
        )),
        tolerance: 1e-7,
        edges: [NAN, NAN, INF, -INF, -INF, 1.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        bound: EXACT,
        range: (SIGNED, SIGNED),
    },
    BinaryRow {
        op: Binary::Pow,
        name: "pow",
        kind: BinaryKind::Arithmetic,
        commutes: false,
        costly: true,
        truths: false,
        value: f64::powf,
        int: None,
        wgsl: "farad_pow(a, b)",
        wgsl_int: "0",
        gradient: Some((pow_base, pow_exponent)),
        tolerance: 2e-5,
        edges: [NAN, 1.0, INF, 0.0, INF, 1.0, 1.0, INF, 1.0, 1.0, 0.0, 1.0],
        bound: within(TINY, MAX, 4e-5, 0.0),
        range: (POSITIVE, SIGNED),
    },
    BinaryRow {
        op: Binary::Join,
        name: "join",
        kind: BinaryKind::Arithmetic,
        commutes: false,
        costly: false,
        truths: false,
        value: |a, b| if a.to_bits() == 0 { b } else { a },
        int: None,
        wgsl: "select(a, b, bitcast<u32>(a) == 0u)",
        wgsl_int: "0",
        gradient: Some((|_, _, _, g| g, |_, _, _, g| g)),
        tolerance: 0.0,
        edges: [NAN, 1.0, INF, INF, -INF, 1.0, -1.0, INF, 0.0, 1.0, INF, INF],
        bound: EXACT,
        range: (SIGNED, SIGNED),
    },
    BinaryRow {
        op: Binary::Rem,
        name: "rem",
        kind: BinaryKind::Arithmetic,
        commutes: false,
        costly: true,
        truths: false,
        value: remainder,
        int: Some(|a, b| if b == 0 { 0 } else { signed_rem(a, b) }),
        wgsl: "farad_rem_f32(a, b)",
        wgsl_int: "farad_rem(a, b)",
        gradient: Some((|_, _, _, g| g, |a, b, _, g| -(g * (a / b).floor()))),
        tolerance: 1e-6,
        edges: [NAN, NAN, NAN, NAN, NAN, 1.0, INF, NAN, NAN, NAN, 0.0, NAN],
        bound: within(0.01, 1e4, 0.0, 2e-3),
        range: ((0.4, 0.9), (1.0, 3.0)),
    },
    BinaryRow {
        op: Binary::Less,
        name: "less",
        kind: BinaryKind::Comparison,
        commutes: false,
        costly: false,
        truths: false,
        value: |a, b| (a < b) as u8 as f64,
        int: Some(|a, b| (a < b) as i64),
        wgsl: "(a < b) & farad_are_numbers(a, b)",
        wgsl_int: "a < b",
        gradient: None,
        tolerance: 0.0,
        edges: [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        bound: EXACT,
        range: (SIGNED, SIGNED),
    },
    BinaryRow {
        op: Binary::LessEqual,
        name: "less_equal",
        kind: BinaryKind::Comparison,
        commutes: false,
        costly: false,
        truths: false,
        value: |a, b| (a <= b) as u8 as f64,
        int: Some(|a, b| (a <= b) as i64),
        wgsl: "(a <= b) & farad_are_numbers(a, b)",
        wgsl_int: "a <= b",
        gradient: None,
        tolerance: 0.0,
        edges: [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0],
        bound: EXACT,
        range: (SIGNED, SIGNED),
    },
    BinaryRow {
        op: Binary::Greater,
        name: "greater",
        kind: BinaryKind::Comparison,
        commutes: false,
        costly: false,
        truths: false,
        value: |a, b| (a > b) as u8 as f64,
        int: Some(|a, b| (a > b) as i64),
        wgsl: "(a > b) & farad_are_numbers(a, b)",
        wgsl_int: "a > b",
        gradient: None,
        tolerance: 0.0,
        edges: [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0],
        bound: EXACT,
        range: (SIGNED, SIGNED),
    },
    BinaryRow {
        op: Binary::GreaterEqual,
        name: "greater_equal",
        kind: BinaryKind::Comparison,
        commutes: false,
        costly: false,
        truths: false,
        value: |a, b| (a >= b) as u8 as f64,
        int: Some(|a, b| (a >= b) as i64),
        wgsl: "(a >= b) & farad_are_numbers(a, b)",
        wgsl_int: "a >= b",
        gradient: None,
        tolerance: 0.0,
        edges: [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0],
        bound: EXACT,
        range: (SIGNED, SIGNED),
    },
    BinaryRow {
        op: Binary::Equal,
        name: "equal",
        kind: BinaryKind::Comparison,
        commutes: true,
        costly: false,
        truths: true,
        value: |a, b| (a == b) as u8 as f64,
        int: Some(|a, b| (a == b) as i64),
        wgsl: "(a == b) & !farad_is_nan(a)",
        wgsl_int: "a == b",
        gradient: None,
        tolerance: 0.0,
        edges: [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        bound: EXACT,
        range: (WHOLE, WHOLE),
    },
    BinaryRow {
        op: Binary::NotEqual,
        name: "not_equal",
        kind: BinaryKind::Comparison,
        commutes: true,
        costly: false,
        truths: true,
        value: |a, b| (a != b) as u8 as f64,
        int: Some(|a, b| (a != b) as i64),
        wgsl: "!(a == b) | farad_is_nan(a) | farad_is_nan(b)",
        wgsl_int: "a != b",
        gradient: None,
        tolerance: 0.0,
        edges: [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0],
        bound: EXACT,
        range: (WHOLE, WHOLE),
    },
    BinaryRow {
        op: Binary::And,
        name: "and",
        kind: BinaryKind::Bitwise,
        commutes: true,
        costly: false,
        truths: true,
        value: |a, _| a,
        int: Some(|a, b| a & b),
        wgsl: "a & b",
        wgsl_int: "a & b",
        gradient: None,
        tolerance: 0.0,
        edges: NO_FLOATS,
        bound: EXACT,
        range: (WHOLE, WHOLE),
    },
    BinaryRow {
        op: Binary::Or,
        name: "or",
        kind: BinaryKind::Bitwise,
        commutes: true,
        costly: false,
        truths: true,
        value: |a, _| a,
        int: Some(|a, b| a | b),
        wgsl: "a | b",
        wgsl_int: "a | b",
        gradient: None,
        tolerance: 0.0,
        edges: NO_FLOATS,
        bound: EXACT,
        range: (WHOLE, WHOLE),
    },
    BinaryRow {
        op: Binary::Xor,
        name: "xor",
        kind: BinaryKind::Bitwise,
        commutes: true,
        costly: false,
        truths: true,
        value: |a, _| a,
        int: Some(|a, b| a ^ b),
        wgsl: "a ^ b",
        wgsl_int: "a ^ b",
        gradient: None,
        tolerance: 0.0,
        edges: NO_FLOATS,
        bound: EXACT,
        range: (WHOLE, WHOLE),
    },
    BinaryRow {
        op: Binary::Shl,
        name: "shl",
        kind: BinaryKind::Bitwise,
        commutes: false,
        costly: false,
        truths: false,
        value: |a, _| a,
        int: Some(|a, b| a << (b & 31)),
        wgsl: "a",
        wgsl_int: "a << (u32(b) & 31u)",
        gradient: None,
        tolerance: 0.0,
        edges: NO_FLOATS,
        bound: EXACT,
        range: (WHOLE, WHOLE),
    },
    BinaryRow {
        op: Binary::Shr,
        name: "shr",
        kind: BinaryKind::Bitwise,
        commutes: false,
        costly: false,
        truths: false,
        value: |a, _| a,
        int: Some(|a, b| a >> (b & 31)),
        wgsl: "a",
        wgsl_int: "a >> (u32(b) & 31u)",
        gradient: None,
        tolerance: 0.0,
        edges: NO_FLOATS,
        bound: EXACT,
        range: (WHOLE, WHOLE),
    },
];

/// The remainder with the divisor's sign.
fn signed_rem(a: i64, b: i64) -> i64 {
    let rest = a.wrapping_rem(b);
    if rest != 0 && (rest < 0) != (b < 0) { rest.wrapping_add(b) } else { rest }
}

fn pow_base<'g>(a: Var<'g>, b: Var<'g>, _: Var<'g>, g: Var<'g>) -> Var<'g> {
    let (zero, one) = (b.like(0.0), b.like(1.0));
    // Where b is zero, the slope is zero too, although a to the power of -1 may be infinite.
    let exponent = b.equal(zero).select(zero, b - one);
    g * (b * a.pow(exponent))
}

fn pow_exponent<'g>(a: Var<'g>, b: Var<'g>, y: Var<'g>, g: Var<'g>) -> Var<'g> {
    // d/db a^b = a^b ln a, which is zero in the limit where a is zero and b is not negative.
    let (zero, one) = (a.like(0.0), a.like(1.0));
    let limit = a.equal(zero).and(b.greater_equal(zero));
    g * (y * limit.select(one, a).log())
}

impl Binary {
    /// Every binary op, in table order.
    pub const ALL: &'static [Binary] = &{
        let (mut all, mut n) = ([ROWS[0].op; ROWS.len()], 0);
        while n < all.len() {
            all[n] = ROWS[n].op;
            assert!(all[n] as usize == n, "rows stand in the order of the variants");
            n += 1;
        }
        all
    };

    /// The op's row.
    pub fn row(self) -> &'static BinaryRow {
        static TABLE: [BinaryRow; ROWS.len()] = ROWS;
        &TABLE[self as usize]
    }

    /// Whether the result is a boolean.
    pub fn compares(self) -> bool {
        self.row().kind == BinaryKind::Comparison
    }

    /// Whether the op works on bits.
    pub fn is_bitwise(self) -> bool {
        self.row().kind == BinaryKind::Bitwise
    }

    /// The result's shape and dtype, or an error.
    pub(crate) fn kind(self, (a, dtype): TensorType, (b, other): TensorType) -> Result<TensorType, OpError> {
        let name = self.row().name;
        same_dtypes(name, dtype, other)?;
        check_dtype(name, dtype, self.takes(dtype))?;
        same_shapes(name, a, b)?;
        Ok((a, if self.compares() { DType::Bool } else { dtype }))
    }

    /// Whether the op accepts elements of `dtype`.
    pub fn takes(self, dtype: DType) -> bool {
        match dtype {
            DType::Bool => self.row().truths,
            dtype if dtype.is_int() => self.row().int.is_some(),
            dtype => dtype.is_compute() && !self.is_bitwise(),
        }
    }

    /// The value on integers or booleans of `dtype` (a `u64` as its bits), if the op accepts them.
    pub fn whole(self, dtype: DType, a: i64, b: i64) -> Option<i64> {
        let int = self.row().int?;
        let (unsigned_a, unsigned_b) = (a as u64, b as u64);
        let y = match (self, dtype) {
            (Binary::Shl, DType::I64 | DType::U64) => a << (b & 63),
            (Binary::Shr, DType::I64) => a >> (b & 63),
            (Binary::Shr, DType::U64) => (unsigned_a >> (b & 63)) as i64,
            (Binary::Div, DType::U64) => unsigned_a.checked_div(unsigned_b).unwrap_or(0) as i64,
            (Binary::Rem, DType::U64) => unsigned_a.checked_rem(unsigned_b).unwrap_or(0) as i64,
            (Binary::Max, DType::U64) => unsigned_a.max(unsigned_b) as i64,
            (Binary::Min, DType::U64) => unsigned_a.min(unsigned_b) as i64,
            // With the highest bit flipped, signed numbers have the order of unsigned ones.
            (_, DType::U64) if self.compares() => int(a ^ i64::MIN, b ^ i64::MIN),
            _ => int(a, b),
        };
        Some(if self.compares() { y } else { wrap(dtype, y) })
    }

    /// Whether `a` and `b` may be swapped.
    pub fn commutes(self) -> bool {
        self.row().commutes
    }

    /// Whether recomputing it is so expensive that the result should be stored.
    pub fn is_costly(self) -> bool {
        self.row().costly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs that distinguish most functions.
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
