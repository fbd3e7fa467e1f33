//! Sorting: rows of every length class, many rows, equal elements.

use farad::Order;
use farad_ir::DType;

use super::SIGNED;
use crate::case::{Case, Input, apart, float, half, int, truth, unsigned, whole};

/// Sizes and the axis that is sorted: short rows, rows just longer than one workgroup sorts, long rows.
const LAYOUTS: [(&[usize], isize); 12] = [
    (&[1], 0),
    (&[7, 13], 1),
    (&[7, 13], 0),
    (&[300, 3], -1),
    (&[2, 17, 5], 1),
    (&[3, 2048], 1),
    (&[2, 2049], 1),
    (&[5003, 2], 0),
    (&[70_001], 0),
    (&[1, 5, 1], 2),
    (&[0, 5], 1),
    (&[5, 0], 1),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (n, (shape, axis)) in LAYOUTS.into_iter().enumerate() {
        let descending = n % 2 == 1;
        // Integers, so that many are equal and none is rounded.
        cases.push(argsort(whole(shape, (-50.0, 50.0)), axis, descending));
        cases.push(sort(apart(shape, SIGNED), axis, descending));
    }
    for descending in [false, true] {
        for shape in [[9, 100], [2, 3001]] {
            cases.push(argsort(int(shape, i32::MIN, i32::MAX), 1, descending));
            cases.push(argsort(unsigned(shape, 0, u32::MAX), 1, descending));
            cases.push(argsort(half(shape, SIGNED), 1, descending));
            cases.push(argsort(truth(shape), 1, descending));
            // Equal f16 elements have no gradient that finite differences would find.
            cases.push(sort(half(shape, SIGNED), 1, descending).without_gradient());
        }
    }
    cases.extend(mixed());
    cases.extend(tops());
    cases
}

fn order(descending: bool) -> Order {
    if descending { Order::Descending } else { Order::Ascending }
}

fn sort(x: Input, axis: isize, descending: bool) -> Case {
    let detail = format!("axis {axis}{}", if descending { " descending" } else { "" });
    Case::new("sort", detail, vec![x], 0.0, move |x| x[0].sort(axis, order(descending)).0)
}

fn argsort(x: Input, axis: isize, descending: bool) -> Case {
    let detail = format!("axis {axis}{}", if descending { " descending" } else { "" });
    Case::new("argsort", detail, vec![x], 0.0, move |x| x[0].argsort(axis, order(descending)))
        .without_gradient()
}

fn mixed() -> Vec<Case> {
    vec![
        Case::many("sort", "both results", vec![whole([40, 9], (-3.0, 3.0))], 0.0, |x| {
            let (values, positions) = x[0].sort(0, Order::Ascending);
            vec![values, positions]
        })
        .without_gradient(),
        Case::new("argsort", "of zeros of both signs", vec![whole([20, 30], (-2.0, 2.0))], 0.0, |x| {
            (&x[0] * 0.0).argsort(1, Order::Descending)
        })
        .without_gradient(),
        Case::new("sort", "twice", vec![apart([6, 50], SIGNED)], 0.0, |x| {
            x[0].sort(1, Order::Ascending).0.sort(0, Order::Descending).0
        }),
        Case::new("argsort", "of an order", vec![whole([4, 2500], (-90.0, 90.0))], 0.0, |x| {
            x[0].argsort(1, Order::Descending).argsort(1, Order::Ascending)
        })
        .without_gradient(),
        Case::new("sort", "many rows", vec![float([70_000, 5], SIGNED)], 0.0, |x| {
            x[0].sort(1, Order::Ascending).0
        })
        .without_gradient(),
    ]
}

fn tops() -> Vec<Case> {
    let top = |x: Input, k: usize, axis: isize, largest: bool| {
        let way = if largest { "largest" } else { "smallest" };
        Case::new("topk", format!("{k} {way} of axis {axis}"), vec![x], 0.0, move |x| {
            x[0].topk(k, axis, order(largest)).0
        })
    };
    vec![
        top(apart([5, 40], SIGNED), 3, 1, true),
        top(apart([40, 5], SIGNED), 7, 0, false),
        top(apart([3, 5000], SIGNED), 50, -1, true),
        top(apart([5001, 2], SIGNED), 1, 0, false),
        top(apart([2, 6007], SIGNED), 2500, 1, true),
        top(apart([2, 3001], SIGNED), 1500, 1, false),
        top(apart([2, 3001], SIGNED), 2999, 1, true),
        top(half([3, 4099], SIGNED), 300, 1, true).without_gradient(),
        top(apart([4, 33], SIGNED).stored(DType::F16), 33, 1, true),
        top(apart([4, 33], SIGNED), 0, 1, true),
        top(int([4, 33], -9, 9), 5, 1, false),
        positions(whole([6, 70], (-9.0, 9.0)), 9, Order::Descending),
        positions(whole([3, 5003], (-9.0, 9.0)), 700, Order::Ascending),
        positions(int([2, 2500], i32::MIN, i32::MAX), 33, Order::Descending),
        positions(unsigned([2, 2500], 0, u32::MAX), 33, Order::Ascending),
        positions(half([2, 2500], SIGNED), 33, Order::Ascending),
        positions(truth([2, 2500]), 1250, Order::Descending),
    ]
}

fn positions(x: Input, k: usize, order: Order) -> Case {
    Case::new("topk", format!("{k} positions"), vec![x], 0.0, move |x| x[0].topk(k, 1, order).1)
        .without_gradient()
}
