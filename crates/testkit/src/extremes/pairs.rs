//! The columns of the binary table.

use farad::Tensor;
use farad_ir::extremes::PAIRS;
use farad_ir::{Binary, DType};

use super::{Expected, Extreme, held};
use crate::cases;
use crate::sample::NumberStream;

/// Every binary row on floats that has a method (a join is a part of a concatenation, which has its own row):
/// at its edges, at all pairs of extreme numbers, and within its bound.
pub(super) fn binary(dtype: DType) -> Vec<Extreme> {
    let mut all = Vec::new();
    for &op in Binary::ALL.iter().filter(|&&op| op != Binary::Join && op.takes(dtype)) {
        let (row, (name, function)) = (op.row(), cases::binary_method(op));
        let mut add = |what: &str, pairs: Vec<(f64, f64)>, y: Vec<f64>, tolerance| {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let sizes = vec![a.len()];
            all.push(Extreme {
                name: format!("{name} {what}"),
                inputs: vec![(a, sizes.clone()), (b, sizes)],
                function: Box::new(move |x: &[Tensor]| function(&x[0], &x[1])),
                expected: Expected::Values(y),
                tolerance,
            });
        };
        add("at the edges", PAIRS.to_vec(), row.edges.to_vec(), (row.bound.relative, 0.0));
        let every = grid(dtype);
        let y = every.iter().map(|&(a, b)| (row.value)(a, b)).collect();
        add("at all pairs of extremes", every, y, (row.bound.relative, row.bound.absolute));
        let inside = inside(op, dtype);
        let y = inside.iter().map(|&(a, b)| (row.value)(a, b)).collect();
        add("within its bound", inside, y, (row.bound.relative, row.bound.absolute));
    }
    all
}

/// All pairs of these whose result does not depend on rounding.
fn grid(dtype: DType) -> Vec<(f64, f64)> {
    let inf = f64::INFINITY;
    let most = if dtype == DType::F16 { 65504.0 } else { f32::MAX as f64 };
    let numbers = [f64::NAN, inf, -inf, 0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, most, -most];
    let pairs = numbers.into_iter().flat_map(|a| numbers.map(|b| (a, b)));
    // A remainder or quotient of the largest number is not exact, and its power depends on rounding.
    pairs.filter(|(a, b)| a.abs().max(b.abs()) != most || (a.is_nan() || b.is_nan() || a == b)).collect()
}

/// Pairs of every magnitude within a row's bound whose result is a normal number.
fn inside(op: Binary, dtype: DType) -> Vec<(f64, f64)> {
    let (row, mut sample) = (op.row(), NumberStream::new(11));
    let (tiny, most) = if dtype == DType::F16 { (6.2e-5, 65000.0) } else { (1.2e-38, 3.4e38) };
    let (low, high) = (row.bound.low.abs().min(row.bound.high).max(tiny), row.bound.high.min(most));
    let low = if row.bound.low <= 0.0 { tiny } else { low };
    let mut pairs = Vec::new();
    while pairs.len() < 600 {
        let mut draw = |signed: bool| {
            let size = 2f64.powf(sample.between(low.log2(), high.log2()));
            held(dtype, if signed && sample.once_in(2) { -size } else { size })
        };
        let (a, b) = (draw(op != Binary::Pow), draw(true));
        let y = (row.value)(a, b);
        let normal = y == 0.0 || (tiny..most).contains(&y.abs());
        if normal && (op != Binary::Rem || (a / b).abs() < 1e4) {
            pairs.push((a, b));
        }
    }
    pairs
}
