//! Returns over several horizons, and the range that they are divided by.

use farad::{Order, Tensor, scan_along};

/// The percentiles between which most returns lie.
const PERCENTILES: [f64; 2] = [0.05, 0.95];
/// How fast the range follows, and the least that returns are divided by.
const RATE: f64 = 0.01;
const LEAST: f64 = 1.0;

/// What is known of trajectories, time first: `[time, ..]` each.
pub(super) struct Course<'a> {
    /// The reward on arrival.
    pub reward: &'a Tensor,
    /// The discount on arrival: 0 where everything ends.
    pub discount: &'a Tensor,
    /// 1 where a trajectory is cut, so that nothing is known of what came after.
    pub last: &'a Tensor,
    /// The critic's value.
    pub value: &'a Tensor,
}

/// Lambda returns at all times but the last, `[time - 1, ..]`.
pub(super) fn lambda_returns(course: &Course, lambda: f64) -> Tensor {
    let time = course.value.shape()[0];
    let later = |x: &Tensor| x.narrow(0, 1, time - 1);
    let [reward, discount, last, value] =
        [course.reward, course.discount, course.last, course.value].map(later);
    let keep = (1.0 - last) * lambda;
    let sure = reward + &discount * (1.0 - &keep) * value;
    let end = course.value.narrow(0, time - 1, 1).squeeze(0);
    let (_, all) = scan_along(&[&end], &[&sure, &(discount * keep)], true, |carry, slice| {
        let here = &slice[0] + &slice[1] * &carry[0];
        (vec![here.clone()], vec![here])
    });
    all[0].clone()
}

/// Percentiles of numbers `[agents, count]`, `[agents, 1]` each.
fn percentiles(numbers: &Tensor) -> [Tensor; 2] {
    let (sorted, _) = numbers.sort(1, Order::Ascending);
    let count = numbers.shape()[1];
    PERCENTILES.map(|share| {
        let place = share * (count - 1) as f64;
        let (low, part) = (place.floor() as usize, place.fract());
        let at = |n: usize| sorted.narrow(1, n.min(count - 1), 1);
        at(low) * (1.0 - part) + at(low + 1) * part
    })
}

/// The moving range of returns, `[agents, 2]`: its ends, not yet corrected for their start at 0.
pub(super) fn moved_range(range: &Tensor, returns: &Tensor) -> Tensor {
    let [low, high] = percentiles(returns);
    range * (1.0 - RATE) + Tensor::concat(&[&low, &high], 1) * RATE
}

/// What returns are divided by, `[agents, 1]`; `step` counts the range's moves.
pub(super) fn scale(range: &Tensor, step: &Tensor) -> Tensor {
    let width = range.narrow(1, 1, 1) - range.narrow(1, 0, 1);
    (width / (1.0 - (step * (1.0 - RATE).ln()).exp())).maximum(LEAST)
}
