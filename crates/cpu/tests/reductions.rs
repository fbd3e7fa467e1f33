//! Kernels with reductions: along rows and down columns, short and long, one and several in sequence.

mod case;

use case::{Case, Rng, Tape, strided};
use farad_compile::program::{BufferId, Code, Guard, Level, ProgramOutput, Reg, Spec, Store, View};
use farad_ir::{Binary, DType, Reduce, Scalar, Unary};

/// A store of an outer-level value over kernels of these axes.
fn store_outer(buffer: u32, value: Reg, axes: &[usize], outer: usize) -> Store {
    let mut view = View::contiguous(&axes[..outer]);
    view.strides.resize(axes.len(), 0);
    Store { buffer: BufferId(buffer), value, view }
}

fn store_full(buffer: u32, value: Reg, axes: &[usize]) -> Store {
    Store { buffer: BufferId(buffer), value, view: View::contiguous(axes) }
}

/// Sizes of `(outer, reduced)` that cover every layout: tiny, rows in a tile, one row per tile, long rows, one
/// huge row, and few or many columns.
const SIZES: [(usize, usize); 16] = [
    (1, 1),
    (3, 5),
    (100, 10),
    (70, 64),
    (5, 1024),
    (3, 3000),
    (2, 9000),
    (1, 100_000),
    (700, 40),
    (10, 5000),
    (600, 700),
    (2500, 3),
    (12, 9000),
    (300, 32),
    (9, 563),
    (40, 281),
];

/// The input's view over `[outer, reduced]`, by rows or by columns.
fn view_of(outer: usize, reduced: usize, by_columns: bool) -> View {
    if by_columns { strided(0, &[1, outer as i64]) } else { strided(0, &[reduced as i64, 1]) }
}

#[test]
fn every_reduction_in_every_layout() {
    let mut rng = Rng(3);
    for (outer, reduced) in SIZES {
        for by_columns in [false, true] {
            for dtype in [DType::F32, DType::I32, DType::U32] {
                let data = match dtype {
                    DType::F32 => rng.floats(outer * reduced, -0.5, 1.0),
                    DType::I32 => rng.wholes(outer * reduced, 2000).iter().map(|x| x - 1000.0).collect(),
                    _ => rng.wholes(outer * reduced, 4_000_000_000),
                };
                let mut case = Case::default();
                let input = case.input(dtype, data);
                let (axes, mut tape, mut stores) = ([outer, reduced], Tape::default(), Vec::new());
                let view = view_of(outer, reduced, by_columns);
                let x = tape.push(Code::Load(BufferId(input), view), dtype, Level::Full);
                for &reduce in Reduce::ALL {
                    let out = case.output(if reduce.is_index() { DType::I32 } else { dtype }, outer);
                    let value = tape.reduce(reduce, x);
                    stores.push(store_outer(out, value, &axes, 1));
                }
                case.fused(&axes, 1, tape, stores);
                case.check(2e-6);
            }
        }
    }
}

#[test]
fn ties_give_the_first_position() {
    for (outer, reduced) in SIZES {
        for by_columns in [false, true] {
            let mut case = Case::default();
            let input = case.input(DType::F32, Rng(7).wholes(outer * reduced, 3));
            let outs = [case.output(DType::I32, outer), case.output(DType::I32, outer)];
            let mut tape = Tape::default();
            let x = tape.load(input, view_of(outer, reduced, by_columns));
            let (high, low) = (tape.reduce(Reduce::ArgMax, x), tape.reduce(Reduce::ArgMin, x));
            let axes = [outer, reduced];
            let stores = vec![store_outer(outs[0], high, &axes, 1), store_outer(outs[1], low, &axes, 1)];
            case.fused(&axes, 1, tape, stores);
            case.check(0.0);
        }
    }
}

#[test]
fn softmax_and_log_sum_exp() {
    for (outer, reduced) in SIZES {
        for by_columns in [false, true] {
            let mut case = Case::default();
            let n = outer * reduced;
            let input = case.input(DType::F32, Rng(11).floats(n, -4.0, 4.0));
            let (out, lse) = (case.output(DType::F32, n), case.output(DType::F32, outer));
            let (axes, mut tape) = ([outer, reduced], Tape::default());
            let x = tape.load(input, view_of(outer, reduced, by_columns));
            let max = tape.reduce(Reduce::Max, x);
            let shifted = tape.binary(Binary::Sub, x, max);
            let e = tape.unary(Unary::Exp, shifted);
            let sum = tape.reduce(Reduce::Sum, e);
            let y = tape.binary(Binary::Div, e, sum);
            let log = tape.unary(Unary::Log, sum);
            let total = tape.binary(Binary::Add, log, max);
            let full = Store { buffer: BufferId(out), value: y, view: view_of(outer, reduced, by_columns) };
            case.fused(&axes, 1, tape, vec![full, store_outer(lse, total, &axes, 1)]);
            case.check(2e-6);
        }
    }
}

#[test]
fn layer_norm_in_place_with_scale_and_shift() {
    for (outer, reduced) in SIZES {
        let mut rng = Rng(13);
        let n = outer * reduced;
        let mut case = Case::default();
        let input = case.input(DType::F32, rng.floats(n, -1.0, 3.0));
        let scale = case.input(DType::F32, rng.floats(reduced, 0.5, 1.5));
        let shift = case.input(DType::F32, rng.floats(outer, -1.0, 1.0));
        case.program.outputs.push(ProgramOutput { spec: Spec { dtype: DType::F32, len: n }, donor: Some(0) });
        let (axes, mut tape) = ([outer, reduced], Tape::default());
        let x = tape.load(input, View::contiguous(&axes));
        let count = tape.push(Code::Constant(Scalar::f32(reduced as f32)), DType::F32, Level::Outer);
        let sum = tape.reduce(Reduce::Sum, x);
        let mean = tape.binary(Binary::Div, sum, count);
        let centered = tape.binary(Binary::Sub, x, mean);
        let square = tape.binary(Binary::Mul, centered, centered);
        let sum = tape.reduce(Reduce::Sum, square);
        let variance = tape.binary(Binary::Div, sum, count);
        let epsilon = tape.push(Code::Constant(Scalar::f32(1e-2)), DType::F32, Level::Outer);
        let variance = tape.binary(Binary::Add, variance, epsilon);
        let factor = tape.unary(Unary::Rsqrt, variance);
        let normal = tape.binary(Binary::Mul, centered, factor);
        let s = tape.load(scale, strided(0, &[0, 1]));
        let scaled = tape.binary(Binary::Mul, s, normal);
        let t = tape.push(Code::Load(BufferId(shift), strided(0, &[1, 0])), DType::F32, Level::Outer);
        let y = tape.binary(Binary::Add, t, scaled);
        case.fused(&axes, 1, tape, vec![store_full(input, y, &axes)]);
        case.check(5e-6);
    }
}

#[test]
fn several_axes_on_both_sides() {
    // [batch, channel, height, width] in memory, reduced over batch and space, as batch norm does; and over channels.
    let (b, c, h, w) = (6, 5, 7, 9);
    let stride = |axis: usize| [c * h * w, h * w, w, 1][axis] as i64;
    let size = |axis: usize| [b, c, h, w][axis];
    for (order, outer) in
        [([1, 0, 2, 3], 1), ([0, 2, 3, 1], 3), ([2, 1, 3, 0], 2), ([3, 0, 1, 2], 1), ([0, 1, 2, 3], 2)]
    {
        let axes = order.map(size);
        let kept: usize = axes[..outer].iter().product();
        let mut case = Case::default();
        let input = case.input(DType::F32, Rng(17).floats(b * c * h * w, -1.0, 1.0));
        let outs =
            [case.output(DType::F32, kept), case.output(DType::F32, kept), case.output(DType::I32, kept)];
        let mut tape = Tape::default();
        let x = tape.load(input, strided(0, &order.map(stride)));
        let square = tape.binary(Binary::Mul, x, x);
        let (sum, squares, best) =
            (tape.reduce(Reduce::Sum, x), tape.reduce(Reduce::Sum, square), tape.reduce(Reduce::ArgMax, x));
        let stores =
            [sum, squares, best].iter().zip(outs).map(|(&v, o)| store_outer(o, v, &axes, outer)).collect();
        case.fused(&axes, outer, tape, stores);
        case.check(2e-6);
    }
}

#[test]
fn nothing_sums_to_zero() {
    let mut case = Case::default();
    let input = case.input(DType::F32, vec![]);
    let (out, ints) = (case.output(DType::F32, 3), case.output(DType::I32, 3));
    let (axes, mut tape) = ([3, 0], Tape::default());
    let x = tape.load(input, View::contiguous(&axes));
    let sum = tape.reduce(Reduce::Sum, x);
    let i = tape.push(Code::Cast(x, DType::I32), DType::I32, Level::Full);
    let whole = tape.reduce(Reduce::Sum, i);
    case.fused(&axes, 1, tape, vec![store_outer(out, sum, &axes, 1), store_outer(ints, whole, &axes, 1)]);
    assert_eq!(case.run().unwrap(), [vec![0.0; 3], vec![0.0; 3]]);
}

#[test]
fn extremes_of_rows_with_nan_are_nan() {
    for (outer, reduced) in SIZES {
        for by_columns in [false, true] {
            let mut data = Rng(19).floats(outer * reduced, -1.0, 1.0);
            data[outer * reduced / 2] = f64::NAN;
            let mut case = Case::default();
            let input = case.input(DType::F32, data);
            let outs = [case.output(DType::F32, outer), case.output(DType::F32, outer)];
            let (axes, mut tape) = ([outer, reduced], Tape::default());
            let x = tape.load(input, view_of(outer, reduced, by_columns));
            let (high, low) = (tape.reduce(Reduce::Max, x), tape.reduce(Reduce::Min, x));
            case.fused(
                &axes,
                1,
                tape,
                vec![store_outer(outs[0], high, &axes, 1), store_outer(outs[1], low, &axes, 1)],
            );
            case.check(0.0);
        }
    }
}

/// A sum tells whether a row may hold a NaN; rows with both infinities sum to NaN, and have extremes all the same.
#[test]
fn extremes_of_rows_with_both_infinities_are_infinite() {
    for (outer, reduced) in SIZES.into_iter().filter(|&(_, reduced)| reduced > 1) {
        for by_columns in [false, true] {
            let mut data = Rng(29).floats(outer * reduced, -1.0, 1.0);
            let row = outer / 2;
            let at = |n: usize| if by_columns { n * outer + row } else { row * reduced + n };
            (data[at(0)], data[at(reduced - 1)]) = (f64::INFINITY, f64::NEG_INFINITY);
            let mut case = Case::default();
            let input = case.input(DType::F32, data);
            let outs = [case.output(DType::F32, outer), case.output(DType::F32, outer)];
            let (axes, mut tape) = ([outer, reduced], Tape::default());
            let x = tape.load(input, view_of(outer, reduced, by_columns));
            let (high, low) = (tape.reduce(Reduce::Max, x), tape.reduce(Reduce::Min, x));
            let stores = vec![store_outer(outs[0], high, &axes, 1), store_outer(outs[1], low, &axes, 1)];
            case.fused(&axes, 1, tape, stores);
            let found = case.check(0.0);
            assert_eq!((found[0][row], found[1][row]), (f64::INFINITY, f64::NEG_INFINITY));
        }
    }
}

#[test]
fn a_million_elements_are_summed_accurately() {
    for (axes, outer, strides) in [
        (vec![1 << 20], 0, vec![1]),
        (vec![2, 1 << 20], 1, vec![1 << 20, 1]),
        (vec![16, 1 << 20], 1, vec![1, 16]),
    ] {
        let n: usize = axes.iter().product();
        let mut case = Case::default();
        let input = case.input(DType::F32, Rng(23).floats(n, 0.0, 1.0));
        let out = case.output(DType::F32, axes[..outer].iter().product());
        let mut tape = Tape::default();
        let x = tape.load(input, strided(0, &strides));
        let sum = tape.reduce(Reduce::Sum, x);
        case.fused(&axes, outer, tape, vec![store_outer(out, sum, &axes, outer)]);
        case.check(2e-7);
    }
}

#[test]
fn values_without_inner_axes_are_reduced_too() {
    for (outer, reduced) in SIZES {
        let mut case = Case::default();
        let input = case.input(DType::F32, Rng(29).floats(outer, -1.0, 1.0));
        let out = case.output(DType::F32, outer);
        let (axes, mut tape) = ([outer, reduced], Tape::default());
        let x = tape.push(Code::Load(BufferId(input), strided(0, &[1, 0])), DType::F32, Level::Outer);
        let one = tape.constant(1.0);
        let y = tape.push(Code::Binary(Binary::Add, x, one), DType::F32, Level::Full);
        let sum = tape.reduce(Reduce::Sum, y);
        case.fused(&axes, 1, tape, vec![store_outer(out, sum, &axes, 1)]);
        case.check(2e-6);
    }
}

/// Sums as in the gradient of pooling by two on both axes, over axes `[channel, image, h, 2, w, 2]`: each window's
/// gradient is added at three of its four positions. With `sums`, also the total per channel.
fn pooled(sums: bool, [channels, images, h, w]: [usize; 4]) -> Case {
    let mut rng = Rng(83);
    let (mut case, mut tape) = (Case::default(), Tape::default());
    let axes = [channels, images, h, 2, w, 2];
    let len: usize = axes.iter().product();
    let x = case.input(DType::F32, rng.floats(len, -1.0, 1.0));
    let g = case.input(DType::F32, rng.floats(len / 4, -1.0, 1.0));
    let (y, total) = (case.output(DType::F32, len), case.output(DType::F32, channels));
    let n = |size: usize| size as i64;
    let plane = 4 * n(h) * n(w);
    let whole = [plane, n(channels) * plane, 4 * n(w), 2 * n(w), 2, 1];
    let mut value = tape.load(x, strided(0, &whole));
    for (p, q) in [(0, 0), (1, 0), (1, 1)] {
        let mut view = strided(0, &[plane / 4, n(channels) * plane / 4, n(w), 0, 1, 0]);
        for (axis, at) in [(3, p), (5, q)] {
            let mut coefficients = vec![0; 6];
            coefficients[axis] = 1;
            view.guards.push(Guard { coefficients, offset: -at, divisor: 1, size: 1, stride: 0 });
        }
        let part = tape.load(g, view);
        value = tape.binary(Binary::Add, value, part);
    }
    let mut stores = vec![Store { buffer: BufferId(y), value, view: strided(0, &whole) }];
    if sums {
        let sum = tape.reduce(Reduce::Sum, value);
        stores.push(store_outer(total, sum, &axes, 1));
    } else {
        case.program.outputs.pop();
        case.program.buffers.pop();
    }
    case.fused(&axes, if sums { 1 } else { 6 }, tape, stores);
    case
}

#[test]
fn short_inner_axes_are_read_along_longer_ones() {
    for sizes in [[3, 2, 5, 7], [2, 9, 14, 14], [40, 3, 6, 17], [1, 1, 1, 1]] {
        pooled(true, sizes).check(2e-6);
        pooled(false, sizes).check(2e-6);
    }
}
