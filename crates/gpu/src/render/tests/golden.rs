//! Golden texts, and tests that sizes are not part of them.

use std::sync::Arc;

use farad_compile::program::{Product, ProductOperand, Scatter};
use farad_ir::Reduce;

use super::*;
use crate::dispatch::Capabilities;

const F32: DType = DType::F32;

fn text(case: &Case, kernel: &Kernel, subgroups: bool) -> Arc<str> {
    let capabilities = Capabilities { subgroups, ..Capabilities::core() };
    let dispatches = render(kernel, &case.program, &[], &capabilities, &Tuning::default());
    validate(&dispatches[0], &capabilities);
    dispatches[0].wgsl.clone()
}

/// `tanh(a · scale + bias[column])` over `[rows, columns]`, stored as f16.
fn pointwise(rows: usize, columns: usize) -> (Case, Kernel) {
    let mut case = Case::default();
    let c = columns as i64;
    case.program.parameters = vec![F32];
    let (a, bias) = (case.input(F32, rows * columns), case.input(F32, columns));
    let y = case.output(DType::F16, rows * columns);
    let (x, shift) = (case.load(a, view(0, &[c, 1])), case.load(bias, view(0, &[0, 1])));
    let scale = case.full(Code::Parameter(0), F32);
    let scaled = case.binary(Binary::Mul, x, scale);
    let shifted = case.binary(Binary::Add, scaled, shift);
    let out = case.unary(Unary::Tanh, shifted);
    case.store(y, out, view(0, &[c, 1]));
    let kernel = case.fused(&[rows, columns], 2);
    (case, kernel)
}

fn transpose(rows: usize, columns: usize) -> (Case, Kernel) {
    let mut case = Case::default();
    let (a, y) = (case.input(F32, rows * columns), case.output(F32, rows * columns));
    let x = case.load(a, view(0, &[1, rows as i64]));
    case.store(y, x, view(0, &[columns as i64, 1]));
    let kernel = case.fused(&[rows, columns], 2);
    (case, kernel)
}

fn softmax(rows: usize, columns: usize) -> (Case, Kernel) {
    let mut case = Case::default();
    let (a, y) = (case.input(F32, rows * columns), case.output(F32, rows * columns));
    let at = view(0, &[columns as i64, 1]);
    let x = case.load(a, at.clone());
    let most = case.push(Code::Reduce(Reduce::Max, x), F32, Level::Outer);
    let shifted = case.binary(Binary::Sub, x, most);
    let power = case.unary(Unary::Exp, shifted);
    let sum = case.push(Code::Reduce(Reduce::Sum, power), F32, Level::Outer);
    let out = case.binary(Binary::Div, power, sum);
    case.store(y, out, at);
    let kernel = case.fused(&[rows, columns], 1);
    (case, kernel)
}

fn column_sums(rows: usize, columns: usize) -> (Case, Kernel) {
    let mut case = Case::default();
    let (a, y) = (case.input(F32, rows * columns), case.output(F32, columns));
    let x = case.load(a, view(0, &[1, columns as i64]));
    let sum = case.push(Code::Reduce(Reduce::Sum, x), F32, Level::Outer);
    case.store(y, sum, view(0, &[1, 0]));
    let kernel = case.fused(&[columns, rows], 1);
    (case, kernel)
}

fn matmul(m: usize, k: usize, n: usize) -> (Case, Kernel) {
    let mut case = Case::default();
    let (a, b, y) = (case.input(F32, m * k), case.input(F32, k * n), case.output(F32, m * n));
    let value = case.load(a, view(0, &[k as i64, 1]));
    let lhs = ProductOperand { tape: std::mem::take(&mut case.tape), value };
    let value = case.load(b, view(0, &[n as i64, 1]));
    let rhs = ProductOperand { tape: std::mem::take(&mut case.tape), value };
    let sum = case.full(Code::Accumulator, F32);
    case.store(y, sum, view(0, &[n as i64, 1]));
    let (epilogue, stores) = (std::mem::take(&mut case.tape), std::mem::take(&mut case.stores));
    (
        case,
        Kernel::Product(Product {
            batch: vec![],
            m: vec![m],
            n: vec![n],
            k: vec![k],
            lhs,
            rhs,
            epilogue,
            stores,
        }),
    )
}

fn embedding_gradient(tokens: usize, features: usize, size: usize) -> (Case, Kernel) {
    let mut case = Case::default();
    let (source, index) = (case.input(F32, tokens * features), case.input(DType::U32, tokens));
    let target = case.output(F32, size * features);
    let kernel = Kernel::Scatter(Scatter {
        axes: vec![tokens, features],
        axis: 0,
        size,
        source: (source, view(0, &[features as i64, 1])),
        index: (index, view(0, &[1, 0])),
        target,
        order: None,
        distinct: false,
        site: 0,
    });
    (case, kernel)
}

#[test]
fn texts_stay_as_they_are() {
    let texts = [
        ("pointwise", pointwise(64, 128), false),
        ("recurrence", super::recurrence::exchange(6, 40, 9, DType::F16, true), false),
        ("random_recurrence", super::recurrence::walk(1 << 15, 10), false),
        ("transpose", transpose(64, 96), false),
        ("softmax_of_short_rows", softmax(4096, 32), false),
        ("softmax_with_subgroups", softmax(4096, 256 * 4), true),
        ("column_sums", column_sums(4096, 1024), false),
        ("product", matmul(16, 60, 20), false),
        ("embedding_gradient", embedding_gradient(2048, 128, 100), false),
    ];
    for (name, (case, kernel), subgroups) in texts {
        insta::assert_snapshot!(name, text(&case, &kernel, subgroups));
    }
}

#[test]
fn another_batch_size_is_the_same_text() {
    let pairs = [
        (pointwise(64, 128), pointwise(37, 640)),
        (super::recurrence::exchange(6, 40, 9, F32, true), super::recurrence::exchange(5, 80, 7, F32, true)),
        (transpose(64, 96), transpose(128, 32)),
        (softmax(4096, 64), softmax(5000, 64)),
        (column_sums(4096, 1024), column_sums(8192, 1024)),
        (matmul(2048, 4096, 4096), matmul(4096, 256, 8192)),
        (embedding_gradient(2048, 128, 100), embedding_gradient(100, 128, 77)),
    ];
    for ((case, kernel), (other, second)) in pairs {
        for subgroups in [false, true] {
            assert_eq!(text(&case, &kernel, subgroups), text(&other, &second, subgroups));
        }
    }
}

#[test]
fn the_profile_counts_what_must_move() {
    let (case, kernel) = softmax(16, 1024);
    let dispatch = &render(&kernel, &case.program, &[], &Capabilities::core(), &Tuning::default())[0];
    assert_eq!((dispatch.costs.bytes, dispatch.costs.flops), (2 * 16 * 1024 * 4, 5 * 16 * 1024));
    let (case, kernel) = matmul(32, 48, 64);
    let dispatch = &render(&kernel, &case.program, &[], &Capabilities::core(), &Tuning::default())[0];
    assert_eq!(dispatch.costs.bytes, 4 * (32 * 48 + 48 * 64 + 32 * 64));
    assert_eq!(dispatch.costs.flops, 2 * 32 * 48 * 64);
}
