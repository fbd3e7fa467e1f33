//! Arithmetic on tiles of 64-bit registers, and the conversions to and from them, in the same kind of loops as
//! [`arithmetic`](super::arithmetic). Elementary functions come from the op table, one element at a time.
//!
//! Invariant: on integers the results are those of [`Binary::whole`] and [`Unary::whole`], bit for bit.

use farad_ir::{Binary, DType, Unary};

use super::arithmetic::{Registers, input, map, output, scalar, zip};
use crate::interpreter::bytecode::{BytecodeOp, Conversion, Opcode, WordType};

/// Runs one arithmetic instruction that reads or writes 64-bit registers on a tile of `n` elements.
///
/// # Safety
/// Every register that the instruction names must hold `n` elements of its kind (one, if it is a scalar), and
/// the output must not overlap an input.
#[inline(always)]
pub unsafe fn apply(op: &BytecodeOp, registers: Registers, n: usize) {
    // SAFETY: promised by the caller, for all the loops below.
    unsafe {
        match op.code {
            Opcode::Unary(unary, WordType::Double) => double_unary(unary, op, registers, n),
            Opcode::Unary(unary, kind) => long_unary(unary, kind, op, registers, n),
            Opcode::Binary(binary, WordType::Double) => double_binary(binary, op, registers, n),
            Opcode::Binary(binary, WordType::Long) => long_binary(binary, op, registers, n),
            Opcode::Binary(binary, _) => long_word_binary(binary, op, registers, n),
            Opcode::Select => select(op, registers, n),
            Opcode::Convert(Conversion::To(from, to)) => convert(from, to, op, registers, n),
            Opcode::Fill => output::<u64>(registers, op, n).fill(scalar::<u64>(registers, op.a)),
            _ => unreachable!("{:?} is not arithmetic", op.code),
        }
    }
}

#[inline(always)]
unsafe fn double_unary(unary: Unary, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match unary {
            Unary::Neg => map!(op, r, n, |x: f64| -> f64 { -x }),
            Unary::Abs => map!(op, r, n, |x: f64| -> f64 { x.abs() }),
            Unary::Sqrt => map!(op, r, n, |x: f64| -> f64 { x.sqrt() }),
            Unary::Rsqrt => map!(op, r, n, |x: f64| -> f64 { 1.0 / x.sqrt() }),
            Unary::Recip => map!(op, r, n, |x: f64| -> f64 { 1.0 / x }),
            Unary::Relu => map!(op, r, n, |x: f64| -> f64 { if x <= 0.0 { 0.0 } else { x } }),
            Unary::Floor => map!(op, r, n, |x: f64| -> f64 { x.floor() }),
            Unary::Ceil => map!(op, r, n, |x: f64| -> f64 { x.ceil() }),
            Unary::Finite => map!(op, r, n, |x: f64| -> f64 { x.is_finite() as u32 as f64 }),
            Unary::Round => map!(op, r, n, |x: f64| -> f64 { x.round_ties_even() }),
            _ => {
                let value = unary.row().value;
                map!(op, r, n, |x: f64| -> f64 { value(x) });
            }
        }
    }
}

#[inline(always)]
unsafe fn long_unary(unary: Unary, kind: WordType, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match (unary, kind) {
            (Unary::Neg, _) => map!(op, r, n, |x: i64| -> i64 { x.wrapping_neg() }),
            (Unary::Not, _) => map!(op, r, n, |x: i64| -> i64 { !x }),
            (Unary::Abs, WordType::Long) => map!(op, r, n, |x: i64| -> i64 { x.wrapping_abs() }),
            (Unary::Sign, WordType::Long) => map!(op, r, n, |x: i64| -> i64 { x.signum() }),
            (Unary::Relu, WordType::Long) => map!(op, r, n, |x: i64| -> i64 { x.max(0) }),
            (Unary::Abs | Unary::Relu, _) => map!(op, r, n, |x: u64| -> u64 { x }),
            (Unary::Sign, _) => map!(op, r, n, |x: u64| -> u64 { (x > 0) as u64 }),
            _ => unreachable!("loading rejects {unary:?} on integers"),
        }
    }
}

#[inline(always)]
unsafe fn double_binary(binary: Binary, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match binary {
            Binary::Add => zip!(op, r, n, |x, y: f64| -> f64 { x + y }),
            Binary::Sub => zip!(op, r, n, |x, y: f64| -> f64 { x - y }),
            Binary::Mul => zip!(op, r, n, |x, y: f64| -> f64 { x * y }),
            Binary::Div => zip!(op, r, n, |x, y: f64| -> f64 { x / y }),
            Binary::Max => zip!(op, r, n, |x, y: f64| -> f64 { if (x > y) | x.is_nan() { x } else { y } }),
            Binary::Min => zip!(op, r, n, |x, y: f64| -> f64 { if (x < y) | x.is_nan() { x } else { y } }),
            Binary::Less => zip!(op, r, n, |x, y: f64| -> u32 { (x < y) as u32 }),
            Binary::LessEqual => zip!(op, r, n, |x, y: f64| -> u32 { (x <= y) as u32 }),
            Binary::Greater => zip!(op, r, n, |x, y: f64| -> u32 { (x > y) as u32 }),
            Binary::GreaterEqual => zip!(op, r, n, |x, y: f64| -> u32 { (x >= y) as u32 }),
            Binary::Equal => zip!(op, r, n, |x, y: f64| -> u32 { (x == y) as u32 }),
            Binary::NotEqual => zip!(op, r, n, |x, y: f64| -> u32 { (x != y) as u32 }),
            Binary::Join => zip!(op, r, n, |x, y: f64| -> f64 { if x.to_bits() == 0 { y } else { x } }),
            Binary::Pow | Binary::Rem => {
                let value = binary.row().value;
                zip!(op, r, n, |x, y: f64| -> f64 { value(x, y) });
            }
            Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => {
                unreachable!("loading rejects {binary:?} on floats")
            }
        }
    }
}

/// The remainder with the divisor's sign; zero for a zero divisor.
#[inline(always)]
fn long_rem(x: i64, y: i64) -> i64 {
    let rest = if y == 0 { 0 } else { x.wrapping_rem(y) };
    rest.wrapping_add(if rest != 0 && (rest < 0) != (y < 0) { y } else { 0 })
}

#[inline(always)]
unsafe fn long_binary(binary: Binary, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match binary {
            Binary::Div => zip!(op, r, n, |x, y: i64| -> i64 { if y == 0 { 0 } else { x.wrapping_div(y) } }),
            Binary::Max => zip!(op, r, n, |x, y: i64| -> i64 { x.max(y) }),
            Binary::Min => zip!(op, r, n, |x, y: i64| -> i64 { x.min(y) }),
            Binary::Rem => zip!(op, r, n, |x, y: i64| -> i64 { long_rem(x, y) }),
            Binary::Less => zip!(op, r, n, |x, y: i64| -> u32 { (x < y) as u32 }),
            Binary::LessEqual => zip!(op, r, n, |x, y: i64| -> u32 { (x <= y) as u32 }),
            Binary::Greater => zip!(op, r, n, |x, y: i64| -> u32 { (x > y) as u32 }),
            Binary::GreaterEqual => zip!(op, r, n, |x, y: i64| -> u32 { (x >= y) as u32 }),
            Binary::Shr => zip!(op, r, n, |x, y: i64| -> i64 { x >> (y & 63) }),
            _ => long_word_binary(binary, op, r, n),
        }
    }
}

#[inline(always)]
unsafe fn long_word_binary(binary: Binary, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match binary {
            Binary::Add => zip!(op, r, n, |x, y: u64| -> u64 { x.wrapping_add(y) }),
            Binary::Sub => zip!(op, r, n, |x, y: u64| -> u64 { x.wrapping_sub(y) }),
            Binary::Mul => zip!(op, r, n, |x, y: u64| -> u64 { x.wrapping_mul(y) }),
            Binary::Div => zip!(op, r, n, |x, y: u64| -> u64 { x.checked_div(y).unwrap_or(0) }),
            Binary::Max => zip!(op, r, n, |x, y: u64| -> u64 { x.max(y) }),
            Binary::Min => zip!(op, r, n, |x, y: u64| -> u64 { x.min(y) }),
            Binary::Rem => zip!(op, r, n, |x, y: u64| -> u64 { x.checked_rem(y).unwrap_or(0) }),
            Binary::Less => zip!(op, r, n, |x, y: u64| -> u32 { (x < y) as u32 }),
            Binary::LessEqual => zip!(op, r, n, |x, y: u64| -> u32 { (x <= y) as u32 }),
            Binary::Greater => zip!(op, r, n, |x, y: u64| -> u32 { (x > y) as u32 }),
            Binary::GreaterEqual => zip!(op, r, n, |x, y: u64| -> u32 { (x >= y) as u32 }),
            Binary::Equal => zip!(op, r, n, |x, y: u64| -> u32 { (x == y) as u32 }),
            Binary::NotEqual => zip!(op, r, n, |x, y: u64| -> u32 { (x != y) as u32 }),
            Binary::And => zip!(op, r, n, |x, y: u64| -> u64 { x & y }),
            Binary::Or => zip!(op, r, n, |x, y: u64| -> u64 { x | y }),
            Binary::Xor => zip!(op, r, n, |x, y: u64| -> u64 { x ^ y }),
            Binary::Shl => zip!(op, r, n, |x, y: u64| -> u64 { x << (y & 63) }),
            Binary::Shr => zip!(op, r, n, |x, y: u64| -> u64 { x >> (y & 63) }),
            Binary::Pow | Binary::Join => unreachable!("loading rejects {binary:?} on integers"),
        }
    }
}

/// `condition ? b : c`; either may be a single element for all.
#[inline(always)]
unsafe fn select(op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        let out = output::<u64>(r, op, n);
        let conditions = input::<u32>(r, op.a, n);
        let b = input::<u64>(r, op.b, if op.b.scalar { 1 } else { n });
        let c = input::<u64>(r, op.c, if op.c.scalar { 1 } else { n });
        let at = |values: &[u64], i: usize| values[if values.len() == 1 { 0 } else { i }];
        for (i, (out, &condition)) in out.iter_mut().zip(conditions).enumerate() {
            *out = if condition != 0 { at(b, i) } else { at(c, i) };
        }
    }
}

/// The loops from one type to every dtype, by way of the dtype's element type.
macro_rules! convert_from {
    ($from:ty, $zero:expr, $to:ident, $op:ident, $r:ident, $n:ident) => {
        match $to {
            DType::F32 | DType::F16 | DType::BF16 => map!($op, $r, $n, |x: $from| -> f32 { x as f32 }),
            DType::F64 => map!($op, $r, $n, |x: $from| -> f64 { x as f64 }),
            DType::I8 => map!($op, $r, $n, |x: $from| -> i32 { x as i8 as i32 }),
            DType::I16 => map!($op, $r, $n, |x: $from| -> i32 { x as i16 as i32 }),
            DType::I32 => map!($op, $r, $n, |x: $from| -> i32 { x as i32 }),
            DType::I64 => map!($op, $r, $n, |x: $from| -> i64 { x as i64 }),
            DType::U8 => map!($op, $r, $n, |x: $from| -> u32 { x as u8 as u32 }),
            DType::U16 => map!($op, $r, $n, |x: $from| -> u32 { x as u16 as u32 }),
            DType::U32 => map!($op, $r, $n, |x: $from| -> u32 { x as u32 }),
            DType::U64 => map!($op, $r, $n, |x: $from| -> u64 { x as u64 }),
            DType::Bool => map!($op, $r, $n, |x: $from| -> u32 { (x != $zero) as u32 }),
        }
    };
}

#[inline(always)]
#[allow(clippy::unnecessary_cast)] // the same code for every type
unsafe fn convert(from: WordType, to: DType, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match from {
            WordType::Float => convert_from!(f32, 0.0, to, op, r, n),
            WordType::Int => convert_from!(i32, 0, to, op, r, n),
            WordType::Word | WordType::Bool => convert_from!(u32, 0, to, op, r, n),
            WordType::Double => convert_from!(f64, 0.0, to, op, r, n),
            WordType::Long => convert_from!(i64, 0, to, op, r, n),
            WordType::LongWord => convert_from!(u64, 0, to, op, r, n),
        }
    }
}
