//! Booleans over axes, triangles.

use farad::Tensor;
use farad::{Axes, kept};

use super::{HALF, SIGNED};
use crate::case::{Case, Input, float, half, int, truth, whole};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let whole_tensors: [(&'static str, fn(&Tensor) -> Tensor); 2] =
        [("any", Tensor::any), ("all", Tensor::all)];
    for (name, method) in whole_tensors {
        let of = |detail: &str, input: Input| {
            Case::new(name, detail, vec![input], 0.0, move |x| method(&x[0])).without_gradient()
        };
        cases.push(of("", truth([3, 5])));
        cases.push(of("of nothing", truth([0, 5])));
        cases.push(of("of numbers", whole([2, 3], (0.0, 1.0))));
        cases.push(of("of zeros", int([9], 0, 0)));
        cases.push(of("of ones", int([9], 1, 1)));
    }
    let along: [(&'static str, fn(&Tensor, &dyn Axes) -> Tensor); 2] =
        [("any_axes", |x, axes| x.any_axes(axes)), ("all_axes", |x, axes| x.all_axes(axes))];
    for (name, method) in along {
        let of = |axes: &'static [isize], keep: bool, input: Input| {
            let detail = format!("{axes:?}, kept: {keep}");
            Case::new(name, detail, vec![input], 0.0, move |x| match keep {
                true => method(&x[0], &kept(axes)),
                false => method(&x[0], &axes),
            })
            .without_gradient()
        };
        cases.push(of(&[1], false, truth([40, 2])));
        cases.push(of(&[0], true, truth([3, 40])));
        cases.push(of(&[0, 2], false, int([2, 9, 2], 0, 1)));
    }
    let kinds: [(&'static str, fn(&Tensor) -> Tensor); 2] =
        [("is_nan", Tensor::is_nan), ("is_inf", Tensor::is_inf)];
    for (name, method) in kinds {
        let of = |detail: &str, input: Input| {
            Case::new(name, detail, vec![input], 0.0, move |x| method(&x[0].log())).without_gradient()
        };
        cases.push(of("of logarithms", whole([40], (-1.0, 1.0))));
        cases.push(Case::new(name, "of integers", vec![int([9], -1, 1)], 0.0, move |x| method(&x[0])));
    }
    let triangles: [(&'static str, fn(&Tensor, isize) -> Tensor); 2] =
        [("tril", Tensor::tril), ("triu", Tensor::triu)];
    for (name, method) in triangles {
        let of = |diagonal: isize, input: Input, tolerance: f64| {
            Case::new(name, format!("{diagonal}"), vec![input], tolerance, move |x| method(&x[0], diagonal))
        };
        cases.push(of(0, float([5, 7], SIGNED), 0.0));
        cases.push(of(-2, float([2, 7, 5], SIGNED), 0.0));
        cases.push(of(1, int([6, 6], -9, 9), 0.0));
        cases.push(of(9, half([4, 4], SIGNED), HALF));
    }
    cases
}
