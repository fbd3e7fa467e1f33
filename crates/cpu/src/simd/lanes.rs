//! The vector loops, instantiated for every instruction set that matters, and the choice among them.

use std::sync::OnceLock;

use crate::interpreter::bytecode::BytecodeOp;
use crate::simd::arithmetic::{self, Registers};
use crate::simd::philox_bits;
use crate::simd::reduction::{self, ReductionState};
use crate::simd::small_matrix::{self, Multiply};
use crate::simd::{wide_arithmetic, wide_reduction};

/// The loops for one instruction set. All are `unsafe`: the machine must have the instruction set, in addition
/// to their own conditions.
pub struct Lanes {
    /// The instruction set.
    pub name: &'static str,
    /// See [`arithmetic::apply`].
    pub apply: unsafe fn(&BytecodeOp, Registers, usize),
    /// See [`wide_arithmetic::apply`].
    pub apply_wide: unsafe fn(&BytecodeOp, Registers, usize),
    /// See [`wide_reduction::rows`].
    pub reduce_wide_rows: unsafe fn(&mut ReductionState, &[u64], usize, usize),
    /// See [`wide_reduction::columns`].
    pub reduce_wide_columns: unsafe fn(&mut ReductionState, &[u64], usize, usize),
    /// See [`reduction::rows`].
    pub reduce_rows: unsafe fn(&mut ReductionState, &[u32], usize, usize),
    /// See [`reduction::columns`].
    pub reduce_columns: unsafe fn(&mut ReductionState, &[u32], usize, usize),
    /// See [`philox_bits::fill`].
    pub random: unsafe fn([u32; 2], [u32; 3], u32, &mut [u32]),
    /// See [`small_matrix::multiply`].
    pub multiply: unsafe fn(&Multiply),
    /// See [`small_matrix::narrow`].
    pub narrow: unsafe fn(&Multiply),
    /// Adds the second slice to the first.
    pub add: unsafe fn(&mut [f32], &[f32]),
}

macro_rules! instantiate {
    ($table:ident, $name:literal, $fma:literal $(, $feature:literal)?) => {
        mod $table {
            use super::*;

            $(#[target_feature(enable = $feature)])?
            unsafe fn apply(op: &BytecodeOp, registers: Registers, n: usize) {
                // SAFETY: the caller keeps the conditions.
                unsafe { arithmetic::apply::<$fma>(op, registers, n) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn apply_wide(op: &BytecodeOp, registers: Registers, n: usize) {
                // SAFETY: the caller keeps the conditions.
                unsafe { wide_arithmetic::apply(op, registers, n) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn reduce_wide_rows(state: &mut ReductionState, tile: &[u64], columns: usize, first: usize) {
                wide_reduction::rows(state, tile, columns, first)
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn reduce_wide_columns(state: &mut ReductionState, tile: &[u64], rows: usize, first: usize) {
                wide_reduction::columns(state, tile, rows, first)
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn reduce_rows(state: &mut ReductionState, tile: &[u32], columns: usize, first: usize) {
                reduction::rows(state, tile, columns, first)
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn reduce_columns(state: &mut ReductionState, tile: &[u32], rows: usize, first: usize) {
                reduction::columns(state, tile, rows, first)
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn random(seed: [u32; 2], counter: [u32; 3], first: u32, out: &mut [u32]) {
                philox_bits::fill(seed, counter, first, out)
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn multiply(what: &Multiply) {
                // SAFETY: the caller keeps the conditions.
                unsafe { small_matrix::multiply::<$fma>(what) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn narrow(what: &Multiply) {
                // SAFETY: the caller keeps the conditions.
                unsafe { small_matrix::narrow::<$fma>(what) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn add(to: &mut [f32], from: &[f32]) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to += from;
                }
            }

            pub static TABLE: Lanes = Lanes {
                name: $name,
                apply,
                apply_wide,
                reduce_wide_rows,
                reduce_wide_columns,
                reduce_rows,
                reduce_columns,
                random,
                multiply,
                narrow,
                add,
            };
        }
    };
}

#[cfg(target_arch = "x86_64")]
instantiate!(wide, "avx512", true, "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,bmi1,bmi2");
#[cfg(target_arch = "x86_64")]
instantiate!(middle, "avx2", true, "avx2,fma,bmi1,bmi2");
#[cfg(target_arch = "aarch64")]
instantiate!(baseline, "neon", true);
#[cfg(not(target_arch = "aarch64"))]
instantiate!(baseline, "baseline", false);

/// Every table that this machine can run, widest first.
fn available() -> Vec<&'static Lanes> {
    let mut tables = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi2");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512cd");
        if avx2 && avx512 {
            tables.push(&wide::TABLE);
        }
        if avx2 {
            tables.push(&middle::TABLE);
        }
    }
    tables.push(&baseline::TABLE);
    tables
}

/// The widest loops that this machine can run.
pub fn lanes() -> &'static Lanes {
    static CHOSEN: OnceLock<&'static Lanes> = OnceLock::new();
    CHOSEN.get_or_init(|| available()[0])
}

#[cfg(test)]
mod tests {
    use farad_ir::{Binary, Unary};

    use super::*;
    use crate::interpreter::bytecode::{Opcode, SourceWords, WordType};

    fn run(lanes: &Lanes, code: Opcode, inputs: [&[u32]; 2], scalar: (bool, bool)) -> Vec<u32> {
        let n = inputs[0].len().max(inputs[1].len());
        let mut out = vec![0u32; n];
        let registers = [out.as_mut_ptr(), inputs[0].as_ptr().cast_mut(), inputs[1].as_ptr().cast_mut()];
        let a = SourceWords { register: 1, scalar: scalar.0 };
        let b = SourceWords { register: 2, scalar: scalar.1 };
        let op = BytecodeOp { code, out: 0, a, b, c: b, wide: false };
        // SAFETY: the table is available, registers hold n words, and the output does not overlap them.
        unsafe { (lanes.apply)(&op, &registers, n) };
        out
    }

    #[test]
    fn whole_numbers_follow_the_reference() {
        let mut values: Vec<i32> =
            vec![0, 1, -1, 2, -2, 7, -7, 31, 32, 33, i32::MAX, i32::MIN, 1 << 20, 12345, -999];
        values.extend((0..30u32).map(|i| i.wrapping_mul(2_654_435_761) as i32));
        let pairs: Vec<(u32, u32)> =
            values.iter().flat_map(|&a| values.iter().map(move |&b| (a as u32, b as u32))).collect();
        let (a, b): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
        for lanes in available() {
            for &binary in Binary::ALL {
                for (kind, dtype) in
                    [(WordType::Int, farad_ir::DType::I32), (WordType::Word, farad_ir::DType::U32)]
                {
                    let Some(reference) = binary.row().int.filter(|_| binary.takes(dtype)) else { continue };
                    let got = run(lanes, Opcode::Binary(binary, kind), [&a, &b], (false, false));
                    for ((&(a, b), got), i) in pairs.iter().zip(got).zip(0..) {
                        let widen = |x: u32| if kind == WordType::Int { x as i32 as i64 } else { x as i64 };
                        let want = reference(widen(a), widen(b)) as u32;
                        assert_eq!(got, want, "{} {binary:?} {kind:?} {i}: {a} {b}", lanes.name);
                    }
                }
            }
        }
    }

    #[test]
    fn floats_follow_the_reference() {
        let spread = |range: (f64, f64), step: usize| -> Vec<f32> {
            (0..1001)
                .map(|i| (range.0 + (range.1 - range.0) * (i * step % 1001) as f64 / 1000.0) as f32)
                .collect()
        };
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for lanes in available() {
            for &unary in Unary::ALL.iter().filter(|u| u.takes(farad_ir::DType::F32)) {
                let x = spread(unary.row().range, 1);
                let got = run(lanes, Opcode::Unary(unary, WordType::Float), [&bits(&x), &[]], (false, false));
                for (&x, got) in x.iter().zip(got) {
                    let want = (unary.row().value)(x as f64);
                    let error = (f32::from_bits(got) as f64 - want).abs();
                    assert!(error <= 1e-6 * want.abs().max(0.1), "{} {unary:?}({x}): {error:e}", lanes.name);
                }
            }
            for &binary in Binary::ALL.iter().filter(|b| b.takes(farad_ir::DType::F32)) {
                let (a, b) = (spread(binary.row().range.0, 1), spread(binary.row().range.1, 7));
                let got = run(
                    lanes,
                    Opcode::Binary(binary, WordType::Float),
                    [&bits(&a), &bits(&b)],
                    (false, false),
                );
                for ((&a, &b), got) in a.iter().zip(&b).zip(got) {
                    let want = (binary.row().value)(a as f64, b as f64);
                    let got = if binary.compares() { got as f64 } else { f32::from_bits(got) as f64 };
                    let error = (got - want).abs();
                    assert!(
                        error <= 1e-6 * want.abs().max(0.1),
                        "{} {binary:?}({a}, {b}): {error:e}",
                        lanes.name
                    );
                }
            }
        }
    }

    /// As `run`, with 64-bit registers; comparisons give 32-bit ones.
    fn run_wide(lanes: &Lanes, code: Opcode, inputs: [&[u64]; 2], compares: bool) -> Vec<u64> {
        let n = inputs[0].len();
        let mut out = vec![0u64; n];
        let pointers = inputs.map(|input| input.as_ptr().cast_mut().cast::<u32>());
        let registers = [out.as_mut_ptr().cast::<u32>(), pointers[0], pointers[1]];
        let [a, b] = [1, 2].map(|register| SourceWords { register, scalar: false });
        let op = BytecodeOp { a, b, c: b, wide: true, ..BytecodeOp::new(code, 0) };
        // SAFETY: the table is available, registers hold n elements, and the output does not overlap them.
        unsafe { (lanes.apply_wide)(&op, &registers, n) };
        if compares {
            let words: &[u32] = bytemuck::cast_slice(&out);
            return words[..n].iter().map(|&word| word as u64).collect();
        }
        out
    }

    #[test]
    fn numbers_of_64_bits_follow_the_reference() {
        let mut values: Vec<u64> =
            vec![0, 1, 2, 63, 64, 1 << 31, (1 << 53) + 1, 1 << 63, u64::MAX, u64::MAX - 6];
        values.extend((1..20u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let pairs: Vec<(u64, u64)> =
            values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).collect();
        let (a, b): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
        for lanes in available() {
            for &binary in Binary::ALL {
                for kind in [WordType::Long, WordType::LongWord] {
                    if !binary.takes(kind.dtype()) {
                        continue;
                    }
                    let got = run_wide(lanes, Opcode::Binary(binary, kind), [&a, &b], binary.compares());
                    for (&(a, b), got) in pairs.iter().zip(got) {
                        let want = binary.whole(kind.dtype(), a as i64, b as i64);
                        assert_eq!(Some(got as i64), want, "{} {binary:?} {kind:?}: {a} {b}", lanes.name);
                    }
                }
            }
            let floats: Vec<u64> = (0..500).map(|i| (0.1 + i as f64 / 70.0).to_bits()).collect();
            for &unary in Unary::ALL.iter().filter(|unary| unary.takes(farad_ir::DType::F64)) {
                let got = run_wide(lanes, Opcode::Unary(unary, WordType::Double), [&floats, &floats], false);
                for (&x, got) in floats.iter().zip(got) {
                    let want = (unary.row().value)(f64::from_bits(x));
                    let error = (f64::from_bits(got) - want).abs();
                    assert!(error <= 1e-15 * want.abs(), "{} {unary:?}: {error:e}", lanes.name);
                }
            }
        }
    }

    #[test]
    fn one_word_may_stand_for_all() {
        let x: Vec<u32> = [1.0f32, 4.0, 9.0].map(f32::to_bits).to_vec();
        let three = [3f32.to_bits()];
        let floats = |words: Vec<u32>| words.into_iter().map(f32::from_bits).collect::<Vec<_>>();
        for lanes in available() {
            let sub = Opcode::Binary(Binary::Sub, WordType::Float);
            assert_eq!(floats(run(lanes, sub, [&x, &three], (false, true))), [-2.0, 1.0, 6.0]);
            assert_eq!(floats(run(lanes, sub, [&three, &x], (true, false))), [2.0, -1.0, -6.0]);
            let fma = Opcode::MulAdd { minus_product: true, minus_addend: false };
            assert_eq!(floats(run(lanes, fma, [&x, &three], (false, true))), [0.0, -9.0, -24.0]);
        }
    }
}
