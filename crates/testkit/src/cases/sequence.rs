//! Scans and checkpoints.

use farad::Order;
use farad::{Tensor, checkpoint, scan};
use farad_ir::DType;

use super::{HALF, SIGNED};
use crate::case::{Case, Given, Input, float, half, int, truth, whole};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = sums();
    cases.extend(recurrent());
    cases.extend(checkpoints());
    cases.extend(recurrences());
    cases
}

fn running_sum(x: &Given) -> Vec<Tensor> {
    let (last, sums) = scan(&[&x[0]], &[&x[1]], |carry, slice| {
        let sum = &carry[0] + &slice[0];
        (vec![sum.clone()], vec![sum])
    });
    last.into_iter().chain(sums).collect()
}

/// Each slice's order, and the largest so far, sorted.
fn sorted(x: &Given) -> Vec<Tensor> {
    let (last, orders) = scan(&[&x[0]], &[&x[1]], |carry, slice| {
        let largest = carry[0].maximum(&slice[0]).sort(0, Order::Descending).0;
        (vec![largest], vec![slice[0].argsort(0, Order::Ascending)])
    });
    last.into_iter().chain(orders).collect()
}

/// Integers with many duplicates.
const SMALL: (f64, f64) = (-40.0, 40.0);

fn sums() -> Vec<Case> {
    let of = |detail: &str, carry: Input, sequence: Input, tolerance| {
        Case::many("scan", detail, vec![carry, sequence], tolerance, running_sum)
    };
    vec![
        of("running sum", float([3, 5], SIGNED), float([7, 3, 5], SIGNED), 1e-6),
        of("running sum of numbers", float([], SIGNED), float([9], SIGNED), 1e-6),
        of("one position", float([3], SIGNED), float([1, 3], SIGNED), 1e-6),
        of("two positions", float([65], SIGNED), float([2, 65], SIGNED), 1e-6),
        of("running sum of integers", int([5], -9, 9), int([8, 5], i32::MIN, i32::MAX), 0.0),
        // Slices of f16 start in the middle of words; rows of 2500 take several launches.
        Case::many("scan", "orders of slices", vec![half([33], SIGNED), half([5, 33], SIGNED)], 0.0, sorted)
            .without_gradient(),
        Case::many("scan", "long orders", vec![whole([2500], SMALL), whole([3, 2500], SMALL)], 0.0, sorted)
            .without_gradient(),
        Case::many("scan", "parity", vec![truth([5]), truth([8, 5])], 0.0, |x| {
            let (last, seen) = scan(&[&x[0]], &[&x[1]], |carry, slice| {
                let odd = carry[0].xor(&slice[0]);
                (vec![odd.clone()], vec![odd.cast(DType::I32)])
            });
            last.into_iter().chain(seen).collect()
        }),
        Case::many(
            "scan",
            "carries that change places",
            vec![float([4], SIGNED), float([4], SIGNED), float([5, 4], SIGNED)],
            1e-6,
            |x| {
                let (last, results) = scan(&[&x[0], &x[1]], &[&x[2]], |carry, slice| {
                    (vec![carry[1].clone(), &carry[0] + &slice[0]], vec![&carry[0] - &carry[1]])
                });
                last.into_iter().chain(results).collect()
            },
        ),
        Case::many(
            "scan",
            "only last",
            vec![float([4], SIGNED), float([6, 4], SIGNED), float([6], SIGNED)],
            2e-6,
            |x| {
                scan(&[&x[0]], &[&x[1], &x[2]], |carry, slice| {
                    (vec![carry[0].sin() * 0.5 + &slice[0] * &slice[1]], vec![])
                })
                .0
            },
        ),
        Case::many("scan", "only results", vec![float([6, 4], SIGNED), float([4], SIGNED)], 2e-6, |x| {
            let outside = &x[1] * 2.0;
            scan(&[], &[&x[0]], |_, slice| (vec![], vec![slice[0].tanh() * &outside, slice[0].sum()])).1
        }),
    ]
}

fn recurrent() -> Vec<Case> {
    let weights = |inputs: usize, hidden: usize| {
        vec![
            float([inputs, hidden], (-0.5, 0.5)),
            float([hidden, hidden], (-0.5, 0.5)),
            float([hidden], SIGNED),
        ]
    };
    let of = |detail: &str,
              time: usize,
              batch: usize,
              inputs: usize,
              hidden: usize,
              function: fn(&Given) -> Vec<Tensor>| {
        let mut all = vec![float([batch, hidden], SIGNED), float([time, batch, inputs], SIGNED)];
        all.extend(weights(inputs, hidden));
        Case::many("scan", detail, all, 1e-5, function)
    };
    vec![
        of("recurrent layer", 5, 3, 4, 6, |x| {
            let (last, states) = scan(&[&x[0]], &[&x[1]], |carry, slice| {
                let state = (slice[0].matmul(&x[2]) + carry[0].matmul(&x[3]) + &x[4]).tanh();
                (vec![state.clone()], vec![state])
            });
            last.into_iter().chain(states).collect()
        }),
        of("normalized recurrent layer, backwards", 4, 2, 3, 5, |x| {
            let (last, states) = scan(&[&x[0]], &[&x[1].flip(&[0])], |carry, slice| {
                let state = (slice[0].matmul(&x[2]) + carry[0].matmul(&x[3])).softmax(1) + &x[4];
                (vec![state.clone()], vec![state.exp()])
            });
            last.into_iter().chain(states.iter().map(|s| s.flip(&[0]))).collect()
        }),
        Case::many(
            "scan",
            "embedding at each position",
            vec![float([4], SIGNED), int([6, 3], 0, 8), float([9, 4], SIGNED)],
            1e-5,
            |x| {
                let (last, rows) = scan(&[&x[0]], &[&x[1]], |carry, slice| {
                    let row = x[2].embedding(&slice[0]).sum_axes([0]);
                    ((vec![(&carry[0] + &row).tanh()]), vec![row])
                });
                last.into_iter().chain(rows).collect()
            },
        ),
    ]
}

fn checkpoints() -> Vec<Case> {
    vec![
        Case::new("checkpoint", "", vec![float([5, 7], SIGNED)], 5e-6, |x| {
            checkpoint(&x[0], |x| (x.tanh() * x).exp())
        }),
        Case::new(
            "checkpoint",
            "of layers",
            vec![float([9, 17], SIGNED), float([17, 17], (-0.4, 0.4)), float([17, 5], SIGNED)],
            1e-5,
            |x| {
                let hidden = checkpoint(&x[0], |h| h.matmul(&x[1]).tanh().matmul(&x[1]).tanh());
                checkpoint(&hidden, |h| h.softmax(1).matmul(&x[2]))
            },
        ),
        Case::new("checkpoint", "with random numbers", vec![float([5, 7], SIGNED)], 5e-6, |x| {
            checkpoint(&x[0], |x| x.dropout(0.5).sin() * x)
        }),
    ]
}

fn recurrences() -> Vec<Case> {
    let of = |detail: &str, x: Input, decay: Input, axis: isize, tolerance: f64| {
        Case::new("linear_recurrence", detail, vec![x, decay], tolerance, move |x| {
            x[0].linear_recurrence(&x[1], axis)
        })
    };
    vec![
        of("", float([9, 5], SIGNED), float([9, 5], (0.2, 0.9)), 0, 2e-6),
        of("along the middle", float([2, 7, 3], SIGNED), float([7, 1], (-0.9, 0.9)), 1, 2e-6),
        of("one decay", float([4, 12], SIGNED), float([], (0.5, 0.9)), -1, 2e-6),
        of("f16", half([12, 3], SIGNED), half([3], (0.2, 0.9)), 0, 2.0 * HALF),
        of("integers", int([9, 3], -9, 9), int([9, 3], -2, 2), 0, 0.0),
        of("nothing", float([0, 3], SIGNED), float([], (0.5, 0.9)), 0, 0.0).without_gradient(),
    ]
}
