//! Cumulative sums and products, over blocks of every kind: none, one, several, blocks of blocks.

use farad::Tensor;

use super::{HALF, SIGNED};
use crate::case::{Case, Input, float, half, int, unsigned, whole};

type CumulativeMethod = fn(&Tensor, isize) -> Tensor;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let sums: [(&'static str, CumulativeMethod); 2] =
        [("cumsum", Tensor::cumsum), ("cumsum_from_end", Tensor::cumsum_from_end)];
    let layouts: [(&[usize], isize); 10] = [
        (&[7, 33], 1),
        (&[7, 33], 0),
        (&[16], 0),
        (&[17], -1),
        (&[1, 1], 1),
        (&[3, 1031], 1),
        (&[4099, 3], 0),
        (&[2, 300, 3], 1),
        (&[70_001], 0),
        (&[0, 5], 1),
    ];
    for (name, method) in sums {
        let of = |input: Input, axis: isize, tolerance: f64| {
            Case::new(name, format!("axis {axis}"), vec![input], tolerance, move |x| method(&x[0], axis))
        };
        for (shape, axis) in layouts {
            let terms = shape[axis.rem_euclid(shape.len() as isize) as usize] as f64;
            cases.push(of(float(shape, SIGNED), axis, 2e-6).of_size(terms.sqrt()));
        }
        cases.push(of(half([3, 300], SIGNED), 1, 2.0 * HALF).of_size(17.0));
        cases.push(of(int([5, 600], i32::MIN, i32::MAX), 1, 0.0));
        cases.push(of(unsigned([600, 5], 0, u32::MAX), 0, 0.0));
    }
    cases.extend(products());
    cases
}

fn products() -> Vec<Case> {
    let of = |detail: &str, input: Input, axis: isize| {
        Case::new("cumprod", detail, vec![input], 5e-6, move |x| x[0].cumprod(axis))
    };
    vec![
        of("", float([5, 7], SIGNED), 1),
        of("axis 0", float([300, 4], (0.95, 1.05)), 0),
        of("long", float([5003], (0.98, 1.02)), 0),
        of("with zeros", whole([9, 20], (-1.0, 3.0)), 1),
        of("", int([3, 40], -9, 9), 1),
        of("of a permuted tensor", float([20, 3], (0.5, 1.5)), 0),
    ]
}
