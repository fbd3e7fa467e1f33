//! The reduce family: every row, on every dtype it takes, over leading, trailing and mixed axes.

use farad::Tensor;
use farad::kept;
use farad_ir::{DType, Reduce};

use super::{HALF, SIGNED};
use crate::case::{Case, Input, all_of, float, half, int, unsigned, whole};

/// The public method of a row.
pub(crate) fn method(op: Reduce) -> (&'static str, fn(&Tensor, &[isize]) -> Tensor) {
    match op {
        Reduce::Sum => ("sum_axes", |x, axes| x.sum_axes(axes)),
        Reduce::Prod => ("prod_axes", |x, axes| x.prod_axes(axes)),
        Reduce::Max => ("max_axes", |x, axes| x.max_axes(axes)),
        Reduce::Min => ("min_axes", |x, axes| x.min_axes(axes)),
        Reduce::ArgMax => ("argmax", |x, axes| x.argmax(axes[0])),
        Reduce::ArgMin => ("argmin", |x, axes| x.argmin(axes[0])),
    }
}

/// Shapes and the axes to reduce: single ones, several, all; few long rows and many short ones.
const LAYOUTS: [(&[usize], &[isize]); 16] = [
    (&[7, 33], &[1]),
    (&[7, 33], &[0]),
    (&[257], &[0]),
    (&[1, 1], &[1]),
    (&[3, 1], &[0]),
    (&[129, 1], &[1]),
    (&[1, 5003], &[1]),
    (&[5003, 3], &[0]),
    (&[3, 70_001], &[1]),
    (&[300, 2], &[1]),
    (&[0, 3], &[1]),
    (&[4, 5, 6], &[1]),
    (&[7, 33], &[0, 1]),
    (&[2, 3, 4, 5], &[1, 3]),
    (&[2, 3, 4, 5], &[0, 2]),
    (&[2, 3, 4, 5], &[2, 3]),
];

fn input(op: Reduce, dtype: DType, shape: &[usize], terms: usize) -> Input {
    // Long products would underflow or overflow.
    let spread = 1.0 / (terms as f64).sqrt().max(2.0);
    let range = if op == Reduce::Prod { (1.0 - spread, 1.0 + spread) } else { op.row().range };
    match dtype {
        DType::F16 => half(shape, range),
        DType::I32 => int(shape, -1_000_000, 1_000_000),
        DType::U32 => unsigned(shape, 0, 1_000_000),
        DType::F64 => float(shape, range).stored(dtype),
        dtype if dtype.is_int() => all_of(shape, dtype),
        _ => float(shape, range),
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &op in Reduce::ALL {
        let (row, (name, function)) = (op.row(), method(op));
        for dtype in DType::ALL.into_iter().filter(|&d| d.is_compute() && d != DType::Bool) {
            for (n, (shape, axes)) in LAYOUTS.into_iter().enumerate() {
                // Floats get every layout, the others one of each kind.
                let shown = matches!(dtype, DType::F32 | DType::F64) || [0, 1, 6, 13].contains(&n);
                if !shown || (op.is_index() && axes.len() > 1) {
                    continue;
                }
                let tolerance = match dtype {
                    DType::F16 => 2.0 * HALF,
                    DType::F64 => super::DOUBLE,
                    _ => row.tolerance,
                };
                let terms: usize = axes.iter().map(|&axis| shape[axis as usize]).product();
                let inputs = vec![input(op, dtype, shape, terms)];
                let case =
                    Case::new(name, format!("{axes:?}"), inputs, tolerance, move |x| function(&x[0], axes));
                // The summands are larger than a sum with both signs may be.
                let case = if row.rounds { case.of_size((terms as f64).sqrt()) } else { case };
                // In f16 there are too many ties for a maximum to have a derivative, and many elements are
                // closer than a difference step.
                let near = dtype == DType::F16 || (dtype == DType::F64 && terms > 1000);
                let kinked = near && !row.rounds;
                cases.push(if row.gradient.is_none() || kinked { case.without_gradient() } else { case });
            }
        }
    }
    cases.extend(ties());
    cases.extend(whole_tensors());
    cases.extend(products());
    cases
}

/// Equal elements: the first position wins, and gradients are shared.
fn ties() -> Vec<Case> {
    let few = || vec![whole([9, 40], (-1.0, 1.0))];
    vec![
        Case::new("argmax", "with ties", few(), 0.0, |x| x[0].argmax(1)).without_gradient(),
        Case::new("argmin", "with ties", few(), 0.0, |x| x[0].argmin(0)).without_gradient(),
        Case::new("argmax", "with ties", vec![int([3, 3000], 0, 2)], 0.0, |x| x[0].argmax(-1)),
        Case::new("argmax", "over all", vec![float([3000], SIGNED)], 0.0, |x| x[0].argmax(0))
            .without_gradient(),
        Case::new("argmax", "all negative", vec![float([5, 33], (-9.0, -8.0))], 0.0, |x| x[0].argmax(1))
            .without_gradient(),
        Case::new("max_axes", "all far below zero", vec![float([5, 33], (-1e30, -1e29))], 1e-7, |x| {
            x[0].max_axes([1])
        })
        .without_gradient(),
    ]
}

/// Methods over all axes, with kept axes, and the mean.
fn whole_tensors() -> Vec<Case> {
    let one = || vec![float([7, 33], SIGNED)];
    vec![
        Case::new("sum", "", one(), 2e-6, |x| x[0].sum()).of_size(16.0),
        Case::new("sum", "of nothing", vec![float([0, 3], SIGNED)], 2e-6, |x| x[0].sum_axes([0])),
        Case::new("sum", "of a scalar", vec![float([], SIGNED)], 2e-6, |x| x[0].sum()),
        Case::new("sum", "long", vec![float([70_001], SIGNED)], 2e-6, |x| x[0].sum()).of_size(270.0),
        Case::new("sum", "long", vec![int([70_001], i32::MIN, i32::MAX)], 0.0, |x| x[0].sum()),
        Case::new("mean", "", one(), 2e-6, |x| x[0].mean()).of_size(0.1),
        Case::new("mean", "of integers", vec![int([7, 33], -9, 9)], 2e-6, |x| x[0].mean()),
        Case::new("mean_axes", "kept", one(), 2e-6, |x| x[0].mean_axes(kept([0]))),
        Case::new("mean_axes", "two axes", vec![half([4, 5, 6], SIGNED)], HALF, |x| x[0].mean_axes([0, -1])),
        Case::new("mean", "long", vec![half([70_001], (0.5, 1.5))], HALF, |x| x[0].mean()),
        Case::new("sum", "long", vec![half([70_001], (0.0, 0.5))], HALF, |x| x[0].sum()),
        Case::new("mean_axes", "long rows", vec![half([3, 9001], (60.0, 68.0))], HALF, |x| {
            x[0].mean_axes([1])
        }),
        Case::new("max", "", one(), 1e-7, |x| x[0].max()),
        Case::new("min", "", one(), 1e-7, |x| x[0].min()),
        Case::new("sum_axes", "kept", one(), 2e-6, |x| x[0].sum_axes(kept([1]))).of_size(6.0),
        Case::new("max_axes", "kept", one(), 1e-7, |x| x[0].max_axes(kept([-2]))),
        Case::new("min_axes", "kept, of a permuted tensor", vec![float([3, 4, 5], SIGNED)], 1e-7, |x| {
            x[0].permute(&[2, 0, 1]).min_axes(kept([1]))
        }),
        Case::new(
            "sum_axes",
            "of a broadcast product",
            vec![float([9, 1], SIGNED), float([1, 65], SIGNED)],
            2e-6,
            |x| (&x[0] * &x[1]).sum_axes([1]),
        )
        .of_size(8.0),
        Case::new("sum_axes", "of a padded, flipped part", vec![float([9, 20], SIGNED)], 2e-6, |x| {
            x[0].pad(&[(1, 0), (2, 3)]).flip(&[1]).sum_axes([0])
        })
        .of_size(3.0),
        Case::new("sum_axes", "one after another", vec![float([4, 5, 6], SIGNED)], 4e-6, |x| {
            x[0].sum_axes([2]).tanh().sum_axes([0])
        }),
    ]
}

/// Products with zeros, whose gradients are products of the other elements.
fn products() -> Vec<Case> {
    let of = |detail: &str, input: Input, axes: &'static [isize]| {
        Case::new("prod_axes", detail, vec![input], 2e-6, move |x| x[0].prod_axes(kept(axes)))
    };
    vec![
        Case::new("prod", "", vec![float([3, 5], SIGNED)], 2e-6, |x| x[0].prod()),
        Case::new("prod", "of nothing", vec![float([0, 3], SIGNED)], 0.0, |x| x[0].prod_axes([0])),
        Case::new("prod", "of one number everywhere", vec![], 1e-6, |x| {
            Tensor::full(1.5, [9], &x.device).prod()
        }),
        of("with zeros", whole([40, 4], (-2.0, 2.0)), &[1]),
        of("with zeros, columns", whole([5, 40], (-1.0, 2.0)), &[0]),
        of("with zeros, two axes", whole([3, 4, 2], (-1.0, 2.0)), &[2, 0]),
        of("of pairs", float([9, 2], SIGNED), &[1]),
    ]
}
