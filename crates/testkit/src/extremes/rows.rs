//! The columns of the unary and reduce tables.

use farad::{Device, Tensor};
use farad_ir::extremes::{EDGES, ROWS_AT_EDGES};
use farad_ir::{DType, Reduce, Unary};

use super::{Expected, Extreme, held};
use crate::cases;
use crate::sample::NumberStream;

/// Inputs between the ends of a bound: evenly spaced, by powers of two from the smallest, and close to one.
fn spread(low: f64, high: f64, dtype: DType) -> Vec<f64> {
    let mut sample = NumberStream::new(7);
    let (low, high) = match dtype {
        DType::F16 => (low.max(-65504.0), high.min(65504.0)),
        _ => (low, high),
    };
    let inside = |x: &f64| (low..=high).contains(x) && (x.abs() >= f32::MIN_POSITIVE as f64 || *x == 0.0);
    let (short, long) = (low.max(-30.0), high.min(30.0));
    let near = (0..400).map(|n| short + (long - short) * n as f64 / 400.0);
    let sizes = (-126..128).flat_map(|power| {
        let x = 2f64.powi(power);
        [x, -x, x * sample.between(1.0, 2.0), -x * sample.between(1.0, 2.0)]
    });
    let sizes: Vec<f64> = sizes.collect();
    let ones = (0..24).flat_map(|power| [1.0 - 2f64.powi(-power - 1), 1.0 + 2f64.powi(-power - 1)]);
    // Found by experiments: quadrants that cancel, saturation, the last number before it.
    let known = [3.5, 3.9, 4.0, 8.0, 8.5, 9.0, 1e4, -1e4, 12_867.0, 1e6, 6.5e6, 1e7, 1e8, 1e30, 16_367_173.0]
        .into_iter()
        .chain([5_419_351.0 / 1_725_033.0, 1.0 - 1.7e-6, 88.0, -87.0, -100.0]);
    let all = near.chain(sizes).chain(ones).chain(known).chain([low, high]);
    all.map(|x| held(dtype, x)).filter(inside).collect()
}

/// Every unary row on floats, at its edges and inside its bound.
pub(super) fn unary(dtype: DType) -> Vec<Extreme> {
    let mut all = Vec::new();
    for &op in Unary::ALL.iter().filter(|op| op.takes(dtype)) {
        let (row, (name, function)) = (op.row(), cases::unary_method(op));
        let mut add = |what: &str, x: Vec<f64>, y: Vec<f64>, tolerance| {
            let sizes = vec![x.len()];
            all.push(Extreme {
                name: format!("{name} {what}"),
                inputs: vec![(x, sizes)],
                function: Box::new(move |x: &[Tensor]| function(&x[0])),
                expected: Expected::Values(y),
                tolerance,
            });
        };
        add("at the edges", EDGES.to_vec(), row.edges.to_vec(), (row.bound.relative, 0.0));
        let bound = row.bound;
        let x = spread(bound.low, bound.high, dtype);
        let y = x.iter().map(|&x| (row.value)(x)).collect();
        add("within its bound", x, y, (bound.relative, bound.absolute));
    }
    all
}

/// Lengths of rows that are reduced by one thread, a few, a workgroup, and a loop. Odd, for products of
/// infinities.
const LENGTHS: [usize; 5] = [3, 37, 301, 2049, 9001];

/// Every reduction of rows of ones with edge values: at the start, in the middle and at the end, along either
/// axis.
pub(super) fn reductions() -> Vec<Extreme> {
    let host = Device::cpu();
    let mut all = Vec::new();
    for &op in Reduce::ALL {
        let (row, (name, function)) = (op.row(), cases::reduce_method(op));
        let mut add = |what: String, x: Vec<f64>, sizes: Vec<usize>, axis: isize, y: Vec<f64>| {
            all.push(Extreme {
                name: format!("{name} {what}"),
                inputs: vec![(x, sizes)],
                function: Box::new(move |x: &[Tensor]| function(&x[0], &[axis])),
                expected: Expected::Values(y),
                tolerance: (1e-6, 0.0),
            });
        };
        let x: Vec<f64> = ROWS_AT_EDGES.into_iter().flatten().collect();
        add("at the edges".into(), x, vec![ROWS_AT_EDGES.len(), 3], 1, row.edges.to_vec());
        for length in LENGTHS {
            let rows: Vec<Vec<f64>> = ROWS_AT_EDGES.iter().flat_map(|edge| longer(edge, length)).collect();
            let count = rows.len();
            let x = rows.concat();
            let columns: Vec<f64> = (0..length).flat_map(|at| rows.iter().map(move |row| row[at])).collect();
            let meaning = Tensor::from_vec(x.iter().map(|&x| x as f32).collect(), [count, length], &host);
            let y = farad::check::reference(&[function(&meaning, &[1])]).expect("the host computes it");
            let y = y[0].to_f64();
            add(format!("of rows of {length}"), x, vec![count, length], 1, y.clone());
            add(format!("of columns of {length}"), columns, vec![length, count], 0, y);
        }
    }
    all
}

/// Rows of ones with edge values in them, or of the edge value alone.
fn longer(edge: &[f64; 3], length: usize) -> Vec<Vec<f64>> {
    if edge[0] == edge[1] {
        return vec![vec![edge[0]; length]];
    }
    let at = |start: usize| {
        let mut row = vec![1.0; length];
        row[start..start + 3].copy_from_slice(edge);
        row
    };
    vec![at(0), at((length - 3) / 2), at(length - 3)]
}
