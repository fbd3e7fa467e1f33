//! Products: every orientation and size class, batches, operands that are computed, epilogues.

mod case;

use case::{Case, Rng, Tape, strided};
use farad_compile::program::{
    BufferId, Code, Guard, Instr, Kernel, Level, Product, ProductOperand, Reg, Store, View,
};
use farad_ir::{Binary, DType, Unary};

fn plain(buffer: u32, view: View) -> ProductOperand {
    let mut tape = Tape::default();
    let value = tape.load(buffer, view);
    ProductOperand { tape: tape.0, value }
}

fn accumulator() -> Instr {
    Instr { code: Code::Accumulator, dtype: DType::F32, level: Level::Full }
}

/// Strides of a `rows × columns` matrix, stored as it is or transposed.
fn matrix(rows: usize, columns: usize, transposed: bool) -> [i64; 2] {
    if transposed { [1, rows as i64] } else { [columns as i64, 1] }
}

fn product(m: usize, k: usize, n: usize, lhs: bool, rhs: bool, out: bool) -> Case {
    let mut rng = Rng(31);
    let mut case = Case::default();
    let a = case.input(DType::F32, rng.floats(m * k, -1.0, 1.0));
    let b = case.input(DType::F32, rng.floats(k * n, -1.0, 1.0));
    let y = case.output(DType::F32, m * n);
    case.step(Kernel::Product(Product {
        batch: vec![],
        m: vec![m],
        n: vec![n],
        k: vec![k],
        lhs: plain(a, strided(0, &matrix(m, k, lhs))),
        rhs: plain(b, strided(0, &matrix(k, n, rhs))),
        epilogue: vec![accumulator()],
        stores: vec![Store { buffer: BufferId(y), value: Reg(0), view: strided(0, &matrix(m, n, out)) }],
    }));
    case
}

#[test]
fn every_orientation_and_size() {
    let sizes = [
        (1, 1, 1),
        (3, 4, 5),
        (8, 8, 8),
        (17, 5, 33),
        (1, 300, 40),
        (40, 300, 1),
        (1, 700, 900),
        (900, 700, 1),
        (64, 100, 48),
        (130, 70, 90),
        (5, 0, 6),
        (7, 1, 9),
        (1, 5, 1),
        (203, 8, 5),
        (40, 70, 12),
        (11, 60, 100),
        (33, 65, 2),
    ];
    for (m, k, n) in sizes {
        for bits in 0..8 {
            product(m, k, n, bits & 1 != 0, bits & 2 != 0, bits & 4 != 0).check(3e-6);
        }
    }
}

#[test]
fn empty_results_are_left_alone() {
    assert_eq!(product(0, 4, 5, false, false, false).check(0.0), [vec![0.0; 0]]);
}

#[test]
fn batches_broadcast_and_fold() {
    // Strides of the batch axis for lhs and rhs: its own matrices, or one for all.
    for (batch, m, k, n) in
        [(5, 3, 4, 6), (7, 40, 30, 20), (70, 9, 8, 7), (2, 100, 90, 80), (300, 16, 16, 16)]
    {
        for (left, right) in [(1, 1), (1, 0), (0, 1), (0, 0)] {
            let mut rng = Rng(37);
            let mut case = Case::default();
            let a = case.input(DType::F32, rng.floats(batch * m * k, -1.0, 1.0));
            let b = case.input(DType::F32, rng.floats(batch * k * n, -1.0, 1.0));
            let y = case.output(DType::F32, batch * m * n);
            let view = |rows: usize, columns: usize, moves: usize| {
                strided(0, &[(moves * rows * columns) as i64, columns as i64, 1])
            };
            case.step(Kernel::Product(Product {
                batch: vec![batch],
                m: vec![m],
                n: vec![n],
                k: vec![k],
                lhs: plain(a, view(m, k, left)),
                rhs: plain(b, view(k, n, right)),
                epilogue: vec![accumulator()],
                stores: vec![Store { buffer: BufferId(y), value: Reg(0), view: view(m, n, 1) }],
            }));
            case.check(3e-6);
        }
    }
}

#[test]
fn heads_between_rows_and_columns() {
    // Attention scores: [batch, time, head, width] operands, [batch, head, time, time] result.
    let (b, h, t, w) = (2, 3, 10, 8);
    let mut rng = Rng(41);
    let mut case = Case::default();
    let q = case.input(DType::F32, rng.floats(b * t * h * w, -1.0, 1.0));
    let k = case.input(DType::F32, rng.floats(b * t * h * w, -1.0, 1.0));
    let y = case.output(DType::F32, b * h * t * t);
    let strides = [(t * h * w) as i64, w as i64, (h * w) as i64, 1];
    let turned = [(t * h * w) as i64, w as i64, 1, (h * w) as i64];
    case.step(Kernel::Product(Product {
        batch: vec![b, h],
        m: vec![t],
        n: vec![t],
        k: vec![w],
        lhs: plain(q, strided(0, &strides)),
        rhs: plain(k, strided(0, &turned)),
        epilogue: vec![accumulator()],
        stores: vec![Store { buffer: BufferId(y), value: Reg(0), view: View::contiguous(&[b, h, t, t]) }],
    }));
    case.check(2e-6);
}

#[test]
fn operands_are_computed_first() {
    let (batch, m, k, n) = (3, 20, 12, 17);
    let mut rng = Rng(43);
    let mut case = Case::default();
    let a = case.input(DType::F16, rng.floats(batch * m * k, -1.0, 1.0));
    let s = case.input(DType::F32, rng.floats(m, 0.5, 1.5));
    let b = case.input(DType::F32, rng.floats(k * n, -1.0, 1.0));
    let y = case.output(DType::F32, batch * m * n);
    let mut lhs = Tape::default();
    let x = lhs.load(a, strided(0, &[(m * k) as i64, k as i64, 1]));
    let scale = lhs.load(s, strided(0, &[0, 1, 0]));
    let x = lhs.binary(Binary::Mul, x, scale);
    let lhs_value = lhs.unary(Unary::Relu, x);
    // The right operand is shifted by one row, with zeros outside; the same for every batch.
    let mut shifted = strided(-(n as i64), &[0, n as i64, 1]);
    shifted.guards.push(Guard {
        coefficients: vec![0, 1, 0],
        offset: -1,
        divisor: 1,
        size: k as i64,
        stride: 0,
    });
    case.step(Kernel::Product(Product {
        batch: vec![batch],
        m: vec![m],
        n: vec![n],
        k: vec![k],
        lhs: ProductOperand { tape: lhs.0, value: lhs_value },
        rhs: plain(b, shifted),
        epilogue: vec![accumulator()],
        stores: vec![Store { buffer: BufferId(y), value: Reg(0), view: View::contiguous(&[batch, m, n]) }],
    }));
    case.check(2e-6);
}

#[test]
fn epilogues_see_the_product() {
    for (m, k, n) in [(4, 5, 6), (100, 60, 80), (300, 20, 10)] {
        let mut rng = Rng(47);
        let mut case = Case::default();
        let a = case.input(DType::F32, rng.floats(m * k, -1.0, 1.0));
        let b = case.input(DType::F32, rng.floats(k * n, -1.0, 1.0));
        let bias = case.input(DType::F32, rng.floats(n, -1.0, 1.0));
        let residual = case.input(DType::F32, rng.floats(m * n, -1.0, 1.0));
        let half = case.output(DType::F16, m * n);
        let before = case.output(DType::F32, m * n);
        let mut tape = Tape::default();
        let acc = tape.push(Code::Accumulator, DType::F32, Level::Full);
        let c = tape.load(bias, strided(0, &[0, 1]));
        let sum = tape.binary(Binary::Add, acc, c);
        let active = tape.unary(Unary::Tanh, sum);
        let r = tape.load(residual, View::contiguous(&[m, n]));
        let y = tape.binary(Binary::Add, active, r);
        let store =
            |buffer, value| Store { buffer: BufferId(buffer), value, view: View::contiguous(&[m, n]) };
        // Into half precision, unchanged, and over the residual.
        let stores = vec![store(half, y), store(before, sum), store(residual, y)];
        case.program.outputs.push(farad_compile::program::ProgramOutput {
            spec: farad_compile::program::Spec { dtype: DType::F32, len: m * n },
            donor: Some(3),
        });
        case.step(Kernel::Product(Product {
            batch: vec![],
            m: vec![m],
            n: vec![n],
            k: vec![k],
            lhs: plain(a, View::contiguous(&[m, k])),
            rhs: plain(b, View::contiguous(&[k, n])),
            epilogue: tape.0,
            stores,
        }));
        let (got, want) = (case.run().unwrap(), case.meaning());
        case::compare(&got[0], &want[0], 1e-3, "half");
        case::compare(&got[1], &want[1], 2e-6, "before");
        case::compare(&got[2], &want[2], 2e-6, "in place");
    }
}
