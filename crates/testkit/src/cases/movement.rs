//! Movement: reshape, permute, expand, pad, flip and their relatives, alone and combined.

use farad::Tensor;
use farad_ir::DType;

use super::SIGNED;
use crate::case::{Case, Given, Input, float, half, int, truth, unsigned};

fn of(op: &'static str, detail: &str, shape: &[usize], function: fn(&Tensor) -> Tensor) -> Case {
    Case::new(op, detail, vec![float(shape, SIGNED)], 0.0, move |x| function(&x[0]))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        of("reshape", "", &[6, 35], |x| x.reshape([10, 21])),
        of("reshape", "of a permuted tensor", &[3, 4, 5], |x| x.permute(&[2, 0, 1]).reshape([15, 4])),
        of("reshape", "of nothing", &[0, 4], |x| x.reshape([2, 0])),
        of("reshape", "to a scalar and back", &[1], |x| x.reshape(()).reshape([1, 1])),
        of("permute", "", &[3, 4, 5], |x| x.permute(&[2, 0, 1])),
        of("permute", "negative axes", &[2, 3, 4, 5], |x| x.permute(&[-1, 0, -2, 1])),
        of("permute", "rank 8", &[2, 1, 3, 2, 1, 2, 2, 2], |x| x.permute(&[7, 6, 5, 4, 3, 2, 1, 0])),
        of("transpose", "", &[33, 65], |x| x.transpose(0, 1)),
        of("transpose", "twice", &[5, 6, 7], |x| x.transpose(0, -1).transpose(1, 2)),
        of("expand", "", &[5, 1, 7], |x| x.expand([5, 6, 7])),
        of("expand", "to nothing", &[1, 3], |x| x.expand([0, 3])),
        of("broadcast_to", "", &[7], |x| x.broadcast_to([2, 5, 7])),
        of("broadcast_to", "of a scalar", &[], |x| x.broadcast_to([3, 3])),
        of("pad", "", &[5, 7], |x| x.pad(&[(1, 2), (0, 3)])),
        of("pad", "of nothing", &[0, 2], |x| x.pad(&[(2, 1), (0, 0)])),
        of("pad", "twice", &[4, 4], |x| x.pad(&[(1, 1), (1, 1)]).transpose(0, 1).pad(&[(0, 2), (1, 0)])),
        of("flip", "", &[5, 7], |x| x.flip(&[1])),
        of("flip", "both axes of a padded tensor", &[5, 7], |x| x.pad(&[(2, 0), (0, 1)]).flip(&[0, -1])),
        of("unsqueeze", "", &[5, 7], |x| x.unsqueeze(1)),
        of("unsqueeze", "at the end", &[5, 7], |x| x.unsqueeze(-1)),
        of("squeeze", "", &[5, 1, 7], |x| x.squeeze(1)),
        of("flatten", "", &[2, 3, 4], |x| x.flatten(1)),
        of("flatten", "of a permuted tensor", &[2, 3, 4], |x| x.transpose(0, 2).flatten(0)),
    ];
    cases.extend(joins());
    cases.extend(by_dtype());
    cases
}

fn joins() -> Vec<Case> {
    let pair = |a: &[usize], b: &[usize]| vec![float(a, SIGNED), float(b, SIGNED)];
    vec![
        Case::new("concat", "", pair(&[3, 4], &[2, 4]), 0.0, |x| Tensor::concat(&[&x[0], &x[1]], 0)),
        Case::new("concat", "last axis", pair(&[3, 4], &[3, 7]), 0.0, |x| {
            Tensor::concat(&[&x[0], &x[1]], -1)
        }),
        Case::new("concat", "of halves", vec![half([3, 4], SIGNED), half([2, 4], SIGNED)], 0.0, |x| {
            Tensor::concat(&[&x[0], &x[1]], 0)
        }),
        Case::new("concat", "of doubles", vec![float([3, 4], SIGNED).stored(DType::F64); 2], 0.0, |x| {
            Tensor::concat(&[&x[0], &x[1]], 0)
        }),
        Case::new("concat", "with nothing", pair(&[3, 0], &[3, 7]), 0.0, |x| {
            Tensor::concat(&[&x[0], &x[1]], 1)
        }),
        Case::new("concat", "of many", pair(&[2, 3], &[1, 3]), 0.0, |x| {
            let parts: Vec<&Tensor> = (0..9).map(|n| &x[n % 2]).collect();
            Tensor::concat(&parts, 0)
        }),
        Case::new("concat", "mixed", vec![int([5], -9, 9), float([3], SIGNED)], 0.0, |x| {
            Tensor::concat(&[&x[0], &x[1]], 0)
        }),
        Case::new("stack", "", pair(&[3, 4], &[3, 4]), 0.0, |x| Tensor::stack(&[&x[0], &x[1]], 0)),
        Case::new("stack", "last axis", pair(&[3, 4], &[3, 4]), 0.0, |x| {
            Tensor::stack(&[&x[0], &x[1], &x[0]], -1)
        }),
        Case::new("stack", "middle axis", pair(&[3, 4], &[3, 4]), 0.0, |x| Tensor::stack(&[&x[0], &x[1]], 1)),
        Case::many("split", "", vec![float([9, 5], SIGNED)], 0.0, |x| x[0].split(&[2, 3, 4], 0)),
        Case::many("split", "last axis", vec![float([3, 8], SIGNED)], 0.0, |x| x[0].split(&[1, 7], -1)),
        Case::many("split", "and joined again", vec![float([6, 4], SIGNED)], 0.0, |x| {
            let parts = x[0].split(&[2, 4], 0);
            vec![Tensor::concat(&[&parts[1], &parts[0]], 0)]
        }),
    ]
}

/// Every movement op on every other compute dtype, in one case.
fn by_dtype() -> Vec<Case> {
    fn chain(x: &Given) -> Tensor {
        x[0].permute(&[2, 0, 1]).pad(&[(1, 0), (0, 2), (1, 1)]).flip(&[0]).slice((1.., .., 0..3)).unsqueeze(0)
    }
    let shape = [3, 5, 4];
    let inputs: [Input; 4] = [half(shape, SIGNED), int(shape, -9, 9), unsigned(shape, 0, 9), truth(shape)];
    let mut cases: Vec<Case> = Vec::new();
    for input in inputs {
        let (dtype, two) = (input.dtype, vec![input.clone(), input.clone()]);
        cases.push(Case::new("permute", "then pad, flip, slice", vec![input], 0.0, chain));
        let detail = if dtype == DType::Bool { "by or" } else { "by sums" };
        cases.push(Case::new("concat", detail, two, 0.0, |x| Tensor::concat(&[&x[0], &x[1]], 1)));
    }
    cases
}
