//! Kernels with reductions: rows, columns, several passes, indices, every length class.

use farad_ir::Reduce;

use super::*;

const F32: DType = DType::F32;

impl Case {
    fn reduce(&mut self, op: Reduce, x: Reg) -> Reg {
        let dtype = if op.is_index() { DType::I32 } else { self.tape[x.0 as usize].dtype };
        self.push(Code::Reduce(op, x), dtype, Level::Outer)
    }
}

/// Reduces `[outer, reduced]` (or its transpose in memory) to `[outer]`.
fn plain(op: Reduce, dtype: DType, outer: usize, reduced: usize, columns: bool) -> (Case, Kernel) {
    let mut case = Case::default();
    let (o, r) = (outer as i64, reduced as i64);
    let out = if op.is_index() { DType::I32 } else { dtype };
    let (a, y) = (case.input(dtype, outer * reduced), case.output(out, outer));
    let x = case.load(a, view(0, if columns { [1, o] } else { [r, 1] }.as_slice()));
    let result = case.reduce(op, x);
    case.store(y, result, view(0, &[1, 0]));
    let kernel = case.fused(&[outer, reduced], 1);
    (case, kernel)
}

#[test]
fn sums_of_every_length() {
    for reduced in [1, 2, 3, 4, 8, 10, 64, 129, 512, 777, 1024, 3000, 9000] {
        for (outer, columns) in
            [(1, false), (3, false), (300, false), (1, true), (8, true), (50, true), (64, true)]
        {
            if outer * reduced > 400_000 {
                continue;
            }
            let (case, kernel) = plain(Reduce::Sum, F32, outer, reduced, columns);
            case.check(&kernel, 2e-6);
        }
    }
}

#[test]
fn long_sums_stay_accurate() {
    for (outer, reduced, columns) in [(2, 60_000, false), (2, 60_001, false), (8, 20_000, true)] {
        let (mut case, kernel) = plain(Reduce::Sum, F32, outer, reduced, columns);
        case.memory[0].iter_mut().for_each(|x| *x = (x.abs() + 0.1) as f32 as f64);
        case.check(&kernel, 2e-6);
    }
}

#[test]
fn extremes_and_their_positions() {
    for op in [Reduce::Max, Reduce::Min, Reduce::ArgMax, Reduce::ArgMin] {
        for dtype in [F32, DType::I32, DType::U32] {
            for (outer, reduced, columns) in [
                (7, 5, false),
                (4, 64, false),
                (300, 33, false),
                (2, 3000, false),
                (3, 9000, false),
                (16, 40, true),
                (9, 300, true),
            ] {
                let (case, kernel) = plain(op, dtype, outer, reduced, columns);
                case.check(&kernel, 0.0);
            }
        }
    }
    // Rows in which every element is the smallest value: the first position wins.
    let (mut case, kernel) = plain(Reduce::ArgMax, F32, 3, 20, false);
    case.memory[0].iter_mut().for_each(|x| *x = f64::NEG_INFINITY);
    case.check(&kernel, 0.0);
}

#[test]
fn nothing_sums_to_zero() {
    let mut case = Case::default();
    let (a, y) = (case.input(F32, 4), case.output(F32, 3));
    let x = case.load(a, view(0, &[0, 1]));
    let sum = case.reduce(Reduce::Sum, x);
    case.store(y, sum, view(0, &[1, 0]));
    let kernel = case.fused(&[3, 0], 1);
    case.check(&kernel, 0.0);
}

/// Softmax over the last axis of `[outer, reduced]`, optionally in place and along columns.
fn softmax(dtype: DType, outer: usize, reduced: usize, columns: bool, in_place: bool) -> (Case, Kernel) {
    let mut case = Case::default();
    let (o, r) = (outer as i64, reduced as i64);
    let a = case.input(dtype, outer * reduced);
    let y = if in_place { a } else { case.output(dtype, outer * reduced) };
    let at = view(0, if columns { [1, o] } else { [r, 1] }.as_slice());
    let x = case.load(a, at.clone());
    let most = case.reduce(Reduce::Max, x);
    let shifted = case.binary(Binary::Sub, x, most);
    let power = case.unary(Unary::Exp, shifted);
    let sum = case.reduce(Reduce::Sum, power);
    let out = case.binary(Binary::Div, power, sum);
    case.store(y, out, at);
    let kernel = case.fused(&[outer, reduced], 1);
    (case, kernel)
}

#[test]
fn softmax_of_every_length() {
    for reduced in [1, 3, 4, 10, 16, 50, 64, 128, 200, 256, 512, 1000, 1024, 2048, 9001, 12_000] {
        for (outer, columns) in [(2, false), (300, false), (16, true)] {
            if outer * reduced > 200_000 {
                continue;
            }
            let (case, kernel) = softmax(F32, outer, reduced, columns, reduced % 2 == 0);
            case.check(&kernel, 5e-6);
        }
    }
    for reduced in [7, 64, 1024] {
        let (case, kernel) = softmax(DType::F16, 6, reduced, false, false);
        case.check(&kernel, 5e-6);
    }
}

#[test]
fn layer_norm_with_running_statistics() {
    for (outer, reduced) in [(5, 64), (40, 768), (3, 1000), (2, 9000), (300, 96), (4, 30)] {
        let mut case = Case::default();
        let (len, r) = (outer * reduced, reduced as i64);
        let (a, gain, running) = (case.input(F32, len), case.input(F32, reduced), case.input(F32, outer));
        let (y, half) = (case.output(F32, len), case.output(DType::F16, outer));
        let at = view(0, &[r, 1]);
        let x = case.load(a, at.clone());
        let scale = case.push(Code::Constant(Scalar::f32(1.0 / reduced as f32)), F32, Level::Outer);
        let sum = case.reduce(Reduce::Sum, x);
        let mean = case.binary(Binary::Mul, sum, scale);
        let centered = case.binary(Binary::Sub, x, mean);
        let square = case.binary(Binary::Mul, centered, centered);
        let total = case.reduce(Reduce::Sum, square);
        let variance = case.binary(Binary::Mul, total, scale);
        let inverse = case.unary(Unary::Rsqrt, variance);
        let normal = case.binary(Binary::Mul, centered, inverse);
        let gain = case.load(gain, view(0, &[0, 1]));
        let out = case.binary(Binary::Mul, normal, gain);
        case.store(y, out, at);
        let old = case.push(Code::Load(running, view(0, &[1, 0])), F32, Level::Outer);
        let new = case.binary(Binary::Add, old, mean);
        case.store(running, new, view(0, &[1, 0]));
        case.store(half, variance, view(0, &[1, 0]));
        let kernel = case.fused(&[outer, reduced], 1);
        case.check(&kernel, 5e-6);
    }
}

#[test]
fn several_axes_and_results() {
    // Batch statistics of [n, c, hw]: over the first and the last axis.
    for (n, c, hw) in [(4, 6, 16), (3, 5, 7), (8, 70, 64), (2, 3, 4096)] {
        let mut case = Case::default();
        let (ci, hi) = (c as i64, hw as i64);
        let (a, y, z) = (case.input(F32, n * c * hw), case.output(F32, c), case.output(DType::I32, c));
        let x = case.load(a, view(0, &[hi, ci * hi, 1]));
        let square = case.binary(Binary::Mul, x, x);
        let sum = case.reduce(Reduce::Sum, square);
        let best = case.reduce(Reduce::ArgMin, x);
        case.store(y, sum, view(0, &[1, 0, 0]));
        case.store(z, best, view(0, &[1, 0, 0]));
        let kernel = case.fused(&[c, n, hw], 1);
        case.check(&kernel, 2e-6);
    }
    // Bias gradients of two tensors over the first axis, contiguous columns, one kernel.
    for (rows, columns) in [(64, 128), (33, 20), (7, 9), (500, 64), (5, 4000)] {
        let mut case = Case::default();
        let c = columns as i64;
        let (a, b) = (case.input(F32, rows * columns), case.input(F32, rows * columns));
        let (y, z) = (case.output(F32, columns), case.output(F32, columns));
        let (x, g) = (case.load(a, view(0, &[1, c])), case.load(b, view(0, &[1, c])));
        let product = case.binary(Binary::Mul, x, g);
        for (value, target) in [(product, y), (g, z)] {
            let sum = case.reduce(Reduce::Sum, value);
            case.store(target, sum, view(0, &[1, 0]));
        }
        let kernel = case.fused(&[columns, rows], 1);
        case.check(&kernel, 2e-6);
    }
}

#[test]
fn guarded_windows_and_takes_reduce() {
    // Average pooling with padding: windows of 3 with stride 2 over [channels, size].
    let (channels, size, out) = (6, 16, 8);
    let mut case = Case::default();
    let (a, y) = (case.input(F32, channels * size), case.output(F32, channels * out));
    let guard = Guard { coefficients: vec![0, 2, 1], offset: -1, divisor: 1, size: size as i64, stride: 0 };
    let x = case.load(a, guarded(-1, &[size as i64, 2, 1], vec![guard]));
    let sum = case.reduce(Reduce::Sum, x);
    case.store(y, sum, view(0, &[out as i64, 1, 0]));
    let kernel = case.fused(&[channels, out, 3], 2);
    case.check(&kernel, 2e-6);
    // The loss of rows of logits at their labels, with one label out of range.
    for (rows, classes) in [(9, 10), (5, 64)] {
        let mut case = Case::default();
        let labels =
            (0..rows).map(|row| if row == 3 { classes as f64 } else { (row * 7 % classes) as f64 }).collect();
        let (a, index) = (case.input(F32, rows * classes), case.buffer(DType::I32, labels));
        let y = case.output(F32, rows);
        let x = case.load(a, view(0, &[classes as i64, 1]));
        let power = case.unary(Unary::Exp, x);
        let sum = case.reduce(Reduce::Sum, power);
        let log = case.unary(Unary::Log, sum);
        let position = case.push(Code::Load(index, view(0, &[1, 0])), DType::I32, Level::Outer);
        let take = Code::Take {
            buffer: a,
            view: view(0, &[classes as i64, 0]),
            position,
            stride: 1,
            size: classes,
            site: 0,
        };
        let picked = case.push(take, F32, Level::Outer);
        let loss = case.binary(Binary::Sub, log, picked);
        case.store(y, loss, view(0, &[1, 0]));
        let kernel = case.fused(&[rows, classes], 1);
        let errors = case.check(&kernel, 5e-6);
        assert!(machines().is_empty() || errors == [1, classes as u32], "{errors:?}");
    }
}

#[test]
fn scalars_reduce_to_scalars() {
    for len in [1, 6, 1000, 40_000] {
        let mut case = Case::default();
        let (a, y) = (case.input(F32, len), case.output(F32, 1));
        let x = case.load(a, view(0, &[1]));
        let sum = case.reduce(Reduce::Sum, x);
        case.store(y, sum, view(0, &[0]));
        let kernel = case.fused(&[len], 0);
        case.check(&kernel, 2e-6);
    }
}
