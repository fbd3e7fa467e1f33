//! Reading and adding at positions given by data.

use farad::Tensor;
use farad_ir::DType;

use super::{HALF, SIGNED};
use crate::case::{Case, Input, float, half, int, truth, unsigned, whole};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = gathers();
    cases.extend(scatters());
    cases.extend(segments());
    cases
}

fn gathers() -> Vec<Case> {
    let gather = |detail: &str, axis: isize, x: Input, index: Input| {
        Case::new("gather", detail, vec![x, index], 0.0, move |x| x[0].gather(axis, &x[1]))
    };
    let select = |axis: isize, x: Input, index: Input| {
        Case::new("index_select", format!("axis {axis}"), vec![x, index], 0.0, move |x| {
            x[0].index_select(axis, &x[1])
        })
    };
    let embed =
        |x: Input, ids: Input| Case::new("embedding", "", vec![x, ids], 0.0, |x| x[0].embedding(&x[1]));
    let hot = |ids: Input| Case::new("one_hot", "", vec![ids], 0.0, |x| x[0].one_hot(7));
    vec![
        gather("axis 1", 1, float([5, 7], SIGNED), int([5, 3], 0, 6)),
        gather("axis 0", 0, float([5, 7], SIGNED), int([9, 7], 0, 4)),
        gather("one index for all", 0, float([5, 7], SIGNED), int([3, 1], 0, 4)),
        gather("unsigned", 2, float([2, 3, 9], SIGNED), unsigned([2, 3, 4], 0, 8)),
        gather("of nothing", 1, float([5, 7], SIGNED), int([5, 0], 0, 6)),
        gather("", 1, half([5, 7], SIGNED), int([5, 3], 0, 6)),
        gather("", 1, int([5, 7], -9, 9), int([5, 3], 0, 6)),
        gather("", 1, unsigned([5, 7], 0, 9), int([5, 3], 0, 6)),
        gather("", 1, truth([5, 7]), int([5, 3], 0, 6)),
        gather("by i64", 1, float([5, 7], SIGNED), whole([5, 3], (0.0, 6.0)).stored(DType::I64))
            .without_gradient(),
        gather("by u8", 1, float([5, 7], SIGNED), whole([5, 3], (0.0, 6.0)).stored(DType::U8))
            .without_gradient(),
        Case::new(
            "gather",
            "of a permuted tensor",
            vec![float([5, 7], SIGNED), int([7, 2], 0, 4)],
            0.0,
            |x| x[0].transpose(0, 1).gather(1, &x[1]),
        ),
        Case::new("gather", "at what was gathered", vec![int([9], 0, 8), int([9], 0, 8)], 0.0, |x| {
            x[0].gather(0, &x[1]).gather(0, &x[0])
        }),
        Case::new("gather", "at the largest", vec![float([6, 9], SIGNED)], 0.0, |x| {
            x[0].gather(1, &x[0].argmax(1).unsqueeze(1))
        }),
        select(0, float([5, 7], SIGNED), int([11], 0, 4)),
        select(-1, float([2, 5, 7], SIGNED), int([3], 0, 6)),
        select(1, half([2, 5, 7], SIGNED), unsigned([4], 0, 4)),
        embed(float([11, 8], SIGNED), int([3, 5], 0, 10)),
        embed(float([65, 33], SIGNED), int([129], 0, 64)),
        embed(half([11, 7], SIGNED), int([3, 5], 0, 10)),
        // Enough rows and positions that devices sort the index first.
        embed(float([4200, 3], SIGNED), int([4100], 0, 4199)),
        embed(half([4200, 4], SIGNED), int([4100], 0, 99)),
        hot(int([5], 0, 6)),
        hot(unsigned([2, 3], 0, 6)),
        Case::new("one_hot", "times a matrix", vec![int([6], 0, 4), float([5, 3], SIGNED)], 2e-6, |x| {
            x[0].one_hot(5).matmul(&x[1])
        }),
    ]
}

fn scatters() -> Vec<Case> {
    let scatter = |detail: &str, axis: isize, inputs: Vec<Input>, tolerance: f64| {
        Case::new("scatter_add", detail, inputs, tolerance, move |x| x[0].scatter_add(axis, &x[1], &x[2]))
    };
    vec![
        scatter("", 0, vec![float([5], SIGNED), int([9], 0, 4), float([9], SIGNED)], 1e-6),
        scatter("axis 1", 1, vec![float([3, 5], SIGNED), int([3, 8], 0, 4), float([3, 8], SIGNED)], 1e-6),
        scatter("rows", 0, vec![float([6, 7], SIGNED), int([20, 1], 0, 5), float([20, 7], SIGNED)], 1e-6),
        scatter(
            "middle axis",
            1,
            vec![float([2, 6, 3], SIGNED), unsigned([2, 9, 3], 0, 5), float([2, 9, 3], SIGNED)],
            1e-6,
        ),
        scatter(
            "many into few",
            0,
            vec![float([2, 3], SIGNED), int([500, 1], 0, 1), float([500, 3], SIGNED)],
            2e-6,
        )
        .of_size(16.0),
        scatter("nothing", 0, vec![float([5], SIGNED), int([0], 0, 0), float([0], SIGNED)], 1e-6),
        scatter("f16", 0, vec![half([5, 3], SIGNED), int([9, 1], 0, 4), half([9, 3], SIGNED)], 3.0 * HALF),
        scatter("", 0, vec![int([5], -9, 9), int([300], 0, 4), int([300], i32::MIN, i32::MAX)], 0.0),
        scatter("", 0, vec![unsigned([5], 0, 9), int([300], 0, 4), unsigned([300], 0, u32::MAX)], 0.0),
        scatter(
            "many rows to many places",
            1,
            vec![float([2, 4200, 4], SIGNED), int([2, 4100, 1], 0, 4199), float([2, 4100, 4], SIGNED)],
            1e-6,
        ),
        scatter(
            "many rows to many places, one index for all",
            1,
            vec![float([2, 4200, 3], SIGNED), unsigned([1, 4100, 1], 0, 4199), float([2, 4100, 3], SIGNED)],
            1e-6,
        ),
        scatter(
            "many to many",
            1,
            vec![int([3, 4200], -9, 9), int([3, 4100], 0, 4199), int([3, 4100], i32::MIN, i32::MAX)],
            0.0,
        ),
        Case::new(
            "scatter_add",
            "of a fused source",
            vec![float([4, 6], SIGNED), int([9], 0, 3), float([9, 6], SIGNED)],
            4e-6,
            |x| {
                let index: Tensor = x[1].unsqueeze(1);
                x[0].scatter_add(0, &index, &(x[2].tanh() * 2.0))
            },
        ),
    ]
}

fn segments() -> Vec<Case> {
    let of = |detail: &str, x: Input, segments: Input, count: usize, tolerance: f64| {
        Case::new("segment_sum", detail, vec![x, segments], tolerance, move |x| {
            x[0].segment_sum(&x[1], count)
        })
    };
    vec![
        of("", float([20], SIGNED), int([20], 0, 4), 5, 1e-6),
        of("rows", float([40, 7], SIGNED), unsigned([40], 0, 2), 3, 1e-6),
        of("some empty", float([5, 2, 3], SIGNED), int([5], 3, 6), 9, 1e-6),
        of("", int([300], i32::MIN, i32::MAX), int([300], 0, 4), 5, 0.0),
        of("of nothing", float([0, 3], SIGNED), int([0], 0, 0), 4, 0.0),
    ]
}
