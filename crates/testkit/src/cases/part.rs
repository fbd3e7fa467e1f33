//! Parts of tensors: ranges, positions, steps.

use farad::{Part, Tensor};

use super::SIGNED;
use crate::case::{Case, float, half, int};

fn of(op: &'static str, detail: &str, shape: &[usize], function: fn(&Tensor) -> Tensor) -> Case {
    Case::new(op, detail, vec![float(shape, SIGNED)], 0.0, move |x| function(&x[0]))
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        of("slice", "of one axis", &[9, 5], |x| x.slice(2..7)),
        of("slice", "of both axes", &[9, 5], |x| x.slice((1.., 0..2))),
        of("slice", "to the end", &[9, 5], |x| x.slice((..4, 3..))),
        of("slice", "at a position", &[9, 5], |x| x.slice((.., -1))),
        of("slice", "at two positions", &[4, 9, 5], |x| x.slice((3, .., 0))),
        of("slice", "empty", &[9, 5], |x| x.slice((2..2, ..))),
        of("slice", "with a step", &[9, 5], |x| x.slice((Part::Step(0, None, 2), ..))),
        of("slice", "with steps that leave a rest", &[10, 11], |x| {
            x.slice((Part::Step(1, None, 3), Part::Step(2, Some(9), 4)))
        }),
        of("slice", "with a step of a flipped tensor", &[10, 11], |x| {
            x.flip(&[0]).slice((Part::Step(0, Some(7), 3), 2..))
        }),
        of("slice", "with a step of a padded tensor", &[10], |x| {
            x.pad(&[(3, 4)]).slice(Part::Step(1, None, 2))
        }),
        of("slice", "of a slice", &[12, 12], |x| x.slice((2..10, 1..)).slice((Part::Step(1, None, 3), ..5))),
        of("slice", "of a reshaped permutation", &[4, 6], |x| {
            x.transpose(0, 1).reshape([3, 8]).slice((1.., 2..7))
        }),
        of("slice", "rank 8", &[2, 3, 1, 2, 2, 1, 2, 3], |x| {
            x.slice((1, Part::Step(0, None, 2), .., 1, .., .., .., ..2))
        }),
        of("narrow", "", &[9, 5], |x| x.narrow(0, 3, 4)),
        of("narrow", "last axis", &[9, 5], |x| x.narrow(-1, 1, 3)),
        Case::new("slice", "f16, odd start", vec![half([9, 7], SIGNED)], 0.0, |x| x[0].slice((1.., 3..6))),
        Case::new("slice", "integers", vec![int([9, 7], -9, 9)], 0.0, |x| {
            x[0].slice((Part::Step(0, None, 4), 3..6))
        }),
        Case::many("slice", "neighbors", vec![float([33], SIGNED)], 2e-7, |x| {
            let (left, right) = (x[0].slice(..32), x[0].slice(1..));
            vec![&right - &left, left * right]
        }),
    ]
}
