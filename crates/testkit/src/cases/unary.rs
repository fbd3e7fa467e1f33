//! The unary family: every row, on every dtype it takes.

use farad::Tensor;
use farad_ir::{DType, Unary};

use super::{HALF, SIGNED};
use crate::case::{Case, all_of, float, half, truth};

/// The public method of a row.
pub(crate) fn method(op: Unary) -> (&'static str, fn(&Tensor) -> Tensor) {
    match op {
        Unary::Neg => ("neg", |x| -x),
        Unary::Abs => ("abs", Tensor::abs),
        Unary::Sign => ("sign", Tensor::sign),
        Unary::Exp => ("exp", Tensor::exp),
        Unary::Log => ("log", Tensor::log),
        Unary::Exp2 => ("exp2", Tensor::exp2),
        Unary::Log2 => ("log2", Tensor::log2),
        Unary::Sqrt => ("sqrt", Tensor::sqrt),
        Unary::Rsqrt => ("rsqrt", Tensor::rsqrt),
        Unary::Recip => ("recip", Tensor::recip),
        Unary::Sin => ("sin", Tensor::sin),
        Unary::Cos => ("cos", Tensor::cos),
        Unary::Tanh => ("tanh", Tensor::tanh),
        Unary::Erf => ("erf", Tensor::erf),
        Unary::Sigmoid => ("sigmoid", Tensor::sigmoid),
        Unary::Relu => ("relu", Tensor::relu),
        Unary::Floor => ("floor", Tensor::floor),
        Unary::Ceil => ("ceil", Tensor::ceil),
        Unary::Round => ("round", Tensor::round),
        Unary::Finite => ("is_finite", Tensor::is_finite),
        Unary::Not => ("not", Tensor::not),
        Unary::Log1p => ("log1p", Tensor::log1p),
        Unary::Expm1 => ("expm1", Tensor::expm1),
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &op in Unary::ALL {
        let (row, (name, function)) = (op.row(), method(op));
        for dtype in DType::ALL.into_iter().filter(|&d| d.is_compute() && op.takes(d)) {
            let (input, tolerance) = match dtype {
                DType::F16 => (half([7, 33], row.range), row.tolerance.max(HALF)),
                DType::F64 => (float([7, 33], row.range).stored(dtype), super::DOUBLE),
                DType::Bool => (truth([7, 33]), 0.0),
                dtype if dtype.is_int() => (all_of([7, 33], dtype), 0.0),
                _ => (float([7, 33], row.range), row.tolerance),
            };
            let case = Case::new(name, "", vec![input], tolerance, move |x| function(&x[0]));
            cases.push(if row.gradient.is_none() { case.without_gradient() } else { case });
        }
    }
    cases.extend(unsigned());
    cases.extend(shapes());
    cases.extend(far());
    cases
}

/// What is made of other ops for unsigned integers.
fn unsigned() -> Vec<Case> {
    let mut cases = Vec::new();
    for op in [Unary::Neg, Unary::Abs, Unary::Sign, Unary::Relu] {
        let (name, function) = method(op);
        for dtype in [DType::U8, DType::U16, DType::U32, DType::U64] {
            let case =
                Case::new(name, "unsigned", vec![all_of([7, 33], dtype)], 0.0, move |x| function(&x[0]));
            cases.push(case.without_gradient());
        }
    }
    cases
}

/// Shapes at the edges of what kernels are cut into.
fn shapes() -> Vec<Case> {
    let shapes: [&[usize]; 11] = [
        &[],
        &[0],
        &[1],
        &[255],
        &[257],
        &[1031],
        &[2, 0, 3],
        &[1, 1, 1],
        &[2, 3, 5, 7],
        &[1, 2, 1, 2, 1, 2, 1, 3],
        &[70_001],
    ];
    let of =
        |shape: &[usize]| Case::new("tanh", "by shape", vec![float(shape, SIGNED)], 2e-6, |x| x[0].tanh());
    shapes.into_iter().map(of).collect()
}

/// Arguments far from the table's ranges.
fn far() -> Vec<Case> {
    let case = |name, range, tolerance, function: fn(&Tensor) -> Tensor| {
        Case::new(name, "far", vec![float([257], range)], tolerance, move |x| function(&x[0]))
            .without_gradient()
    };
    vec![
        case("sin", (-1000.0, 1000.0), 2e-6, Tensor::sin),
        case("cos", (-1000.0, 1000.0), 2e-6, Tensor::cos),
        case("tanh", (-50.0, 50.0), 2e-6, Tensor::tanh),
        case("erf", (-30.0, 30.0), 2e-6, Tensor::erf),
        case("exp", (-80.0, 0.0), 5e-6, Tensor::exp),
        case("tanh", (-1e-3, 1e-3), 2e-6, Tensor::tanh).of_size(0.0),
        case("erf", (-1e-3, 1e-3), 2e-6, Tensor::erf).of_size(0.0),
        case("sin", (-1e-3, 1e-3), 2e-6, Tensor::sin).of_size(0.0),
        case("log1p", (-1e-3, 1e-3), 2e-6, Tensor::log1p).of_size(0.0),
        case("log1p", (0.0, 1e-12), 2e-6, Tensor::log1p).of_size(0.0),
        case("log1p", (-0.49, 1.1), 2e-6, Tensor::log1p).of_size(0.0),
        case("log1p", (1e3, 1e30), 5e-6, Tensor::log1p),
        case("expm1", (-1e-3, 1e-3), 2e-6, Tensor::expm1).of_size(0.0),
        case("expm1", (-0.6, 0.6), 2e-6, Tensor::expm1).of_size(0.0),
        case("expm1", (-80.0, 0.0), 5e-6, Tensor::expm1),
        case("log", (1e-30, 1e-20), 5e-6, Tensor::log),
        case("sqrt", (1e10, 1e30), 1e-6, Tensor::sqrt),
        Case::new("not", "by the operator", vec![truth([5])], 0.0, |x| !&x[0]),
        Case::new("neg", "of a value", vec![float([5], SIGNED)], 1e-7, |x| -x[0].clone()),
    ]
}
