//! The prelude's functions beyond the tables' ranges: large arguments, values near zero, special
//! values.

use super::*;

const F32: DType = DType::F32;

fn unary(op: Unary, values: Vec<f64>, tolerance: f64) {
    let mut case = Case::default();
    let len = values.len();
    let values = values.into_iter().map(|x| x as f32 as f64).collect();
    let (a, y) = (case.buffer(F32, values), case.output(F32, len));
    let x = case.load(a, view(0, &[1]));
    let out = case.unary(op, x);
    case.store(y, out, view(0, &[1]));
    let kernel = case.fused(&[len], 1);
    case.check(&kernel, tolerance);
}

fn range(low: f64, high: f64) -> Vec<f64> {
    (0..=2000).map(|n| low + (high - low) * n as f64 / 2000.0).collect()
}

#[test]
fn sine_and_cosine_of_large_angles() {
    for op in [Unary::Sin, Unary::Cos] {
        unary(op, range(-1e4, 1e4), 2e-6);
        unary(op, range(-1e-3, 1e-3), 1e-6);
        unary(op, range(3.0, 3.3), 4e-6);
    }
}

#[test]
fn saturating_functions_near_zero_and_far_away() {
    for op in [Unary::Tanh, Unary::Erf] {
        for (low, high) in [(-1e-6, 1e-6), (-1e-2, 1e-2), (-1.5, 1.5), (-30.0, 30.0), (50.0, 1e30)] {
            unary(op, range(low, high), 1e-6);
        }
        unary(op, vec![f64::NAN, 0.0, -0.0, 1e38, -1e38], 1e-6);
    }
}

#[test]
fn powers_of_negative_and_zero_bases() {
    let pairs = [
        (-2.0, 3.0),
        (-2.0, 2.0),
        (-2.0, -1.0),
        (0.0, 0.0),
        (0.0, 2.0),
        (0.0, -1.0),
        (5.0, 0.0),
        (-1.5, 0.5),
        (2.0, 0.5),
        (1.0, 1e10),
        (-1.0, 16_777_217.0),
        (0.5, 3.0),
    ];
    let mut case = Case::default();
    let (a, b) =
        (pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1 as f32 as f64).collect());
    let (a, b, y) = (case.buffer(F32, a), case.buffer(F32, b), case.output(F32, pairs.len()));
    let (x, z) = (case.load(a, view(0, &[1])), case.load(b, view(0, &[1])));
    let out = case.binary(Binary::Pow, x, z);
    case.store(y, out, view(0, &[1]));
    let kernel = case.fused(&[pairs.len()], 1);
    case.check(&kernel, 2e-5);
}

#[test]
fn halves_round_to_even_over_their_whole_range() {
    let mut values: Vec<f64> =
        (0..4096u32).map(|n| half::f16::from_bits((n * 8) as u16 % 0x7c00).to_f64()).collect();
    // Halfway between neighbors, and a little to either side.
    let steps: Vec<f64> = (0..2000u16)
        .flat_map(|n| {
            let bits = 0x400 + n * 14;
            let (low, high) = (half::f16::from_bits(bits).to_f64(), half::f16::from_bits(bits + 1).to_f64());
            let middle = (low + high) / 2.0;
            [middle, middle * (1.0 + 1e-6), -middle * (1.0 - 1e-6)]
        })
        .collect();
    values.extend(steps);
    values.extend([65_519.9, 65_520.0, 1e9, -1e9, f64::INFINITY, f64::NAN]);
    let mut case = Case::default();
    let len = values.len();
    let values = values.into_iter().map(|x| x as f32 as f64).collect();
    let (a, y) = (case.buffer(F32, values), case.output(F32, len));
    let x = case.load(a, view(0, &[1]));
    let out = case.full(Code::Cast(x, DType::F16), F32);
    case.store(y, out, view(0, &[1]));
    let kernel = case.fused(&[len], 1);
    case.check(&kernel, 0.0);
}
