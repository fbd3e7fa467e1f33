//! The binary family and select: every row, on every dtype it takes, with broadcasting.

use farad::Tensor;
use farad_ir::{Binary, DType};

use super::{HALF, SIGNED};
use crate::case::{Case, Input, all_of, float, half, int, truth, unsigned, whole};

/// The public method or operator of a row.
pub(crate) fn method(op: Binary) -> (&'static str, fn(&Tensor, &Tensor) -> Tensor) {
    match op {
        Binary::Add => ("add", |a, b| a + b),
        Binary::Sub => ("sub", |a, b| a - b),
        Binary::Mul => ("mul", |a, b| a * b),
        Binary::Div => ("div", |a, b| a / b),
        Binary::Max => ("maximum", |a, b| a.maximum(b)),
        Binary::Min => ("minimum", |a, b| a.minimum(b)),
        Binary::Pow => ("pow", |a, b| a.pow(b)),
        Binary::Rem => ("remainder", |a, b| a.remainder(b)),
        Binary::Join => unreachable!("concatenations have cases of their own"),
        Binary::Less => ("less", |a, b| a.less(b)),
        Binary::LessEqual => ("less_equal", |a, b| a.less_equal(b)),
        Binary::Greater => ("greater", |a, b| a.greater(b)),
        Binary::GreaterEqual => ("greater_equal", |a, b| a.greater_equal(b)),
        Binary::Equal => ("equal", |a, b| a.equal(b)),
        Binary::NotEqual => ("not_equal", |a, b| a.not_equal(b)),
        Binary::And => ("and", |a, b| a.and(b)),
        Binary::Or => ("or", |a, b| a.or(b)),
        Binary::Xor => ("xor", |a, b| a.xor(b)),
        Binary::Shl => ("shift_left", |a, b| a.shift_left(b)),
        Binary::Shr => ("shift_right", |a, b| a.shift_right(b)),
    }
}

/// Operands of a row in one dtype; comparisons use few distinct integers, so that ties occur.
fn operands(op: Binary, dtype: DType, a: &[usize], b: &[usize]) -> Vec<Input> {
    let (ra, rb) = op.row().range;
    match dtype {
        DType::Bool => vec![truth(a), truth(b)],
        dtype if dtype.is_signed_int() => {
            vec![whole(a, (-9.0, 9.0)).stored(dtype), whole(b, (-5.0, 5.0)).stored(dtype)]
        }
        dtype if dtype.is_int() => {
            vec![whole(a, (0.0, 9.0)).stored(dtype), whole(b, (0.0, 5.0)).stored(dtype)]
        }
        DType::F64 if !op.compares() => vec![float(a, ra).stored(dtype), float(b, rb).stored(dtype)],
        DType::F16 | DType::F64 if op.compares() => {
            vec![whole(a, (-3.0, 3.0)).stored(dtype), whole(b, (-3.0, 3.0)).stored(dtype)]
        }
        DType::F16 => vec![half(a, ra), half(b, rb)],
        _ if op.compares() => vec![whole(a, (-3.0, 3.0)), whole(b, (-3.0, 3.0))],
        _ => vec![float(a, ra), float(b, rb)],
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &op in Binary::ALL.iter().filter(|&&op| op != Binary::Join) {
        let (row, (name, function)) = (op.row(), method(op));
        let mut add = |detail: &str, inputs: Vec<Input>| {
            let tolerance = match inputs[0].dtype {
                DType::F16 => row.tolerance.max(HALF),
                DType::F64 => super::DOUBLE,
                _ => row.tolerance,
            };
            let case = Case::new(name, detail, inputs, tolerance, move |x| function(&x[0], &x[1]));
            cases.push(if row.gradient.is_none() { case.without_gradient() } else { case });
        };
        for dtype in DType::ALL.into_iter().filter(|&d| d.is_compute() && op.takes(d)) {
            add("", operands(op, dtype, &[7, 33], &[7, 33]));
            add("broadcast", operands(op, dtype, &[5, 1, 3], &[4, 1]));
        }
        for dtype in DType::ALL.into_iter().filter(|&d| d.is_int() && op.takes(d)) {
            add("of any size", vec![all_of([300], dtype), all_of([300], dtype)]);
        }
    }
    cases.extend(mixed());
    cases.extend(numbers());
    cases.extend(selects());
    cases
}

/// Operands of different dtypes, which are promoted to a common one.
fn mixed() -> Vec<Case> {
    let shape = [5, 7];
    let case =
        |a: Input, b: Input, tolerance| Case::new("add", "mixed", vec![a, b], tolerance, |x| &x[0] + &x[1]);
    vec![
        case(int(shape, -9, 9), float(shape, SIGNED), 1e-7),
        case(truth(shape), int(shape, -9, 9), 0.0),
        case(unsigned(shape, 0, 9), int(shape, -9, 9), 0.0),
        case(half(shape, SIGNED), float(shape, SIGNED), 1e-7),
        case(int(shape, -9, 9), half(shape, SIGNED), HALF),
        case(float(shape, SIGNED), float(shape, SIGNED).stored(DType::F64), 1e-14),
        case(all_of(shape, DType::I64), int(shape, -9, 9), 0.0),
        // They are promoted to i16.
        case(all_of(shape, DType::U8), all_of(shape, DType::I8), 0.0).on_cpu_only(),
        case(all_of(shape, DType::U32), all_of(shape, DType::I16), 0.0),
        case(all_of(shape, DType::U64), all_of(shape, DType::U16), 0.0),
        Case::new(
            "pow",
            "of a negative base",
            vec![whole([64], (-4.0, 4.0)), whole([64], (0.0, 3.0))],
            2e-5,
            |x| x[0].pow(&x[1]),
        )
        .without_gradient(),
        Case::new(
            "remainder",
            "of any sign",
            vec![float([200], (-9.0, 9.0)), whole([200], (-7.0, -2.0))],
            2e-6,
            |x| x[0].remainder(&x[1]),
        ),
        Case::new(
            "maximum",
            "with ties",
            vec![whole([64], (-1.0, 1.0)), whole([64], (-1.0, 1.0))],
            1e-7,
            |x| x[0].maximum(&x[1]),
        )
        .without_gradient(),
    ]
}

/// Numbers as operands, on either side, by reference and by value.
fn numbers() -> Vec<Case> {
    let one = || vec![float([7, 9], SIGNED)];
    vec![
        Case::new("add", "a number", one(), 2e-7, |x| &x[0] + 0.3),
        Case::new("sub", "from a number", one(), 2e-7, |x| 0.3 - &x[0]),
        Case::new("mul", "a whole number", one(), 2e-7, |x| x[0].clone() * 3),
        Case::new("div", "a number by", vec![float([9], (0.5, 2.0))], 1e-6, |x| 1.0 / x[0].clone()),
        Case::new("remainder", "by the operator", vec![float([9], (0.1, 2.0))], 1e-6, |x| &x[0] % 3.0),
        Case::new("mul", "integers by a fraction", vec![int([9], -9, 9)], 1e-7, |x| &x[0] * 0.5),
        Case::new("add", "a whole number to integers", vec![int([9], -9, 9)], 0.0, |x| &x[0] + 2.0),
        Case::new("pow", "a number", vec![float([33], (-2.0, 2.0))], 2e-5, |x| x[0].pow(3.0)),
        Case::new("clamp", "", one(), 1e-7, |x| x[0].clamp(-0.5, 0.75)),
        Case::new("square", "", one(), 1e-7, |x| x[0].square()),
        Case::new("square", "f16", vec![half([7, 9], SIGNED)], HALF, |x| x[0].square()),
        Case::new("computed_once", "", one(), 0.0, |x| x[0].computed_once()),
        Case::new("computed_once", "for two sums", one(), 2e-6, |x| {
            let y = x[0].exp().computed_once();
            y.sum_axes([0]) + (&y * &y).sum_axes([0])
        }),
        Case::new("stop_gradient", "", one(), 0.0, |x| x[0].stop_gradient()).without_gradient(),
        Case::new("stop_gradient", "in a product", one(), 1e-7, |x| &x[0] * &x[0].stop_gradient())
            .without_gradient(),
    ]
}

fn selects() -> Vec<Case> {
    let shape = [5, 7];
    let of = |detail: &str, a: Input, b: Input, tolerance| {
        Case::new("select", detail, vec![truth(shape), a, b], tolerance, |x| x[0].select(&x[1], &x[2]))
    };
    vec![
        of("", float(shape, SIGNED), float(shape, SIGNED), 0.0),
        of("", half(shape, SIGNED), half(shape, SIGNED), 0.0),
        of("", int(shape, -9, 9), int(shape, -9, 9), 0.0),
        of("", unsigned(shape, 0, 9), unsigned(shape, 0, 9), 0.0),
        of("", truth(shape), truth(shape), 0.0),
        of("broadcast", float([1, 7], SIGNED), float([2, 1, 1], SIGNED), 0.0),
        of("mixed", int(shape, -9, 9), float([], SIGNED), 0.0),
    ]
}
