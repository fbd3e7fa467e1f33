//! Sums of products that are not given as products: convolutions, their gradients, groups, transposed layouts.

mod meaning;

use farad_compile::program::{BufferId, Code, Guard, Level, Store, View};
use farad_ir::{Binary, DType, Reduce, Unary};
use meaning::{Case, Rng, Tape, strided};

/// A convolution's sizes.
#[derive(Clone, Copy)]
struct Convolution {
    batch: usize,
    inputs: usize,
    outputs: usize,
    size: usize,
    taps: usize,
    stride: usize,
}

impl Convolution {
    /// The size of the result, with as much padding as taps allow.
    fn result(&self) -> usize {
        (self.size + 2 * self.padding() - self.taps) / self.stride + 1
    }
    fn padding(&self) -> usize {
        self.taps / 2
    }

    /// `y[b, o, h, w] = Σ x[b, i, h·s + p - pad, w·s + q - pad] · k[o, i, p, q]`, then `tanh(y + bias[o])` if asked
    /// for.
    fn case(&self, epilogue: bool) -> Case {
        let Convolution { batch, inputs, outputs, size, taps, stride } = *self;
        let (result, pad, s) = (self.result(), self.padding() as i64, size as i64);
        let mut rng = Rng(71);
        let mut case = Case::default();
        let x = case.input(DType::F32, rng.floats(batch * inputs * size * size, -1.0, 1.0));
        let k = case.input(DType::F32, rng.floats(outputs * inputs * taps * taps, -1.0, 1.0));
        let bias = case.input(DType::F32, rng.floats(outputs, -1.0, 1.0));
        let axes = [batch, outputs, result, result, inputs, taps, taps];
        let y = case.output(DType::F32, axes[..4].iter().product());
        let (step, t, i) = (stride as i64, taps as i64, inputs as i64);
        let mut image = strided(-pad * (s + 1), &[i * s * s, 0, step * s, step, s * s, s, 1]);
        for axis in [2, 3] {
            let mut coefficients = vec![0; 7];
            (coefficients[axis], coefficients[axis + 3]) = (step, 1);
            image.guards.push(Guard { coefficients, offset: -pad, divisor: 1, size: s, stride: 0 });
        }
        let mut tape = Tape::default();
        let a = tape.load(x, image);
        let b = tape.load(k, strided(0, &[0, i * t * t, 0, 0, t * t, t, 1]));
        let product = tape.binary(Binary::Mul, a, b);
        let mut value = tape.reduce(Reduce::Sum, product);
        if epilogue {
            let view = strided(0, &[0, 1, 0, 0, 0, 0, 0]);
            let c = tape.push(Code::Load(BufferId(bias), view), DType::F32, Level::Outer);
            let sum = tape.binary(Binary::Add, value, c);
            value = tape.unary(Unary::Tanh, sum);
        }
        let mut view = View::contiguous(&axes[..4]);
        view.strides.resize(7, 0);
        case.fused(&axes, 4, tape, vec![Store { buffer: BufferId(y), value, view }]);
        case
    }
}

const SIZES: [Convolution; 5] = [
    Convolution { batch: 2, inputs: 3, outputs: 4, size: 8, taps: 3, stride: 1 },
    Convolution { batch: 3, inputs: 4, outputs: 8, size: 9, taps: 3, stride: 2 },
    Convolution { batch: 2, inputs: 5, outputs: 6, size: 20, taps: 5, stride: 1 },
    Convolution { batch: 4, inputs: 16, outputs: 5, size: 7, taps: 1, stride: 1 },
    Convolution { batch: 1, inputs: 1, outputs: 1, size: 6, taps: 3, stride: 1 },
];

#[test]
fn convolutions() {
    for convolution in SIZES {
        convolution.case(false).check(3e-6);
        convolution.case(true).check(3e-6);
    }
}

/// `y[outer] = Σ a·b` over `axes`, with the operands' strides; operands are as long as they need.
fn contraction(axes: &[usize], outer: usize, a: View, b: View, out: View, epilogue: bool) -> Case {
    let mut rng = Rng(73);
    let mut case = Case::default();
    let len = |view: &View| {
        let far: i64 = axes.iter().zip(&view.strides).map(|(&n, &s)| s * (n as i64 - 1)).sum();
        (view.offset + far + 1) as usize
    };
    let x = case.input(DType::F32, rng.floats(len(&a), -1.0, 1.0));
    let w = case.input(DType::F32, rng.floats(len(&b), -1.0, 1.0));
    let y = case.output(DType::F32, len(&out));
    let z = case.output(DType::F16, axes[..outer].iter().product());
    let mut tape = Tape::default();
    let (a, b) = (tape.load(x, a), tape.load(w, b));
    let product = tape.binary(Binary::Mul, a, b);
    let sum = tape.reduce(Reduce::Sum, product);
    let mut stores = vec![Store { buffer: BufferId(y), value: sum, view: out }];
    if epilogue {
        let sine = tape.unary(Unary::Sin, sum);
        let mut view = View::contiguous(&axes[..outer]);
        view.strides.resize(axes.len(), 0);
        stores.push(Store { buffer: BufferId(z), value: sine, view });
    } else {
        case.program.outputs.pop();
        case.program.buffers.pop();
    }
    case.fused(axes, outer, tape, stores);
    case
}

#[test]
fn groups_are_batches() {
    // [group, m, n | k]
    let axes = [3, 20, 24, 30];
    for epilogue in [false, true] {
        let a = strided(0, &[600, 30, 0, 1]);
        let b = strided(0, &[720, 0, 1, 24]);
        contraction(&axes, 3, a, b, strided(0, &[480, 24, 1, 0]), epilogue).check(2e-3);
    }
}

#[test]
fn rows_apart_in_the_result() {
    // [b, n, m | k1, k2] with b and m both in the left operand: rows do not follow each other in the result.
    for m in [10, 300] {
        let axes = [4, 12, m, 6, 5];
        let (s, b) = (m as i64, strided(0, &[0, 30, 0, 5, 1]));
        let a = strided(0, &[30 * s, 0, 1, 5 * s, s]);
        contraction(&axes, 3, a, b, strided(0, &[12 * s, s, 1, 0, 0]), false).check(3e-6);
    }
}

#[test]
fn a_result_with_gaps_is_written_where_it_belongs() {
    let axes = [16, 20, 40];
    let (a, b) = (strided(3, &[40, 0, 1]), strided(0, &[0, 1, 20]));
    let case = contraction(&axes, 2, a, b, strided(0, &[60, 3, 0]), false);
    let (got, want) = (case.run().unwrap(), case.meaning());
    let written = |values: &[f64]| values.iter().step_by(3).copied().collect::<Vec<_>>();
    meaning::compare(&written(&got[0]), &written(&want[0]), 3e-6, "gaps");
}
