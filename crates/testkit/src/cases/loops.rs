//! Loops whose bodies work on each element by itself, which become one kernel, and loops that must not.

use farad::{Tensor, repeat, scan, scan_along};
use farad_ir::DType;

use super::{HALF, SIGNED};
use crate::case::{Case, Given, float, half, int, truth};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = pointwise();
    cases.extend(dtypes());
    cases.extend(written_out());
    cases.extend(counted());
    cases
}

/// Last carries, then results.
fn all((last, results): (Vec<Tensor>, Vec<Tensor>)) -> Vec<Tensor> {
    last.into_iter().chain(results).collect()
}

/// A driven pendulum: two carries, a sequence, constants of every size, three results.
fn pendulum(x: &Given, reverse: bool) -> Vec<Tensor> {
    all(scan_along(&[&x[0], &x[1]], &[&x[2]], reverse, |state, push| {
        let speed = &state[1] + (state[0].sin() * -0.3 + &push[0] * &x[3]) * &x[4];
        let angle = &state[0] + &speed * 0.1;
        let energy = speed.square() * 0.5 - angle.cos();
        (vec![angle.clone(), speed], vec![energy, angle.maximum(&state[0]), x[3].tanh()])
    }))
}

fn pointwise() -> Vec<Case> {
    let inputs = |rows: usize, columns: usize, steps: usize| {
        let size = [rows, columns];
        vec![
            float(size, SIGNED),
            float(size, SIGNED),
            float([steps, rows, columns], SIGNED),
            float([columns], SIGNED),
            float([], SIGNED),
        ]
    };
    vec![
        Case::many("scan", "pendulum", inputs(3, 5, 7), 1e-5, |x| pendulum(x, false)),
        Case::many("scan", "long pendulum", inputs(2, 700, 3), 1e-5, |x| pendulum(x, false)),
        Case::many("scan_along", "pendulum backwards", inputs(4, 4, 6), 1e-5, |x| pendulum(x, true)),
        Case::many("scan", "carries that stay", vec![float([6], SIGNED), float([4, 6], SIGNED)], 2e-6, |x| {
            all(scan(&[&x[0], &x[0]], &[&x[1]], |c, s| {
                (vec![c[0].clone(), &c[1] * &c[0]], vec![c[1].clone(), s[0].clone(), s[0].clone()])
            }))
        }),
        Case::many(
            "scan",
            "a carry that is the last slice",
            vec![float([4], SIGNED), float([5, 4], SIGNED)],
            2e-6,
            |x| {
                all(scan(&[&x[0], &x[0]], &[&x[1]], |c, s| {
                    (vec![s[0].clone(), c[0].clone()], vec![&c[0] - &c[1]])
                }))
            },
        ),
        Case::many(
            "scan",
            "squeezed",
            vec![float([1, 6], SIGNED), float([6, 1], SIGNED), float([4, 6], SIGNED)],
            2e-6,
            |x| {
                all(scan(&[&x[0], &x[1]], &[&x[2]], |c, s| {
                    let sum = c[0].reshape([6]) + &s[0] * 0.5;
                    (vec![sum.reshape([1, 6]), &c[1] + sum.reshape([6, 1]).sin()], vec![sum])
                }))
            },
        ),
        Case::many("scan", "starts at constants", vec![float([5, 3], SIGNED)], 2e-6, |x| {
            let start = Tensor::full(0.25, [3], x[0].device());
            all(scan(&[&start], &[&x[0].flip(&[0])], |c, s| {
                let next = (&c[0] + &s[0]).tanh();
                (vec![next.clone()], vec![next * 2.0])
            }))
        }),
    ]
}

fn dtypes() -> Vec<Case> {
    vec![
        Case::many(
            "scan",
            "carries of every dtype",
            vec![float([9], SIGNED), half([9], SIGNED), int([9], -9, 9), truth([9]), half([5, 9], SIGNED)],
            2.0 * HALF,
            |x| {
                all(scan(&[&x[0], &x[1], &x[2], &x[3]], &[&x[4]], |c, s| {
                    let wide = &c[0] * 0.5 + s[0].cast(DType::F32);
                    let half = &c[1] * 0.5 + &s[0];
                    let count = c[3].select(&(&c[2] + 3.0), &(&c[2] * -1.0));
                    let odd = c[3].xor(s[0].greater(0.0));
                    (
                        vec![wide, half.clone(), count.clone(), odd.clone()],
                        vec![half, count.cast(DType::U32), odd],
                    )
                }))
            },
        ),
        Case::many(
            "scan",
            "halves in odd rows",
            vec![half([3, 5], SIGNED), half([4, 3, 5], SIGNED)],
            2.0 * HALF,
            |x| {
                all(scan(&[&x[0]], &[&x[1]], |c, s| {
                    let next = &c[0] * 0.5 + &s[0];
                    (vec![next.clone()], vec![next])
                }))
            },
        ),
    ]
}

/// Springs between neighbors of a chain of bodies in two dimensions: `[worlds, bodies, 2]`.
fn chain(x: &Given) -> Vec<Tensor> {
    all(scan(&[&x[0], &x[1]], &[&x[2]], |state, wind| {
        let (place, speed) = (&state[0], &state[1]);
        let bodies = place.shape()[1];
        let apart = place.narrow(1, 1, bodies - 1) - place.narrow(1, 0, bodies - 1);
        let pull = &apart * (1.0 - (apart.square().sum_axes([-1]).unsqueeze(-1) + 0.1).rsqrt()) * 0.5;
        let force = pull.pad(&[(0, 0), (0, 1), (0, 0)]) - pull.pad(&[(0, 0), (1, 0), (0, 0)]);
        let speed = (speed + force + &wind[0].unsqueeze(1)) * 0.9;
        let next = place + &speed * 0.2;
        let mean = next.mean_axes([1]);
        (vec![next, speed], vec![mean])
    }))
}

fn written_out() -> Vec<Case> {
    let worlds = |worlds: usize, bodies: usize, steps: usize| {
        let size = [worlds, bodies, 2];
        vec![float(size, SIGNED), float(size, SIGNED), float([steps, worlds, 2], SIGNED)]
    };
    vec![
        Case::many("scan", "chains of bodies", worlds(5, 4, 3), 2e-5, chain),
        Case::many(
            "scan",
            "gathered bodies",
            vec![float([6, 3, 2], SIGNED), int([3], 0, 2), int([4, 6], 0, 6), float([7, 2], SIGNED)],
            1e-5,
            |x| {
                let partner = x[1].reshape([1, 3, 1]);
                all(scan(&[&x[0]], &[&x[2]], |c, s| {
                    let other = c[0].gather(1, &partner.broadcast_to([6, 3, 2]));
                    let push = x[3].embedding(&s[0]).unsqueeze(1);
                    let next = (&c[0] * 0.5 + other * 0.3 + push).tanh();
                    (vec![next.clone()], vec![next.max_axes([2])])
                }))
            },
        ),
        Case::many(
            "scan",
            "softmax of a few",
            vec![float([3, 4], SIGNED), float([5, 3, 4], SIGNED)],
            1e-5,
            |x| {
                all(scan(&[&x[0]], &[&x[1]], |c, s| {
                    let next = (&c[0] + &s[0]).softmax(1);
                    (vec![next.clone()], vec![next])
                }))
            },
        ),
        // Neighbors along a long axis: elements depend on each other, so this stays a loop over kernels.
        Case::many("scan", "long chain", vec![float([3, 90], SIGNED), float([4, 3], SIGNED)], 1e-5, |x| {
            all(scan(&[&x[0]], &[&x[1]], |c, s| {
                let left = c[0].narrow(1, 0, 89).pad(&[(0, 0), (1, 0)]);
                let next = (&c[0] + left * 0.5 + s[0].unsqueeze(1)).tanh();
                (vec![next.clone()], vec![next.sum_axes([1])])
            }))
        }),
    ]
}

fn counted() -> Vec<Case> {
    vec![
        Case::many("repeat", "", vec![float([4, 3], SIGNED)], 5e-6, |x| {
            all(repeat(6, &[&x[0]], |c, position| {
                let next = c[0].sin() + position.cast(DType::F32) * 0.1;
                (vec![next.clone()], vec![next])
            }))
        }),
        Case::many("repeat", "once", vec![float([4], SIGNED)], 5e-6, |x| {
            all(repeat(1, &[&x[0]], |c, _| (vec![c[0].sin()], vec![])))
        }),
        Case::many(
            "repeat",
            "with a product",
            vec![float([4, 3], SIGNED), float([3, 3], SIGNED)],
            1e-5,
            |x| {
                all(repeat(3, &[&x[0]], |c, position| {
                    (vec![(c[0].matmul(&x[1]) + position.cast(DType::F32)).tanh()], vec![])
                }))
            },
        ),
        // Random numbers are the same however a program runs, and differ at every position.
        Case::many("repeat", "with random numbers", vec![float([37], SIGNED)], 5e-6, |x| {
            let device = x[0].device().clone();
            all(repeat(5, &[&x[0]], |c, _| {
                let noise = Tensor::rand([37], &device);
                (vec![&c[0] * 0.5 + &noise], vec![noise])
            }))
        }),
    ]
}
