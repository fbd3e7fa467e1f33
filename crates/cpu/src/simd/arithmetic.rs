//! Arithmetic on tiles: one loop per instruction, written so that the compiler vectorizes it for the lanes it
//! is instantiated in (see [`crate::simd::lanes`]). Loops are written as macros, not closures, because
//! everything must inline.

use farad_ir::{Binary, Unary};

use crate::interpreter::bytecode::{BytecodeOp, Conversion, Opcode, SourceWords, WordType};
use crate::simd::math;

/// Registers as pointers to their words.
pub type Registers<'a> = &'a [*mut u32];

#[inline(always)]
pub(super) unsafe fn input<'a, T>(registers: Registers, source: SourceWords, n: usize) -> &'a [T] {
    // SAFETY: the caller promises that registers hold a tile each.
    unsafe { std::slice::from_raw_parts(registers[source.register].cast::<T>(), n) }
}

#[inline(always)]
pub(super) unsafe fn scalar<T: Copy>(registers: Registers, source: SourceWords) -> T {
    // SAFETY: as above.
    unsafe { registers[source.register].cast::<T>().read() }
}

#[inline(always)]
pub(super) unsafe fn output<'a, T>(registers: Registers, op: &BytecodeOp, n: usize) -> &'a mut [T] {
    // SAFETY: as above; an instruction's output overlaps none of its inputs.
    unsafe { std::slice::from_raw_parts_mut(registers[op.out].cast::<T>(), n) }
}

/// `out[i] = body(a[i])`
macro_rules! map {
    ($op:ident, $registers:ident, $n:ident, |$x:ident: $in:ty| -> $out:ty { $body:expr }) => {{
        let out = output::<$out>($registers, $op, $n);
        for (out, &$x) in out.iter_mut().zip(input::<$in>($registers, $op.a, $n)) {
            *out = $body;
        }
    }};
}

/// `out[i] = body(a[i], b[i])`; `b` may be a single word for all elements.
macro_rules! zip {
    ($op:ident, $registers:ident, $n:ident, |$x:ident, $y:ident: $in:ty| -> $out:ty { $body:expr }) => {{
        let out = output::<$out>($registers, $op, $n);
        let a = input::<$in>($registers, $op.a, $n);
        if $op.b.scalar {
            let $y = scalar::<$in>($registers, $op.b);
            for (out, &$x) in out.iter_mut().zip(a) {
                *out = $body;
            }
        } else {
            let b = input::<$in>($registers, $op.b, $n);
            for ((out, &$x), &$y) in out.iter_mut().zip(a).zip(b) {
                *out = $body;
            }
        }
    }};
}

pub(super) use {map, zip};

/// As `zip`; `a` may be a single word as well.
macro_rules! zip_either {
    ($op:ident, $registers:ident, $n:ident, |$x:ident, $y:ident: $in:ty| -> $out:ty { $body:expr }) => {{
        if $op.a.scalar && !$op.b.scalar {
            let out = output::<$out>($registers, $op, $n);
            let $x = scalar::<$in>($registers, $op.a);
            for (out, &$y) in out.iter_mut().zip(input::<$in>($registers, $op.b, $n)) {
                *out = $body;
            }
        } else {
            zip!($op, $registers, $n, |$x, $y: $in| -> $out { $body })
        }
    }};
}

/// Whether an op on this kind has a loop whose left operand is a single word.
pub fn takes_left_scalar(binary: Binary, kind: WordType) -> bool {
    kind == WordType::Float && matches!(binary, Binary::Sub | Binary::Div)
}

/// Runs one arithmetic instruction on a tile of `n` elements.
///
/// # Safety
/// Every register that the instruction names must hold `n` words (one, if it is a scalar), and the output must
/// not overlap an input.
#[inline(always)]
pub unsafe fn apply<const F: bool>(op: &BytecodeOp, registers: Registers, n: usize) {
    // SAFETY: promised by the caller, for all the loops below.
    unsafe {
        match op.code {
            Opcode::Unary(unary, WordType::Float) => float_unary::<F>(unary, op, registers, n),
            Opcode::Unary(unary, kind) => whole_unary(unary, kind, op, registers, n),
            Opcode::Binary(binary, WordType::Float) => float_binary(binary, op, registers, n),
            Opcode::Binary(binary, WordType::Int) => int_binary(binary, op, registers, n),
            Opcode::Binary(binary, _) => word_binary(binary, op, registers, n),
            Opcode::Select => select(op, registers, n),
            Opcode::MulAdd { minus_product: false, minus_addend: false } => mul_add::<F, 0>(op, registers, n),
            Opcode::MulAdd { minus_product: true, .. } => mul_add::<F, 1>(op, registers, n),
            Opcode::MulAdd { minus_product: false, minus_addend: true } => mul_add::<F, 2>(op, registers, n),
            Opcode::ExpDifference => {
                zip!(op, registers, n, |x, y: f32| -> f32 { math::exp::<F>(x - y) });
            }
            Opcode::Convert(conversion) => convert(conversion, op, registers, n),
            Opcode::Fill => output::<u32>(registers, op, n).fill(scalar::<u32>(registers, op.a)),
            _ => unreachable!("{:?} is not arithmetic", op.code),
        }
    }
}

#[inline(always)]
unsafe fn float_unary<const F: bool>(unary: Unary, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match unary {
            Unary::Neg => map!(op, r, n, |x: f32| -> f32 { -x }),
            Unary::Abs => map!(op, r, n, |x: f32| -> f32 { x.abs() }),
            Unary::Sign => map!(op, r, n, |x: f32| -> f32 { math::sign(x) }),
            Unary::Exp => map!(op, r, n, |x: f32| -> f32 { math::exp::<F>(x) }),
            Unary::Log => map!(op, r, n, |x: f32| -> f32 { math::log::<F>(x) }),
            Unary::Exp2 => map!(op, r, n, |x: f32| -> f32 { math::exp2::<F>(x) }),
            Unary::Log2 => map!(op, r, n, |x: f32| -> f32 { math::log2::<F>(x) }),
            Unary::Sqrt => map!(op, r, n, |x: f32| -> f32 { x.sqrt() }),
            Unary::Rsqrt => map!(op, r, n, |x: f32| -> f32 { 1.0 / x.sqrt() }),
            Unary::Recip => map!(op, r, n, |x: f32| -> f32 { 1.0 / x }),
            Unary::Sin => {
                map!(op, r, n, |x: f32| -> f32 { math::sin::<F>(x) });
                math::far_angles::<F>(input(r, op.a, n), output(r, op, n), f64::sin);
            }
            Unary::Cos => {
                map!(op, r, n, |x: f32| -> f32 { math::cos::<F>(x) });
                math::far_angles::<F>(input(r, op.a, n), output(r, op, n), f64::cos);
            }
            Unary::Tanh => map!(op, r, n, |x: f32| -> f32 { math::tanh::<F>(x) }),
            Unary::Erf => map!(op, r, n, |x: f32| -> f32 { math::erf::<F>(x) }),
            Unary::Sigmoid => map!(op, r, n, |x: f32| -> f32 { math::sigmoid::<F>(x) }),
            Unary::Relu => map!(op, r, n, |x: f32| -> f32 { if x <= 0.0 { 0.0 } else { x } }),
            Unary::Floor => map!(op, r, n, |x: f32| -> f32 { x.floor() }),
            Unary::Ceil => map!(op, r, n, |x: f32| -> f32 { x.ceil() }),
            Unary::Finite => map!(op, r, n, |x: f32| -> f32 { x.is_finite() as u32 as f32 }),
            Unary::Round => map!(op, r, n, |x: f32| -> f32 { x.round_ties_even() }),
            Unary::Not => unreachable!("loading rejects not on floats"),
            Unary::Log1p => map!(op, r, n, |x: f32| -> f32 { math::log1p::<F>(x) }),
            Unary::Expm1 => map!(op, r, n, |x: f32| -> f32 { math::expm1::<F>(x) }),
        }
    }
}

#[inline(always)]
unsafe fn whole_unary(unary: Unary, kind: WordType, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match (unary, kind) {
            (Unary::Neg, _) => map!(op, r, n, |x: i32| -> i32 { x.wrapping_neg() }),
            (Unary::Abs, WordType::Int) => map!(op, r, n, |x: i32| -> i32 { x.wrapping_abs() }),
            (Unary::Sign, WordType::Int) => {
                map!(op, r, n, |x: i32| -> i32 { (x > 0) as i32 - (x < 0) as i32 })
            }
            (Unary::Relu, WordType::Int) => map!(op, r, n, |x: i32| -> i32 { x.max(0) }),
            (Unary::Abs | Unary::Relu, _) => map!(op, r, n, |x: u32| -> u32 { x }),
            (Unary::Sign, _) => map!(op, r, n, |x: u32| -> u32 { (x > 0) as u32 }),
            (Unary::Not, WordType::Bool) => map!(op, r, n, |x: u32| -> u32 { x ^ 1 }),
            (Unary::Not, _) => map!(op, r, n, |x: u32| -> u32 { !x }),
            _ => unreachable!("loading rejects {unary:?} on integers"),
        }
    }
}

#[inline(always)]
unsafe fn float_binary(binary: Binary, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match binary {
            Binary::Add => zip!(op, r, n, |x, y: f32| -> f32 { x + y }),
            Binary::Sub => zip_either!(op, r, n, |x, y: f32| -> f32 { x - y }),
            Binary::Mul => zip!(op, r, n, |x, y: f32| -> f32 { x * y }),
            Binary::Div => zip_either!(op, r, n, |x, y: f32| -> f32 { x / y }),
            Binary::Max => zip!(op, r, n, |x, y: f32| -> f32 { if (x > y) | x.is_nan() { x } else { y } }),
            Binary::Min => zip!(op, r, n, |x, y: f32| -> f32 { if (x < y) | x.is_nan() { x } else { y } }),
            Binary::Pow => zip!(op, r, n, |x, y: f32| -> f32 { math::pow(x, y) }),
            Binary::Rem => zip!(op, r, n, |x, y: f32| -> f32 { math::remainder(x, y) }),
            Binary::Less => zip!(op, r, n, |x, y: f32| -> u32 { (x < y) as u32 }),
            Binary::LessEqual => zip!(op, r, n, |x, y: f32| -> u32 { (x <= y) as u32 }),
            Binary::Greater => zip!(op, r, n, |x, y: f32| -> u32 { (x > y) as u32 }),
            Binary::GreaterEqual => zip!(op, r, n, |x, y: f32| -> u32 { (x >= y) as u32 }),
            Binary::Equal => zip!(op, r, n, |x, y: f32| -> u32 { (x == y) as u32 }),
            Binary::NotEqual => zip!(op, r, n, |x, y: f32| -> u32 { (x != y) as u32 }),
            Binary::Join => zip!(op, r, n, |x, y: f32| -> f32 { if x.to_bits() == 0 { y } else { x } }),
            Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => {
                unreachable!("loading rejects {binary:?} on floats")
            }
        }
    }
}

/// The remainder with the divisor's sign; zero for a zero divisor.
#[inline(always)]
fn int_rem(x: i32, y: i32) -> i32 {
    let rest = if y == 0 { 0 } else { x.wrapping_rem(y) };
    rest.wrapping_add(if rest != 0 && (rest < 0) != (y < 0) { y } else { 0 })
}

#[inline(always)]
unsafe fn int_binary(binary: Binary, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match binary {
            Binary::Div => zip!(op, r, n, |x, y: i32| -> i32 { if y == 0 { 0 } else { x.wrapping_div(y) } }),
            Binary::Max => zip!(op, r, n, |x, y: i32| -> i32 { x.max(y) }),
            Binary::Min => zip!(op, r, n, |x, y: i32| -> i32 { x.min(y) }),
            Binary::Rem => zip!(op, r, n, |x, y: i32| -> i32 { int_rem(x, y) }),
            Binary::Less => zip!(op, r, n, |x, y: i32| -> u32 { (x < y) as u32 }),
            Binary::LessEqual => zip!(op, r, n, |x, y: i32| -> u32 { (x <= y) as u32 }),
            Binary::Greater => zip!(op, r, n, |x, y: i32| -> u32 { (x > y) as u32 }),
            Binary::GreaterEqual => zip!(op, r, n, |x, y: i32| -> u32 { (x >= y) as u32 }),
            Binary::Shr => zip!(op, r, n, |x, y: i32| -> i32 { x >> (y & 31) }),
            _ => word_binary(binary, op, r, n),
        }
    }
}

#[inline(always)]
unsafe fn word_binary(binary: Binary, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match binary {
            Binary::Add => zip!(op, r, n, |x, y: u32| -> u32 { x.wrapping_add(y) }),
            Binary::Sub => zip!(op, r, n, |x, y: u32| -> u32 { x.wrapping_sub(y) }),
            Binary::Mul => zip!(op, r, n, |x, y: u32| -> u32 { x.wrapping_mul(y) }),
            Binary::Div => zip!(op, r, n, |x, y: u32| -> u32 { x.checked_div(y).unwrap_or(0) }),
            Binary::Max => zip!(op, r, n, |x, y: u32| -> u32 { x.max(y) }),
            Binary::Min => zip!(op, r, n, |x, y: u32| -> u32 { x.min(y) }),
            Binary::Rem => zip!(op, r, n, |x, y: u32| -> u32 { x.checked_rem(y).unwrap_or(0) }),
            Binary::Less => zip!(op, r, n, |x, y: u32| -> u32 { (x < y) as u32 }),
            Binary::LessEqual => zip!(op, r, n, |x, y: u32| -> u32 { (x <= y) as u32 }),
            Binary::Greater => zip!(op, r, n, |x, y: u32| -> u32 { (x > y) as u32 }),
            Binary::GreaterEqual => zip!(op, r, n, |x, y: u32| -> u32 { (x >= y) as u32 }),
            Binary::Equal => zip!(op, r, n, |x, y: u32| -> u32 { (x == y) as u32 }),
            Binary::NotEqual => zip!(op, r, n, |x, y: u32| -> u32 { (x != y) as u32 }),
            Binary::And => zip!(op, r, n, |x, y: u32| -> u32 { x & y }),
            Binary::Or => zip!(op, r, n, |x, y: u32| -> u32 { x | y }),
            Binary::Xor => zip!(op, r, n, |x, y: u32| -> u32 { x ^ y }),
            Binary::Shl => zip!(op, r, n, |x, y: u32| -> u32 { x << (y & 31) }),
            Binary::Shr => zip!(op, r, n, |x, y: u32| -> u32 { x >> (y & 31) }),
            Binary::Pow | Binary::Join => unreachable!("loading rejects {binary:?} on integers"),
        }
    }
}

#[inline(always)]
unsafe fn select(op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        let out = output::<u32>(r, op, n);
        let conditions = input::<u32>(r, op.a, n);
        match (op.b.scalar, op.c.scalar) {
            (false, false) => {
                let (b, c) = (input::<u32>(r, op.b, n), input::<u32>(r, op.c, n));
                for (((out, &condition), &b), &c) in out.iter_mut().zip(conditions).zip(b).zip(c) {
                    *out = if condition != 0 { b } else { c };
                }
            }
            (false, true) => {
                let c = scalar::<u32>(r, op.c);
                for ((out, &condition), &b) in out.iter_mut().zip(conditions).zip(input::<u32>(r, op.b, n)) {
                    *out = if condition != 0 { b } else { c };
                }
            }
            (true, false) => {
                let b = scalar::<u32>(r, op.b);
                for ((out, &condition), &c) in out.iter_mut().zip(conditions).zip(input::<u32>(r, op.c, n)) {
                    *out = if condition != 0 { b } else { c };
                }
            }
            (true, true) => {
                let (b, c) = (scalar::<u32>(r, op.b), scalar::<u32>(r, op.c));
                for (out, &condition) in out.iter_mut().zip(conditions) {
                    *out = if condition != 0 { b } else { c };
                }
            }
        }
    }
}

/// `a·b + c`, `c - a·b` or `a·b - c`.
#[inline(always)]
fn signed_fma<const F: bool, const SIGNS: u8>(a: f32, b: f32, c: f32) -> f32 {
    match SIGNS {
        0 => math::fma::<F>(a, b, c),
        1 => math::fma::<F>(-a, b, c),
        _ => math::fma::<F>(a, b, -c),
    }
}

#[inline(always)]
unsafe fn mul_add<const F: bool, const SIGNS: u8>(op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        let out = output::<f32>(r, op, n);
        let a = input::<f32>(r, op.a, n);
        match (op.b.scalar, op.c.scalar) {
            (false, false) => {
                let (b, c) = (input::<f32>(r, op.b, n), input::<f32>(r, op.c, n));
                for (((out, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
                    *out = signed_fma::<F, SIGNS>(a, b, c);
                }
            }
            (false, true) => {
                let c = scalar::<f32>(r, op.c);
                for ((out, &a), &b) in out.iter_mut().zip(a).zip(input::<f32>(r, op.b, n)) {
                    *out = signed_fma::<F, SIGNS>(a, b, c);
                }
            }
            (true, false) => {
                let b = scalar::<f32>(r, op.b);
                for ((out, &a), &c) in out.iter_mut().zip(a).zip(input::<f32>(r, op.c, n)) {
                    *out = signed_fma::<F, SIGNS>(a, b, c);
                }
            }
            (true, true) => {
                let (b, c) = (scalar::<f32>(r, op.b), scalar::<f32>(r, op.c));
                for (out, &a) in out.iter_mut().zip(a) {
                    *out = signed_fma::<F, SIGNS>(a, b, c);
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn convert(conversion: Conversion, op: &BytecodeOp, r: Registers, n: usize) {
    // SAFETY: see `apply`.
    unsafe {
        match conversion {
            Conversion::FloatToInt => map!(op, r, n, |x: f32| -> i32 { x as i32 }),
            Conversion::FloatToWord => map!(op, r, n, |x: f32| -> u32 { x as u32 }),
            Conversion::FloatToByte => map!(op, r, n, |x: f32| -> u32 { x as u8 as u32 }),
            Conversion::FloatToBool => map!(op, r, n, |x: f32| -> u32 { (x != 0.0) as u32 }),
            Conversion::WordToBool => map!(op, r, n, |x: u32| -> u32 { (x != 0) as u32 }),
            Conversion::WordToByte => map!(op, r, n, |x: u32| -> u32 { x & 255 }),
            Conversion::IntToFloat => map!(op, r, n, |x: i32| -> f32 { x as f32 }),
            Conversion::WordToFloat => map!(op, r, n, |x: u32| -> f32 { x as f32 }),
            Conversion::RoundHalf => map!(op, r, n, |x: f32| -> f32 { math::round_half(x) }),
            Conversion::RoundBrain => map!(op, r, n, |x: f32| -> f32 { math::round_brain(x) }),
            Conversion::To(..) => unreachable!("wide arithmetic converts the rest"),
        }
    }
}
