//! Products over several axes: convolutions and their gradients, with padding, strides, dilation and groups; and sums of
//! products that are given as fused kernels.

mod case;
mod convolution;

use case::{Case, Rng, Tape, strided};
use convolution::{Convolution, Which};
use farad_compile::program::{BufferId, Store, View};
use farad_ir::{Binary, DType, Reduce, Unary};

const PLAIN: Convolution = Convolution {
    groups: 1,
    batch: 2,
    inputs: 3,
    outputs: 5,
    size: [9, 20],
    taps: 3,
    stride: 1,
    pad: 1,
    dilation: 1,
    image: DType::F32,
    result: DType::F32,
    epilogue: false,
};

/// Every size class: windows, copies, reads in place; few and many rows; more than one slice.
const SIZES: [Convolution; 21] = [
    PLAIN,
    Convolution { pad: 0, ..PLAIN },
    Convolution { pad: 2, dilation: 2, outputs: 17, ..PLAIN },
    Convolution { stride: 2, ..PLAIN },
    Convolution { stride: 3, size: [11, 16], pad: 2, taps: 4, ..PLAIN },
    Convolution { stride: 2, taps: 1, pad: 0, inputs: 20, ..PLAIN },
    Convolution { stride: 2, taps: 5, pad: 2, size: [9, 33], outputs: 9, ..PLAIN },
    Convolution { stride: 3, taps: 2, pad: 0, size: [10, 50], ..PLAIN },
    Convolution { stride: 2, dilation: 3, pad: 3, size: [12, 40], ..PLAIN },
    Convolution { stride: 4, inputs: 20, outputs: 16, size: [13, 70], ..PLAIN },
    Convolution { stride: 2, inputs: 8, outputs: 20, size: [7, 7], ..PLAIN },
    Convolution { stride: 9, taps: 2, pad: 0, size: [20, 90], ..PLAIN },
    Convolution { inputs: 3, outputs: 40, taps: 6, pad: 3, size: [13, 13], batch: 7, ..PLAIN },
    Convolution { taps: 1, pad: 0, inputs: 20, outputs: 9, ..PLAIN },
    Convolution { size: [7, 7], outputs: 24, inputs: 8, ..PLAIN },
    Convolution { size: [3, 3], pad: 0, outputs: 12, batch: 20, inputs: 16, ..PLAIN },
    Convolution { outputs: 1, inputs: 1, size: [30, 40], ..PLAIN },
    Convolution { inputs: 1, outputs: 32, size: [28, 28], batch: 8, ..PLAIN },
    Convolution { groups: 3, inputs: 2, outputs: 4, ..PLAIN },
    Convolution { groups: 6, inputs: 1, outputs: 1, stride: 2, ..PLAIN },
    Convolution { batch: 9, inputs: 16, outputs: 20, size: [14, 14], ..PLAIN },
];

const ALL: [Which; 3] = [Which::Forward, Which::Weight, Which::Image];

#[test]
fn convolutions_and_their_gradients() {
    for convolution in SIZES {
        for which in ALL {
            convolution.case(which).check(3e-6);
        }
    }
}

#[test]
fn work_on_the_result_and_a_second_store() {
    for convolution in SIZES {
        for which in ALL {
            Convolution { epilogue: true, ..convolution }.case(which).check(1e-3);
        }
    }
}

#[test]
fn halves_are_read_and_written() {
    for convolution in SIZES {
        for which in ALL {
            let halves = Convolution { image: DType::F16, result: DType::F16, ..convolution };
            halves.case(which).check(1e-3);
        }
    }
}

#[test]
fn operands_are_worked_on_before_they_are_multiplied() {
    for convolution in SIZES {
        for which in ALL {
            convolution.case_of(which, Some(Unary::Relu)).check(3e-6);
        }
    }
}

#[test]
fn threads_change_nothing() {
    let large = [
        Convolution { inputs: 8, outputs: 16, batch: 7, size: [28, 30], epilogue: true, ..PLAIN },
        Convolution { inputs: 1, outputs: 16, batch: 9, size: [28, 28], ..PLAIN },
        Convolution { inputs: 8, outputs: 12, batch: 7, size: [28, 30], stride: 2, ..PLAIN },
    ];
    for (convolution, which) in large.into_iter().flat_map(|c| ALL.map(|which| (c, which))) {
        let case = convolution.case(which);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| case.run().unwrap())
        };
        let first = run(1);
        for threads in [2, 5] {
            assert!(first == run(threads), "{threads} threads change {which:?}");
        }
    }
}

/// `y[outer] = Σ a·b` over `axes`, with the operands' strides; operands are as long as needed.
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
fn few_rows_or_columns() {
    // A matrix times a vector on either side, and thin matrices.
    for (m, n) in [(1, 300), (300, 1), (2, 200), (200, 3)] {
        let (axes, k) = ([m, n, 40], 40);
        let (a, b) = (strided(0, &[k, 0, 1]), strided(0, &[0, k, 1]));
        contraction(&axes, 2, a.clone(), b, strided(0, &[n as i64, 1, 0]), true).check(2e-3);
        let b = strided(0, &[0, 1, n as i64]);
        contraction(&axes, 2, a, b, strided(0, &[n as i64, 1, 0]), false).check(3e-6);
    }
}

#[test]
fn rows_apart_in_the_result() {
    // [b, n, m | k1, k2] with b and m both in the left operand: rows are not contiguous in the result.
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
    case::compare(&written(&got[0]), &written(&want[0]), 3e-6, "gaps");
}
